/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <cmocka.h>

#include "fs/xattrs.h"
#include "fs_fake.h"
#include "transfer/base/rand.h"

static const struct fs_attr attr = {.kind = FS_ATTR_FILE, .mode = 0640};

static int
set(struct fs_xattrs *list, const char *name, const char *value, int flags)
{
	return fs_xattrs_set(list, name, value, strlen(value), flags);
}

static void
assert_is(const struct fs_xattrs *list, const char *name, const char *value)
{
	struct fs_xattr xattr;

	assert_true(fs_xattrs_find(list, name, &xattr));
	assert_int_equal(xattr.n_value, strlen(value));
	assert_memory_equal(xattr.value, value, strlen(value));
}

static void
set__of_several_names__keeps_each_and_the_last_value(void **state)
{
	struct fs_xattrs list = {0};
	struct fs_xattr xattr;
	size_t at = 0, n = 0;

	(void)state;
	assert_int_equal(set(&list, "a", "one", 0), 0);
	assert_int_equal(set(&list, "bb", "", 0), 0);
	assert_int_equal(set(&list, "a", "another value", 0), 0);
	assert_is(&list, "a", "another value");
	assert_is(&list, "bb", "");
	assert_false(fs_xattrs_find(&list, "b", &xattr));
	while (fs_xattrs_next(&list, &at, &xattr))
		n++;
	assert_int_equal(n, 2);
	assert_true(fs_xattrs_are_sound(list.bytes, list.len_bytes));
}

static void
set__with_a_flag_that_does_not_hold__changes_nothing(void **state)
{
	struct fs_xattrs list = {0};

	(void)state;
	assert_int_equal(set(&list, "a", "1", XATTR_REPLACE), -ENODATA);
	assert_int_equal(list.len_bytes, 0);
	assert_int_equal(set(&list, "a", "1", XATTR_CREATE), 0);
	assert_int_equal(set(&list, "a", "2", XATTR_CREATE), -EEXIST);
	assert_is(&list, "a", "1");
}

static void
set__beyond_the_room__is_refused_and_the_last_byte_of_it_is_not(void **state)
{
	static uint8_t value[TIFFIN_ATTR_MAX];
	struct fs_xattrs list = {0};
	size_t most = FS_XATTRS_MAX - 3 - 1;

	(void)state;
	assert_int_equal(fs_xattrs_set(&list, "a", value, most + 1, 0), -ENOSPC);
	assert_int_equal(fs_xattrs_set(&list, "a", value, SIZE_MAX, 0), -ENOSPC);
	assert_int_equal(fs_xattrs_set(&list, "a", value, most, 0), 0);
	assert_int_equal(list.len_bytes, FS_XATTRS_MAX);
	assert_int_equal(set(&list, "b", "", 0), -ENOSPC);
	assert_int_equal(set(&list, "a", "short", 0), 0); /* in place of the long one */
	assert_int_equal(set(&list, "b", "", 0), 0);
}

static void
set__of_a_name_that_is_too_long_or_none__is_refused(void **state)
{
	struct fs_xattrs list = {0};
	char name[FS_XATTR_NAME_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(set(&list, name, "v", 0), -ERANGE);
	assert_int_equal(set(&list, "", "v", 0), -ERANGE);
	name[FS_XATTR_NAME_MAX] = '\0';
	assert_int_equal(set(&list, name, "v", 0), 0);
	assert_is(&list, name, "v");
}

static void
remove__of_the_middle_one__leaves_the_others(void **state)
{
	struct fs_xattrs list = {0};
	struct fs_xattr xattr;

	(void)state;
	assert_int_equal(
		set(&list, "a", "1", 0) + set(&list, "b", "22", 0) + set(&list, "c", "333", 0), 0);
	assert_int_equal(fs_xattrs_remove(&list, "b"), 0);
	assert_int_equal(fs_xattrs_remove(&list, "b"), -ENODATA);
	assert_false(fs_xattrs_find(&list, "b", &xattr));
	assert_is(&list, "a", "1");
	assert_is(&list, "c", "333");
}

static void
any_bytes__that_are_judged_sound__can_be_walked_to_their_end(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 5);
	for (int i = 0; i < 20000; i++) {
		struct fs_xattrs list = {.len_bytes = rand_below(&rand, 40)};
		struct fs_xattr xattr;
		size_t at = 0, n = 0;

		for (size_t k = 0; k < list.len_bytes; k++)
			list.bytes[k] = (uint8_t)rand_below(&rand, 5);
		if (!fs_xattrs_are_sound(list.bytes, list.len_bytes))
			continue;
		while (fs_xattrs_next(&list, &at, &xattr))
			n += 3 + xattr.n_name + xattr.n_value;
		assert_int_equal(n, list.len_bytes);
	}
}

