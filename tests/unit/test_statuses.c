/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/statuses.h"
#include "core/tiffin.h"
#include "core/why.h"

static void
every_status_but_ok__has_a_code(void **state)
{
	static const uint32_t statuses[] = {
#define STATUS(number, name, retry, meaning) number,
#include "master/proto/status.def"
#undef STATUS
	};

	(void)state;
	assert_int_equal(statuses_code(STATUS_OK), 0);
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i] != STATUS_OK)
			assert_true(statuses_code(statuses[i]) < 0);
}

static void
status_of_a_newer_master__is_a_matter_of_versions(void **state)
{
	(void)state;
	assert_int_equal(statuses_code(9999), TIFFIN_E_VERSION);
	assert_int_equal(statuses_code(UINT32_MAX), TIFFIN_E_VERSION);
}

static void
every_outcome_of_link_and_engine__has_a_code(void **state)
{
	(void)state;
	for (int outcome = LINK_E_TIMEOUT; outcome <= LINK_E_TENANT; outcome++)
		assert_true(statuses_of_link(outcome) < 0);
	assert_int_equal(statuses_of_op(OP_DONE), 0);
	for (enum op_result result = OP_E_PENDING; result <= OP_E_CANCELLED; result++)
		assert_true(statuses_of_op(result) < 0);
}

static void
every_code__has_a_name_and_words(void **state)
{
	(void)state;
	for (int code = TIFFIN_E_NOT_EMPTY; code <= 0; code++) {
		assert_string_not_equal(tiffin_errname(code), "UNKNOWN");
		assert_true(strlen(tiffin_strerror(code)) > 3);
	}
	assert_string_equal(tiffin_errname(TIFFIN_E_NOT_FOUND), "NOT_FOUND");
	assert_string_equal(tiffin_errname(1), "UNKNOWN");
	assert_string_equal(tiffin_errname(-1000), "UNKNOWN");
	assert_non_null(tiffin_strerror(INT32_MIN + 1));
}

static void
key__is_shown_without_what_a_terminal_would_obey(void **state)
{
	char shown[16];

	(void)state;
	assert_string_equal(why_key(shown, sizeof(shown), "a\x1b[2Jb\n", 7), "a?[2Jb?");
	assert_string_equal(why_key(shown, sizeof(shown), "a very long key indeed", 22),
			    "a very long ...");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_but_ok__has_a_code),
		cmocka_unit_test(status_of_a_newer_master__is_a_matter_of_versions),
		cmocka_unit_test(every_outcome_of_link_and_engine__has_a_code),
		cmocka_unit_test(every_code__has_a_name_and_words),
		cmocka_unit_test(key__is_shown_without_what_a_terminal_would_obey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
