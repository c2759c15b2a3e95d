/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_send -- ways of sending bytes over TCP on loopback, next to plain send(2).
 *
 *      poll        send(2) that does not wait, and poll(2) when the socket is full
 *      ring        io_uring, IORING_OP_SEND
 *      ring_zc     io_uring, IORING_OP_SEND_ZC: the pages themselves go
 *      ring_fixed  the same from a buffer that is registered with the ring
 *      zerocopy    send(2) with MSG_ZEROCOPY
 *
 * They take turns.  ratio is the median of (time of plain send / theirs), cpu that of (their
 * processor time, sender and receiver / that of plain send).  A way that the kernel does not have
 * is left out.
 */
#include <errno.h>
#include <liburing.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MIB         ((size_t)1 << 20)
#define BUF_BYTES   (4 * MIB)
#define N_TURNS_MAX 31

enum way { PLAIN, POLL, RING, RING_ZC, RING_FIXED, ZEROCOPY, N_WAYS };

static const char *const names[] = {"plain", "poll", "ring", "ring_zc", "ring_fixed", "zerocopy"};

static struct io_uring ring;
static char *buf;
static int out_fd, in_fd;
static size_t leg_bytes;

static void
must(bool is_well, const char *what)
{
	if (is_well)
		return;
	fprintf(stderr, "bench_send: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double
seconds(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the receiver ---- */

static void *
receive(void *arg)
{
	static char to[BUF_BYTES];
	char byte = 0;

	(void)arg;
	for (;;) {
		size_t left = leg_bytes;

		while (left > 0) {
			size_t most = left < MIB ? left : MIB;
			ssize_t n = recv(in_fd, to, most, MSG_WAITALL);

			if (n <= 0)
				return NULL;
			left -= (size_t)n;
		}
		must(send(in_fd, &byte, 1, MSG_NOSIGNAL) == 1, "send");
	}
}

/* ---- the senders; each sends `len` bytes ---- */

static bool
send_plain(const char *at, size_t len, int flags)
{
	while (len > 0) {
		struct pollfd pollfd = {.fd = out_fd, .events = POLLOUT};
		ssize_t n = send(out_fd, at, len, MSG_NOSIGNAL | flags);

		if (n < 0 && errno == EAGAIN) {
			poll(&pollfd, 1, -1);
			continue;
		}
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* reap_zerocopy -- as much as is there: the socket's memory for notes is bounded. */
static void
reap_zerocopy(void)
{
	char control[128];
	struct msghdr msg = {.msg_control = control, .msg_controllen = sizeof(control)};

	while (recvmsg(out_fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		msg.msg_controllen = sizeof(control);
}

static bool
send_ring(enum way way, const char *at, size_t len)
{
	while (len > 0) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
		struct io_uring_cqe *cqe;
		bool has_more = true;
		int n = 0;

		if (way == RING)
			io_uring_prep_send(sqe, out_fd, at, len, MSG_NOSIGNAL);
		else if (way == RING_ZC)
			io_uring_prep_send_zc(sqe, out_fd, at, len, MSG_NOSIGNAL, 0);
		else
			io_uring_prep_send_zc_fixed(sqe, out_fd, at, len, MSG_NOSIGNAL, 0, 0);
		io_uring_submit(&ring);
		while (has_more) {
			if (io_uring_wait_cqe(&ring, &cqe) != 0)
				return false;
			if ((cqe->flags & IORING_CQE_F_NOTIF) == 0)
				n = cqe->res;
			has_more = (cqe->flags & IORING_CQE_F_MORE) != 0;
			io_uring_cqe_seen(&ring, cqe);
		}
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* leg -- leg_bytes in pieces, until the receiver has them.  false: the kernel has no such way. */
static bool
leg(enum way way, size_t piece)
{
	char byte;

	for (size_t done = 0; done < leg_bytes; done += piece) {
		const char *at = buf + done % BUF_BYTES;
		bool is_well = way == PLAIN      ? send_plain(at, piece, 0)
			       : way == POLL     ? send_plain(at, piece, MSG_DONTWAIT)
			       : way == ZEROCOPY ? send_plain(at, piece, MSG_ZEROCOPY)
						 : send_ring(way, at, piece);

		if (!is_well)
			return false;
		if (way == ZEROCOPY)
			reap_zerocopy();
	}
	return recv(out_fd, &byte, 1, MSG_WAITALL) == 1;
}

/* ---- all of it ---- */

static void
connect_both(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	out_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0, "bind");
	must(listen(listener, 1) == 0, "listen");
	must(getsockname(listener, (struct sockaddr *)&addr, &len) == 0, "getsockname");
	setsockopt(out_fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
	setsockopt(out_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(out_fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
	must(connect(out_fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect");
	in_fd = accept(listener, NULL, NULL);
	must(in_fd >= 0, "accept");
	close(listener);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
measure(size_t piece, int n_turns)
{
	static double wall[N_WAYS][N_TURNS_MAX], cpu[N_WAYS][N_TURNS_MAX];
	bool has[N_WAYS] = {true, true, true, true, true, true};

	for (int i = 0; i < n_turns; i++) {
		for (int k = 0; k < N_WAYS; k++) {
			double wall_s = seconds(CLOCK_MONOTONIC);
			double cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);

			has[k] = has[k] && leg((enum way)k, piece);
			wall[k][i] = seconds(CLOCK_MONOTONIC) - wall_s;
			cpu[k][i] = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
		}
		for (int k = N_WAYS - 1; k >= 0; k--) {
			wall[k][i] = wall[PLAIN][i] / wall[k][i];
			cpu[k][i] = k == PLAIN ? cpu[k][i] : cpu[k][i] / cpu[PLAIN][i];
		}
	}
	for (int k = POLL; k < N_WAYS; k++) {
		if (!has[k])
			continue;
		qsort(wall[k], (size_t)n_turns, sizeof(double), compare);
		qsort(cpu[k], (size_t)n_turns, sizeof(double), compare);
		printf("name=send way=%s kib=%zu ratio=%.3f cpu=%.3f\n", names[k], piece >> 10,
		       wall[k][n_turns / 2], cpu[k][n_turns / 2]);
	}
}

int
main(int argc, char **argv)
{
	int n_turns = argc > 1 ? 3 : N_TURNS_MAX; /* any word: short */
	struct iovec whole = {.iov_len = BUF_BYTES};
	pthread_t thread;

	(void)argv;
	leg_bytes = 64 * MIB;
	buf = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(buf != MAP_FAILED, "mmap");
	memset(buf, 1, BUF_BYTES);
	whole.iov_base = buf;
	errno = -io_uring_queue_init(8, &ring, 0);
	if (errno != 0) {
		printf("name=send skipped: no io_uring here: %s\n", strerror(errno));
		return 0;
	}
	errno = -io_uring_register_buffers(&ring, &whole, 1);
	must(errno == 0, "io_uring_register_buffers");
	connect_both();
	must(pthread_create(&thread, NULL, receive, NULL) == 0, "pthread_create");
	must(leg(PLAIN, MIB), "warming up");
	measure(64u << 10, n_turns);
	measure(MIB, n_turns);
	shutdown(out_fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	io_uring_queue_exit(&ring);
	return 0;
}
