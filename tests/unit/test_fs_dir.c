/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fs/dir.h"
#include "fs/marker.h"
#include "fs_fake.h"
#include "transfer/base/rand.h"

static struct fs_options opts;
static struct fs fs;

static int
setup(void **state)
{
	(void)state;
	fake_clear();
	fs = (struct fs){.opts = &opts, .clock = clock_real()};
	list_init(&fs.opens);
	return fs_options_init(&opts) + fs_nodes_init(&fs.nodes, fs.root_key);
}

static int
teardown(void **state)
{
	(void)state;
	fs_nodes_fini(&fs.nodes);
	fs_options_fini(&opts);
	fake_clear();
	return 0;
}

static void
mark(const char *key)
{
	struct fs_attr attr = {.kind = FS_ATTR_DIR, .mode = 0755};

	assert_int_equal(fs_marker_put(&fs, key, &attr, 0), 0);
}

/* names -- of a directory, each with '/' behind a directory's; blank between; without the dots. */
static const char *
names(const char *key)
{
	static char text[1 << 16];
	const struct fs_found *found;
	struct fs_dir *dir;
	uint64_t cookie;
	size_t n = 0;
	int r;

	text[0] = '\0';
	assert_int_equal(fs_dir_open(&fs, key, &dir), 0);
	while ((r = fs_dir_next(dir, &found, &cookie)) > 0)
		if (strcmp(found->name, ".") != 0 && strcmp(found->name, "..") != 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s",
					      n > 0 ? " " : "", found->name,
					      found->is_dir ? "/" : "");
	assert_int_equal(r, 0);
	fs_dir_close(dir);
	return text;
}

static void
names__of_files_and_prefixes__come_once_each(void **state)
{
	(void)state;
	fake_put("b/1", "");
	fake_put("b/2", "");
	fake_put("a", "");
	fake_put("c", "");

	assert_string_equal(names(""), "a b/ c");
	assert_string_equal(names("b/"), "1 2");
}

static void
names__of_a_key_with_keys_below__are_a_directory_and_its_at(void **state)
{
	(void)state;
	fake_put("a", "");
	fake_put("a!x", "");
	fake_put("a-b", "");
	fake_put("a.c/x", "");
	fake_put("a/y", "");
	fake_put("b", "");

	assert_string_equal(names(""), "a!x a-b a.c/ a/ b");
	assert_string_equal(names("a/"), "%@ y");
}

static void
names__of_nested_prefixes__wait_for_each_other(void **state)
{
	(void)state;
	fake_put("f", "");
	fake_put("f-", "");
	fake_put("f--", "");
	fake_put("f--/x", "");
	fake_put("f-.", "");
	fake_put("f0", "");

	assert_string_equal(names(""), "f--/ f-. f- f f0");
}

static void
marker__of_a_directory__keeps_it_and_is_not_shown_in_it(void **state)
{
	(void)state;
	mark("d/");
	mark("d/e/");

	assert_string_equal(names(""), "d/");
	assert_string_equal(names("d/"), "e/");
	assert_string_equal(names("d/e/"), "");
}

static void
key__that_ends_in_a_slash_and_is_no_marker__is_a_file(void **state)
{
	(void)state;
	fake_put("d/", "bytes");
	fake_put("d//", "bytes");
	fake_put("e/", "bytes");

	assert_string_equal(names("d/"), "%_/");
	assert_string_equal(names("d//"), "%@ %_");
	assert_string_equal(names("e/"), "%_");
}

static void
odd_keys__hide_no_neighbour(void **state)
{
	(void)state;
	fake_put("/x", "");
	fake_put(".", "");
	fake_put("..", "");
	fake_put("../x", "");
	fake_put("%", "");
	fake_put("n\nl", "");
	fake_put("z", "");

	assert_string_equal(names(""), "%25 %2E%2E/ %2E %_/ n\nl z");
}

static void
long_parts__are_one_directory_for_each_piece(void **state)
{
	char key[700], want[300], x[254];

	(void)state;
	memset(x, 'x', 253);
	x[253] = '\0';
	fake_put(strcat(strcpy(key, x), ""), "");
	fake_put(strcat(strcpy(key, x), "ab"), "");
	fake_put(strcat(strcpy(key, x), "abc"), "");
	fake_put(strcat(strcpy(key, x), "abc-"), "");
	fake_put(strcat(strcpy(key, x), "abd/deep"), "");
	fake_put(strcat(strcpy(key, x), "b"), "");
	fake_put(strcat(strcpy(key, x), "bcd"), "");

	snprintf(want, sizeof(want), "%s%%+/", x);
	assert_non_null(strstr(names(""), want));
	assert_null(strstr(strstr(names(""), want) + strlen(want), "%+"));
	assert_string_equal(names(x), "abc- abc abd/ bcd");
}

