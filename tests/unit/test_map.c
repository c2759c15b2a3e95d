/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/map.h"
#include "transfer/base/rand.h"

static int things[512];

static void
empty_map__has_nothing(void **state)
{
	uint64_t key = 7;
	void *value = NULL;
	struct map map;
	size_t at = 0;

	(void)state;
	map_init(&map);

	assert_null(map_get(&map, 1));
	assert_null(map_take(&map, 1));
	assert_false(map_next(&map, &at, &key, &value));
	assert_int_equal(key, 7);
	map_fini(&map);
}

static void
put__of_a_known_key__replaces_the_value(void **state)
{
	struct map map;

	(void)state;
	map_init(&map);
	assert_int_equal(map_put(&map, 5, &things[0]), 0);

	assert_int_equal(map_put(&map, 5, &things[1]), 0);

	assert_int_equal(map.n, 1);
	assert_ptr_equal(map_get(&map, 5), &things[1]);
	map_fini(&map);
}

static void
take__gives_the_value_once(void **state)
{
	struct map map;

	(void)state;
	map_init(&map);
	assert_int_equal(map_put(&map, 5, &things[0]), 0);

	assert_ptr_equal(map_take(&map, 5), &things[0]);
	assert_null(map_take(&map, 5));
	assert_null(map_get(&map, 5));
	assert_int_equal(map.n, 0);
	map_fini(&map);
}

/* A plain array says what the map should hold. */
static void
map__after_any_sequence__agrees_with_an_array(void **state)
{
	int *model[array_len(things) + 1] = {0};
	struct rand rand;
	struct map map;
	size_t n = 0;

	(void)state;
	rand_init(&rand, 42);
	map_init(&map);
	for (int step = 0; step < 20000; step++) {
		uint64_t key = 1 + rand_below(&rand, array_len(things));

		if (rand_below(&rand, 2) == 0) {
			assert_ptr_equal(map_take(&map, key), model[key]);
			n -= model[key] != NULL;
			model[key] = NULL;
		} else {
			n += model[key] == NULL;
			model[key] = &things[rand_below(&rand, array_len(things))];
			assert_int_equal(map_put(&map, key, model[key]), 0);
		}
		assert_int_equal(map.n, n);
	}

	for (uint64_t key = 1; key <= array_len(things); key++)
		assert_ptr_equal(map_get(&map, key), model[key]);
	map_fini(&map);
}

static void
walk__meets_every_key_once(void **state)
{
	unsigned met[301] = {0};
	struct map map;
	uint64_t key;
	void *value;
	size_t at = 0;

	(void)state;
	map_init(&map);
	for (uint64_t k = 1; k <= 300; k++)
		assert_int_equal(map_put(&map, k, &things[k]), 0);

	while (map_next(&map, &at, &key, &value)) {
		assert_ptr_equal(value, &things[key]);
		met[key]++;
	}

	for (size_t k = 1; k <= 300; k++)
		assert_int_equal(met[k], 1);
	map_fini(&map);
}

static void
keys__that_differ_only_in_high_bits__do_not_crowd(void **state)
{
	struct map map;

	(void)state;
	map_init(&map);
	for (uint64_t k = 1; k <= 300; k++)
		assert_int_equal(map_put(&map, k << 48, &things[k]), 0);

	for (uint64_t k = 1; k <= 300; k++)
		assert_ptr_equal(map_get(&map, k << 48), &things[k]);
	assert_null(map_get(&map, 301ull << 48));
	map_fini(&map);
}

static void
put__without_memory__is_refused_and_changes_nothing(void **state)
{
	struct map map;
	int r = 0;
	uint64_t n = 0;

	(void)state;
	map_init(&map);
	allocs_fail_after(2);
	while (r == 0) {
		n++;
		r = map_put(&map, n, &things[n]);
	}
	allocs_succeed();

	assert_int_equal(r, -ENOMEM);
	assert_int_equal(map.n, n - 1);
	assert_null(map_get(&map, n));
	for (uint64_t k = 1; k < n; k++)
		assert_ptr_equal(map_get(&map, k), &things[k]);
	assert_int_equal(map_put(&map, n, &things[n]), 0);
	map_fini(&map);
}

static void
reserve__then_so_many_puts__need_no_memory(void **state)
{
	struct map map;

	(void)state;
	map_init(&map);
	assert_int_equal(map_put(&map, 1000, &things[0]), 0);
	assert_int_equal(map_reserve(&map, 400), 0);

	allocs_fail_after(0);
	for (uint64_t k = 1; k <= 400; k++)
		assert_int_equal(map_put(&map, k, &things[k]), 0);
	allocs_succeed();

	assert_ptr_equal(map_get(&map, 1000), &things[0]);
	for (uint64_t k = 1; k <= 400; k++)
		assert_ptr_equal(map_get(&map, k), &things[k]);
	map_fini(&map);
}

static void
reserve__without_memory_or_beyond_all_memory__is_refused_and_changes_nothing(void **state)
{
	struct map map;

	(void)state;
	map_init(&map);
	assert_int_equal(map_put(&map, 7, &things[7]), 0);

	allocs_fail_after(0);
	assert_int_equal(map_reserve(&map, 1000), -ENOMEM);
	assert_int_equal(map_reserve(&map, 1), 0);
	allocs_succeed();
	assert_int_equal(map_reserve(&map, SIZE_MAX), -ENOMEM);

	assert_int_equal(map.n, 1);
	assert_ptr_equal(map_get(&map, 7), &things[7]);
	map_fini(&map);
}

static void
hash__depends_on_every_byte_and_on_the_seed(void **state)
{
	(void)state;
	assert_true(map_hash("abc", 3, 1) == map_hash("abc", 3, 1));
	assert_true(map_hash("abc", 3, 1) != map_hash("abc", 3, 2));
	assert_true(map_hash("abc", 3, 1) != map_hash("abd", 3, 1));
	assert_true(map_hash("abc", 3, 1) != map_hash("abc\0", 4, 1));
	assert_true(map_hash("", 0, 1) != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_map__has_nothing),
		cmocka_unit_test(put__of_a_known_key__replaces_the_value),
		cmocka_unit_test(take__gives_the_value_once),
		cmocka_unit_test(map__after_any_sequence__agrees_with_an_array),
		cmocka_unit_test(walk__meets_every_key_once),
		cmocka_unit_test(keys__that_differ_only_in_high_bits__do_not_crowd),
		cmocka_unit_test(put__without_memory__is_refused_and_changes_nothing),
		cmocka_unit_test(reserve__then_so_many_puts__need_no_memory),
		cmocka_unit_test(
			reserve__without_memory_or_beyond_all_memory__is_refused_and_changes_nothing),
		cmocka_unit_test(hash__depends_on_every_byte_and_on_the_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
