/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "transfer/base/sketch.h"

static int
open_sketch(void **state)
{
	struct sketch *sketch = calloc(1, sketch_bytes(1024));

	if (sketch == NULL)
		return -1;
	sketch_init(sketch, 1024);
	*state = sketch;
	return 0;
}

static int
close_sketch(void **state)
{
	free(*state);
	return 0;
}

static void
sketch__new__has_seen_nothing(void **state)
{
	for (uint64_t key = 0; key < 1000; key++)
		assert_int_equal(sketch_of(*state, key), 0);
}

static void
sketch__counts_each_sighting_up_to_its_limit(void **state)
{
	for (unsigned i = 1; i <= SKETCH_COUNT_MAX; i++)
		assert_int_equal(sketch_see(*state, 7), i);
	assert_int_equal(sketch_see(*state, 7), SKETCH_COUNT_MAX);
	assert_int_equal(sketch_of(*state, 7), SKETCH_COUNT_MAX);
}

static void
sketch__never_tells_less_than_was_seen_and_rarely_more(void **state)
{
	unsigned n_wrong = 0;

	for (uint64_t key = 1; key <= 500; key++)
		for (unsigned i = 0; i < 1 + key % 5; i++)
			(void)sketch_see(*state, key);
	for (uint64_t key = 1; key <= 500; key++) {
		assert_true(sketch_of(*state, key) >= 1 + key % 5);
		n_wrong += sketch_of(*state, key) != 1 + key % 5;
	}
	assert_true(n_wrong <= 25); /* of 500 keys in 4 rows of 1024 */
}

static void
sketch__halves_all_counts_when_it_has_seen_much(void **state)
{
	for (int i = 0; i < 12; i++)
		(void)sketch_see(*state, 7);
	for (uint64_t i = 0; i < 8 * 1024 - 13; i++)
		(void)sketch_see(*state, 1000 + i % 3);
	assert_int_equal(sketch_of(*state, 7), 12);
	(void)sketch_see(*state, 1000);
	assert_int_equal(sketch_of(*state, 7), 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sketch__new__has_seen_nothing, open_sketch,
						close_sketch),
		cmocka_unit_test_setup_teardown(sketch__counts_each_sighting_up_to_its_limit,
						open_sketch, close_sketch),
		cmocka_unit_test_setup_teardown(
			sketch__never_tells_less_than_was_seen_and_rarely_more, open_sketch,
			close_sketch),
		cmocka_unit_test_setup_teardown(sketch__halves_all_counts_when_it_has_seen_much,
						open_sketch, close_sketch),
	};

	return cmocka_run_group_tests_name("sketch", tests, NULL, NULL);
}
