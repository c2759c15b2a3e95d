/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fs/control_events.h"
#include "fs/control_segment.h"
#include "fs/tell.h"
#include "fs_fake_looks.h"
#include "transfer/base/rand.h"

static struct fs_options opts;
static struct fs fs;

static int
setup(void **state)
{
	(void)state;
	fake_clear();
	memset(&fake_looks, 0, sizeof(fake_looks));
	fake_looks.n_extents = 1;
	fs = (struct fs){.opts = &opts, .clock = clock_real(), .client = &fake_client};
	return fs_options_init(&opts);
}

static int
teardown(void **state)
{
	(void)state;
	fs_options_fini(&opts);
	fake_clear();
	return 0;
}

/* ---- names of what lies on a segment ---- */

static void
assert_name(const char *bytes, const char *name)
{
	char got[FS_PATH_NAME_MAX + 1], back[FS_KEY_ROOM];
	uint64_t id;

	fs_segment_name(bytes, 7, got);
	assert_string_equal(got, name);
	assert_int_equal(fs_segment_read_name(got, back, &id), 0);
	assert_string_equal(back, bytes);
	assert_int_equal(id, 0);
}

static void
name__of_each_kind_of_byte__can_be_read_back(void **state)
{
	(void)state;
	assert_name("a/b", "a%2Fb");
	assert_name("50%/x", "50%25%2Fx");
	assert_name(".", "%2E");
	assert_name("..", "%2E%2E");
	assert_name(".hidden", ".hidden");
	assert_name("\n\xff ", "\n\xff ");
	assert_name("%~0000000000000001", "%25~0000000000000001");
}

static void
name__too_long__is_cut_and_has_the_id(void **state)
{
	char key[FS_KEY_ROOM], name[FS_PATH_NAME_MAX + 1], back[FS_KEY_ROOM];
	uint64_t id;

	(void)state;
	memset(key, '/', 300);
	key[300] = '\0';
	fs_segment_name(key, 0xabc, name);
	assert_true(strlen(name) <= FS_PATH_NAME_MAX);
	assert_non_null(strstr(name, "%~0000000000000abc"));
	assert_int_equal(fs_segment_read_name(name, back, &id), 0);
	assert_int_equal(id, 0xabc);
	assert_int_equal(strncmp(key, back, strlen(back)), 0);
}

static void
random_names__are_none_or_the_only_one_of_their_bytes(void **state)
{
	static const char bytes[] = "%2F5E.~0a";
	struct rand rand;

	(void)state;
	rand_init(&rand, 11);
	for (int i = 0; i < 50000; i++) {
		char name[FS_PATH_NAME_MAX + 1], again[FS_PATH_NAME_MAX + 1], back[FS_KEY_ROOM];
		size_t n = 1 + rand_below(&rand, 9);
		uint64_t id;

		for (size_t k = 0; k < n; k++)
			name[k] = bytes[rand_below(&rand, sizeof(bytes) - 1)];
		name[n] = '\0';
		if (fs_segment_read_name(name, back, &id) != 0)
			continue;
		fs_segment_name(back, id, again);
		assert_string_equal(again, name);
	}
}

static void
link__of_a_key_with_a_copy_there__leads_to_its_path(void **state)
{
	char *target;

	(void)state;
	fake_put("a/b", "x");
	fake_put("a", "x");
	assert_int_equal(fs_segment_link(&fs, 7, "a%2Fb", &target), 0);
	assert_string_equal(target, "../../../a/b");
	free(target);
	assert_int_equal(fs_segment_link(&fs, 7, "a", &target), 0);
	assert_string_equal(target, "../../../a/%@"); /* its directory has the plain name */
	free(target);
	assert_int_equal(fs_segment_link(&fs, 8, "a%2Fb", &target), -ENOENT);
	assert_int_equal(fs_segment_link(&fs, 7, "none", &target), -ENOENT);
	assert_int_equal(fs_segment_link(&fs, 7, "%2f", &target), -ENOENT);
}

static void
segment__is_found_by_its_name(void **state)
{
	uint64_t id;

	(void)state;
	assert_int_equal(fs_segment_find(&fs, "p1", &id), 0);
	assert_int_equal(id, 7);
	assert_int_equal(fs_segment_find(&fs, "p2", &id), -ENOENT);
	fake.fail_call = "segments";
	fake.fail_code = TIFFIN_E_UNREACHABLE;
	assert_int_equal(fs_segment_find(&fs, "p1", &id), -EIO);
}

/* ---- events ---- */

