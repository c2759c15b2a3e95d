/* SPDX-License-Identifier: Apache-2.0 */
#include "master/proto/status.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Spelled out a second time: whoever renumbers status.def breaks old clients, and this test. */
static const struct {
	uint32_t number;
	const char *name;
	bool may_retry;
} frozen[] = {
	{0, "OK", false},
	{1, "NOT_FOUND", false},
	{2, "EXISTS", false},
	{3, "NO_SPACE", true},
	{4, "HAS_LEASE", true},
	{5, "LEASE_EXPIRED", false},
	{6, "INVALID", false},
	{7, "NOT_YOURS", false},
	{8, "SEGMENT_NOT_FOUND", false},
	{9, "SEGMENT_EXISTS", false},
	{10, "NO_SEGMENT", true},
	{11, "TENANT_NOT_FOUND", false},
	{12, "UNAVAILABLE", true},
	{13, "VERSION", false},
	{14, "DENIED", false},
	{15, "NOT_JOINED", true},
	{16, "TOO_MANY", true},
	{17, "NOT_COMPLETE", true},
	{18, "STRICT_FAILED", true},
	{19, "TENANT_NOT_EMPTY", false},
	{20, "QUOTA_EXCEEDED", true},
	{40, "TASK_NOT_FOUND", false},
	{41, "TASK_BUSY", true},
	{42, "NO_COPY", false},
	{43, "CANCELLED", false},
	{44, "UNREACHABLE", true},
	{45, "BAD_CHECKSUM", true},
	{46, "NO_WORKER", true},
};

static void
status_name__every_status__is_the_one_of_its_number(void **state)
{
	(void)state;

	for (size_t i = 0; i < array_len(frozen); i++)
		assert_string_equal(status_name(frozen[i].number), frozen[i].name);
}

static void
status_name__a_number_that_is_none__is_unknown(void **state)
{
	(void)state;

	assert_string_equal(status_name(39), "UNKNOWN");
	assert_string_equal(status_name(UINT32_MAX), "UNKNOWN");
}

static void
status_may_retry__every_status__says_what_the_protocol_promises(void **state)
{
	(void)state;

	for (size_t i = 0; i < array_len(frozen); i++)
		assert_int_equal(status_may_retry(frozen[i].number), frozen[i].may_retry);
}

static void
status_may_retry__a_number_that_is_none__says_no(void **state)
{
	(void)state;

	assert_false(status_may_retry(UINT32_MAX));
}

static void
status_meaning__any_number__has_words(void **state)
{
	(void)state;

	for (uint32_t number = 0; number <= STATUS_NO_WORKER + 1; number++)
		assert_true(status_meaning(number)[0] != '\0');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_name__every_status__is_the_one_of_its_number),
		cmocka_unit_test(status_name__a_number_that_is_none__is_unknown),
		cmocka_unit_test(status_may_retry__every_status__says_what_the_protocol_promises),
		cmocka_unit_test(status_may_retry__a_number_that_is_none__says_no),
		cmocka_unit_test(status_meaning__any_number__has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
