/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "transfer/base/hist.h"

static void
a_length__counts_in_the_first_bucket_that_it_does_not_exceed(void **state)
{
	(void)state;
	assert_int_equal(hist_bucket_of(0), 0);
	assert_int_equal(hist_bucket_of(1024), 0);
	assert_int_equal(hist_bucket_of(1025), 1);
	for (unsigned i = 1; i < HIST_BUCKETS - 1; i++) {
		assert_int_equal(hist_bucket_of(hist_top_ns(i)), i);
		assert_int_equal(hist_bucket_of(hist_top_ns(i) + 1), i + 1);
		assert_int_equal(hist_bucket_of(hist_top_ns(i - 1) + 1), i);
	}
	assert_int_equal(hist_bucket_of(UINT64_MAX), HIST_BUCKETS - 1);
}

static void
a_quantile__is_the_top_of_the_bucket_it_lies_in(void **state)
{
	struct hist hist = {0};

	(void)state;
	assert_int_equal(hist_quantile_ns(&hist, 0.5), 0);
	for (int i = 0; i < 99; i++)
		hist_add(&hist, 1500);
	hist_add(&hist, 1000000);
	assert_int_equal(hist_quantile_ns(&hist, 0.5), 2048);
	assert_int_equal(hist_quantile_ns(&hist, 0.99), 2048);
	assert_int_equal(hist_quantile_ns(&hist, 1), 1048576);
	assert_int_equal(hist.n_all, 100);
	assert_int_equal(hist.sum_ns, 99 * 1500 + 1000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_length__counts_in_the_first_bucket_that_it_does_not_exceed),
		cmocka_unit_test(a_quantile__is_the_top_of_the_bucket_it_lies_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