static void
keep_and_fetch__of_that_version__give_the_list_back(void **state)
{
	struct fs_xattrs list = {0}, again;
	struct fs_attr mine = attr;
	uint64_t id = fake_put("k", "bytes");

	(void)state;
	assert_int_equal(set(&list, "a", "1", 0), 0);
	assert_int_equal(fs_xattrs_keep(&fake_client, "k", id, &mine, &list), 0);
	assert_int_equal(mine.xattr_bytes, list.len_bytes);
	assert_int_equal(fs_xattrs_fetch(&fake_client, "k", id, &again), 0);
	assert_is(&again, "a", "1");
	assert_int_equal(fs_xattrs_fetch(&fake_client, "k", id + 1, &again), 0);
	assert_int_equal(again.len_bytes, 0);
	assert_int_equal(fs_xattrs_fetch(&fake_client, "none", 0, &again), 0);
	assert_int_equal(fs_xattrs_keep(&fake_client, "k", id + 1, &mine, &list), -ENOENT);
	fake.fail_call = "stat";
	fake.fail_code = TIFFIN_E_TIMEOUT;
	assert_int_equal(fs_xattrs_fetch(&fake_client, "k", id, &again), -ETIMEDOUT);
	fake_clear();
}

static void
change_of_another(const char *key)
{
	fake.before_swap = NULL;
	assert_int_equal(tiffin_set_attr(&fake_client, key, 0, "other", 5), 0);
}

static void
keep__of_what_another_has_changed_since__is_to_be_tried_again(void **state)
{
	struct tiffin_stat stat;
	struct fs_xattrs list;
	struct fs_attr mine = attr;
	uint8_t blob[TIFFIN_ATTR_MAX];

	(void)state;
	fake_put("k", "bytes");
	assert_int_equal(fs_xattrs_fetch(&fake_client, "k", 0, &list), 0);
	assert_int_equal(fs_xattrs_set(&list, "a", "1", 1, 0), 0);
	fake.before_swap = change_of_another;
	assert_int_equal(fs_xattrs_keep(&fake_client, "k", 0, &mine, &list), -EAGAIN);
	assert_int_equal(tiffin_stat(&fake_client, "k", &stat, blob), 0);
	assert_int_equal(stat.attr_bytes, 5);

	assert_int_equal(fs_xattrs_fetch(&fake_client, "k", 0, &list), 0);
	assert_int_equal(fs_xattrs_keep(&fake_client, "k", 0, &mine, &list), 0);
	assert_int_equal(fs_xattrs_fetch(&fake_client, "none", 0, &list), 0);
	assert_int_equal(fs_xattrs_keep(&fake_client, "none", 0, &mine, &list), -ENOENT);
	fake_clear();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set__of_several_names__keeps_each_and_the_last_value),
		cmocka_unit_test(set__with_a_flag_that_does_not_hold__changes_nothing),
		cmocka_unit_test(set__beyond_the_room__is_refused_and_the_last_byte_of_it_is_not),
		cmocka_unit_test(set__of_a_name_that_is_too_long_or_none__is_refused),
		cmocka_unit_test(remove__of_the_middle_one__leaves_the_others),
		cmocka_unit_test(any_bytes__that_are_judged_sound__can_be_walked_to_their_end),
		cmocka_unit_test(keep_and_fetch__of_that_version__give_the_list_back),
		cmocka_unit_test(keep__of_what_another_has_changed_since__is_to_be_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
