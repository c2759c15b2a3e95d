/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_move -- moving objects against the barest way of moving the same bytes.
 *
 *      bench_move get_shm      get from another process on this host : memcpy between the same
 * buffers bench_move get_tcp      get over loopback                     : plain send and recv
 *      bench_move put_tcp      put over loopback                     : plain send and recv
 *      bench_move get_small    4 KiB get, metadata included          : blocking Unix-socket round
 * trip
 *
 * The two take turns, N_PAIRS times; ratio is the median of (their time / our time), so 1 is
 * as fast, 0.9 a tenth slower.  get_small tells our time / theirs instead.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/house.h"

#define MIB         ((size_t)1 << 20)
#define N_PAIRS     21
#define BYTES_A_LEG (128 * MIB) /* moved in one leg of a pair */
#define RAW_PIECE   (1 * MIB)
#define N_ROUNDS    4000
#define RING_BYTES  (256 * MIB)
#define N_BATCH     16

static void *
warm(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	house_must(at == MAP_FAILED, "mmap");
	madvise(at, len, MADV_HUGEPAGE);
	memset(at, 0x5a, len);
	return at;
}

/* ---- the reference on sockets: a child that sends or takes what it is told ---- */

struct raw {
	int fd;
	pid_t pid;
};

struct raw_order {
	uint64_t len_bytes;
	uint64_t is_put;
};

static void
all(ssize_t (*move)(int, void *, size_t, int), int fd, char *at, size_t len)
{
	while (len > 0) {
		ssize_t n = move(fd, at, len < RAW_PIECE ? len : RAW_PIECE, MSG_NOSIGNAL);

		house_must(n <= 0, "raw socket");
		at += n;
		len -= (size_t)n;
	}
}

static ssize_t
send_some(int fd, void *at, size_t len, int flags)
{
	return send(fd, at, len, flags);
}

/* What is put lands in fresh places of a large area, as it does in a segment. */
static void
raw_serve(int fd, size_t len)
{
	char *area = warm(RING_BYTES);
	size_t n_places = RING_BYTES / len, n = 0;
	struct raw_order order;

	while (recv(fd, &order, sizeof(order), MSG_WAITALL) == (ssize_t)sizeof(order)) {
		if (order.is_put) {
			all(recv, fd, area + n++ % n_places * len, order.len_bytes);
			all(send_some, fd, (char *)&order, 1);
		} else {
			all(send_some, fd, area, order.len_bytes);
		}
	}
	_exit(0);
}

static void
tune(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

static struct raw
raw_open(size_t len)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t addr_len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct raw raw = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	house_must(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), "bind");
	house_must(listen(listener, 1), "listen");
	house_must(getsockname(listener, (struct sockaddr *)&addr, &addr_len), "getsockname");
	raw.pid = fork();
	house_must(raw.pid < 0, "fork");
	if (raw.pid == 0) {
		int fd = accept(listener, NULL, NULL);

		close(raw.fd);
		tune(fd);
		raw_serve(fd, len);
	}
	tune(raw.fd);
	house_must(connect(raw.fd, (struct sockaddr *)&addr, sizeof(addr)), "connect");
	close(listener);
	return raw;
}

static void
raw_close(struct raw *raw)
{
	close(raw->fd);
	waitpid(raw->pid, NULL, 0);
}

static void
raw_move(struct raw *raw, char *buf, size_t len, bool is_put)
{
	struct raw_order order = {len, is_put};

	all(send_some, raw->fd, (char *)&order, sizeof(order));
	if (!is_put) {
		all(recv, raw->fd, buf, len);
		return;
	}
	all(send_some, raw->fd, buf, len);
	all(recv, raw->fd, (char *)&order, 1);
}

/* ---- our side ---- */

static void
put_one(struct tiffin_client *client, const char *key, void *buf, size_t len)
{
	struct iovec slice = {buf, len};
	struct tiffin_put_options options = {.struct_bytes = sizeof(options),
					     .flags = TIFFIN_REPLACE};

	house_must(tiffin_put(client, key, &slice, 1, &options, NULL), "tiffin_put");
}

