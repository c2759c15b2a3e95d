/* SPDX-License-Identifier: Apache-2.0 */

/* Single facts about the books of a segment; test_alloc_story.c tries them at random. */
#include "master/alloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/allocs.h"

#define GRAIN ALLOC_GRAIN

static void
take__of_a_length_between_grains__belongs_to_the_next_whole_grain(void **state)
{
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a, b;

	(void)state;
	assert_int_equal(alloc_new(4 * GRAIN, &alloc), 0);

	assert_int_equal(alloc_take(alloc, GRAIN + 1, &a), 0);
	assert_int_equal(alloc_take(alloc, 1, &b), 0);

	assert_int_equal(a.len_bytes, GRAIN + 1);
	assert_int_equal(b.offset_bytes, 2 * GRAIN);
	assert_int_equal(alloc_used_bytes(alloc), 3 * GRAIN);
}

static void
take__longer_than_the_segment__answers_full_for_every_number(void **state)
{
	static const uint64_t lens[] = {4 * GRAIN + 1, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a = {7, 7}, bad;
	size_t n = 7;

	(void)state;
	assert_int_equal(alloc_new(4 * GRAIN, &alloc), 0);

	for (size_t i = 0; i < array_len(lens); i++) {
		assert_int_equal(alloc_take(alloc, lens[i], &a), ALLOC_E_FULL);
		assert_int_equal(alloc_take_pieces(alloc, lens[i], &a, 1, &n), ALLOC_E_FULL);
		assert_int_equal(alloc_take_all(alloc, &(struct extent){0, lens[i]}, 1, &bad),
				 ALLOC_E_TAKEN);
		assert_int_equal(bad.len_bytes, lens[i]);
		assert_int_equal(alloc_take_all(alloc,
						&(struct extent){GRAIN * (lens[i] / GRAIN), 1}, 1,
						&bad),
				 ALLOC_E_TAKEN);
	}

	assert_int_equal(a.offset_bytes, 7);
	assert_int_equal(n, 7);
	assert_int_equal(alloc_used_bytes(alloc), 0);
}

static void
take__of_the_whole_segment__leaves_no_hole(void **state)
{
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a, b = {7, 7};

	(void)state;
	assert_int_equal(alloc_new(100 * GRAIN, &alloc), 0);

	assert_int_equal(alloc_take(alloc, 100 * GRAIN, &a), 0);

	assert_int_equal(alloc_hole_bytes(alloc), 0);
	assert_int_equal(alloc_take(alloc, 1, &b), ALLOC_E_FULL);
	assert_int_equal(b.offset_bytes, 7);
	alloc_check(alloc);
}

/* fill_and_free_every_other -- free runs of these grains, a taken grain behind each. */
static void
fill_and_free_every_other(struct alloc *alloc, const uint64_t *lens, size_t n)
{
	struct extent runs[16], post;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(alloc_take(alloc, lens[i] * GRAIN, &runs[i]), 0);
		assert_int_equal(alloc_take(alloc, GRAIN, &post), 0);
	}
	for (size_t i = 0; i < n; i++)
		alloc_give(alloc, runs[i]);
}

static void
take__when_a_hole_fits_exactly__fills_it_and_leaves_longer_ones_whole(void **state)
{
	static const uint64_t lens[] = {100, 64, 200};
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a;

	(void)state;
	assert_int_equal(alloc_new(1000 * GRAIN, &alloc), 0);
	fill_and_free_every_other(alloc, lens, array_len(lens));

	assert_int_equal(alloc_take(alloc, 64 * GRAIN, &a), 0);

	assert_int_equal(a.offset_bytes, 101 * GRAIN);
}

static void
take__when_several_holes_of_a_class_fit__takes_the_shortest_and_of_those_the_left_one(void **state)
{
	static const uint64_t lens[] = {1030, 1026, 1026, 1025};
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a;

	(void)state;
	assert_int_equal(alloc_new(9000 * GRAIN, &alloc), 0);
	fill_and_free_every_other(alloc, lens, array_len(lens));

	assert_int_equal(alloc_take(alloc, 1026 * GRAIN, &a), 0);

	assert_int_equal(a.offset_bytes, 1031 * GRAIN);
}

static void
take__when_only_one_late_run_of_its_class_fits__finds_it(void **state)
{
	/* All of one class, the long one hidden behind a head that will be taken. */
	static const uint64_t lens[] = {1030, 1029, 1025, 1025, 1025, 1025, 1025, 1055};
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a;

	(void)state;
	assert_int_equal(alloc_new(9000 * GRAIN, &alloc), 0);
	fill_and_free_every_other(alloc, lens, array_len(lens));
	assert_int_equal(alloc_take(alloc, 1055 * GRAIN, &a), 0);
	assert_int_equal(alloc_take(alloc, 1030 * GRAIN, &a), 0);

	assert_int_equal(alloc_take(alloc, 1029 * GRAIN, &a), 0);

	assert_int_equal(alloc_take(alloc, 1026 * GRAIN, &a), ALLOC_E_FULL);
	assert_int_equal(alloc_hole_bytes(alloc), 1025 * GRAIN);
}

