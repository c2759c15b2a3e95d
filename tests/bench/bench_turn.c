/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_turn -- does the master's one loop thread ever stop for long, when much is to be done?
 *
 *      bench_turn evict [n_objects]    a full store: each put must make room, or (marks) the loop
 *                                      makes it ahead of them, between 95 and 90 percent
 *      bench_turn expire [n_objects]   a provider that holds so many is lost; another client reads
 *                                      what lies elsewhere, and puts, all the while
 *
 * The master is that of box.h.  longest_turn_ms is of the loop thread's own clock: whoever else
 * wants the processor is not in it.  What a reader sees is of the wall; before and meanwhile it is
 * measured alike, one request at a time.  memory_s: until nearly all of a lost provider's objects
 * are forgotten; gone_s: until the store has cleared their rows, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/box.h"
#include "tests/bench/yard.h"
#include "transfer/base/num.h"

#define OBJECT_BYTES 4096
#define N_OWN        1024 /* objects of the reader's own */
#define GETS_A_PUT   64
#define N_TIMES      (1u << 20)
#define TTL_MS       1000
#define BYTES_A_BOOK 370

static struct asker lender, reader;

/* ---- evict ---- */

struct taken {
	double cpu_s, wall_s;
	uint64_t n_evicted;
};

static struct taken
taken_now(struct box *box)
{
	return (struct taken){box_cpu_s(box), box_seconds(CLOCK_MONOTONIC),
			      counter_get(&box->master->counters.evictions)};
}

static struct taken
taken_since(struct box *box, struct taken from)
{
	struct taken now = taken_now(box);

	return (struct taken){now.cpu_s - from.cpu_s, now.wall_s - from.wall_s,
			      now.n_evicted - from.n_evicted};
}

/* needs: n is a multiple of BOX_BATCH. */
static void
put_some(uint64_t first, uint64_t n)
{
	for (uint64_t at = 0; at < n; at += BOX_BATCH)
		asker_put(&lender, first + at, BOX_BATCH, OBJECT_BYTES);
}

/* What a victim costs: what a put costs more than before, by puts a victim. */
static void
tell_evict(const struct box *box, const char *way, uint64_t n_objects, double put_before_s,
	   const struct taken *taken)
{
	double n_puts = (double)n_objects, n = (double)taken->n_evicted;

	printf("name=evict way=%s objects=%" PRIu64
	       " victims=%.0f kvictims_per_s=%.0f longest_turn_ms=%.2f turns_over_5ms=%lu "
	       "cpu_us_per_put_before=%.2f cpu_us_per_put=%.2f cpu_us_per_victim=%.2f "
	       "ns_per_miss=%.0f\n",
	       way, n_objects, n, n / taken->wall_s / 1e3,
	       (double)atomic_load(&box->longest_ns) / 1e6, atomic_load(&box->n_long),
	       put_before_s * 1e6, taken->cpu_s / n_puts * 1e6,
	       (taken->cpu_s - put_before_s * n_puts) / n * 1e6,
	       yard_ns_per_miss(n_objects * BYTES_A_BOOK));
}

static void
bench_evict(const char *way, uint8_t high_pct, uint8_t low_pct, uint64_t n_objects)
{
	static struct box box;
	struct taken from, fill, churn;

	n_objects = num_align_up(n_objects, 4 * (uint64_t)BOX_BATCH);
	box_make(&box);
	box.limits.evict_high_pct = high_pct;
	box.limits.evict_low_pct = low_pct;
	box.has_watch = true;
	box_open(&box);
	box_serve(&box);
	asker_open(&lender, &box);
	asker_join(&lender, 7, n_objects * OBJECT_BYTES);

	put_some(0, n_objects / 2); /* pages and tables are warm */
	from = taken_now(&box);
	put_some(n_objects / 2, n_objects / 4);
	fill = taken_since(&box, from);
	put_some(n_objects / 4 * 3, n_objects / 4);
	box_watch(&box);
	from = taken_now(&box);
	put_some(n_objects, n_objects);
	churn = taken_since(&box, from);
	tell_evict(&box, way, n_objects, fill.cpu_s / (double)(n_objects / 4), &churn);

	asker_close(&lender);
	box_close(&box);
	box_remove(&box);
}

/* ---- expire ---- */

/* How long gets and puts took, in seconds. */
struct times {
	double *gets, *puts;
	size_t n_gets, n_puts;
};

static struct times
times_new(void)
{
	struct times times = {.gets = calloc(N_TIMES, sizeof(double)),
			      .puts = calloc(N_TIMES / GETS_A_PUT, sizeof(double))};

	box_must(times.gets == NULL || times.puts == NULL, "memory");
	return times;
}

static void
times_free(struct times *times)
{
	free(times->gets);
	free(times->puts);
}

static int
by_size(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* quantile_us -- of these, which are put in order; 0: there are none. */
static double
quantile_us(double *values, size_t n, double share)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), by_size);
	return values[(size_t)((double)(n - 1) * share)] * 1e6;
}

