/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_alloc -- what taking and giving back runs of a segment costs, and how full it gets.
 *
 *      bench_alloc [n_runs]
 *
 *      fill     an empty segment is filled
 *      churn    a run at random is given back, another one taken, at 90 % use: the common case
 *      brim     then it is kept full: whenever one is refused, others at random are given back
 *               until it fits; the share of the segment's bytes that then are somebody's, without
 *               what rounding added; brim_pieces: when the last ones are taken in pieces, as a put
 *               does that finds no run long enough
 *      drain    all are given back, in random order
 *
 *      same     64 KiB each
 *      mixed    4 KiB to 1 MiB, small ones most often
 *      sixteen  sixteen lengths from 256 KiB to 4 MiB, each as often
 *      churned  4 KiB (70 %), 256 KiB (20 %) and 3.12 MiB (10 %)
 *      layers   3274752 bytes and 658432 bytes by turns: two kinds of cache of one model
 *
 * ns_per_miss: what the machine's memory costs (yard.h), to compare machines by.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "master/alloc.h"
#include "master/proto/limits.h"
#include "tests/bench/yard.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"
#include "transfer/base/vec.h"

#define FULL_PCT  90
#define RAM_A_RUN 56 /* bytes, with its extent; ram_bytes_per_run tells it exactly */

struct shape {
	const char *name;
	uint64_t mean_bytes;
	uint64_t (*len_bytes)(struct rand *rand);
};

struct field {
	struct alloc *alloc;
	struct extent *extents;
	size_t n, cap;
	struct rand rand;
	uint64_t bytes;  /* of those taken, as asked for */
	uint64_t n_full; /* takes that found no run */
};

static uint64_t
len_same(struct rand *rand)
{
	(void)rand;
	return 65536;
}

/* len_mixed -- between 2^12 and 2^20, each power of two as often. */
static uint64_t
len_mixed(struct rand *rand)
{
	uint64_t power = (uint64_t)1 << (12 + rand_below(rand, 8));

	return power + rand_below(rand, power);
}

/* len_sixteen -- none is a power of two but the last. */
static uint64_t
len_sixteen(struct rand *rand)
{
	return (1 + rand_below(rand, 16)) * 262144;
}

static uint64_t
len_churned(struct rand *rand)
{
	uint64_t percent = rand_below(rand, 100);

	return percent < 70 ? 4096 : percent < 90 ? 262144 : 3271557;
}

static uint64_t
len_layers(struct rand *rand)
{
	return rand_below(rand, 2) == 0 ? 3274752 : 658432;
}

/* now_s -- of the processor, not of the wall: others may be at work. */
static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* take_len -- false: it is refused. */
static bool
take_len(struct field *field, uint64_t len_bytes)
{
	int r = field->n == field->cap
			? ALLOC_E_FULL
			: alloc_take(field->alloc, len_bytes, &field->extents[field->n]);

	if (r < 0)
		abort();
	if (r == 0)
		field->bytes += field->extents[field->n++].len_bytes;
	return r == 0;
}

static void
take_one(struct field *field, const struct shape *shape)
{
	field->n_full += !take_len(field, shape->len_bytes(&field->rand));
}

static void
give_one(struct field *field)
{
	size_t at = rand_below(&field->rand, field->n);

	alloc_give(field->alloc, field->extents[at]);
	field->bytes -= field->extents[at].len_bytes;
	field->extents[at] = field->extents[--field->n];
}

static bool
is_full(const struct field *field)
{
	return alloc_used_bytes(field->alloc) >= alloc_size_bytes(field->alloc) / 100 * FULL_PCT;
}

static double
fill_ns(struct field *field, const struct shape *shape)
{
	double start_s = now_s();

	while (field->n < field->cap && !is_full(field))
		take_one(field, shape);
	return (now_s() - start_s) * 1e9 / (double)field->n;
}

static double
churn_ns(struct field *field, const struct shape *shape)
{
	double start_s = now_s();
	uint64_t n_steps = 2 * field->n;

	for (uint64_t i = 0; i < n_steps; i++) {
		give_one(field);
		while (field->n < field->cap && !is_full(field)) {
			uint64_t n_full = field->n_full;

			take_one(field, shape);
			if (field->n_full > n_full)
				break;
		}
	}
	return (now_s() - start_s) * 1e9 / (double)n_steps / 2;
}