static void
get_one(struct tiffin_client *client, const char *key, void *buf, size_t len)
{
	struct iovec slice = {buf, len};
	uint64_t got = 0;

	house_must(tiffin_get(client, key, &slice, 1, &got), "tiffin_get");
	house_must(got != len, "length");
}

static void
tell(const char *name, size_t len, const char *word, double *ratios, double our_s, size_t n_ops)
{
	printf("name=%s mib=%zu gb_per_s=%.2f %s=%.3f\n", name, len / MIB,
	       (double)(len * n_ops) / our_s / 1e9, word, house_median(ratios, N_PAIRS));
}

/* As many objects as fill the ring: each get finds its source out of the cache, and its buffer
 * warm. */
struct ring {
	size_t n, len;
	char (*keys)[32];
	struct tiffin_view **views;
	const void **there;
};

static void
ring_fill(struct ring *ring, struct tiffin_client *client, size_t len, char *buf)
{
	*ring = (struct ring){.n = RING_BYTES / len, .len = len};
	ring->keys = calloc(ring->n, sizeof(*ring->keys));
	ring->views = calloc(ring->n, sizeof(*ring->views));
	ring->there = calloc(ring->n, sizeof(*ring->there));
	for (size_t i = 0; i < ring->n; i++) {
		uint64_t there_len;

		snprintf(ring->keys[i], sizeof(ring->keys[i]), "object-%zu", i);
		put_one(client, ring->keys[i], buf, len);
		house_must(tiffin_view_open(client, ring->keys[i], &ring->views[i]), "view");
		house_must(tiffin_view_borrow(ring->views[i], 0, &ring->there[i], &there_len),
			   "borrow");
		house_must(there_len < len, "borrowed length");
	}
}

static void
ring_drop(struct ring *ring)
{
	for (size_t i = 0; i < ring->n; i++)
		tiffin_view_close(ring->views[i]);
	free(ring->keys);
	free(ring->views);
	free(ring->there);
}

static double
ring_copy(const struct ring *ring, char *buf)
{
	double began = house_now_s();

	for (size_t i = 0; i < ring->n; i++) {
		memcpy(buf, ring->there[i], ring->len);
		__asm__ volatile("" : : "r"(buf) : "memory");
	}
	return house_now_s() - began;
}

static double
ring_get(const struct ring *ring, struct tiffin_client *client, char *buf)
{
	double began = house_now_s();

	for (size_t i = 0; i < ring->n; i++)
		get_one(client, ring->keys[i], buf, ring->len);
	return house_now_s() - began;
}

static double
ring_get_batches(const struct ring *ring, struct tiffin_client *client, char *buf)
{
	struct iovec slice = {buf, ring->len};
	double began = house_now_s();

	for (size_t i = 0; i < ring->n; i += N_BATCH) {
		struct tiffin_item items[N_BATCH];

		memset(items, 0, sizeof(items));
		for (size_t k = 0; k < N_BATCH; k++)
			items[k] = (struct tiffin_item){.key = ring->keys[(i + k) % ring->n],
							.slices = &slice,
							.n_slices = 1};
		house_must(tiffin_get_batch(client, items, N_BATCH), "tiffin_get_batch");
		for (size_t k = 0; k < N_BATCH; k++)
			house_must(items[k].result, "item");
	}
	return house_now_s() - began;
}

static void
bench_shm(size_t len)
{
	struct house house;
	struct tiffin_client *client;
	struct ring ring;
	char *buf = warm(len);
	double single[N_PAIRS], batch[N_PAIRS], single_s = 0, batch_s = 0;

	house_open(&house, "768MiB", "unix");
	client = house_client(&house);
	ring_fill(&ring, client, len, buf);
	ring_get(&ring, client, buf);
	for (int i = 0; i < N_PAIRS; i++) {
		double a = ring_get(&ring, client, buf), b = ring_copy(&ring, buf);
		double c = len <= 4 * MIB ? ring_get_batches(&ring, client, buf) : a;

		single[i] = b / a;
		batch[i] = b / c;
		single_s += a;
		batch_s += c;
	}
	tell("get_shm", len, "ratio_memcpy", single, single_s, ring.n * N_PAIRS);
	if (len <= 4 * MIB)
		tell("get_shm_batch", len, "ratio_memcpy", batch, batch_s, ring.n * N_PAIRS);
	ring_drop(&ring);
	tiffin_close(client);
	house_close(&house);
	munmap(buf, len);
}