static void
locals__come_between_the_masters_names__and_once(void **state)
{
	struct fs_node *file, *dir;

	(void)state;
	fake_put("a", "");
	fake_put("c", "");
	assert_int_equal(fs_nodes_look(&fs.nodes, false, "b", &file), 0);
	fs_node_work(&fs.nodes, file, true, true);
	assert_int_equal(fs_nodes_look(&fs.nodes, true, "c.d/", &dir), 0);
	fs_node_keep(&fs.nodes, dir, true);

	assert_string_equal(names(""), "a b c.d/ c");
	fake_put("b", "");
	fake_put("c.d/x", "");
	assert_string_equal(names(""), "a b c.d/ c");

	fs_node_unref(&fs.nodes, file);
	fs_node_unref(&fs.nodes, dir);
}

static void
root_of_a_prefix__shows_no_file_of_its_own(void **state)
{
	(void)state;
	fs_nodes_fini(&fs.nodes);
	strcpy(fs.root_key, "p/");
	assert_int_equal(fs_nodes_init(&fs.nodes, fs.root_key), 0);
	fake_put("p", "");
	fake_put("p/a", "");
	fake_put("q", "");

	assert_string_equal(names("p/"), "a");
	fs.root_key[0] = '\0';
}

static void
list__of_many_names__asks_for_none_of_them(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		char key[32];

		snprintf(key, sizeof(key), "d/f%05d", i);
		fake_put(key, "");
	}
	fake.n_stats = fake.n_lists = 0;
	names("d/");

	assert_int_equal(fake.n_lists, 1);
	assert_int_equal(fake.n_stats, 1); /* is there a key "d"? */
}

/* ---- positions ---- */

/* random_store -- names that are prefixes of each other, files and directories. */
static void
random_store(struct rand *rand, int n)
{
	static const char bytes[] = "-./a0";

	for (int i = 0; i < n; i++) {
		char key[16];
		size_t len = 1 + rand_below(rand, 6);

		for (size_t k = 0; k < len; k++)
			key[k] = bytes[rand_below(rand, sizeof(bytes) - 1)];
		key[len] = '\0';
		fake_put(key, "");
	}
}

static void
seek__to_any_cookie_given__goes_on_with_the_same_names(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 5);
	for (int round = 0; round < 30; round++) {
		static char all[400][FS_PATH_NAME_MAX + 1];
		static uint64_t cookies[400];
		const struct fs_found *found;
		struct fs_dir *dir;
		size_t n = 0;

		fake_clear();
		random_store(&rand, 200);
		assert_int_equal(fs_dir_open(&fs, "", &dir), 0);
		while (fs_dir_next(dir, &found, &cookies[n]) > 0)
			strcpy(all[n++], found->name);

		for (int i = 0; i < 50; i++) {
			size_t at = rand_below(&rand, n);
			uint64_t cookie;
			size_t m = at + 1;

			assert_int_equal(fs_dir_seek(dir, cookies[at]), 0);
			while (fs_dir_next(dir, &found, &cookie) > 0) {
				assert_string_equal(found->name, all[m]);
				assert_int_equal(cookie, cookies[m]);
				m++;
			}
			assert_int_equal(m, n);
		}
		fs_dir_close(dir);
	}
}

static void
names__that_nobody_touches__come_exactly_once_whatever_is_removed(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 6);
	for (int round = 0; round < 40; round++) {
		const struct fs_found *found;
		uint64_t cookie = 0;
		struct fs_dir *dir;
		int n_kept = 0;

		fake_clear();
		for (int i = 0; i < 300; i++) {
			char key[32];

			snprintf(key, sizeof(key), "%s%d%s", rand_below(&rand, 2) ? "keep" : "gone",
				 i, rand_below(&rand, 2) ? "" : ".x");
			fake_put(key, "");
			n_kept += key[0] == 'k';
		}
		assert_int_equal(fs_dir_open(&fs, "", &dir), 0);
		while (fs_dir_next(dir, &found, &cookie) > 0) {
			size_t victim = rand_below(&rand, fake.n);

			n_kept -= found->name[0] == 'k';
			if (fake.objects[victim].key[0] == 'g')
				fake_erase(fake.objects[victim].key);
			if (rand_below(&rand, 3) == 0)
				assert_int_equal(fs_dir_seek(dir, cookie), 0);
		}
		fs_dir_close(dir);
		assert_int_equal(n_kept, 0);
	}
}

