/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "transfer/base/err.h"

static int
innermost(int e)
{
	return err_new(e);
}

static int
middle(int e)
{
	return err_up(innermost(e));
}

static int
dive(int depth)
{
	return depth == 0 ? err_new(-EIO) : err_up(dive(depth - 1));
}

static void
trail__names_the_words_and_each_function_on_the_way(void **state)
{
	char text[400];
	int r;

	(void)state;
	r = err_up(middle(-ENOSPC));

	assert_int_equal(r, -ENOSPC);
	err_trail(text, sizeof(text));
	assert_ptr_equal(strstr(text, "No space left on device:"), text);
	assert_non_null(strstr(text, " innermost ("));
	assert_non_null(strstr(text, " middle ("));
	assert_true(strstr(text, " innermost (") < strstr(text, " middle ("));
	assert_non_null(strstr(text, "test_err.c:"));
}

static void
new_failure__forgets_the_trail_of_the_one_before(void **state)
{
	char text[400];

	(void)state;
	assert_int_equal(middle(-ENOSPC), -ENOSPC);

	assert_int_equal(innermost(-EIO), -EIO);

	assert_null(strstr(err_trail(text, sizeof(text)), "middle"));
}

static void
failure_without_a_birth__begins_its_own_trail_where_it_is_first_seen(void **state)
{
	char text[400];

	(void)state;
	assert_int_equal(middle(-ENOSPC), -ENOSPC);

	assert_int_equal(err_up(-EPERM), -EPERM);

	err_trail(text, sizeof(text));
	assert_ptr_equal(strstr(text, "Operation not permitted:"), text);
	assert_null(strstr(text, "innermost"));
}

static void
outcome__handed_on__stays_as_it_is_and_leaves_no_mark(void **state)
{
	char before[400], after[400];

	(void)state;
	assert_int_equal(innermost(-EIO), -EIO);
	err_trail(before, sizeof(before));

	assert_int_equal(err_up(3), 3);
	assert_int_equal(err_up(0), 0);

	assert_string_equal(err_trail(after, sizeof(after)), before);
}

static void
fold__of_an_outcome__is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(err_fold(2), -ENOTRECOVERABLE);
}

static void
fold__of_a_failure_or_of_success__changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(err_fold(-EIO), -EIO);
	assert_int_equal(err_fold(0), 0);
}

static void
trail__of_a_long_way__keeps_the_beginning_and_counts_the_rest(void **state)
{
	char text[4000];

	(void)state;
	assert_int_equal(dive(20), -EIO);

	assert_non_null(strstr(err_trail(text, sizeof(text)), " and 5 more"));
}

static void
trail__in_a_small_buffer__is_cut_and_ends_in_nul(void **state)
{
	char text[12];

	(void)state;
	assert_int_equal(middle(-ENOSPC), -ENOSPC);

	assert_string_equal(err_trail(text, sizeof(text)), "No space le");
	assert_string_equal(err_trail(text, 1), "");
}

static void
trail__of_a_number_that_is_no_errno__still_has_words(void **state)
{
	char text[400];

	(void)state;
	assert_int_equal(innermost(-100000), -100000);

	assert_ptr_equal(strstr(err_trail(text, sizeof(text)), "unknown failure:"), text);
}

static void *
look_at_my_trail(void *arg)
{
	err_trail(arg, 400);
	return NULL;
}

static void
trail__of_one_thread__is_not_seen_by_another(void **state)
{
	char text[400];
	pthread_t thread;

	(void)state;
	assert_int_equal(middle(-ENOSPC), -ENOSPC);

	assert_int_equal(pthread_create(&thread, NULL, look_at_my_trail, text), 0);
	pthread_join(thread, NULL);

	assert_string_equal(text, "no failure");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trail__names_the_words_and_each_function_on_the_way),
		cmocka_unit_test(new_failure__forgets_the_trail_of_the_one_before),
		cmocka_unit_test(
			failure_without_a_birth__begins_its_own_trail_where_it_is_first_seen),
		cmocka_unit_test(outcome__handed_on__stays_as_it_is_and_leaves_no_mark),
		cmocka_unit_test(fold__of_an_outcome__is_a_failure),
		cmocka_unit_test(fold__of_a_failure_or_of_success__changes_nothing),
		cmocka_unit_test(trail__of_a_long_way__keeps_the_beginning_and_counts_the_rest),
		cmocka_unit_test(trail__in_a_small_buffer__is_cut_and_ends_in_nul),
		cmocka_unit_test(trail__of_a_number_that_is_no_errno__still_has_words),
		cmocka_unit_test(trail__of_one_thread__is_not_seen_by_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
