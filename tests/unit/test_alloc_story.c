/* SPDX-License-Identifier: Apache-2.0 */

/* The books of a segment against the plainest model there is: one byte for each grain. */
#include "master/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "transfer/base/num.h"
#include "transfer/base/rand.h"

#define GRAIN       ALLOC_GRAIN
#define MODEL_MAX   4096 /* grains */
#define EXTENTS_MAX MODEL_MAX

/* ---- the model ------------------------------------------------------------------ */

struct story {
	uint64_t seed;
	unsigned step;
	struct rand rand;
	struct alloc *alloc;
	size_t n_grains;
	uint8_t taken[MODEL_MAX];
	size_t n_extents;
	struct extent extents[EXTENTS_MAX];
};

#define tell(story, condition)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("%s: seed %llu, step %u", #condition,                             \
				 (unsigned long long)(story)->seed, (story)->step);                \
	} while (0)

static size_t
grains(uint64_t len_bytes)
{
	return (size_t)((len_bytes + GRAIN - 1) / GRAIN);
}

/* model_mark -- of grains that must all be otherwise. */
static void
model_mark(struct story *story, struct extent extent, bool is_taken)
{
	size_t begin = (size_t)(extent.offset_bytes / GRAIN);

	tell(story, extent.offset_bytes % GRAIN == 0);
	tell(story, begin + grains(extent.len_bytes) <= story->n_grains);
	for (size_t i = begin; i < begin + grains(extent.len_bytes); i++) {
		tell(story, story->taken[i] == !is_taken);
		story->taken[i] = is_taken;
	}
}

static void
model_take(struct story *story, struct extent extent)
{
	model_mark(story, extent, true);
	tell(story, story->n_extents < EXTENTS_MAX);
	story->extents[story->n_extents++] = extent;
}

static size_t
model_used(const struct story *story)
{
	size_t n = 0;

	for (size_t i = 0; i < story->n_grains; i++)
		n += story->taken[i];
	return n;
}

/* model_hole -- the longest row of free grains. */
static size_t
model_hole(const struct story *story)
{
	size_t longest = 0, n = 0;

	for (size_t i = 0; i < story->n_grains; i++) {
		n = story->taken[i] ? 0 : n + 1;
		longest = num_max(longest, n);
	}
	return longest;
}

/* model_pieces -- how few rows of free grains hold so many, or SIZE_MAX. */
static size_t
model_pieces(const struct story *story, size_t wanted)
{
	size_t rows[MODEL_MAX] = {0}, n = 0, n_pieces = 0;

	for (size_t i = 0; i < story->n_grains; i++) {
		n = story->taken[i] ? 0 : n + 1;
		if (n > 0)
			rows[n]++;
		if (n > 1)
			rows[n - 1]--;
	}
	for (size_t len = MODEL_MAX - 1; len > 0; len--)
		for (size_t i = 0; i < rows[len]; i++) {
			n_pieces++;
			if (wanted <= len)
				return n_pieces;
			wanted -= len;
		}
	return SIZE_MAX;
}

static bool
model_is_free(const struct story *story, struct extent extent)
{
	size_t begin = (size_t)(extent.offset_bytes / GRAIN), len = grains(extent.len_bytes);

	if (extent.offset_bytes % GRAIN != 0 || begin + len > story->n_grains)
		return false;
	return memchr(story->taken + begin, 1, len) == NULL;
}

/* ---- what may happen -------------------------------------------------------------- */

static uint64_t
some_len(struct story *story)
{
	static const uint64_t most[] = {1, 3, 16, 70, 700};
	uint64_t n = 1 + rand_below(&story->rand, most[rand_below(&story->rand, 5)]);

	return n * GRAIN - rand_below(&story->rand, 2) * rand_below(&story->rand, GRAIN);
}

static void
do_take(struct story *story)
{
	uint64_t len_bytes = some_len(story);
	struct extent extent;
	int r = alloc_take(story->alloc, len_bytes, &extent);

	tell(story, r == (grains(len_bytes) <= model_hole(story) ? 0 : ALLOC_E_FULL));
	if (r != 0)
		return;
	tell(story, extent.len_bytes == len_bytes);
	model_take(story, extent);
}

static void
do_take_pieces(struct story *story)
{
	struct extent pieces[8];
	size_t n = 0, few, cap = 1 + rand_below(&story->rand, 8);
	uint64_t len_bytes = some_len(story);
	int r = alloc_take_pieces(story->alloc, len_bytes, pieces, cap, &n);

	few = model_pieces(story, grains(len_bytes));
	tell(story, r == (few <= cap ? 0 : ALLOC_E_FULL));
	if (r != 0)
		return;
	tell(story, n == few);
	for (size_t i = 0; i < n; i++) {
		model_take(story, pieces[i]);
		len_bytes -= pieces[i].len_bytes;
	}
	tell(story, len_bytes == 0);
}

