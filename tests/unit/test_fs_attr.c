/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fs/attr.h"
#include "transfer/base/rand.h"

static const struct fs_attr example = {
	.kind = FS_ATTR_LINK,
	.mode = 04751,
	.uid = 0x01020304,
	.gid = 0x05060708,
	.mtime = {.tv_sec = 0x1122334455, .tv_nsec = 999999999},
	.atime = {.tv_sec = -2, .tv_nsec = 7},
	.ctime = {.tv_sec = 0x22, .tv_nsec = 8},
};

static const uint8_t golden[FS_ATTR_BYTES] = {
	'T',  'F',  'S',  2,    2,    0,    0xe9, 0x09, /* magic, kind, 0, mode */
	4,    3,    2,    1,    8,    7,    6,    5,    /* uid, gid */
	0x55, 0x44, 0x33, 0x22, 0x11, 0,    0,    0,    /* mtime */
	0xff, 0xc9, 0x9a, 0x3b, 0xfe, 0xff, 0xff, 0xff, /* ns, atime */
	0xff, 0xff, 0xff, 0xff, 7,    0,    0,    0,    /* atime, ns */
	0x22, 0,    0,    0,    0,    0,    0,    0,    /* ctime */
	8,    0,    0,    0,
};

static void
assert_attr_equal(const struct fs_attr *a, const struct fs_attr *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->mtime.tv_sec, b->mtime.tv_sec);
	assert_int_equal(a->mtime.tv_nsec, b->mtime.tv_nsec);
	assert_int_equal(a->atime.tv_sec, b->atime.tv_sec);
	assert_int_equal(a->atime.tv_nsec, b->atime.tv_nsec);
	assert_int_equal(a->ctime.tv_sec, b->ctime.tv_sec);
	assert_int_equal(a->ctime.tv_nsec, b->ctime.tv_nsec);
	assert_int_equal(a->xattr_bytes, b->xattr_bytes);
}

static void
encode__of_the_example__gives_the_bytes_written_in_the_header(void **state)
{
	uint8_t bytes[FS_ATTR_BYTES];

	(void)state;
	fs_attr_encode(&example, bytes);

	assert_memory_equal(bytes, golden, sizeof(golden));
}

static void
decode__of_those_bytes__gives_the_example(void **state)
{
	struct fs_attr attr;

	(void)state;
	assert_int_equal(fs_attr_decode(golden, sizeof(golden), &attr), 0);

	assert_attr_equal(&attr, &example);
}

static void
decode__of_version_1__takes_mtime_for_ctime(void **state)
{
	uint8_t bytes[FS_ATTR_V1_BYTES];
	struct fs_attr attr, wanted = example;

	(void)state;
	memcpy(bytes, golden, sizeof(bytes));
	bytes[3] = 1;
	wanted.ctime = wanted.mtime;
	assert_int_equal(fs_attr_decode(bytes, sizeof(bytes), &attr), 0);
	assert_attr_equal(&attr, &wanted);
}

static void
decode__of_any_other_length__is_foreign(void **state)
{
	uint8_t bytes[FS_ATTR_BYTES + 3] = {0};
	struct fs_attr attr;

	(void)state;
	for (uint8_t version = 1; version <= 2; version++) {
		size_t right = version == 1 ? FS_ATTR_V1_BYTES : FS_ATTR_BYTES;

		memcpy(bytes, golden, sizeof(golden));
		bytes[3] = version;
		for (size_t len = 0; len <= sizeof(bytes); len++)
			if (len != right)
				assert_int_equal(fs_attr_decode(bytes, len, &attr),
						 FS_ATTR_E_FOREIGN);
	}
}

static void
decode__with_what_users_set__counts_its_bytes(void **state)
{
	uint8_t bytes[FS_ATTR_BYTES + 5] = {0};
	struct fs_attr attr;

	(void)state;
	memcpy(bytes, golden, sizeof(golden));
	memcpy(bytes + FS_ATTR_BYTES, "\1\1\0nv", 5);
	assert_int_equal(fs_attr_decode(bytes, sizeof(bytes), &attr), 0);
	assert_int_equal(attr.xattr_bytes, 5);
	bytes[FS_ATTR_BYTES + 1] = 2; /* longer than there is */
	assert_int_equal(fs_attr_decode(bytes, sizeof(bytes), &attr), FS_ATTR_E_FOREIGN);
}

