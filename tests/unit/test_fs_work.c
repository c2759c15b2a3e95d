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
#include "fs/pin.h"
#include "fs/xattrs.h"
#include "fs_fake.h"

static struct fs_options opts;
static struct fs fs;
static struct fs_node *node;
static const struct fs_attr attr = {.kind = FS_ATTR_FILE, .mode = 0640, .uid = 3, .gid = 4};

/* look -- the node of "k", locked, as after a look-up. */
static void
look(void)
{
	struct fs_version version = {0};
	struct fake_object *object = fake_find("k");

	if (object != NULL) {
		version.object_id = object->value->id;
		version.len_bytes = object->value->len_bytes;
		version.attr = attr;
	}
	assert_int_equal(fs_nodes_look(&fs.nodes, false, "k", &node), 0);
	fs_node_show(&fs.nodes, node, &version);
	lock_take(&node->lock);
}

static int
setup(void **state)
{
	(void)state;
	fake_clear();
	fs = (struct fs){.opts = &opts, .clock = clock_real(), .client = &fake_client};
	node = NULL;
	list_init(&fs.opens);
	return fs_options_init(&opts) + fs_nodes_init(&fs.nodes, fs.root_key);
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

static int
write_at(uint64_t at, const char *text)
{
	struct iovec slice = {(void *)(uintptr_t)text, strlen(text)};

	return fs_work_write(&fs, node, at, &slice);
}

static void
assert_published(const char *text)
{
	struct fake_object *object = fake_find("k");

	assert_non_null(object);
	assert_int_equal(object->value->len_bytes, strlen(text));
	assert_memory_equal(object->value->bytes, text, strlen(text));
}

static void
commit__of_a_new_file__publishes_bytes_and_attributes(void **state)
{
	struct fs_version shown;
	struct fs_attr kept;

	(void)state;
	look();
	assert_int_equal(fs_work_begin_empty(&fs, node, &attr, 0), 0);
	assert_int_equal(write_at(0, "hello"), 0);
	assert_null(fake_find("k"));
	assert_int_equal(fs_work_commit(&fs, node), 0);

	assert_published("hello");
	assert_int_equal(fs_attr_decode(fake_find("k")->value->attr, FS_ATTR_BYTES, &kept), 0);
	assert_int_equal(kept.mode, 0640);
	assert_int_equal(kept.uid, 3);
	fs_node_shown(&fs.nodes, node, &shown);
	assert_int_equal(shown.object_id, fake_find("k")->value->id);
	assert_int_equal(shown.len_bytes, 5);
}

static void
write__into_an_old_file__copies_it_up_first(void **state)
{
	(void)state;
	fake_put("k", "0123456789");
	look();
	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), 0);
	assert_int_equal(write_at(3, "abc"), 0);
	assert_published("0123456789");
	assert_int_equal(fs_work_commit(&fs, node), 0);

	assert_published("012abc6789");
}

static void
truncate__to_less__copies_only_that_much(void **state)
{
	(void)state;
	fake_put("k", "0123456789");
	look();
	assert_int_equal(fs_work_begin(&fs, node, 4), 0);
	assert_int_equal(fs_work_len(node), 4);
	assert_int_equal(fs_work_truncate(&fs, node, 4), 0);
	assert_int_equal(fs_work_commit(&fs, node), 0);

	assert_published("0123");
}

static void
commit__with_nothing_new__does_nothing(void **state)
{
	(void)state;
	fake_put("k", "old");
	look();

	assert_int_equal(fs_work_commit(&fs, node), 0);
	assert_int_equal(fake.last_id, fake_find("k")->value->id);
}

static void
write__that_fails__spoils_everything_until_the_work_is_dropped(void **state)
{
	(void)state;
	fake_put("k", "old");
	look();
	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), 0);
	fake.fail_call = "put_write";
	fake.fail_code = TIFFIN_E_NO_SPACE;
	assert_int_equal(write_at(0, "new"), -ENOSPC);
	fake.fail_call = NULL;

	assert_int_equal(write_at(0, "new"), -ENOSPC);
	assert_int_equal(fs_work_begin(&fs, node, 0), -ENOSPC);
	assert_int_equal(fs_work_commit(&fs, node), -ENOSPC);
	assert_published("old");
	fs_work_drop(&fs, node);
	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), 0);
}

static void
commit__that_fails__leaves_the_old_version(void **state)
{
	(void)state;
	fake_put("k", "old");
	look();
	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), 0);
	assert_int_equal(write_at(0, "new"), 0);
	fake.fail_call = "put_commit";
	fake.fail_code = TIFFIN_E_TIMEOUT;

	assert_int_equal(fs_work_commit(&fs, node), -ETIMEDOUT);
	assert_published("old");
	assert_true(fs_node_is_linked(&fs.nodes, node));
}