static void
take_pieces__when_no_run_is_long_enough__takes_the_longest_ones_in_order(void **state)
{
	static const uint64_t lens[] = {10, 30, 20};
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a, pieces[4];
	size_t n;

	(void)state;
	assert_int_equal(alloc_new(63 * GRAIN, &alloc), 0);
	fill_and_free_every_other(alloc, lens, array_len(lens));
	assert_int_equal(alloc_take(alloc, 45 * GRAIN, &a), ALLOC_E_FULL);

	assert_int_equal(alloc_take_pieces(alloc, 45 * GRAIN - 7, pieces, 4, &n), 0);

	assert_int_equal(n, 2);
	assert_int_equal(pieces[0].offset_bytes, 11 * GRAIN);
	assert_int_equal(pieces[0].len_bytes, 30 * GRAIN);
	assert_int_equal(pieces[1].offset_bytes, 42 * GRAIN);
	assert_int_equal(pieces[1].len_bytes, 15 * GRAIN - 7);
}

static void
take_pieces__when_too_many_would_be_needed__gives_all_back(void **state)
{
	static const uint64_t lens[] = {10, 30, 20};
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent pieces[2];
	size_t n = 7;

	(void)state;
	assert_int_equal(alloc_new(63 * GRAIN, &alloc), 0);
	fill_and_free_every_other(alloc, lens, array_len(lens));

	assert_int_equal(alloc_take_pieces(alloc, 51 * GRAIN, pieces, 2, &n), ALLOC_E_FULL);

	assert_int_equal(n, 7);
	assert_int_equal(alloc_used_bytes(alloc), 3 * GRAIN);
	assert_int_equal(alloc_hole_bytes(alloc), 30 * GRAIN);
	alloc_check(alloc);
}

static void
give__between_two_free_runs__makes_one_of_three(void **state)
{
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a, b, c;

	(void)state;
	assert_int_equal(alloc_new(30 * GRAIN, &alloc), 0);
	assert_int_equal(alloc_take(alloc, 10 * GRAIN, &a), 0);
	assert_int_equal(alloc_take(alloc, 10 * GRAIN, &b), 0);
	assert_int_equal(alloc_take(alloc, 10 * GRAIN, &c), 0);
	alloc_give(alloc, a);
	alloc_give(alloc, c);

	alloc_give(alloc, b);

	assert_int_equal(alloc_n_runs(alloc), 1);
	assert_int_equal(alloc_hole_bytes(alloc), 30 * GRAIN);
}

static void
shrink__within_the_last_grain__changes_nothing_but_the_length(void **state)
{
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a;

	(void)state;
	assert_int_equal(alloc_new(30 * GRAIN, &alloc), 0);
	assert_int_equal(alloc_take(alloc, 10 * GRAIN, &a), 0);

	assert_int_equal(alloc_shrink(alloc, a, 9 * GRAIN + 1), 0);

	a.len_bytes = 9 * GRAIN + 1;
	assert_int_equal(alloc_used_bytes(alloc), 10 * GRAIN);
	alloc_give(alloc, a);
	assert_int_equal(alloc_n_runs(alloc), 1);
}

static void
count_gap(void *arg, struct extent extent)
{
	uint64_t *taken_bytes = arg;

	*taken_bytes += extent.len_bytes;
}

static void
take_gaps__after_many_takes_and_gives__still_knows_what_is_free(void **state)
{
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent given = {7 * GRAIN, 3 * GRAIN}, first, a;
	uint64_t taken_bytes = 0;
	size_t ram_bytes;

	(void)state;
	assert_int_equal(alloc_new(1000 * GRAIN, &alloc), 0);
	assert_int_equal(alloc_take_all(alloc, &given, 1, &a), 0);
	ram_bytes = alloc_ram_bytes(alloc);
	assert_int_equal(alloc_take_gaps(alloc, 999 * GRAIN, 1000 * GRAIN, count_gap, &taken_bytes),
			 0);
	assert_int_equal(alloc_take(alloc, 5 * GRAIN, &first), 0);
	for (unsigned i = 0; i < 3000; i++) {
		assert_int_equal(alloc_take(alloc, 1 + i % 9 * GRAIN, &a), 0);
		alloc_give(alloc, a);
	}
	assert_int_equal(alloc_ram_bytes(alloc), ram_bytes);

	assert_int_equal(alloc_take_gaps(alloc, 0, 1000 * GRAIN, count_gap, &taken_bytes), 0);
	assert_int_equal(taken_bytes, (1000 - 3 - 5) * GRAIN);
	assert_int_equal(alloc_used_bytes(alloc), 1000 * GRAIN);
	alloc_check(alloc);
}

