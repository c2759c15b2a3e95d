/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/arena.h"

static bool
is_zero(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static void
alloc__gives_zeroed_aligned_memory_that_does_not_overlap(void **state)
{
	struct arena arena;
	uint8_t *all[200];

	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < array_len(all); i++) {
		all[i] = arena_alloc(&arena, i, 7);
		assert_non_null(all[i]);
		assert_int_equal((uintptr_t)all[i] % 16, 0);
		assert_true(is_zero(all[i], i * 7));
		memset(all[i], (int)i, i * 7);
	}

	for (size_t i = 0; i < array_len(all); i++)
		for (size_t at = 0; at < i * 7; at++)
			assert_int_equal(all[i][at], (uint8_t)i);
	arena_fini(&arena);
}

static void
alloc__larger_than_a_block__succeeds(void **state)
{
	struct arena arena;
	uint8_t *large, *small;

	(void)state;
	arena_init(&arena);
	small = arena_alloc(&arena, 1, 10);
	large = arena_alloc(&arena, 3, 1 << 20);

	assert_non_null(small);
	assert_non_null(large);
	assert_true(is_zero(large, 3 << 20));
	arena_fini(&arena);
}

static void
alloc__whose_product_wraps__is_refused(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena);

	assert_null(arena_alloc(&arena, SIZE_MAX, 2));
	assert_null(arena_alloc(&arena, SIZE_MAX / 2 + 2, 2));
	assert_null(arena_alloc(&arena, 1, SIZE_MAX));
	arena_fini(&arena);
}

static void
reset__keeps_the_memory_and_hands_it_out_zeroed(void **state)
{
	struct arena arena;
	bool dirty = false;

	(void)state;
	arena_init(&arena);
	for (int i = 0; i < 100; i++)
		memset(arena_alloc(&arena, 1, 1000), 0xff, 1000);

	arena_reset(&arena);
	allocs_fail_after(0);
	for (int i = 0; i < 100; i++) {
		uint8_t *bytes = arena_alloc(&arena, 1, 1000);

		dirty |= bytes == NULL || !is_zero(bytes, 1000);
	}
	allocs_succeed();

	assert_false(dirty);
	arena_fini(&arena);
}

static void
reset__of_an_empty_one__is_fine(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena);
	arena_reset(&arena);
	assert_non_null(arena_alloc(&arena, 0, 0));
	arena_fini(&arena);
}

static void
alloc__without_memory__is_refused_and_the_next_succeeds(void **state)
{
	struct arena arena;
	void *none;

	(void)state;
	arena_init(&arena);

	allocs_fail_after(0);
	none = arena_alloc(&arena, 1, 100);
	allocs_succeed();

	assert_null(none);
	assert_non_null(arena_alloc(&arena, 1, 100));
	arena_fini(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alloc__gives_zeroed_aligned_memory_that_does_not_overlap),
		cmocka_unit_test(alloc__larger_than_a_block__succeeds),
		cmocka_unit_test(alloc__whose_product_wraps__is_refused),
		cmocka_unit_test(reset__keeps_the_memory_and_hands_it_out_zeroed),
		cmocka_unit_test(reset__of_an_empty_one__is_fine),
		cmocka_unit_test(alloc__without_memory__is_refused_and_the_next_succeeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