static void
commit__that_fails__of_a_new_file__takes_its_name_away(void **state)
{
	(void)state;
	look();
	assert_int_equal(fs_work_begin_empty(&fs, node, &attr, 0), 0);
	fake.fail_call = "put_commit";
	fake.fail_code = TIFFIN_E_NO_SPACE;

	assert_int_equal(fs_work_commit(&fs, node), -ENOSPC);
	assert_false(fs_node_is_linked(&fs.nodes, node));
}

static void
begin__of_a_version_that_was_replaced__is_stale(void **state)
{
	(void)state;
	fake_put("k", "old");
	look();
	fake_put("k", "of another client");

	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), -ESTALE);
	assert_published("of another client");
}

static void
commit__of_an_unlinked_file__publishes_nothing(void **state)
{
	(void)state;
	look();
	assert_int_equal(fs_work_begin_empty(&fs, node, &attr, 0), 0);
	assert_int_equal(write_at(0, "x"), 0);
	fs_node_remove(&fs.nodes, node);

	assert_int_equal(fs_work_commit(&fs, node), 0);
	assert_null(fake_find("k"));
	assert_int_equal(fs_work_len(node), 1);
}

static void
copy_up__of_wrong_bytes__fails_and_publishes_nothing(void **state)
{
	(void)state;
	fake_put("k", "right bytes");
	look();
	fake_find("k")->value->bytes[0] = 'x';

	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), -EIO);
	assert_int_equal(fs_work_commit(&fs, node), -EIO);
}

static void
file__made_or_cut_to_nothing_by_open__is_blank_until_it_is_written(void **state)
{
	(void)state;
	fake_put("k", "old");
	look();
	assert_int_equal(fs_work_begin_empty(&fs, node, &attr, TIFFIN_REPLACE), 0);
	assert_true(node->work.is_blank);
	assert_int_equal(write_at(0, "new"), 0);

	assert_false(node->work.is_blank);
}

static void
look__at_a_file_being_written__shows_its_working_length(void **state)
{
	struct fs_version version;

	(void)state;
	fake_put("k", "old");
	look();
	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), 0);
	assert_int_equal(write_at(3, "er"), 0);
	fake.n_stats = 0;

	assert_int_equal(fs_look_file(&fs, node, &version), 0);
	assert_int_equal(version.len_bytes, 5);
	assert_int_equal(fake.n_stats, 0);
}

static void
what_users_set__goes_with_the_file_through_its_versions(void **state)
{
	struct fs_xattrs list = {0}, kept;
	struct fs_version version;
	struct fs_xattr xattr;

	(void)state;
	look();
	assert_int_equal(fs_work_begin_empty(&fs, node, &attr, TIFFIN_REPLACE), 0);
	assert_int_equal(fs_xattrs_set(&list, "a", "1", 1, 0), 0);
	assert_int_equal(fs_work_set_xattrs(&fs, node, &list), 0);
	assert_int_equal(fs_work_commit(&fs, node), 0);
	assert_int_equal(fs_look_file(&fs, node, &version), 0);
	assert_int_equal(version.attr.xattr_bytes, list.len_bytes);

	assert_int_equal(fs_work_begin(&fs, node, UINT64_MAX), 0);
	assert_int_equal(write_at(0, "new"), 0);
	assert_int_equal(fs_work_commit(&fs, node), 0);
	assert_int_equal(fs_work_begin_empty(&fs, node, &version.attr, TIFFIN_REPLACE), 0);
	assert_int_equal(fs_work_commit(&fs, node), 0);
	assert_published("");
	assert_int_equal(fs_xattrs_fetch(&fake_client, "k", 0, &kept), 0);
	assert_true(fs_xattrs_find(&kept, "a", &xattr));
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(commit__of_a_new_file__publishes_bytes_and_attributes),
		TEST(write__into_an_old_file__copies_it_up_first),
		TEST(truncate__to_less__copies_only_that_much),
		TEST(commit__with_nothing_new__does_nothing),
		TEST(write__that_fails__spoils_everything_until_the_work_is_dropped),
		TEST(commit__that_fails__leaves_the_old_version),
		TEST(commit__that_fails__of_a_new_file__takes_its_name_away),
		TEST(begin__of_a_version_that_was_replaced__is_stale),
		TEST(commit__of_an_unlinked_file__publishes_nothing),
		TEST(copy_up__of_wrong_bytes__fails_and_publishes_nothing),
		TEST(file__made_or_cut_to_nothing_by_open__is_blank_until_it_is_written),
		TEST(what_users_set__goes_with_the_file_through_its_versions),
		TEST(look__at_a_file_being_written__shows_its_working_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