/* Another one, told at once of all that this one has, in any order, and of one extent more. */
static void
do_take_all(struct story *story)
{
	static struct extent all[EXTENTS_MAX + 1];
	uint64_t begin = rand_below(&story->rand, story->n_grains + 2) * GRAIN;
	struct extent more = {begin + (rand_below(&story->rand, 20) == 0), some_len(story)}, bad;
	struct alloc *fresh = NULL;
	size_t n = 0;
	int r;

	all[n++] = more;
	for (size_t i = 0; i < story->n_extents; i++) {
		size_t at = rand_below(&story->rand, n + 1);

		all[n++] = all[at];
		all[at] = story->extents[i];
	}
	tell(story, alloc_new(story->n_grains * GRAIN, &fresh) == 0);
	r = alloc_take_all(fresh, all, n, &bad);
	tell(story, r == (model_is_free(story, more) ? 0 : ALLOC_E_TAKEN));
	if (r == 0) {
		alloc_free(story->alloc);
		story->alloc = fresh;
		model_take(story, more);
		return;
	}
	tell(story, bad.offset_bytes >= more.offset_bytes);
	tell(story, alloc_used_bytes(fresh) == 0 && alloc_n_runs(fresh) == 1);
	alloc_check(fresh);
	alloc_free(fresh);
}

static void
do_give(struct story *story)
{
	size_t at;

	if (story->n_extents == 0)
		return;
	at = rand_below(&story->rand, story->n_extents);
	model_mark(story, story->extents[at], false);
	alloc_give(story->alloc, story->extents[at]);
	story->extents[at] = story->extents[--story->n_extents];
}

static void
do_shrink(struct story *story)
{
	struct extent *extent, end;
	uint64_t len_bytes;

	if (story->n_extents == 0)
		return;
	extent = &story->extents[rand_below(&story->rand, story->n_extents)];
	len_bytes = 1 + rand_below(&story->rand, extent->len_bytes);
	tell(story, alloc_shrink(story->alloc, *extent, len_bytes) == 0);
	end.offset_bytes = extent->offset_bytes + grains(len_bytes) * GRAIN;
	end.len_bytes = (grains(extent->len_bytes) - grains(len_bytes)) * GRAIN;
	model_mark(story, end, false);
	extent->len_bytes = len_bytes;
}

static void
took_gap(void *arg, struct extent extent)
{
	model_take(arg, extent);
}

static void
do_take_gaps(struct story *story)
{
	uint64_t from = rand_below(&story->rand, story->n_grains + 2);
	uint64_t to = from + rand_below(&story->rand, 100);

	tell(story, alloc_take_gaps(story->alloc, from * GRAIN, to * GRAIN, took_gap, story) == 0);
	for (uint64_t i = from; i < to && i < story->n_grains; i++)
		tell(story, story->taken[i]);
}

static void
do_something(struct story *story)
{
	/* Now the segment fills, now it empties. */
	bool fills = story->step / 200 % 2 == 0;
	uint64_t dice = rand_below(&story->rand, 100);

	if (dice < (fills ? 45 : 15))
		do_take(story);
	else if (dice < (fills ? 60 : 20))
		do_take_pieces(story);
	else if (dice < (fills ? 70 : 25))
		do_take_all(story);
	else if (dice < 90)
		do_give(story);
	else if (dice < 98)
		do_shrink(story);
	else
		do_take_gaps(story);
}

static void
run_story(uint64_t seed, size_t n_grains, unsigned n_steps)
{
	struct story *story = calloc(1, sizeof(*story));

	assert_non_null(story);
	story->seed = seed;
	story->n_grains = n_grains;
	rand_init(&story->rand, seed);
	assert_int_equal(alloc_new(n_grains * GRAIN, &story->alloc), 0);
	for (; story->step < n_steps; story->step++) {
		do_something(story);
		alloc_check(story->alloc);
		tell(story, alloc_used_bytes(story->alloc) == model_used(story) * GRAIN);
		tell(story, alloc_hole_bytes(story->alloc) == model_hole(story) * GRAIN);
	}

	while (story->n_extents > 0)
		do_give(story);
	alloc_check(story->alloc);
	tell(story, alloc_n_runs(story->alloc) == 1);
	alloc_free(story->alloc);
	free(story);
}

static void
alloc__in_random_stories__agrees_with_a_map_of_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		run_story(seed, 1 + seed * seed * seed, 600);
}

static void
alloc__in_a_segment_of_many_granules__agrees_with_a_map_of_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 100; seed <= 103; seed++)
		run_story(seed, MODEL_MAX - 1, 600);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alloc__in_random_stories__agrees_with_a_map_of_bytes),
		cmocka_unit_test(alloc__in_a_segment_of_many_granules__agrees_with_a_map_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
