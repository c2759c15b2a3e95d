/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/rand.h"
#include "transfer/base/slab.h"

#define N_THINGS 5000

struct thing {
	uint8_t *bytes;
	size_t len_bytes;
	uint8_t mark;
};

struct shelf {
	struct slab slab;
	struct thing things[N_THINGS];
};

static int
setup(void **state)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));

	slab_init(&shelf->slab);
	*state = shelf;
	return 0;
}

static int
teardown(void **state)
{
	struct shelf *shelf = *state;

	for (size_t i = 0; i < N_THINGS; i++)
		slab_give(&shelf->slab, shelf->things[i].bytes);
	slab_fini(&shelf->slab);
	free(shelf);
	return 0;
}

static void
take_one(struct shelf *shelf, size_t i, size_t len_bytes, uint8_t mark)
{
	struct thing *thing = &shelf->things[i];

	*thing = (struct thing){slab_alloc(&shelf->slab, len_bytes), len_bytes, mark};
	assert_non_null(thing->bytes);
	memset(thing->bytes, mark, len_bytes);
}

static void
give_one(struct shelf *shelf, size_t i)
{
	struct thing *thing = &shelf->things[i];

	for (size_t at = 0; at < thing->len_bytes; at++)
		assert_int_equal(thing->bytes[at], thing->mark);
	slab_give(&shelf->slab, thing->bytes);
	*thing = (struct thing){0};
}

static void
things__of_all_sizes_that_come_and_go__never_overlap(void **state)
{
	struct shelf *shelf = *state;
	struct rand rand;

	rand_init(&rand, 1);
	for (int step = 0; step < 40000; step++) {
		size_t i = rand_below(&rand, N_THINGS);

		if (shelf->things[i].bytes != NULL)
			give_one(shelf, i);
		else
			take_one(shelf, i, 1 + rand_below(&rand, SLAB_MOST_BYTES), (uint8_t)step);
	}
	for (size_t i = 0; i < N_THINGS; i++)
		if (shelf->things[i].bytes != NULL)
			give_one(shelf, i);
}

static void
thing__of_whole_lines__begins_a_line(void **state)
{
	struct shelf *shelf = *state;

	for (size_t i = 0; i < 200; i++) {
		take_one(shelf, 2 * i, 24, 1);
		take_one(shelf, 2 * i + 1, 64 * (1 + i % 20), 2);
		assert_int_equal((uintptr_t)shelf->things[2 * i].bytes % SLAB_STEP_BYTES, 0);
		assert_int_equal((uintptr_t)shelf->things[2 * i + 1].bytes % 64, 0);
	}
}

/* Rounds of 1 MB in every size; once the first has its memory no other asks for more. */
static void
room__of_one_size__serves_any_other_once_all_is_given_back(void **state)
{
	struct shelf *shelf = *state;

	for (size_t len_bytes = 2048; len_bytes >= 256; len_bytes -= 8) {
		size_t n = 1000000 / len_bytes;

		for (size_t i = 0; i < n; i++) {
			allocs_fail_after(len_bytes == 2048 || paranoid ? UINT_MAX : 1);
			take_one(shelf, i, len_bytes, 3);
			allocs_succeed();
		}
		for (size_t i = 0; i < n; i++)
			give_one(shelf, i);
	}
}

static void
alloc__without_memory__says_so_and_leaves_what_is_there(void **state)
{
	struct shelf *shelf = *state;
	size_t n_refused = 0;

	for (size_t i = 0; i < N_THINGS; i++) {
		void *thing;

		allocs_fail_after(i % 4);
		thing = slab_alloc(&shelf->slab, SLAB_MOST_BYTES);
		allocs_succeed();
		n_refused += thing == NULL;
		slab_give(&shelf->slab, thing);
		take_one(shelf, i, SLAB_MOST_BYTES, (uint8_t)i);
	}
	assert_true(n_refused >= N_THINGS / 4);
	for (size_t i = 0; i < N_THINGS; i++)
		give_one(shelf, i);
}

