/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/bench.h"

static void
rank__is_the_value_that_so_many_of_a_hundred_do_not_exceed(void **state)
{
	uint64_t values[200], one[] = {7};

	(void)state;
	for (size_t i = 0; i < 200; i++)
		values[i] = 200 - i;

	assert_int_equal(bench_rank(values, 200, 50), 100);
	assert_int_equal(bench_rank(values, 200, 99), 198);
	assert_int_equal(bench_rank(values, 200, 100), 200);
	assert_int_equal(bench_rank(values, 200, 0), 1);
	assert_int_equal(bench_rank(one, 1, 99), 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank__is_the_value_that_so_many_of_a_hundred_do_not_exceed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