static void
seek__further_back_than_is_remembered__finds_the_name_although_others_went(void **state)
{
	const struct fs_found *found;
	uint64_t cookie, at_100 = 0;
	struct fs_dir *dir;
	char key[32];
	int n = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "f%04d", i);
		fake_put(key, "");
	}
	assert_int_equal(fs_dir_open(&fs, "", &dir), 0);
	while (fs_dir_next(dir, &found, &cookie) > 0)
		if (strcmp(found->name, "f0100") == 0)
			at_100 = cookie;
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "f%04d", i);
		fake_erase(key);
	}
	assert_int_equal(fs_dir_seek(dir, at_100), 0);
	while (fs_dir_next(dir, &found, &cookie) > 0)
		if (n++ == 0)
			assert_string_equal(found->name, "f0101");

	assert_int_equal(n, 2899);
	fs_dir_close(dir);
}

static void
unread__name__comes_again_with_its_cookie(void **state)
{
	const struct fs_found *found;
	uint64_t first, again;
	struct fs_dir *dir;

	(void)state;
	fake_put("a", "");
	assert_int_equal(fs_dir_open(&fs, "", &dir), 0);
	assert_int_equal(fs_dir_next(dir, &found, &first), 1);
	fs_dir_unread(dir);
	assert_int_equal(fs_dir_seek(dir, 0), 0);
	assert_int_equal(fs_dir_next(dir, &found, &again), 1);

	assert_string_equal(found->name, ".");
	assert_int_equal(first, again);
	fs_dir_close(dir);
}

static void
rewind__after_the_end__shows_what_is_there_now(void **state)
{
	const struct fs_found *found;
	struct fs_dir *dir;
	uint64_t cookie;
	int n = 0;

	(void)state;
	fake_put("a", "");
	assert_int_equal(fs_dir_open(&fs, "", &dir), 0);
	while (fs_dir_next(dir, &found, &cookie) > 0)
		;
	fake_put("b", "");
	assert_int_equal(fs_dir_seek(dir, 0), 0);
	while (fs_dir_next(dir, &found, &cookie) > 0)
		n++;

	assert_int_equal(n, 4);
	fs_dir_close(dir);
}

static void
list__that_fails__tells_it_and_goes_on_later_where_it_stood(void **state)
{
	const struct fs_found *found;
	struct fs_dir *dir;
	uint64_t cookie = 0;

	(void)state;
	fake_put("a", "");
	fake_put("b", "");
	assert_int_equal(fs_dir_open(&fs, "", &dir), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fs_dir_next(dir, &found, &cookie), 1);
	assert_string_equal(found->name, "a");
	fake.fail_call = "list_next";
	fake.fail_code = TIFFIN_E_TIMEOUT;
	assert_int_equal(fs_dir_next(dir, &found, &cookie), -ETIMEDOUT);
	fake.fail_call = NULL;

	assert_int_equal(fs_dir_seek(dir, cookie), 0);
	assert_int_equal(fs_dir_next(dir, &found, &cookie), 1);
	assert_string_equal(found->name, "b");
	fs_dir_close(dir);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(names__of_files_and_prefixes__come_once_each),
		TEST(names__of_a_key_with_keys_below__are_a_directory_and_its_at),
		TEST(names__of_nested_prefixes__wait_for_each_other),
		TEST(marker__of_a_directory__keeps_it_and_is_not_shown_in_it),
		TEST(key__that_ends_in_a_slash_and_is_no_marker__is_a_file),
		TEST(odd_keys__hide_no_neighbour),
		TEST(long_parts__are_one_directory_for_each_piece),
		TEST(locals__come_between_the_masters_names__and_once),
		TEST(root_of_a_prefix__shows_no_file_of_its_own),
		TEST(list__of_many_names__asks_for_none_of_them),
		TEST(seek__to_any_cookie_given__goes_on_with_the_same_names),
		TEST(names__that_nobody_touches__come_exactly_once_whatever_is_removed),
		TEST(seek__further_back_than_is_remembered__finds_the_name_although_others_went),
		TEST(unread__name__comes_again_with_its_cookie),
		TEST(rewind__after_the_end__shows_what_is_there_now),
		TEST(list__that_fails__tells_it_and_goes_on_later_where_it_stood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