static double
share(const struct field *field)
{
	return (double)field->bytes / (double)alloc_size_bytes(field->alloc);
}

/*
 * brim_share -- taken until one is refused; then at random one after the other is given back, until
 * that one fits, and so on: a store that is always full.  The mean over all refusals.
 */
static double
brim_share(struct field *field, const struct shape *shape)
{
	double sum = 0;
	uint64_t n = 0, n_steps = 2 * field->n;

	for (uint64_t i = 0; i < n_steps; n++) {
		uint64_t len_bytes = shape->len_bytes(&field->rand);

		while (take_len(field, len_bytes))
			len_bytes = shape->len_bytes(&field->rand);
		sum += share(field);
		for (bool fits = false; !fits && field->n > 0; i++) {
			give_one(field);
			fits = take_len(field, len_bytes);
		}
	}
	return sum / (double)n;
}

/* pieces_share -- filled on in pieces, until the first is refused; those are given back. */
static double
pieces_share(struct field *field, const struct shape *shape)
{
	static struct extent pieces[EXTENTS_MAX];
	VEC(struct extent) taken = {0};
	uint64_t len_bytes = shape->len_bytes(&field->rand), bytes = field->bytes;
	size_t n;

	while (alloc_take_pieces(field->alloc, len_bytes, pieces, EXTENTS_MAX, &n) == 0) {
		for (size_t i = 0; i < n; i++)
			if (vec_push(&taken, pieces[i]) < 0)
				abort();
		bytes += len_bytes;
		len_bytes = shape->len_bytes(&field->rand);
	}
	for (size_t i = 0; i < taken.n; i++)
		alloc_give(field->alloc, taken.at[i]);
	vec_fini(&taken);
	return (double)bytes / (double)alloc_size_bytes(field->alloc);
}

static double
drain_ns(struct field *field)
{
	double start_s = now_s(), n = (double)field->n;

	while (field->n > 0)
		give_one(field);
	return (now_s() - start_s) * 1e9 / n;
}

static int
measure(const struct shape *shape, size_t n_runs, double miss_ns)
{
	uint64_t size_bytes =
		num_align_up(n_runs * shape->mean_bytes * 100 / FULL_PCT, ALLOC_GRAIN);
	struct field field = {.cap = 2 * n_runs};

	rand_init(&field.rand, 1);
	field.extents = malloc(field.cap * sizeof(*field.extents));
	if (field.extents == NULL || alloc_new(size_bytes, &field.alloc) < 0)
		return -1;

	/* Touched before, so that the kernel's pages are not measured. */
	memset(field.extents, 0, field.cap * sizeof(*field.extents));
	printf("name=alloc mix=%s", shape->name);
	printf(" fill_ns=%.0f", fill_ns(&field, shape));
	printf(" churn_ns=%.0f", churn_ns(&field, shape));
	printf(" n_runs=%zu n_taken=%zu", alloc_n_runs(field.alloc), field.n);
	printf(" ram_bytes_per_run=%.1f",
	       (double)alloc_ram_bytes(field.alloc) / (double)alloc_n_runs(field.alloc));
	printf(" hole_mib=%.1f n_full=%" PRIu64, (double)alloc_hole_bytes(field.alloc) / 1048576,
	       field.n_full);
	printf(" brim=%.3f", brim_share(&field, shape));
	printf(" brim_pieces=%.3f", pieces_share(&field, shape));
	printf(" drain_ns=%.0f ns_per_miss=%.0f\n", drain_ns(&field), miss_ns);

	alloc_free(field.alloc);
	free(field.extents);
	return 0;
}

int
main(int argc, char **argv)
{
	/* The mean of len_mixed: 1.5 times the mean of its eight powers of two. */
	static const struct shape shapes[] = {
		{"same", 65536, len_same},         {"mixed", 195840, len_mixed},
		{"sixteen", 2228224, len_sixteen}, {"churned", 382452, len_churned},
		{"layers", 1966592, len_layers},
	};
	size_t n_runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	double miss_ns = yard_ns_per_miss(n_runs * RAM_A_RUN);

	for (size_t i = 0; i < array_len(shapes); i++)
		if (n_runs == 0 || measure(&shapes[i], n_runs, miss_ns) < 0) {
			fprintf(stderr, "usage: bench_alloc [n_runs], as many as memory holds\n");
			return 1;
		}
	return 0;
}
