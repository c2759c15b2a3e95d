/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/keys.h"

/* Keys that come from a stream, as with -0. */
static void
from_bytes(struct keys *keys, char *bytes, size_t n)
{
	const struct cli cli = {.nul = true};

	keys_init(keys, &cli, (struct operands){0, NULL, 0});
	keys->from = n > 0 ? fmemopen(bytes, n, "r") : fopen("/dev/null", "re");
	assert_non_null(keys->from);
}

static void
keys__as_words__come_one_after_the_other(void **state)
{
	char *argv[] = {(char[]){"a"}, (char[]){"-"}};
	const struct cli cli = {.nul = true};
	struct keys keys;
	const char *key;

	(void)state;
	keys_init(&keys, &cli, (struct operands){2, argv, 0});

	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_string_equal(key, "a");
	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_string_equal(key, "-");
	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_null(key);
}

static void
keys__on_standard_input__end_in_nul_or_with_it(void **state)
{
	char bytes[] = "a\nb\0c d\0last";
	const struct cli cli = {.nul = true};
	struct keys keys;
	const char *key;

	(void)state;
	from_bytes(&keys, bytes, sizeof(bytes) - 1);

	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_string_equal(key, "a\nb");
	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_string_equal(key, "c d");
	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_string_equal(key, "last");
	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_null(key);
	fclose(keys.from);
}

static void
input__that_is_empty__has_no_keys(void **state)
{
	const struct cli cli = {.nul = true};
	struct keys keys;
	const char *key;

	(void)state;
	from_bytes(&keys, NULL, 0);

	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_null(key);
	fclose(keys.from);
}

static void
key__that_is_none__is_refused__and_the_next_one_still_comes(void **state)
{
	char bytes[3000];
	const struct cli cli = {.nul = true, .json = true};
	struct keys keys;
	const char *key = "untouched";

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	bytes[0] = '\0';
	bytes[1 + 1025] = '\0';
	bytes[1 + 1025 + 1 + 1024] = '\0';
	from_bytes(&keys, bytes, 1 + 1025 + 1 + 1024 + 1);

	assert_int_equal(keys_next(&keys, &cli, &key), CLI_USAGE); /* empty */
	assert_int_equal(keys_next(&keys, &cli, &key), CLI_USAGE); /* 1025 bytes */
	assert_string_equal(key, "untouched");
	assert_int_equal(keys_next(&keys, &cli, &key), CLI_OK);
	assert_int_equal(strlen(key), 1024);
	fclose(keys.from);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys__as_words__come_one_after_the_other),
		cmocka_unit_test(keys__on_standard_input__end_in_nul_or_with_it),
		cmocka_unit_test(input__that_is_empty__has_no_keys),
		cmocka_unit_test(key__that_is_none__is_refused__and_the_next_one_still_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
