/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "master/regex.h"

static int
make(const char *pattern, struct regex **ret_regex, char why[256])
{
	return regex_new((const uint8_t *)pattern, strlen(pattern), ret_regex, why, 256);
}

static bool
is_found(const char *pattern, const char *key)
{
	cleanup_with(regex_free_at) struct regex *regex = NULL;
	bool found = false;
	char why[256];

	assert_int_equal(make(pattern, &regex, why), 0);
	assert_int_equal(regex_find(regex, (const uint8_t *)key, strlen(key), &found), 0);
	return found;
}

static void
a_pattern__is_looked_for_anywhere_in_the_bytes(void **state)
{
	(void)state;
	assert_true(is_found("layer-[0-9]+", "model/layer-12/k"));
	assert_false(is_found("^layer", "model/layer-12/k"));
	assert_true(is_found("k$", "model/layer-12/k"));
	assert_true(is_found("\\xff", "a\xff z"));
	assert_true(is_found("^.{2}$", "\xc3\xa4")); /* bytes, not letters */
}

static void
what_is_no_pattern__is_refused_with_the_place(void **state)
{
	struct regex *regex = NULL;
	char why[256];

	(void)state;
	assert_int_equal(make("a(b", &regex, why), REGEX_E_PATTERN);
	assert_non_null(strstr(why, "at byte 3"));
	assert_int_equal(make("", &regex, why), REGEX_E_PATTERN);
	assert_non_null(strstr(why, "empty"));
	assert_int_equal(make("((a{999}){999}){99}", &regex, why), REGEX_E_PATTERN);
	assert_null(regex);
}

static void
a_pattern_that_tries_too_many_ways__is_given_up(void **state)
{
	cleanup_with(regex_free_at) struct regex *regex = NULL;
	static const char key[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	bool found;
	char why[256];

	(void)state;
	assert_int_equal(make("(a*)*b", &regex, why), 0);
	assert_int_equal(regex_find(regex, (const uint8_t *)"ab", 2, &found), 0);
	assert_true(found);
	regex_free(regex);
	regex = NULL;
	assert_int_equal(make("(a|aa)+$(?<!a)", &regex, why), 0);
	assert_int_equal(regex_find(regex, (const uint8_t *)key, sizeof(key) - 1, &found),
			 REGEX_E_COSTLY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern__is_looked_for_anywhere_in_the_bytes),
		cmocka_unit_test(what_is_no_pattern__is_refused_with_the_place),
		cmocka_unit_test(a_pattern_that_tries_too_many_ways__is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
