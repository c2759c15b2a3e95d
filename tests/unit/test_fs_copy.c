/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fs/copy.h"
#include "fs/pin.h"
#include "fs/work.h"
#include "fs_fake.h"

#define LONG_BYTES (3u << 20) /* more than one step */

static struct fs_options opts;
static struct fs fs;
static struct fs_node *from, *to;

static struct fs_node *
look(const char *key)
{
	struct fs_version version = {0};
	struct fs_node *node;

	if (fake_find(key) != NULL) {
		version.object_id = fake_find(key)->value->id;
		version.len_bytes = fake_find(key)->value->len_bytes;
	}
	assert_int_equal(fs_nodes_look(&fs.nodes, false, key, &node), 0);
	fs_node_show(&fs.nodes, node, &version);
	return node;
}

static int
setup(void **state)
{
	(void)state;
	fake_clear();
	fs = (struct fs){.opts = &opts, .clock = clock_real(), .client = &fake_client};
	list_init(&fs.opens);
	fake_put("from", "0123456789");
	fake_put("to", "abc");
	if (fs_options_init(&opts) + fs_nodes_init(&fs.nodes, fs.root_key) != 0)
		return 1;
	from = look("from");
	to = look("to");
	return 0;
}

static void
let_go(struct fs_node *node)
{
	lock_take(&node->lock);
	fs_work_drop(&fs, node);
	fs_pin_unref(take(&node->pin));
	lock_drop(&node->lock);
	fs_node_unref(&fs.nodes, node);
}

static int
teardown(void **state)
{
	(void)state;
	let_go(from);
	let_go(to);
	fs_nodes_fini(&fs.nodes);
	fs_options_fini(&opts);
	fake_clear();
	return 0;
}

static int
commit(struct fs_node *node)
{
	int r;

	lock_take(&node->lock);
	r = fs_work_commit(&fs, node);
	lock_drop(&node->lock);
	return r;
}

static void
assert_published(const char *key, const char *wanted)
{
	struct fake_object *object = fake_find(key);

	assert_non_null(object);
	assert_int_equal(object->value->len_bytes, strlen(wanted));
	assert_memory_equal(object->value->bytes, wanted, strlen(wanted));
}

static void
copy__of_a_part__goes_into_the_other_file_when_that_is_published(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(fs_copy(&fs, (struct fs_place){from, 4}, (struct fs_place){to, 2}, 3, &n),
			 0);
	assert_int_equal(n, 3);
	assert_published("to", "abc");
	assert_int_equal(commit(to), 0);
	assert_published("to", "ab456");
}

static void
copy__beyond_the_end__copies_what_there_is(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){from, 8}, (struct fs_place){to, 0}, 1000, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){from, 10}, (struct fs_place){to, 0}, 1000, &n), 0);
	assert_int_equal(n, 0);
}

static void
copy__of_what_lies_elsewhere__goes_through_the_buffer(void **state)
{
	uint64_t n;

	(void)state;
	fake.has_no_borrow = true;
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){from, 0}, (struct fs_place){to, 0}, 1000, &n), 0);
	assert_int_equal(n, 10);
	assert_int_equal(commit(to), 0);
	assert_published("to", "0123456789");
}

static void
copy__of_what_is_being_written__sees_it(void **state)
{
	struct iovec slice = {"XY", 2};
	uint64_t n;

	(void)state;
	lock_take(&from->lock);
	assert_int_equal(fs_work_begin(&fs, from, UINT64_MAX), 0);
	assert_int_equal(fs_work_write(&fs, from, 0, &slice), 0);
	lock_drop(&from->lock);
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){from, 0}, (struct fs_place){to, 0}, 1000, &n), 0);
	assert_int_equal(commit(to), 0);
	assert_published("to", "XY23456789");
}

static void
copy__within_one_file__works(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){from, 0}, (struct fs_place){from, 10}, 4, &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(commit(from), 0);
	assert_published("from", "01234567890123");
}