static void
give__of_nothing__does_nothing(void **state)
{
	struct shelf *shelf = *state;

	slab_give(&shelf->slab, NULL);
}

/* ---- memory that is told of before it is used ---- */

#define PAGE    ((size_t)2 << 20)
#define N_PAGES 64

struct told {
	uintptr_t pages[N_PAGES];
	size_t n;
};

static void
note_page(void *arg, void *at, size_t len_bytes)
{
	struct told *told = arg;

	assert_int_equal((uintptr_t)at % PAGE, 0);
	assert_int_equal(len_bytes, PAGE);
	assert_true(told->n < N_PAGES);
	for (size_t i = 0; i < told->n; i++)
		assert_int_not_equal(told->pages[i], (uintptr_t)at);
	told->pages[told->n++] = (uintptr_t)at;
}

static bool
is_told(const struct told *told, const void *at)
{
	for (size_t i = 0; i < told->n; i++)
		if (told->pages[i] == ((uintptr_t)at & ~(PAGE - 1)))
			return true;
	return false;
}

/* N things of so many bytes; gives how many of them lie where nothing was told of. */
static size_t
take_untold(struct shelf *shelf, size_t n, size_t len_bytes, const struct told *told)
{
	size_t n_untold = 0;

	for (size_t i = 0; i < n; i++) {
		take_one(shelf, i, len_bytes, (uint8_t)i);
		n_untold += !is_told(told, shelf->things[i].bytes);
	}
	return n_untold;
}

static void
slab__that_grows__tells_of_each_large_page_once_and_before_it_is_used(void **state)
{
	struct shelf *shelf = *state;
	struct told told = {0};
	size_t n_before;

	if (paranoid)
		skip(); /* each thing is malloc's */
	slab_ahead(&shelf->slab, note_page, &told);
	/* the first half mebibyte has no large page */
	assert_in_range(take_untold(shelf, N_THINGS, SLAB_MOST_BYTES, &told), 1, 240);
	assert_in_range(told.n, N_THINGS * SLAB_MOST_BYTES / PAGE,
			N_THINGS * SLAB_MOST_BYTES / PAGE + 3);
	n_before = told.n;
	for (size_t i = 0; i < N_THINGS; i++)
		give_one(shelf, i);
	take_untold(shelf, N_THINGS, SLAB_MOST_BYTES, &told);
	assert_int_equal(told.n, n_before); /* it did not grow */
}

static void
slab__without_memory_for_what_comes_later__goes_on_and_tells_later(void **state)
{
	struct shelf *shelf = *state;
	struct told told = {0};
	size_t n_untold = 0;

	if (paranoid)
		skip();
	slab_ahead(&shelf->slab, note_page, &told);
	for (size_t i = 0; i < N_THINGS; i++) {
		void *thing;

		allocs_fail_after(1);
		thing = slab_alloc(&shelf->slab, SLAB_MOST_BYTES);
		if (thing == NULL) { /* for a block, but not for the one after it */
			allocs_fail_after(3);
			thing = slab_alloc(&shelf->slab, SLAB_MOST_BYTES);
		}
		allocs_succeed();
		assert_non_null(thing);
		shelf->things[i].bytes = thing;
		n_untold += !is_told(&told, thing);
	}
	assert_in_range(n_untold, 1, 240);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			slab__that_grows__tells_of_each_large_page_once_and_before_it_is_used,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			slab__without_memory_for_what_comes_later__goes_on_and_tells_later, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			things__of_all_sizes_that_come_and_go__never_overlap, setup, teardown),
		cmocka_unit_test_setup_teardown(thing__of_whole_lines__begins_a_line, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			room__of_one_size__serves_any_other_once_all_is_given_back, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			alloc__without_memory__says_so_and_leaves_what_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(give__of_nothing__does_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
