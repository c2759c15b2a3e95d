/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/rival.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/house.h"

#define RAW_PIECE   (1 * MIB)
#define CLERK_WORD  64
#define CLERK_PAGE  8192 /* what a put adds to a write-ahead log: two pages */
#define CLERK_BOOKS ((off_t)4 << 20)

void *
rival_warm(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	house_must(at == MAP_FAILED, "mmap");
	madvise(at, len, MADV_HUGEPAGE);
	memset(at, 0x5a, len);
	return at;
}

/* ---- the reference on sockets: a child that sends or takes what it is told ---- */

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
	char *area = rival_warm(RING_BYTES);
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

struct raw
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

void
raw_close(struct raw *raw)
{
	close(raw->fd);
	waitpid(raw->pid, NULL, 0);
}

void
raw_move(struct raw *raw, char *buf, size_t len, size_t n, bool is_put)
{
	char word;

	for (size_t i = 0; i < n; i++) {
		struct raw_order order = {len, is_put};

		all(send_some, raw->fd, (char *)&order, sizeof(order));
		if (is_put)
			all(send_some, raw->fd, buf, len);
	}
	for (size_t i = 0; i < n; i++)
		all(recv, raw->fd, is_put ? &word : buf, is_put ? 1 : len);
}

/* ---- the reference on requests: a child that answers, and writes down what is to be kept ---- */

static void
clerk_serve(int fd)
{
	static char page[CLERK_PAGE];
	FILE *books = tmpfile();
	char word[CLERK_WORD];
	off_t at = 0;

	house_must(books == NULL, "tmpfile");
	while (recv(fd, word, sizeof(word), MSG_WAITALL) == (ssize_t)sizeof(word)) {
		if (word[0] != 0) {
			house_must(pwrite(fileno(books), page, sizeof(page), at) < 0, "pwrite");
			at = (at + CLERK_PAGE) % CLERK_BOOKS;
		}
		if (send(fd, word, sizeof(word), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

struct clerk
clerk_open(void)
{
	struct clerk clerk;
	int fds[2];

	house_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "socketpair");
	clerk.pid = fork();
	house_must(clerk.pid < 0, "fork");
	if (clerk.pid == 0) {
		close(fds[0]);
		clerk_serve(fds[1]);
	}
	close(fds[1]);
	clerk.fd = fds[0];
	return clerk;
}

void
clerk_close(struct clerk *clerk)
{
	close(clerk->fd);
	waitpid(clerk->pid, NULL, 0);
}

void
clerk_ask(const struct clerk *clerk, bool is_kept)
{
	char word[CLERK_WORD] = {is_kept};

	house_must(send(clerk->fd, word, sizeof(word), 0) != (ssize_t)sizeof(word), "send");
	house_must(recv(clerk->fd, word, sizeof(word), MSG_WAITALL) != (ssize_t)sizeof(word),
		   "recv");
}
