/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fs/path.h"
#include "transfer/base/rand.h"

/* repeat -- n times the byte c, then the text. */
static const char *
repeat(char c, size_t n, const char *text)
{
	static char bufs[4][2 * FS_PATH_KEY_MAX];
	static unsigned turn;
	char *buf = bufs[turn++ % 4];

	memset(buf, c, n);
	strcpy(buf + n, text);
	return buf;
}

static void
assert_path(const char *key, const char *path)
{
	char got[FS_PATH_MAX], back[FS_PATH_KEY_MAX + 1];

	fs_path_of_key(key, /* is_shadowed= */ false, got);
	assert_string_equal(got, path);
	assert_int_equal(fs_path_to_key(path, back), 0);
	assert_string_equal(back, key);
}

/* ---- the table, row by row ---- */

static void
slash__between_parts__is_a_directory_level(void **state)
{
	(void)state;
	assert_path("a", "a");
	assert_path("a/b/c", "a/b/c");
}

static void
percent__anywhere__is_written_as_25(void **state)
{
	(void)state;
	assert_path("%", "%25");
	assert_path("100%/50%25", "100%25/50%2525");
	assert_path("%_", "%25_");
	assert_path("%@", "%25@");
	assert_path("a%+", "a%25+");
}

static void
control__as_the_first_part__is_written_otherwise_and_further_down_not(void **state)
{
	char key[FS_PATH_KEY_MAX + 1], name[FS_PATH_NAME_MAX + 1];
	enum fs_path_kind kind;
	struct fs_path_step step;
	size_t n;

	(void)state;
	assert_path(".tiffin", "%2Etiffin");
	assert_path(".tiffin/status", "%2Etiffin/status");
	assert_path("a/.tiffin/b", "a/.tiffin/b");
	assert_path(".tiffinx", ".tiffinx");
	assert_path("%2Etiffin", "%252Etiffin");
	assert_int_equal(fs_path_to_key(".tiffin", key), FS_PATH_E_ILLEGAL);
	assert_int_equal(fs_path_to_key(".tiffin/status", key), FS_PATH_E_ILLEGAL);
	assert_int_equal(fs_path_to_key("a/%2Etiffin", key), FS_PATH_E_ILLEGAL);
	assert_int_equal(fs_path_decode("", ".tiffin", &step), FS_PATH_E_ILLEGAL);
	assert_int_equal(fs_path_encode("", ".tiffin", 7, name, &kind), 0);
	assert_string_equal(name, "%2Etiffin");
	fs_path_split(".tiffin/", /* is_dir= */ true, &n, name);
	assert_int_equal(n, 0);
	assert_string_equal(name, "%2Etiffin");
	fs_path_split("a/.tiffin", /* is_dir= */ false, &n, name);
	assert_string_equal(name, ".tiffin");
}

static void
empty_part__at_each_end_and_between__is_an_underscore(void **state)
{
	(void)state;
	assert_path("/", "%_/%_");
	assert_path("/a", "%_/a");
	assert_path("a/", "a/%_");
	assert_path("a//b", "a/%_/b");
	assert_path("a//", "a/%_/%_");
}

static void
dots__as_a_whole_part__are_written_as_2E(void **state)
{
	(void)state;
	assert_path(".", "%2E");
	assert_path("..", "%2E%2E");
	assert_path("a/../b/.", "a/%2E%2E/b/%2E");
	assert_path("...", "...");
	assert_path(".a", ".a");
	assert_path("a..", "a..");
}

static void
long_part__over_255_bytes__is_cut_into_pieces(void **state)
{
	char path[FS_PATH_MAX];

	(void)state;
	assert_path(repeat('x', 255, ""), repeat('x', 255, ""));

	snprintf(path, sizeof(path), "%s/xxx", repeat('x', 253, "%+"));
	assert_path(repeat('x', 256, ""), path);

	snprintf(path, sizeof(path), "%s/%s/xxxxx/tail", repeat('x', 253, "%+"),
		 repeat('x', 253, "%+"));
	assert_path(repeat('x', 511, "/tail"), path);
}