static void
take_all__of_extents_in_any_order__takes_them_and_leaves_the_gaps(void **state)
{
	struct extent extents[] = {{9 * GRAIN, 1}, {0, 2 * GRAIN}, {3 * GRAIN, GRAIN + 1}};
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent a;

	(void)state;
	assert_int_equal(alloc_new(10 * GRAIN, &alloc), 0);

	assert_int_equal(alloc_take_all(alloc, extents, array_len(extents), &a), 0);

	assert_int_equal(alloc_used_bytes(alloc), 5 * GRAIN);
	assert_int_equal(alloc_n_runs(alloc), 5);
	assert_int_equal(alloc_hole_bytes(alloc), 4 * GRAIN);
	alloc_check(alloc);
	for (size_t i = 0; i < array_len(extents); i++)
		alloc_give(alloc, extents[i]);
	assert_int_equal(alloc_n_runs(alloc), 1);
}

static void
take_all__of_extents_that_share_a_grain__takes_none(void **state)
{
	struct extent extents[] = {{4 * GRAIN, GRAIN}, {2 * GRAIN, 2 * GRAIN + 1}};
	struct extent empty = {GRAIN, 0}, bad;
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;

	(void)state;
	assert_int_equal(alloc_new(10 * GRAIN, &alloc), 0);

	assert_int_equal(alloc_take_all(alloc, extents, 2, &bad), ALLOC_E_TAKEN);
	assert_int_equal(bad.offset_bytes, 4 * GRAIN);
	assert_int_equal(alloc_take_all(alloc, &empty, 1, &bad), ALLOC_E_TAKEN);
	assert_int_equal(bad.offset_bytes, GRAIN);

	assert_int_equal(alloc_used_bytes(alloc), 0);
	assert_int_equal(alloc_n_runs(alloc), 1);
	alloc_check(alloc);
}

/* Some thousands, scattered: every run is to be found again, and the memory is what takes need. */
static void
take_all__of_many__leaves_what_as_many_takes_would(void **state)
{
	enum { N = 20000 };
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL, *other = NULL;
	struct extent *extents = calloc(N, sizeof(*extents)), bad;

	(void)state;
	assert_non_null(extents);
	assert_int_equal(alloc_new((uint64_t)1 << 40, &alloc), 0);
	assert_int_equal(alloc_new((uint64_t)1 << 40, &other), 0);
	for (uint64_t i = 0; i < N; i++) {
		extents[i] = (struct extent){i * 7919 % N * (3 * GRAIN), 3 * GRAIN};
		assert_int_equal(alloc_take(other, 3 * GRAIN, &bad), 0);
	}

	assert_int_equal(alloc_take_all(alloc, extents, N, &bad), 0);

	assert_int_equal(alloc_n_runs(alloc), N + 1);
	assert_in_range(alloc_ram_bytes(alloc), 0, alloc_ram_bytes(other) + 4096);
	alloc_check(alloc);
	for (uint64_t i = 0; i < N; i++)
		alloc_give(alloc, extents[i * 31 % N]);
	assert_int_equal(alloc_n_runs(alloc), 1);
	free(extents);
}

/* Given back from both ends and the middle, and taken again: the memory of before is enough. */
static void
take__after_thousands_were_given_back__uses_their_memory_again(void **state)
{
	enum { N = 5000, STEP = 1777 /* shares no divisor with N */ };
	static struct extent taken[N];
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	size_t ram_bytes = 0;

	(void)state;
	assert_int_equal(alloc_new(2 * N * GRAIN, &alloc), 0);
	for (unsigned round = 0; round < 4; round++) {
		for (size_t i = 0; i < N; i++)
			assert_int_equal(alloc_take(alloc, GRAIN, &taken[i]), 0);
		if (round == 1)
			ram_bytes = alloc_ram_bytes(alloc);
		assert_true(round < 2 || alloc_ram_bytes(alloc) == ram_bytes);
		alloc_check(alloc);
		for (size_t i = 0; i < N; i++)
			if (round < 3 || i % 3 != 0)
				alloc_give(alloc, taken[i * STEP % N]);
		alloc_check(alloc);
	}
	for (size_t i = 0; i < N / 2; i++)
		assert_int_equal(alloc_take(alloc, GRAIN, &taken[i]), 0);
	alloc_check(alloc);
	assert_int_equal(alloc_ram_bytes(alloc), ram_bytes);
}

