/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/export_name.h"
#include "core/tiffin.h"
#include "transfer/base/rand.h"

static void
assert_path(const char *key, const char *path)
{
	char name[EXPORT_NAME_CAP], back[TIFFIN_KEY_MAX + 2];

	assert_string_equal(export_name_of(name, sizeof(name), key), path);
	assert_int_equal(export_name_key(back, sizeof(back), path), 0);
	assert_string_equal(back, key);
}

static void
plain_key__is_its_own_path(void **state)
{
	(void)state;
	assert_path("a", "a");
	assert_path("models/llama/config.json", "models/llama/config.json");
	assert_path("na\xc3\xafve/\xff\x01 x", "na\xc3\xafve/\xff\x01 x");
	assert_path("...", "...");
}

static void
odd_parts__are_escaped_as_in_the_table(void **state)
{
	(void)state;
	assert_path("100%", "100%25");
	assert_path("%_", "%25_");
	assert_path("/a", "%_/a");
	assert_path("a//b", "a/%_/b");
	assert_path("a/", "a/%_");
	assert_path("/", "%_/%_");
	assert_path(".", "%2E");
	assert_path("../../etc/passwd", "%2E%2E/%2E%2E/etc/passwd");
	assert_path("a/..", "a/%2E%2E");
}

static void
long_part__is_split_into_pieces_of_at_most_255_bytes(void **state)
{
	char key[TIFFIN_KEY_MAX + 1], name[EXPORT_NAME_CAP];

	(void)state;
	memset(key, 'x', 300);
	key[300] = '\0';

	export_name_of(name, sizeof(name), key);

	assert_int_equal(strcspn(name, "/"), 255);
	assert_memory_equal(name + 253, "%+/x", 4);
	assert_int_equal(strlen(name), 300 + 3);
	assert_path(key, name);
}

static void
part_of_255_bytes__stays_whole(void **state)
{
	char key[256];

	(void)state;
	memset(key, 'x', 255);
	key[255] = '\0';

	assert_path(key, key);
}

static void
longest_key__of_percent_signs__fits(void **state)
{
	char key[TIFFIN_KEY_MAX + 1], name[EXPORT_NAME_CAP];

	(void)state;
	memset(key, '%', TIFFIN_KEY_MAX);
	key[TIFFIN_KEY_MAX] = '\0';

	assert_path(key, export_name_of(name, sizeof(name), key));
}

static void
path__that_no_key_has__is_refused(void **state)
{
	static const char *const paths[] = {
		"",    "/a", "a/", "a//b", "%",      "%2", "%25%", "a%2Eb", "%2e",       "%41",
		"a%_", "%@", ".",  "..",   "a/../b", "%+", "a%+",  "a%+/b", "%2E%2E%2E",
	};
	char key[TIFFIN_KEY_MAX + 2];

	(void)state;
	for (size_t i = 0; i < array_len(paths); i++)
		assert_int_equal(export_name_key(key, sizeof(key), paths[i]),
				 EXPORT_NAME_E_NOT_A_KEY);
}

static void
path__of_a_key_that_is_too_long__is_refused(void **state)
{
	char key[TIFFIN_KEY_MAX + 2], path[2048];

	(void)state;
	memset(path, 'x', sizeof(path));
	for (size_t i = 100; i < sizeof(path); i += 100)
		path[i] = '/';
	path[TIFFIN_KEY_MAX + 1] = '\0';

	assert_int_equal(export_name_key(key, sizeof(key), path), EXPORT_NAME_E_NOT_A_KEY);
}

/* Keys of the bytes that matter, so that every rule meets every other one. */
static void
any_key__comes_back_from_its_path__which_stays_below(void **state)
{
	static const char bytes[] = "/%._@+25Ea";
	struct rand rand;

	(void)state;
	rand_init(&rand, 11);
	for (int i = 0; i < 20000; i++) {
		char key[TIFFIN_KEY_MAX + 1], name[EXPORT_NAME_CAP];
		size_t len = 1 + rand_below(&rand, i % 50 == 0 ? TIFFIN_KEY_MAX : 12);
		bool is_wide = rand_below(&rand, 4) == 0;

		for (size_t k = 0; k < len; k++)
			key[k] = is_wide && rand_below(&rand, 100) > 0
					 ? "%a"[rand_below(&rand, 2)]
					 : bytes[rand_below(&rand, sizeof(bytes) - 1)];
		key[len] = '\0';

		export_name_of(name, sizeof(name), key);
		assert_path(key, name);
		for (const char *part = name;; part += strcspn(part, "/") + 1) {
			size_t n = strcspn(part, "/");

			assert_in_range(n, 1, 255);
			assert_false(n == 1 && part[0] == '.');
			assert_false(n == 2 && part[0] == '.' && part[1] == '.');
			if (part[n] == '\0')
				break;
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_key__is_its_own_path),
		cmocka_unit_test(odd_parts__are_escaped_as_in_the_table),
		cmocka_unit_test(long_part__is_split_into_pieces_of_at_most_255_bytes),
		cmocka_unit_test(part_of_255_bytes__stays_whole),
		cmocka_unit_test(longest_key__of_percent_signs__fits),
		cmocka_unit_test(path__that_no_key_has__is_refused),
		cmocka_unit_test(path__of_a_key_that_is_too_long__is_refused),
		cmocka_unit_test(any_key__comes_back_from_its_path__which_stays_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