static void
long_part__full_of_percents__is_never_cut_within_an_escape(void **state)
{
	char name[FS_PATH_NAME_MAX + 1];
	enum fs_path_kind kind;

	(void)state;
	assert_int_equal(fs_path_encode("", repeat('%', 100, ""), 100, name, &kind), 0);
	assert_int_equal(kind, FS_PATH_PIECE);
	assert_int_equal(strlen(name), 84 * 3 + 2);
	assert_string_equal(name + 83 * 3, "%25%+");
	assert_path("a%", "a%25");
	for (size_t n = 80; n < 400; n++) {
		char path[FS_PATH_MAX], back[FS_PATH_KEY_MAX + 1];

		fs_path_of_key(repeat('%', n, "a%"), false, path);
		assert_int_equal(fs_path_to_key(path, back), 0);
		assert_string_equal(back, repeat('%', n, "a%"));
	}
}

static void
key__when_keys_lie_below_it__is_the_file_at(void **state)
{
	char path[FS_PATH_MAX], back[FS_PATH_KEY_MAX + 1];

	(void)state;
	fs_path_of_key("a/b", /* is_shadowed= */ true, path);

	assert_string_equal(path, "a/b/%@");
	assert_int_equal(fs_path_to_key(path, back), 0);
	assert_string_equal(back, "a/b");
}

static void
other_bytes__control_and_invalid_utf8__are_themselves(void **state)
{
	(void)state;
	assert_path("\n", "\n");
	assert_path("a\tb\x7f", "a\tb\x7f");
	assert_path("\xff\xc0/\x80", "\xff\xc0/\x80");
	assert_path("a b\\c:*?\"<>|", "a b\\c:*?\"<>|");
}

/* ---- paths that mean nothing ---- */

static void
path__that_no_key_has__is_illegal(void **state)
{
	static const char *const paths[] = {
		"",     "%",      "%2",  "%26", "%2e",     "%2E%2E%2E", "a%2E",    "%2Ea",
		"a%_",  "%__",    "%_",  "%@",  "a/%@/b",  "%@/a",      "a/%@/%@", "a//b",
		"/a",   "a/",     ".",   "..",  "a/./b",   "a/..",      "%+",      "short%+/x",
		"%25%", "%2525%", "%2F", "%00", "short%+", "%252%5",    "a%@",     "%@%25",
	};
	char key[FS_PATH_KEY_MAX + 1] = "untouched";

	(void)state;
	for (size_t i = 0; i < array_len(paths); i++) {
		if (fs_path_to_key(paths[i], key) != FS_PATH_E_ILLEGAL)
			fail_msg("\"%s\" is taken for \"%s\"", paths[i], key);
		assert_string_equal(key, "untouched");
	}
}

static void
pieces__cut_elsewhere_than_they_would_be__are_illegal(void **state)
{
	char path[FS_PATH_MAX], key[FS_PATH_KEY_MAX + 1];

	(void)state;
	snprintf(path, sizeof(path), "%s/xxxxxx", repeat('x', 250, "%+")); /* too early */
	assert_int_equal(fs_path_to_key(path, key), FS_PATH_E_ILLEGAL);
	snprintf(path, sizeof(path), "%s/xxxxxx", repeat('x', 252, "%+")); /* room for the next x */
	assert_int_equal(fs_path_to_key(path, key), FS_PATH_E_ILLEGAL);
	snprintf(path, sizeof(path), "%s/%%25xxxx", repeat('x', 252, "%+")); /* no room for a % */
	assert_int_equal(fs_path_to_key(path, key), 0);
	snprintf(path, sizeof(path), "%s/xx", repeat('x', 253, "%+")); /* need not be cut */
	assert_int_equal(fs_path_to_key(path, key), FS_PATH_E_ILLEGAL);
	snprintf(path, sizeof(path), "%s/%%_", repeat('x', 253, "%+"));
	assert_int_equal(fs_path_to_key(path, key), FS_PATH_E_ILLEGAL);
	snprintf(path, sizeof(path), "%s/%%@", repeat('x', 253, "%+"));
	assert_int_equal(fs_path_to_key(path, key), FS_PATH_E_ILLEGAL);
	snprintf(path, sizeof(path), "%s/%%2E%%2E", repeat('x', 253, "%+"));
	assert_int_equal(fs_path_to_key(path, key), FS_PATH_E_ILLEGAL);
}

static void
name__over_255_bytes__is_too_long(void **state)
{
	struct fs_path_step step;

	(void)state;
	assert_int_equal(fs_path_decode("", repeat('x', 255, ""), &step), 0);
	assert_int_equal(fs_path_decode("", repeat('x', 256, ""), &step), FS_PATH_E_TOO_LONG);
}

