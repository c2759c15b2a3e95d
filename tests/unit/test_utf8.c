/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "transfer/base/utf8.h"

static void
utf8__is_judged_as_the_standard_does(void **state)
{
	static const char *const good[] = {
		"",
		"abc",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};
	static const char *const bad[] = {
		"\x80",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc3",
		"\xc3(",
		"\xe0\x9f\xbf",
		"\xe2\x82",
		"\xed\xa0\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
	};

	(void)state;
	for (size_t i = 0; i < array_len(good); i++)
		assert_true(utf8_is_valid(good[i]));
	for (size_t i = 0; i < array_len(bad); i++)
		assert_false(utf8_is_valid(bad[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8__is_judged_as_the_standard_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
