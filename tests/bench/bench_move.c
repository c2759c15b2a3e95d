/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_move -- moving objects against the barest way of moving the same bytes.
 *
 *      bench_move get_shm     get from another process on this host : memcpy between the same
 * buffers bench_move get_tcp     get over loopback                     : plain send and recv
 *      bench_move put_tcp     put over loopback                     : plain send and recv
 *      bench_move get_small   4 KiB get, metadata included          : blocking Unix-socket round
 * trip
 *
 * They take turns, N_PAIRS times; ratio is the median of (their time / our time), so 1 is
 * as fast, 0.9 a tenth slower.  get_small tells our time / theirs instead.  A line NAME_batch is
 * N_BATCH objects a call, against as many messages one behind the other.
 *
 * ratio_floor: the same against the barest way that also asks somebody first, and, for a put, has
 * somebody write it down afterwards: a round trip over a Unix socket before, and one with an
 * append to a file behind.  What is missing to 1 there is ours; the rest is the price of a
 * store that has books.
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
#define CLERK_WORD  64
#define CLERK_PAGE  8192 /* what a put adds to a write-ahead log: two pages */
#define CLERK_BOOKS ((off_t)4 << 20)

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

/* One that answers words, as the master does; some it writes down first. */
struct clerk {
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

/* raw_move -- n messages, one behind the other. */
static void
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

static struct clerk
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

static void
clerk_close(struct clerk *clerk)
{
	close(clerk->fd);
	waitpid(clerk->pid, NULL, 0);
}

/* clerk_ask -- one round trip. */
static void
clerk_ask(const struct clerk *clerk, bool is_kept)
{
	char word[CLERK_WORD] = {is_kept};

	house_must(send(clerk->fd, word, sizeof(word), 0) != (ssize_t)sizeof(word), "send");
	house_must(recv(clerk->fd, word, sizeof(word), MSG_WAITALL) != (ssize_t)sizeof(word),
		   "recv");
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

/* The legs of a round; with which one it begins goes round, too. */
enum { OURS, THEIRS, FLOOR, N_LEGS };

/* What N_PAIRS rounds of them gave. */
struct legs {
	double ratio[N_PAIRS], floor[N_PAIRS], our_s, their_s;
};

static void
note(struct legs *legs, int i, double our_s, double their_s, double floor_s)
{
	legs->ratio[i] = their_s / our_s;
	legs->floor[i] = floor_s / our_s;
	legs->our_s += our_s;
	legs->their_s += their_s;
}

static void
tell(const char *name, size_t len, const char *word, struct legs *legs, size_t n_ops)
{
	double bytes = (double)(len * n_ops) * N_PAIRS;

	printf("name=%s mib=%zu gb_per_s=%.2f %s_gb_per_s=%.2f ratio_%s=%.3f ratio_floor=%.3f\n",
	       name, len / MIB, bytes / legs->our_s / 1e9, word, bytes / legs->their_s / 1e9, word,
	       house_median(legs->ratio, N_PAIRS), house_median(legs->floor, N_PAIRS));
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

/* ring_copy -- plain copies; before each n_apart of them the clerk, if any, is asked. */
static double
ring_copy(const struct ring *ring, char *buf, const struct clerk *clerk, size_t n_apart)
{
	double began = house_now_s();

	for (size_t i = 0; i < ring->n; i++) {
		if (clerk != NULL && i % n_apart == 0)
			clerk_ask(clerk, /* is_kept= */ false);
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
	struct clerk clerk = clerk_open();
	struct ring ring;
	char *buf = warm(len);
	struct legs single = {0}, batch = {0};
	bool has_batch = len <= 4 * MIB;

	house_open(&house, "768MiB", "unix");
	client = house_client(&house);
	ring_fill(&ring, client, len, buf);
	ring_get(&ring, client, buf);
	for (int i = 0; i < N_PAIRS; i++) {
		double ours = ring_get(&ring, client, buf);
		double theirs = ring_copy(&ring, buf, NULL, 1);

		note(&single, i, ours, theirs, ring_copy(&ring, buf, &clerk, 1));
		if (has_batch)
			note(&batch, i, ring_get_batches(&ring, client, buf), theirs,
			     ring_copy(&ring, buf, &clerk, N_BATCH));
	}
	tell("get_shm", len, "memcpy", &single, ring.n);
	if (has_batch)
		tell("get_shm_batch", len, "memcpy", &batch, ring.n);
	ring_drop(&ring);
	tiffin_close(client);
	house_close(&house);
	clerk_close(&clerk);
	munmap(buf, len);
}

/* ---- over loopback ---- */

/* One way of moving n_ops objects of len bytes: so many a call, to or from the same buffer. */
struct course {
	size_t len, n_ops, n_call;
	bool is_put;
	char *buf;
};

static double
course_ours(const struct course *course, struct tiffin_client *client)
{
	struct iovec slice = {course->buf, course->len};
	struct tiffin_put_options options = {.struct_bytes = sizeof(options),
					     .flags = TIFFIN_REPLACE};
	char keys[N_BATCH][16];
	double began = house_now_s();

	for (size_t n = 0; n < course->n_ops; n += course->n_call) {
		struct tiffin_item items[N_BATCH] = {0};
		int r;

		for (size_t k = 0; k < course->n_call; k++) {
			snprintf(keys[k], sizeof(keys[k]), "object-%zu", k);
			items[k] = (struct tiffin_item){
				.key = keys[k], .slices = &slice, .n_slices = 1};
		}
		if (course->n_call == 1 && course->is_put)
			put_one(client, keys[0], course->buf, course->len);
		else if (course->n_call == 1)
			get_one(client, keys[0], course->buf, course->len);
		else {
			r = course->is_put
				    ? tiffin_put_batch(client, items, course->n_call, &options)
				    : tiffin_get_batch(client, items, course->n_call);
			house_must(r, "batch");
			for (size_t k = 0; k < course->n_call; k++)
				house_must(items[k].result, "item");
		}
	}
	return house_now_s() - began;
}

/* course_raw -- the same bytes; with a clerk, who is asked as often as the master. */
static double
course_raw(const struct course *course, struct raw *raw, const struct clerk *clerk)
{
	double began = house_now_s();

	for (size_t n = 0; n < course->n_ops; n += course->n_call) {
		if (clerk != NULL)
			clerk_ask(clerk, /* is_kept= */ false);
		raw_move(raw, course->buf, course->len, course->n_call, course->is_put);
		if (clerk != NULL && course->is_put)
			clerk_ask(clerk, /* is_kept= */ true);
	}
	return house_now_s() - began;
}

static void
bench_tcp(size_t len, bool is_put, size_t n_call)
{
	struct house house;
	struct tiffin_client *client;
	struct clerk clerk = clerk_open();
	struct raw raw = raw_open(len);
	struct course course = {len, BYTES_A_LEG / len, n_call, is_put, warm(len)};
	struct course first = {len, n_call, n_call, true, course.buf};
	struct legs legs = {0};
	char name[32];

	house_open(&house, "512MiB", "tcp");
	client = house_client(&house);
	course_ours(&first, client);
	course_raw(&course, &raw, &clerk);
	for (int i = 0; i < N_PAIRS; i++) {
		double s[N_LEGS];

		for (int k = i; k < i + N_LEGS; k++)
			s[k % N_LEGS] = k % N_LEGS == OURS
						? course_ours(&course, client)
						: course_raw(&course, &raw,
							     k % N_LEGS == FLOOR ? &clerk : NULL);
		note(&legs, i, s[OURS], s[THEIRS], s[FLOOR]);
	}
	snprintf(name, sizeof(name), "%s_tcp%s", is_put ? "put" : "get",
		 n_call > 1 ? "_batch" : "");
	tell(name, len, "raw", &legs, course.n_ops);
	tiffin_close(client);
	house_close(&house);
	raw_close(&raw);
	clerk_close(&clerk);
	munmap(course.buf, len);
}

/* ---- one small object, and one bare round trip ---- */

static void
bench_small(void)
{
	static double ours[N_ROUNDS], theirs[N_ROUNDS];
	struct house house;
	struct tiffin_client *client;
	struct clerk clerk = clerk_open();
	char buf[4096];
	double a, b;

	house_open(&house, "64MiB", "unix");
	client = house_client(&house);
	put_one(client, "small", buf, sizeof(buf));
	for (int i = 0; i < N_ROUNDS; i++) {
		double began = house_now_s();

		get_one(client, "small", buf, sizeof(buf));
		ours[i] = house_now_s() - began;
		began = house_now_s();
		clerk_ask(&clerk, /* is_kept= */ false);
		theirs[i] = house_now_s() - began;
	}
	a = house_median(ours, N_ROUNDS) * 1e6;
	b = house_median(theirs, N_ROUNDS) * 1e6;
	printf("name=get_small bytes=4096 p50_us=%.1f rtt_p50_us=%.1f ratio_rtt=%.2f\n", a, b,
	       a / b);
	clerk_close(&clerk);
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
		bench_tcp(1 * MIB, what[0] == 'p', 1);
		bench_tcp(1 * MIB, what[0] == 'p', N_BATCH);
		bench_tcp(16 * MIB, what[0] == 'p', 1);
	} else if (strcmp(what, "get_small") == 0) {
		bench_small();
	} else {
		fprintf(stderr, "usage: bench_move get_shm|get_tcp|put_tcp|get_small\n");
		return 2;
	}
	return 0;
}