static void
path__whose_key_would_pass_1024_bytes__is_too_long(void **state)
{
	char path[FS_PATH_MAX], key[FS_PATH_KEY_MAX + 1];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 512; i++)
		n += (size_t)sprintf(path + n, "a/");
	strcpy(path + n, "");
	path[n - 1] = '\0'; /* 1023 bytes */
	assert_int_equal(fs_path_to_key(path, key), 0);
	strcpy(path + n - 1, "bb");
	assert_int_equal(fs_path_to_key(path, key), FS_PATH_E_TOO_LONG);
}

/* ---- laws ---- */

static int
compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
keys__all_short_ones_of_odd_bytes__have_distinct_paths_that_lead_back(void **state)
{
	static const char odd[] = "/%._@+2E5a\n\xff";
	enum { N = sizeof(odd) - 1, ALL = N + N * N + N * N * N };
	static char paths[2 * ALL][24];
	size_t n = 0;

	(void)state;
	for (size_t i = 1; i < (N + 1) * (N + 1) * (N + 1); i++) {
		size_t digits[3] = {i / (N + 1) / (N + 1), i / (N + 1) % (N + 1), i % (N + 1)};
		char key[4] = "", back[FS_PATH_KEY_MAX + 1], path[FS_PATH_MAX];
		size_t len = 0;

		if ((digits[0] != 0 && digits[1] == 0) || (digits[1] != 0 && digits[2] == 0) ||
		    (digits[0] != 0 && digits[2] == 0))
			continue;
		for (size_t k = 0; k < 3; k++)
			if (digits[k] != 0)
				key[len++] = odd[digits[k] - 1];
		for (int is_shadowed = 0; is_shadowed <= 1; is_shadowed++) {
			fs_path_of_key(key, is_shadowed != 0, path);
			assert_int_equal(fs_path_to_key(path, back), 0);
			assert_string_equal(back, key);
			assert_true(strlen(path) < sizeof(paths[0]));
			strcpy(paths[n++], path);
		}
	}

	assert_int_equal(n, 2 * ALL);
	qsort(paths, n, sizeof(paths[0]), compare_text);
	for (size_t i = 1; i < n; i++)
		assert_string_not_equal(paths[i - 1], paths[i]);
}

/* random_key -- of few bytes, so that odd neighbours are common; now and then with a long part. */
static void
random_key(struct rand *rand, char *key)
{
	static const char bytes[] = "/%._@+2E5ab\x01\xfe";
	size_t len = 1 + rand_below(rand, rand_below(rand, 4) == 0 ? FS_PATH_KEY_MAX : 12);
	bool is_long = rand_below(rand, 3) == 0;

	for (size_t i = 0; i < len; i++)
		key[i] = is_long && rand_below(rand, 300) > 0
				 ? "%x"[rand_below(rand, 2)]
				 : bytes[rand_below(rand, sizeof(bytes) - 1)];
	key[len] = '\0';
}

static void
keys__at_random__come_back_from_their_paths_and_names_fit(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 20);
	for (int i = 0; i < 20000; i++) {
		char key[FS_PATH_KEY_MAX + 1], path[FS_PATH_MAX], back[FS_PATH_KEY_MAX + 1];

		random_key(&rand, key);
		/* Nothing lies below a key that fills its room. */
		fs_path_of_key(key, i % 2 != 0 && strlen(key) < FS_PATH_KEY_MAX, path);
		assert_int_equal(fs_path_to_key(path, back), 0);
		assert_string_equal(back, key);
		for (char *name = strtok(path, "/"); name != NULL; name = strtok(NULL, "/"))
			assert_true(strlen(name) <= FS_PATH_NAME_MAX && strcmp(name, ".") != 0 &&
				    strcmp(name, "..") != 0);
	}
}

static void
split__of_any_key__gives_the_name_that_decodes_to_it(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 21);
	for (int i = 0; i < 20000; i++) {
		char key[FS_PATH_KEY_MAX + 1], dir[FS_PATH_KEY_MAX + 1], name[FS_PATH_NAME_MAX + 1];
		struct fs_path_step step;
		size_t n_dir;

		random_key(&rand, key);
		fs_path_split(key, /* is_dir= */ false, &n_dir, name);
		memcpy(dir, key, n_dir);
		dir[n_dir] = '\0';
		assert_int_equal(fs_path_decode(dir, name, &step), 0);
		assert_int_equal(step.kind, FS_PATH_PLAIN);
		assert_string_equal(key + n_dir, step.bytes);
	}
}