static void
ram__with_many_runs__stays_below_56_bytes_a_run(void **state)
{
	cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
	struct extent extent;

	(void)state;
	assert_int_equal(alloc_new((uint64_t)1 << 34, &alloc), 0);

	for (unsigned i = 0; i < 200000; i++)
		assert_int_equal(alloc_take(alloc, 65536, &extent), 0);

	assert_true(alloc_ram_bytes(alloc) / alloc_n_runs(alloc) <= 56);
}

/* play -- a story that needs all kinds of memory; gives what came of it. */
static int
play(struct alloc **alloc)
{
	struct extent extent;
	uint64_t taken_bytes = 0;
	int r;

	r = alloc_new((uint64_t)1 << 24, alloc);
	for (uint64_t i = 0; r == 0 && i < 5000; i++)
		r = alloc_take(*alloc, 3 * GRAIN, &extent);
	for (uint64_t i = 0; r == 0 && i < 2000; i++) {
		extent = (struct extent){i * 3 * GRAIN, 3 * GRAIN};
		r = alloc_shrink(*alloc, extent, GRAIN);
	}
	if (r == 0)
		r = alloc_take_gaps(*alloc, 0, 6000 * GRAIN, count_gap, &taken_bytes);
	return r;
}

static void
take_all__survives_the_failure_of_each_allocation_in_turn(void **state)
{
	static struct extent extents[3000];
	struct extent bad;
	int r = -ENOMEM;

	(void)state;
	for (unsigned n = 0; r != 0; n++) {
		cleanup_with(alloc_free_at) struct alloc *alloc = NULL;

		for (uint64_t i = 0; i < array_len(extents); i++)
			extents[i] = (struct extent){(array_len(extents) - i) * 2 * GRAIN, GRAIN};
		assert_int_equal(alloc_new((uint64_t)1 << 24, &alloc), 0);
		allocs_fail_after(n);
		r = alloc_take_all(alloc, extents, array_len(extents), &bad);
		allocs_succeed();

		alloc_check(alloc);
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(alloc_used_bytes(alloc), 0);
		assert_int_equal(alloc_n_runs(alloc), 1);
		assert_int_equal(alloc_take_all(alloc, extents, array_len(extents), &bad), 0);
	}
}

static void
alloc__survives_the_failure_of_each_allocation_in_turn(void **state)
{
	(void)state;
	for (unsigned n = 0;; n++) {
		cleanup_with(alloc_free_at) struct alloc *alloc = NULL;
		bool all_went_well;
		int r;

		allocs_fail_after(n);
		r = play(&alloc);
		all_went_well = allocs_left > 0;
		allocs_succeed();

		if (alloc != NULL)
			alloc_check(alloc);
		if (r == 0 && all_went_well)
			return;
		assert_true(r == 0 || r == -ENOMEM);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__of_a_length_between_grains__belongs_to_the_next_whole_grain),
		cmocka_unit_test(take__longer_than_the_segment__answers_full_for_every_number),
		cmocka_unit_test(take__of_the_whole_segment__leaves_no_hole),
		cmocka_unit_test(
			take__when_a_hole_fits_exactly__fills_it_and_leaves_longer_ones_whole),
		cmocka_unit_test(
			take__when_several_holes_of_a_class_fit__takes_the_shortest_and_of_those_the_left_one),
		cmocka_unit_test(take__when_only_one_late_run_of_its_class_fits__finds_it),
		cmocka_unit_test(
			take_pieces__when_no_run_is_long_enough__takes_the_longest_ones_in_order),
		cmocka_unit_test(take_pieces__when_too_many_would_be_needed__gives_all_back),
		cmocka_unit_test(give__between_two_free_runs__makes_one_of_three),
		cmocka_unit_test(shrink__within_the_last_grain__changes_nothing_but_the_length),
		cmocka_unit_test(take_gaps__after_many_takes_and_gives__still_knows_what_is_free),
		cmocka_unit_test(take_all__of_extents_in_any_order__takes_them_and_leaves_the_gaps),
		cmocka_unit_test(take_all__of_extents_that_share_a_grain__takes_none),
		cmocka_unit_test(take_all__of_many__leaves_what_as_many_takes_would),
		cmocka_unit_test(take_all__survives_the_failure_of_each_allocation_in_turn),
		cmocka_unit_test(take__after_thousands_were_given_back__uses_their_memory_again),
		cmocka_unit_test(ram__with_many_runs__stays_below_56_bytes_a_run),
		cmocka_unit_test(alloc__survives_the_failure_of_each_allocation_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
