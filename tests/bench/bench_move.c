/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_move -- moving objects against the barest way of moving the same bytes.
 *
 *      get_shm     get from another process on this host : memcpy between the same buffers
 *      get_tcp     get over loopback                     : plain send and recv
 *      put_tcp     put over loopback                     : plain send and recv
 *      get_small   4 KiB get, metadata included          : blocking Unix-socket round trip
 *
 * They take turns, N_PAIRS times; ratio is the median of (their time / our time), so 1 is
 * as fast, 0.9 a tenth slower.  get_small tells our time / theirs instead.  A line NAME_batch is
 * N_BATCH objects a call, against as many messages one behind the other.
 *
 * ratio_floor: the same against the barest way that also asks somebody first, and, for a put, has
 * somebody write it down afterwards: a round trip over a Unix socket before, and one with an
 * append to a file behind.  What is missing to 1 there is ours; the rest is the price of a
 * store that has books.  NAME_cpu: processor time of all who take part, ours / theirs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/ring.h"

#define BYTES_A_LEG (128 * MIB) /* moved in one leg of a pair */
#define N_ROUNDS    4000
#define N_BATCH     16

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

static int n_pairs = N_PAIRS;

static void
bench_shm(size_t len)
{
	struct house house;
	struct tiffin_client *client;
	struct clerk clerk = clerk_open();
	struct ring ring;
	char *buf = rival_warm(len);
	struct legs single = {0}, batch = {0};
	bool has_batch = len <= 4 * MIB;

	house_open(&house, "768MiB", "unix");
	client = house_client(&house);
	ring_fill(&ring, client, len, buf);
	ring_get(&ring, client, buf);
	for (int i = 0; i < n_pairs; i++) {
		double ours = ring_get(&ring, client, buf);
		double theirs = ring_copy(&ring, buf, NULL, 1);

		legs_note(&single, i, ours, theirs, ring_copy(&ring, buf, &clerk, 1));
		if (has_batch)
			legs_note(&batch, i, ring_get_batches(&ring, client, buf), theirs,
				  ring_copy(&ring, buf, &clerk, N_BATCH));
	}
	legs_tell("get_shm", len, "memcpy", &single, ring.n);
	if (has_batch)
		legs_tell("get_shm_batch", len, "memcpy", &batch, ring.n);
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

/* What a leg costs processors, of all who take part. */
struct cost {
	double ratio[N_PAIRS];
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
			ring_put_one(client, keys[0], course->buf, course->len);
		else if (course->n_call == 1)
			ring_get_one(client, keys[0], course->buf, course->len);
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
	struct course course = {len, BYTES_A_LEG / len, n_call, is_put, rival_warm(len)};
	struct course first = {len, n_call, n_call, true, course.buf};
	struct legs legs = {0};
	struct cost cost;
	char name[32];

	house_open(&house, "512MiB", "tcp");
	client = house_client(&house);
	course_ours(&first, client);
	course_raw(&course, &raw, &clerk);
	for (int i = 0; i < n_pairs; i++) {
		double s[N_LEGS], cpu_s[N_LEGS];

		for (int k = i; k < i + N_LEGS; k++) {
			int leg = k % N_LEGS;
			double began_s = house_cpu_s(&house) + house_cpu_of(raw.pid);

			s[leg] = leg == OURS
					 ? course_ours(&course, client)
					 : course_raw(&course, &raw, leg == FLOOR ? &clerk : NULL);
			cpu_s[leg] = house_cpu_s(&house) + house_cpu_of(raw.pid) - began_s;
		}
		legs_note(&legs, i, s[OURS], s[THEIRS], s[FLOOR]);
		cost.ratio[i] = cpu_s[OURS] / cpu_s[THEIRS];
	}
	snprintf(name, sizeof(name), "%s_tcp%s", is_put ? "put" : "get",
		 n_call > 1 ? "_batch" : "");
	legs_tell(name, len, "raw", &legs, course.n_ops);
	printf("name=%s_cpu mib=%zu ratio_raw=%.3f\n", name, len / MIB,
	       house_median(cost.ratio, (size_t)n_pairs));
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
	ring_put_one(client, "small", buf, sizeof(buf));
	for (int i = 0; i < N_ROUNDS; i++) {
		double began = house_now_s();

		ring_get_one(client, "small", buf, sizeof(buf));
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
	if (argc > 2) /* any word: short */
		n_pairs = 3;
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