static void
events__read_to_the_end__grow_by_what_happens(void **state)
{
	struct fs_events *events;
	uint64_t size;
	char buf[4096];
	size_t n;

	(void)state;
	fake_looks.n_events = 1;
	assert_int_equal(fs_events_new(&fs, &events), 0);
	size = fs_events_size(events);
	assert_int_equal(fs_events_read(events, 0, buf, sizeof(buf), &n), 0);
	assert_int_equal(n, size);
	buf[n] = '\0';
	assert_string_equal(buf, "at=1970-01-01T00:00:01.001Z kind=kind event_id=1 count=1 "
				 "bytes=0 subject_id=0 words=\"some \\\"words\\\"\"\n");
	assert_int_equal(fs_events_read(events, size, buf, sizeof(buf), &n), 0);
	assert_int_equal(n, 0);

	fake_looks.n_events = 3;
	assert_int_equal(fs_events_read(events, size, buf, 8, &n), 0);
	assert_int_equal(n, 8);
	assert_memory_equal(buf, "at=1970-", 8);
	assert_int_equal(fs_events_size(events), 3 * size);
	fs_events_free(events);
}

static void
events__when_the_master_is_away__keep_their_length_and_reading_fails(void **state)
{
	struct fs_events *events;
	uint64_t size;
	char buf[16];
	size_t n;

	(void)state;
	fake_looks.n_events = 1;
	assert_int_equal(fs_events_new(&fs, &events), 0);
	size = fs_events_size(events);
	fake.fail_call = "events";
	fake.fail_code = TIFFIN_E_UNREACHABLE;
	assert_int_equal(fs_events_size(events), size);
	assert_int_equal(fs_events_read(events, 0, buf, sizeof(buf), &n), 0);
	assert_int_equal(n, sizeof(buf));
	assert_int_equal(fs_events_read(events, size, buf, sizeof(buf), &n), -EIO);
	fs_events_free(events);
}

static void
events__beyond_4_mib__begin_anew(void **state)
{
	struct fs_events *events;
	uint64_t size = 0, before;

	(void)state;
	assert_int_equal(fs_events_new(&fs, &events), 0);
	do {
		before = size;
		fake_looks.n_events += 10000;
		size = fs_events_size(events);
	} while (size > before && fake_looks.n_events < 1000000);
	assert_true(before >= 4 << 20);
	assert_true(size > 0 && size < 2 << 20);
	fs_events_free(events);
}

/* ---- records ---- */

static void
fields(struct fs_tell *tell)
{
	fs_tell_text(tell, "name", "p1");
	fs_tell_text(tell, "empty", "");
	fs_tell_key(tell, "key", "a \"b\"\n=");
	fs_tell_u64(tell, "n", 3);
	fs_tell_id(tell, "id", UINT64_MAX);
	fs_tell_bool(tell, "is", true);
}

static void
assert_told(bool is_json, bool is_list, const char *wanted)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	struct fs_tell tell;

	fs_tell_begin(&tell, to, is_json, is_list);
	if (is_list)
		fs_tell_record(&tell);
	fields(&tell);
	if (is_list)
		fs_tell_record_end(&tell);
	fs_tell_end(&tell);
	fclose(to);
	assert_string_equal(text, wanted);
	free(text);
}

static void
record__told_in_each_way__has_every_field(void **state)
{
	(void)state;
	assert_told(false, true,
		    "name=p1 empty=\"\" key=\"a \\\"b\\\"\\n=\" n=3 id=18446744073709551615 "
		    "is=yes\n");
	assert_told(false, false,
		    "name=p1\nempty=\"\"\nkey=\"a \\\"b\\\"\\n=\"\nn=3\n"
		    "id=18446744073709551615\nis=yes\n");
	assert_told(true, true,
		    "[\n{\"name\":\"p1\",\"empty\":\"\",\"key\":\"a \\\"b\\\"\\n=\",\"n\":3,"
		    "\"id\":\"18446744073709551615\",\"is\":true}\n]\n");
	assert_told(true, false,
		    "{\"name\":\"p1\",\"empty\":\"\",\"key\":\"a \\\"b\\\"\\n=\",\"n\":3,"
		    "\"id\":\"18446744073709551615\",\"is\":true}\n");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(name__of_each_kind_of_byte__can_be_read_back),
		TEST(name__too_long__is_cut_and_has_the_id),
		TEST(random_names__are_none_or_the_only_one_of_their_bytes),
		TEST(link__of_a_key_with_a_copy_there__leads_to_its_path),
		TEST(segment__is_found_by_its_name),
		TEST(events__read_to_the_end__grow_by_what_happens),
		TEST(events__when_the_master_is_away__keep_their_length_and_reading_fails),
		TEST(events__beyond_4_mib__begin_anew),
		TEST(record__told_in_each_way__has_every_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