static void
get_own(struct box *box, uint64_t first_own, struct times *times)
{
	double from = box_seconds(CLOCK_MONOTONIC);

	asker_get(&reader, first_own + rand_below(&box->rand, N_OWN));
	asker_flush(&reader);
	asker_answer(&reader);
	if (times->n_gets < N_TIMES)
		times->gets[times->n_gets++] = box_seconds(CLOCK_MONOTONIC) - from;
}

static void
put_own(uint64_t n, struct times *times)
{
	double from = box_seconds(CLOCK_MONOTONIC);

	asker_put(&reader, n, 1, OBJECT_BYTES);
	if (times->n_puts < N_TIMES / GETS_A_PUT)
		times->puts[times->n_puts++] = box_seconds(CLOCK_MONOTONIC) - from;
}

static uint64_t n_own_puts; /* objects that the reader has added since the lender was closed */

/* ask_one -- a get of what the reader holds itself, now and then a put of one more. */
static void
ask_one(struct box *box, uint64_t first_own, struct times *times)
{
	static uint64_t n;

	get_own(box, first_own, times);
	if (++n % GETS_A_PUT == 0)
		put_own(first_own + N_OWN + n_own_puts++, times);
}

/* needs: box_close(). */
static void
tell_expire(const struct box *box, uint64_t n_objects, const double lasted_s[2],
	    struct times *before, struct times *after)
{
	double p99_before = quantile_us(before->gets, before->n_gets, 0.99);
	double p99 = quantile_us(after->gets, after->n_gets, 0.99);

	printf("name=expire objects=%" PRIu64 " memory_s=%.2f gone_s=%.2f turn_p99_us=%.0f "
	       "longest_turn_ms=%.2f turns_over_5ms=%lu",
	       n_objects, lasted_s[0], lasted_s[1],
	       (double)hist_quantile_ns(&box->turns, 0.99) / 1e3,
	       (double)atomic_load(&box->longest_ns) / 1e6, atomic_load(&box->n_long));
	printf(" get_p50_us_before=%.0f get_p50_us=%.0f get_p99_us_before=%.0f get_p99_us=%.0f "
	       "ratio=%.2f",
	       quantile_us(before->gets, before->n_gets, 0.5),
	       quantile_us(after->gets, after->n_gets, 0.5), p99_before, p99, p99 / p99_before);
	printf(" put_p99_ms_before=%.1f put_p99_ms=%.1f ns_per_miss=%.0f\n",
	       quantile_us(before->puts, before->n_puts, 0.99) / 1e3,
	       quantile_us(after->puts, after->n_puts, 0.99) / 1e3,
	       yard_ns_per_miss(n_objects * BYTES_A_BOOK));
}

/* The lender's segment is filled to the brim, so that the reader's objects lie in its own. */
static void
open_both(struct box *box, uint64_t n_objects)
{
	asker_open(&lender, box);
	asker_join(&lender, 7, n_objects * OBJECT_BYTES);
	asker_fill(&lender, n_objects, OBJECT_BYTES);
	asker_open(&reader, box);
	asker_join(&reader, 8, (uint64_t)1 << 32);
	for (uint64_t at = 0; at < N_OWN; at += BOX_BATCH)
		asker_put(&reader, n_objects + at, BOX_BATCH, OBJECT_BYTES);
	ASKER_APPEND(&lender, ping, &(struct msg_ping){0});
	asker_flush(&lender);
	asker_answer(&lender);
}

static void
bench_expire(uint64_t n_objects)
{
	static struct box box;
	struct times before = times_new(), after = times_new();
	const struct master_counters *counters;
	double from, lasted_s[2];

	box_make(&box);
	box.limits.client_ttl_ms = TTL_MS;
	box.limits.client_grace_ms = 0;
	box.has_watch = true;
	box_open(&box);
	box_serve(&box);
	counters = &box.master->counters;
	open_both(&box, n_objects);

	asker_close(&lender); /* it is lost after TTL_MS */
	while (counter_get(&counters->clients) > 1)
		ask_one(&box, n_objects, &before);
	box_watch(&box);
	from = box_seconds(CLOCK_MONOTONIC);
	while (counter_get(&counters->objects) > n_objects / 20 + N_OWN + n_own_puts)
		ask_one(&box, n_objects, &after);
	lasted_s[0] = box_seconds(CLOCK_MONOTONIC) - from;
	while (counter_get(&counters->segments) > 1)
		ask_one(&box, n_objects, &after);
	lasted_s[1] = box_seconds(CLOCK_MONOTONIC) - from;
	asker_close(&reader);
	box_close(&box);
	tell_expire(&box, n_objects, lasted_s, &before, &after);
	box_remove(&box);
	times_free(&before);
	times_free(&after);
}

int
main(int argc, char **argv)
{
	uint64_t n_objects = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "evict") == 0 && n_objects > 0) {
		bench_evict("put", 100, 99, n_objects);
		bench_evict("marks", 95, 90, n_objects);
	} else if (strcmp(what, "expire") == 0 && n_objects > 0) {
		bench_expire(n_objects);
	} else {
		fprintf(stderr, "usage: bench_turn evict|expire [n_objects]\n");
		return 2;
	}
	return 0;
}
