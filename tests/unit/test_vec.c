/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/vec.h"

static void
push__keeps_order_however_far_it_grows(void **state)
{
	VEC(uint64_t) v = {0};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, i * 3), 0);

	assert_int_equal(v.n, 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(v.at[i], i * 3);
	vec_fini(&v);
}

static void
push__takes_a_struct_written_in_place(void **state)
{
	struct pair {
		int a, b;
	};
	VEC(struct pair) v = {0};

	(void)state;
	assert_int_equal(vec_push(&v, (struct pair){1, 2}), 0);

	assert_int_equal(v.at[0].a, 1);
	assert_int_equal(v.at[0].b, 2);
	vec_fini(&v);
}

static void
reserve__gives_room_that_pushes_use_without_moving(void **state)
{
	VEC(char) v = {0};
	char *at;

	(void)state;
	assert_int_equal(vec_reserve(&v, 100), 0);
	at = v.at;
	for (int i = 0; i < 100; i++)
		assert_int_equal(vec_push(&v, 'x'), 0);

	assert_ptr_equal(v.at, at);
	vec_fini(&v);
}

static void
reserve__of_more_than_an_address_can_hold__is_refused_and_changes_nothing(void **state)
{
	VEC(uint64_t) v = {0};

	(void)state;
	assert_int_equal(vec_push(&v, 42), 0);

	assert_int_equal(vec_reserve(&v, SIZE_MAX), -ENOMEM);
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 8), -ENOMEM);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.at[0], 42);
	vec_fini(&v);
}

static void
push__without_memory__is_refused_and_changes_nothing(void **state)
{
	VEC(uint64_t) v = {0};

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(vec_push(&v, i), 0);

	allocs_fail_after(0);
	assert_int_equal(vec_push(&v, 8), -ENOMEM);
	allocs_succeed();

	assert_int_equal(v.n, 8);
	assert_int_equal(v.at[7], 7);
	assert_int_equal(vec_push(&v, 8), 0);
	vec_fini(&v);
}

static void
fini__leaves_an_empty_one_that_may_be_used_again(void **state)
{
	VEC(int) v = {0};

	(void)state;
	assert_int_equal(vec_push(&v, 1), 0);
	vec_fini(&v);

	assert_int_equal(v.n, 0);
	assert_int_equal(vec_push(&v, 2), 0);
	assert_int_equal(v.at[0], 2);
	vec_fini(&v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push__keeps_order_however_far_it_grows),
		cmocka_unit_test(push__takes_a_struct_written_in_place),
		cmocka_unit_test(reserve__gives_room_that_pushes_use_without_moving),
		cmocka_unit_test(
			reserve__of_more_than_an_address_can_hold__is_refused_and_changes_nothing),
		cmocka_unit_test(push__without_memory__is_refused_and_changes_nothing),
		cmocka_unit_test(fini__leaves_an_empty_one_that_may_be_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