static void
bench_tcp(size_t len, bool is_put)
{
	struct house house;
	struct tiffin_client *client;
	struct raw raw = raw_open(len);
	char *buf = warm(len);
	double ratios[N_PAIRS], our_s = 0;
	size_t n_ops = BYTES_A_LEG / len;

	house_open(&house, "512MiB", "tcp");
	client = house_client(&house);
	put_one(client, "object", buf, len);
	raw_move(&raw, buf, len, is_put);
	for (int i = 0; i < N_PAIRS; i++) {
		double began = house_now_s(), ours;

		for (size_t n = 0; n < n_ops; n++) {
			if (is_put)
				put_one(client, "object", buf, len);
			else
				get_one(client, "object", buf, len);
		}
		ours = house_now_s() - began;
		began = house_now_s();
		for (size_t n = 0; n < n_ops; n++)
			raw_move(&raw, buf, len, is_put);
		ratios[i] = (house_now_s() - began) / ours;
		our_s += ours;
	}
	tell(is_put ? "put_tcp" : "get_tcp", len, "ratio_raw", ratios, our_s, n_ops * N_PAIRS);
	tiffin_close(client);
	house_close(&house);
	raw_close(&raw);
	munmap(buf, len);
}

/* ---- one small object, and one bare round trip ---- */

static pid_t
echo_start(int *ret_fd)
{
	char buf[64];
	int fds[2];
	pid_t pid;

	house_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "socketpair");
	pid = fork();
	house_must(pid < 0, "fork");
	if (pid == 0) {
		close(fds[0]);
		while (recv(fds[1], buf, sizeof(buf), MSG_WAITALL) == (ssize_t)sizeof(buf))
			if (send(fds[1], buf, sizeof(buf), MSG_NOSIGNAL) < 0)
				break;
		_exit(0);
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

static void
bench_small(void)
{
	static double ours[N_ROUNDS], theirs[N_ROUNDS];
	struct house house;
	struct tiffin_client *client;
	char buf[4096], word[64] = {0};
	double a, b;
	int fd;
	pid_t pid = echo_start(&fd);

	house_open(&house, "64MiB", "unix");
	client = house_client(&house);
	put_one(client, "small", buf, sizeof(buf));
	for (int i = 0; i < N_ROUNDS; i++) {
		double began = house_now_s();

		get_one(client, "small", buf, sizeof(buf));
		ours[i] = house_now_s() - began;
		began = house_now_s();
		house_must(send(fd, word, sizeof(word), 0) != (ssize_t)sizeof(word), "send");
		house_must(recv(fd, word, sizeof(word), MSG_WAITALL) != (ssize_t)sizeof(word),
			   "recv");
		theirs[i] = house_now_s() - began;
	}
	a = house_median(ours, N_ROUNDS) * 1e6;
	b = house_median(theirs, N_ROUNDS) * 1e6;
	printf("name=get_small bytes=4096 p50_us=%.1f rtt_p50_us=%.1f ratio_rtt=%.2f\n", a, b,
	       a / b);
	close(fd);
	waitpid(pid, NULL, 0);
	tiffin_close(client);
	house_close(&house);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	if (strcmp(what, "get_shm") == 0) {
		bench_shm(1 * MIB);
		bench_shm(16 * MIB);
		bench_shm(64 * MIB);
	} else if (strcmp(what, "get_tcp") == 0 || strcmp(what, "put_tcp") == 0) {
		bench_tcp(1 * MIB, what[0] == 'p');
		bench_tcp(16 * MIB, what[0] == 'p');
	} else if (strcmp(what, "get_small") == 0) {
		bench_small();
	} else {
		fprintf(stderr, "usage: bench_move get_shm|get_tcp|put_tcp|get_small\n");
		return 2;
	}
	return 0;
}
