/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fs/inside.h"
#include "fs/lookup.h"
#include "fs/pin.h"
#include "fs_fake_looks.h"

static struct fs_options opts;
static struct fs fs;
static struct fs_node *node;

static int
setup(void **state)
{
	int r;

	(void)state;
	fake_clear();
	fake_put("k", "bytes");
	memset(&fake_looks, 0, sizeof(fake_looks));
	fake_looks.n_extents = 2;
	fs = (struct fs){.opts = &opts, .clock = clock_real(), .client = &fake_client};
	list_init(&fs.opens);
	r = fs_options_init(&opts) + fs_nodes_init(&fs.nodes, fs.root_key) +
	    fs_nodes_look(&fs.nodes, false, "k", &node);
	lock_take(&node->lock);
	return r;
}

static int
teardown(void **state)
{
	(void)state;
	fs_work_drop(&fs, node);
	fs_pin_unref(take(&node->pin));
	lock_drop(&node->lock);
	fs_node_unref(&fs.nodes, node);
	fs_nodes_fini(&fs.nodes);
	fs_options_fini(&opts);
	fake_clear();
	return 0;
}

static void
assert_says(const char *name, const char *wanted)
{
	char *text;
	size_t len;

	assert_int_equal(fs_inside_get(&fs, node, name, &text, &len), 0);
	assert_string_equal(text, wanted);
	assert_int_equal(len, strlen(wanted));
	free(text);
}

static void
assert_fails(const char *name, int r)
{
	char *text;
	size_t len;

	assert_int_equal(fs_inside_get(&fs, node, name, &text, &len), r);
}

static void
published_file__asked_for_each_name__says_it_in_a_line(void **state)
{
	char id[32];

	(void)state;
	snprintf(id, sizeof(id), "%llu", (unsigned long long)fake.last_id);
	assert_says("key", "k");
	assert_says("state", "complete");
	assert_says("tenant", "default");
	assert_says("id", id);
	assert_says("lease", "0ms");
	assert_says("pin", "none");
	assert_says("replicas", "p1 h1 0+100,4096+100");
	assert_fails("none", -ENODATA);
}

static void
copy_of_many_pieces__is_told_with_the_first_and_their_number(void **state)
{
	char *text;
	size_t len;

	(void)state;
	fake_looks.n_extents = 50;
	assert_int_equal(fs_inside_get(&fs, node, "replicas", &text, &len), 0);
	assert_non_null(strstr(text, ",61440+100,... (50 in all)"));
	free(text);
}

static void
json__of_a_file__has_all_of_it(void **state)
{
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(fs_inside_get(&fs, node, "json", &text, &len), 0);
	assert_non_null(strstr(text, "\"key\":\"k\""));
	assert_non_null(strstr(text, "\"len_bytes\":5"));
	assert_non_null(strstr(text, "\"segment\":\"p1\""));
	assert_non_null(strstr(text, "\"offset_bytes\":4096,\"len_bytes\":100"));
	free(text);
}

static void
file_being_written__says_only_what_is_known(void **state)
{
	(void)state;
	assert_int_equal(
		fs_work_begin_empty(&fs, node, &(struct fs_attr){.mode = 0600}, TIFFIN_REPLACE), 0);
	assert_says("state", "writing");
	assert_says("key", "k");
	assert_fails("id", -ENODATA);
	assert_fails("replicas", -ENODATA);
	assert_int_equal(fs_inside_set(&fs, node, "pin", "hard", 4), -EBUSY);
}

static void
file_that_is_gone__has_nothing_to_say(void **state)
{
	(void)state;
	fake_erase("k");
	assert_fails("id", -ENODATA);
	fake.fail_call = "stat";
	fake.fail_code = TIFFIN_E_TIMEOUT;
	assert_fails("id", -ETIMEDOUT);
}

static void
pin__set_to_each_word__is_asked_of_the_master(void **state)
{
	(void)state;
	assert_int_equal(fs_inside_set(&fs, node, "pin", "hard", 4), 0);
	assert_int_equal(fake_looks.pin, TIFFIN_HARD_PIN);
	assert_string_equal(fake_looks.pinned, "k");
	assert_int_equal(fs_inside_set(&fs, node, "pin", "soft", 4), 0);
	assert_int_equal(fake_looks.pin, TIFFIN_SOFT_PIN);
	assert_int_equal(fs_inside_set(&fs, node, "pin", "soft 10m", 8), 0);
	assert_int_equal(fake_looks.pin_ttl_ms, 600000);
	assert_int_equal(fs_inside_set(&fs, node, "pin", "none", 4), 0);
	assert_int_equal(fake_looks.pin, 0);
}

static void
pin__set_to_anything_else__is_refused(void **state)
{
	static const char *const words[] = {
		"", "softly", "soft ", "soft x", "HARD", "hard hard hard hard hard hard hard"};

	(void)state;
	fake_looks.pin = 99;
	for (size_t i = 0; i < array_len(words); i++)
		assert_int_equal(fs_inside_set(&fs, node, "pin", words[i], strlen(words[i])),
				 -EINVAL);
	assert_int_equal(fs_inside_set(&fs, node, "id", "1", 1), -EPERM);
	assert_int_equal(fake_looks.pin, 99);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(published_file__asked_for_each_name__says_it_in_a_line),
		TEST(copy_of_many_pieces__is_told_with_the_first_and_their_number),
		TEST(json__of_a_file__has_all_of_it),
		TEST(file_being_written__says_only_what_is_known),
		TEST(file_that_is_gone__has_nothing_to_say),
		TEST(pin__set_to_each_word__is_asked_of_the_master),
		TEST(pin__set_to_anything_else__is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
