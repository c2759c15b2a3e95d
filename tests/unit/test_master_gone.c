/* SPDX-License-Identifier: Apache-2.0 */

/* Keys whose removal is not committed yet: who asks for them has to wait, and for nothing longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "master/gone.h"

static int
gone_setup(void **state)
{
	struct gone *gone = calloc(1, sizeof(*gone));

	gone_init(gone);
	*state = gone;
	return 0;
}

static int
gone_teardown(void **state)
{
	gone_fini(*state);
	free(*state);
	return 0;
}

static void
key__that_has_gone__is_waited_for_until_its_batch_is_committed(void **state)
{
	struct gone *gone = *state;

	gone_add(gone, 77, 5);
	assert_int_equal(gone_batch(gone, 77), 5);
	gone_settle(gone, 4);
	assert_int_equal(gone_batch(gone, 77), 5);

	gone_settle(gone, 5);
	assert_int_equal(gone_batch(gone, 77), 0);
	assert_true(gone_is_empty(gone));
}

static void
other_key__is_not_waited_for(void **state)
{
	struct gone *gone = *state;

	gone_add(gone, 77, 5);
	assert_int_equal(gone_batch(gone, 78), 0);
}

static void
key__that_goes_twice__is_waited_for_until_the_second_time(void **state)
{
	struct gone *gone = *state;

	gone_add(gone, 77, 5);
	gone_add(gone, 77, 7);
	gone_settle(gone, 6);
	assert_int_equal(gone_batch(gone, 77), 7);
	gone_settle(gone, 7);
	assert_true(gone_is_empty(gone));
}

static void
list__waits_for_the_last_of_all(void **state)
{
	struct gone *gone = *state;

	assert_int_equal(gone_last(gone), 0);
	for (uint64_t i = 1; i <= 100; i++)
		gone_add(gone, i, i);
	gone_settle(gone, 60);
	assert_int_equal(gone_last(gone), 100);
	assert_int_equal(gone_batch(gone, 60), 0);
	assert_int_equal(gone_batch(gone, 61), 61);
	gone_settle(gone, 100);
	assert_int_equal(gone_last(gone), 0);
}

#define GONE_TEST(name) cmocka_unit_test_setup_teardown(name, gone_setup, gone_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		GONE_TEST(key__that_has_gone__is_waited_for_until_its_batch_is_committed),
		GONE_TEST(other_key__is_not_waited_for),
		GONE_TEST(key__that_goes_twice__is_waited_for_until_the_second_time),
		GONE_TEST(list__waits_for_the_last_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