static void
decode__of_another_magic_version_kind_or_range__is_foreign(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} wrongs[] = {
		{0, 't'}, {3, 1},    {3, 3},     {51, 0x40}, {4, 3},
		{5, 1},   {7, 0x10}, {27, 0x3c}, {39, 0x40},
	};
	struct fs_attr attr;

	(void)state;
	for (size_t i = 0; i < array_len(wrongs); i++) {
		uint8_t bytes[FS_ATTR_BYTES];

		memcpy(bytes, golden, sizeof(bytes));
		bytes[wrongs[i].at] = wrongs[i].byte;
		assert_int_equal(fs_attr_decode(bytes, sizeof(bytes), &attr), FS_ATTR_E_FOREIGN);
	}
}

static void
decode__of_random_bytes__gives_only_what_encodes_to_them(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 3);
	for (int i = 0; i < 20000; i++) {
		uint8_t bytes[FS_ATTR_BYTES], again[FS_ATTR_BYTES];
		struct fs_attr attr;

		memcpy(bytes, golden, sizeof(bytes));
		for (int k = 0; k < 4; k++)
			bytes[rand_below(&rand, sizeof(bytes))] = (uint8_t)rand_u64(&rand);
		if (fs_attr_decode(bytes, sizeof(bytes), &attr) != 0)
			continue;
		fs_attr_encode(&attr, again);
		assert_memory_equal(again, bytes, sizeof(bytes));
	}
}

static void
default__of_each_kind__follows_the_mount(void **state)
{
	const struct fs_attr_defaults defaults = {.uid = 5, .gid = 6, .umask = 027};
	struct fs_attr attr;

	(void)state;
	fs_attr_default(&defaults, FS_ATTR_FILE, 1500, &attr);
	assert_int_equal(attr.mode, 0640);
	assert_int_equal(attr.uid, 5);
	assert_int_equal(attr.gid, 6);
	assert_int_equal(attr.mtime.tv_sec, 1);
	assert_int_equal(attr.mtime.tv_nsec, 500000000);

	fs_attr_default(&defaults, FS_ATTR_DIR, 0, &attr);
	assert_int_equal(attr.mode, 0750);
}

static void
show__of_a_file__has_blocks_for_every_byte(void **state)
{
	static const uint64_t lens[][2] = {{0, 0}, {1, 1}, {512, 1}, {513, 2}, {1 << 20, 2048}};
	struct fs_attr attr = example;
	struct stat st;

	(void)state;
	attr.kind = FS_ATTR_FILE;
	for (size_t i = 0; i < array_len(lens); i++) {
		fs_attr_show(&attr, 9, lens[i][0], &st);
		assert_int_equal(st.st_size, lens[i][0]);
		assert_int_equal(st.st_blocks, lens[i][1]);
	}
	assert_int_equal(st.st_ino, 9);
	assert_int_equal(st.st_mode, S_IFREG | 04751);
	assert_int_equal(st.st_nlink, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode__of_the_example__gives_the_bytes_written_in_the_header),
		cmocka_unit_test(decode__of_those_bytes__gives_the_example),
		cmocka_unit_test(decode__of_version_1__takes_mtime_for_ctime),
		cmocka_unit_test(decode__with_what_users_set__counts_its_bytes),
		cmocka_unit_test(decode__of_any_other_length__is_foreign),
		cmocka_unit_test(decode__of_another_magic_version_kind_or_range__is_foreign),
		cmocka_unit_test(decode__of_random_bytes__gives_only_what_encodes_to_them),
		cmocka_unit_test(default__of_each_kind__follows_the_mount),
		cmocka_unit_test(show__of_a_file__has_blocks_for_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