static void
split__of_a_directory__gives_its_name_one_level_up(void **state)
{
	char name[FS_PATH_NAME_MAX + 1];
	size_t n;

	(void)state;
	fs_path_split("a/b/", true, &n, name);
	assert_int_equal(n, 2);
	assert_string_equal(name, "b");

	fs_path_split("a//", true, &n, name);
	assert_int_equal(n, 2);
	assert_string_equal(name, "%_");

	fs_path_split(repeat('x', 253, ""), true, &n, name);
	assert_int_equal(n, 0);
	assert_string_equal(name, repeat('x', 253, "%+"));

	fs_path_split(repeat('x', 506, ""), true, &n, name);
	assert_int_equal(n, 253);
	assert_string_equal(name, repeat('x', 253, "%+"));

	fs_path_split(repeat('x', 506, "xxx/"), true, &n, name);
	assert_int_equal(n, 506);
	assert_string_equal(name, "xxx");
}

static void
encode__of_a_short_part_in_a_piece__says_it_is_elsewhere(void **state)
{
	char name[FS_PATH_NAME_MAX + 1];
	enum fs_path_kind kind;

	(void)state;
	assert_int_equal(fs_path_encode(repeat('x', 253, ""), "ab", 2, name, &kind),
			 FS_PATH_E_ELSEWHERE);
	assert_int_equal(fs_path_encode(repeat('x', 253, ""), "", 0, name, &kind),
			 FS_PATH_E_ELSEWHERE);
	assert_int_equal(fs_path_encode(repeat('x', 253, ""), "abc", 3, name, &kind), 0);
	assert_string_equal(name, "abc");
}

static void
decode__of_any_bytes__never_gives_two_names_the_same_meaning(void **state)
{
	static const char bytes[] = "%_@+25E.a";
	struct rand rand;

	(void)state;
	rand_init(&rand, 22);
	for (int i = 0; i < 50000; i++) {
		char name[FS_PATH_NAME_MAX + 1], again[FS_PATH_NAME_MAX + 1];
		size_t len = 1 + rand_below(&rand, 8);
		struct fs_path_step step;
		enum fs_path_kind kind;

		for (size_t k = 0; k < len; k++)
			name[k] = bytes[rand_below(&rand, sizeof(bytes) - 1)];
		name[len] = '\0';
		if (fs_path_decode("d/", name, &step) != 0 || step.kind != FS_PATH_PLAIN)
			continue;
		assert_int_equal(fs_path_encode("d/", step.bytes, step.len_bytes, again, &kind), 0);
		assert_string_equal(again, name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slash__between_parts__is_a_directory_level),
		cmocka_unit_test(percent__anywhere__is_written_as_25),
		cmocka_unit_test(
			control__as_the_first_part__is_written_otherwise_and_further_down_not),
		cmocka_unit_test(empty_part__at_each_end_and_between__is_an_underscore),
		cmocka_unit_test(dots__as_a_whole_part__are_written_as_2E),
		cmocka_unit_test(long_part__over_255_bytes__is_cut_into_pieces),
		cmocka_unit_test(long_part__full_of_percents__is_never_cut_within_an_escape),
		cmocka_unit_test(key__when_keys_lie_below_it__is_the_file_at),
		cmocka_unit_test(other_bytes__control_and_invalid_utf8__are_themselves),
		cmocka_unit_test(path__that_no_key_has__is_illegal),
		cmocka_unit_test(pieces__cut_elsewhere_than_they_would_be__are_illegal),
		cmocka_unit_test(name__over_255_bytes__is_too_long),
		cmocka_unit_test(path__whose_key_would_pass_1024_bytes__is_too_long),
		cmocka_unit_test(
			keys__all_short_ones_of_odd_bytes__have_distinct_paths_that_lead_back),
		cmocka_unit_test(keys__at_random__come_back_from_their_paths_and_names_fit),
		cmocka_unit_test(split__of_any_key__gives_the_name_that_decodes_to_it),
		cmocka_unit_test(split__of_a_directory__gives_its_name_one_level_up),
		cmocka_unit_test(encode__of_a_short_part_in_a_piece__says_it_is_elsewhere),
		cmocka_unit_test(decode__of_any_bytes__never_gives_two_names_the_same_meaning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
