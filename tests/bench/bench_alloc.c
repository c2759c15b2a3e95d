/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_alloc -- what taking and giving back runs of a segment costs.
 *
 *      bench_alloc [n_runs]
 *
 *      fill     an empty segment is filled
 *      churn    a run at random is given back, another one taken, at 90 % use: the common case
 *      drain    all are given back, in random order
 *
 * `same` has runs of one length, `mixed` of 4 KiB to 1 MiB, small ones most often.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "master/alloc.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"

#define FULL_PCT 90

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

/* now_s -- of the processor, not of the wall: others may be at work. */
static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void
take_one(struct field *field, const struct shape *shape)
{
	int r = alloc_take(field->alloc, shape->len_bytes(&field->rand), &field->extents[field->n]);

	if (r < 0)
		abort();
	field->n += r == 0;
	field->n_full += r != 0;
}

static void
give_one(struct field *field)
{
	size_t at = rand_below(&field->rand, field->n);

	alloc_give(field->alloc, field->extents[at]);
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
drain_ns(struct field *field)
{
	double start_s = now_s(), n = (double)field->n;

	while (field->n > 0)
		give_one(field);
	return (now_s() - start_s) * 1e9 / n;
}

static int
measure(const struct shape *shape, size_t n_runs)
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
	printf("name=%s", shape->name);
	printf(" fill_ns=%.0f", fill_ns(&field, shape));
	printf(" churn_ns=%.0f", churn_ns(&field, shape));
	printf(" n_runs=%zu n_taken=%zu", alloc_n_runs(field.alloc), field.n);
	printf(" ram_bytes_per_run=%.1f",
	       (double)alloc_ram_bytes(field.alloc) / (double)alloc_n_runs(field.alloc));
	printf(" hole_mib=%.1f n_full=%" PRIu64, (double)alloc_hole_bytes(field.alloc) / 1048576,
	       field.n_full);
	printf(" drain_ns=%.0f\n", drain_ns(&field));

	alloc_free(field.alloc);
	free(field.extents);
	return 0;
}

int
main(int argc, char **argv)
{
	/* The mean of len_mixed: 1.5 times the mean of its eight powers of two. */
	static const struct shape shapes[] = {
		{"same", 65536, len_same},
		{"mixed", 195840, len_mixed},
	};
	size_t n_runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;

	for (size_t i = 0; i < array_len(shapes); i++)
		if (n_runs == 0 || measure(&shapes[i], n_runs) < 0) {
			fprintf(stderr, "usage: bench_alloc [n_runs], as many as memory holds\n");
			return 1;
		}
	return 0;
}
