/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fs/fs.h"
#include "fs/lookup.h"
#include "fs_fake.h"

static struct clock_fake fake_clock;
static struct fs_options opts;
static struct fs fs;
static struct fs_node *dir, *file;

static int
setup(void **state)
{
	(void)state;
	fake_clear();
	clock_fake_init(&fake_clock, 5000);
	fs = (struct fs){.opts = &opts, .clock = &fake_clock.base, .client = &fake_client};
	list_init(&fs.opens);
	fake_put("d/a", "x");
	if (fs_options_init(&opts) + fs_nodes_init(&fs.nodes, fs.root_key) != 0)
		return 1;
	return fs_nodes_look(&fs.nodes, true, "d/", &dir) +
	       fs_nodes_look(&fs.nodes, false, "d/a", &file);
}

static int
teardown(void **state)
{
	(void)state;
	fs_node_unref(&fs.nodes, dir);
	fs_node_unref(&fs.nodes, file);
	fs_nodes_fini(&fs.nodes);
	fs_options_fini(&opts);
	fake_clear();
	return 0;
}

/* asked -- how often the master was, for a directory's attributes. */
static uint64_t
asked(uint64_t *ret_left_ms)
{
	struct fs_version version;
	uint64_t before = fake.n_stats;

	assert_int_equal(fs_look_known_dir(&fs, dir, &version, ret_left_ms), 0);
	assert_int_equal(version.attr.kind, FS_ATTR_DIR);
	return fake.n_stats - before;
}

static void
directory__looked_at_just_before__costs_no_request_and_is_good_for_the_rest_of_the_time(
	void **state)
{
	uint64_t left_ms;

	(void)state;
	assert_int_equal(asked(&left_ms), 1);
	assert_int_equal(left_ms, 1000);
	clock_sleep_ms(&fake_clock.base, 400);
	assert_int_equal(asked(&left_ms), 0);
	assert_int_equal(left_ms, 600);
	clock_sleep_ms(&fake_clock.base, 600);
	assert_int_equal(asked(&left_ms), 1);
}

static void
directory__that_changed__is_asked_for_anew(void **state)
{
	uint64_t left_ms;

	(void)state;
	assert_int_equal(asked(&left_ms), 1);
	fs_nodes_changed(&fs.nodes, "d/"); /* by others */
	assert_int_equal(asked(&left_ms), 1);
	fs_look_dir_changed(&fs, dir); /* here */
	assert_int_equal(asked(&left_ms), 1);
	assert_int_equal(asked(&left_ms), 0);
}

static void
directory__of_a_mount_that_trusts_nothing__is_asked_for_each_time(void **state)
{
	uint64_t left_ms;

	(void)state;
	opts.attr_timeout = 0;
	assert_int_equal(asked(&left_ms), 1);
	assert_int_equal(asked(&left_ms), 1);
	assert_int_equal(left_ms, 0);
}

static const struct fs_version old = {.object_id = 7, .len_bytes = 1};
static const struct fs_version fresh = {.object_id = 8, .len_bytes = 2};

static void
file__whose_attributes_were_set_just_before__stands_for_no_other_version(void **state)
{
	(void)state;
	lock_take(&file->lock);
	assert_true(fs_look_may_show(&fs, file, fresh.object_id)); /* not looked at yet */
	fs_look_show(&fs, file, &old);
	assert_true(fs_look_may_show(&fs, file, fresh.object_id));
	file->set_ns = clock_ns(&fake_clock.base);
	assert_false(fs_look_may_show(&fs, file, fresh.object_id));
	assert_true(fs_look_may_show(&fs, file, old.object_id));
	clock_sleep_ms(&fake_clock.base, 10000);
	assert_true(fs_look_may_show(&fs, file, fresh.object_id));
	file->n_opens = 1;
	assert_false(fs_look_may_show(&fs, file, fresh.object_id));
	file->n_opens = 0;
	lock_drop(&file->lock);
}

static void
change__of_a_path_that_changes_all_the_time__is_given_up_in_the_end(void **state)
{
	unsigned n_races = 0, n = 0;

	(void)state;
	lock_take(&file->lock);
	assert_false(fs_look_again(&fs, file, 0, &n_races));
	assert_false(fs_look_again(&fs, file, -EIO, &n_races));
	while (fs_look_again(&fs, file, -ESTALE, &n_races))
		n++;
	assert_in_range(n, 1, 20);
	lock_drop(&file->lock);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(directory__looked_at_just_before__costs_no_request_and_is_good_for_the_rest_of_the_time),
		TEST(directory__that_changed__is_asked_for_anew),
		TEST(directory__of_a_mount_that_trusts_nothing__is_asked_for_each_time),
		TEST(file__whose_attributes_were_set_just_before__stands_for_no_other_version),
		TEST(change__of_a_path_that_changes_all_the_time__is_given_up_in_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
