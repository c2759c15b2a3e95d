/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/key_text.h"

static void
key__with_odd_bytes__is_one_line_for_people(void **state)
{
	char buf[KEY_TEXT_CAP];

	(void)state;
	key_show(buf, sizeof(buf), "a\nb\\c\x01\xff\x7f/\xc3\xa9");

	assert_string_equal(buf, "a\\nb\\\\c\\x01\\xff\\x7f/\xc3\xa9");
}

static void
key__that_does_not_fit__is_cut_before_a_whole_character(void **state)
{
	char buf[5];

	(void)state;
	key_show(buf, sizeof(buf), "ab\nc");
	assert_string_equal(buf, "ab\\n");

	key_show(buf, sizeof(buf), "abc\xc3\xa9");
	assert_string_equal(buf, "abc");
}

static void
longest_key__of_the_oddest_bytes__fits(void **state)
{
	char key[1025], buf[KEY_TEXT_CAP];

	(void)state;
	memset(key, 0xff, 1024);
	key[1024] = '\0';

	assert_int_equal(strlen(key_show(buf, sizeof(buf), key)), 4096);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key__with_odd_bytes__is_one_line_for_people),
		cmocka_unit_test(key__that_does_not_fit__is_cut_before_a_whole_character),
		cmocka_unit_test(longest_key__of_the_oddest_bytes__fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