static void
copy__of_several_steps__is_whole(void **state)
{
	char *bytes = malloc(LONG_BYTES + 1);
	struct fs_node *whole;
	uint64_t n;

	(void)state;
	for (size_t i = 0; i < LONG_BYTES; i++)
		bytes[i] = (char)('a' + i % 23);
	bytes[LONG_BYTES] = '\0';
	fake_put("long", bytes);
	whole = look("long");
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){whole, 0}, (struct fs_place){to, 0}, UINT64_MAX, &n),
		0);
	assert_int_equal(n, LONG_BYTES);
	assert_int_equal(commit(to), 0);
	assert_published("to", bytes);
	let_go(whole);
	free(bytes);
}

static void
copy__whose_lease_is_lost_meanwhile__is_never_published(void **state)
{
	uint64_t n;

	(void)state;
	fake.has_lost_leases = true;
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){from, 0}, (struct fs_place){to, 0}, 1000, &n), -EIO);
	assert_published("to", "abc");
}

static void
copy__into_a_store_without_room__says_so(void **state)
{
	uint64_t n;

	(void)state;
	fake.fail_call = "put_write";
	fake.fail_code = TIFFIN_E_NO_SPACE;
	assert_int_equal(
		fs_copy(&fs, (struct fs_place){from, 0}, (struct fs_place){to, 0}, 1000, &n),
		-ENOSPC);
	assert_int_equal(commit(to), -ENOSPC);
}

static int
reserve(struct fs_node *node, uint64_t end_bytes)
{
	int r;

	lock_take(&node->lock);
	r = fs_reserve(&fs, node, end_bytes);
	lock_drop(&node->lock);
	return r;
}

static void
room__reserved_beyond_the_end__is_zeros_and_within_it_nothing(void **state)
{
	(void)state;
	assert_int_equal(reserve(to, 2), 0);
	assert_int_equal(commit(to), 0);
	assert_published("to", "abc");
	assert_int_equal(reserve(to, 6), 0);
	assert_int_equal(commit(to), 0);
	assert_int_equal(fake_find("to")->value->len_bytes, 6);
	assert_memory_equal(fake_find("to")->value->bytes, "abc\0\0\0", 6);
}

static void
room__reserved_before_anything_is_written__is_zeros_behind_what_was_there(void **state)
{
	(void)state;
	fake.has_no_borrow = true;
	assert_int_equal(reserve(to, 6), 0);
	assert_int_equal(commit(to), 0);
	assert_int_equal(fake_find("to")->value->len_bytes, 6);
	assert_memory_equal(fake_find("to")->value->bytes, "abc\0\0\0", 6);
}

static void
room__that_there_is_not__is_told_at_once(void **state)
{
	(void)state;
	lock_take(&to->lock);
	assert_int_equal(fs_work_begin(&fs, to, UINT64_MAX), 0);
	lock_drop(&to->lock);
	fake.fail_call = "put_write";
	fake.fail_code = TIFFIN_E_NO_SPACE;
	assert_int_equal(reserve(to, 1 << 20), -ENOSPC);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copy__of_a_part__goes_into_the_other_file_when_that_is_published),
		TEST(copy__beyond_the_end__copies_what_there_is),
		TEST(copy__of_what_lies_elsewhere__goes_through_the_buffer),
		TEST(copy__of_what_is_being_written__sees_it),
		TEST(copy__within_one_file__works),
		TEST(copy__of_several_steps__is_whole),
		TEST(copy__whose_lease_is_lost_meanwhile__is_never_published),
		TEST(copy__into_a_store_without_room__says_so),
		TEST(room__reserved_beyond_the_end__is_zeros_and_within_it_nothing),
		TEST(room__reserved_before_anything_is_written__is_zeros_behind_what_was_there),
		TEST(room__that_there_is_not__is_told_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
