/* SPDX-License-Identifier: Apache-2.0 */

/* A metadata disk without room, in whatever is under way: the reserve is given up, removals go on,
 * and nothing that was acknowledged is lost. */
#include "tests/unit/store_chapters.h"

#define N_OBJECTS 2000u

/* As master/store_internal.h has it: what a master takes at start. */
#define STORE_RESERVE_BYTES (2u << 20)

static char reserve[128];

static uint64_t
used_bytes(const struct box *box)
{
	static const char *const suffixes[] = {"", "-wal", ".reserve"};
	uint64_t sum = 0;

	for (size_t i = 0; i < array_len(suffixes); i++) {
		char name[128];
		struct stat st;

		snprintf(name, sizeof(name), "%s%s", box->path, suffixes[i]);
		sum += stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	return sum;
}

/* setup -- N_OBJECTS objects on a disk that has 32 KiB left. */
static int
setup(void **state)
{
	struct box *box = malloc(sizeof(*box));

	assert_non_null(box);
	box_init(box);
	vfs_start();
	assert_int_equal(box_open(box, VFS_NAME), 0);
	box_add_segment(box, 1);
	for (uint64_t id = 1; id <= N_OBJECTS; id++)
		box_add_object(box, id, 1, 1);
	box_commit(box);
	clock_fake_advance_ms(&box->clock, 2000);
	store_step(box->store);
	snprintf(reserve, sizeof(reserve), "%s.reserve", box->path);
	vfs_set_room(used_bytes(box) + 32768, reserve);
	*state = box;
	return 0;
}

static int
teardown(void **state)
{
	vfs_set_room(0, NULL);
	box_fini(*state);
	free(*state);
	vfs_stop();
	return 0;
}

/* fill_up -- add objects until the disk is full.  Gives the id after the last one. */
static uint64_t
fill_up(struct box *box)
{
	uint64_t id = N_OBJECTS + 1;

	while (!box_progress(box).is_full) {
		assert_true(id < N_OBJECTS + 5000);
		for (unsigned i = 0; i < 20; i++)
			box_add_object(box, id++, 1, 1);
		box_commit(box);
	}
	return id;
}

static void
full_disk__gives_up_the_reserve_and_commits_what_was_submitted(void **state)
{
	struct box *box = *state;
	struct store_progress progress;
	struct stat st;

	fill_up(box);
	progress = box_progress(box);

	assert_true(progress.is_full);
	assert_false(progress.is_stalled);
	assert_int_equal(progress.committed, box->batch);
	assert_int_equal(stat(reserve, &st), 0);
	assert_int_equal(st.st_size, 0);
}

static void
full_disk__lets_every_object_be_removed(void **state)
{
	struct box *box = *state;
	uint64_t end = fill_up(box);
	char *text;

	for (uint64_t id = 1; id < end; id++) {
		box_remove_object(box, id);
		if (id % 10 == 0)
			box_commit(box);
	}
	box_commit(box);

	assert_false(box_progress(box).is_stalled);
	assert_int_equal(box_progress(box).committed, box->batch);
	text = box_dump(box);
	assert_null(strstr(text, "object "));
	free(text);
}

static void
full_disk__once_there_is_room_again__has_its_reserve_back(void **state)
{
	struct box *box = *state;
	struct stat st;

	fill_up(box);
	vfs_set_room(0, NULL);
	clock_fake_advance_ms(&box->clock, 1100);
	store_step(box->store);

	assert_false(box_progress(box).is_full);
	assert_int_equal(stat(reserve, &st), 0);
	assert_true(st.st_size > 0);
}

static void
full_disk__without_a_reserve__stalls_and_says_so_and_loses_nothing(void **state)
{
	struct box *box = *state;
	uint64_t id = fill_up(box);
	struct store_progress progress;

	vfs_set_room(1, NULL); /* somebody else took it all */
	for (unsigned i = 0; i < 400; i++) {
		box_add_object(box, id++, 1, 1);
		box_commit(box);
	}
	progress = box_progress(box);
	assert_true(progress.is_stalled);
	assert_non_null(strstr(progress.why, "full"));
	assert_true(progress.committed < box->batch);

	vfs_set_room(0, NULL);
	clock_fake_advance_ms(&box->clock, 1100);
	store_step(box->store);
	progress = box_progress(box);
	assert_false(progress.is_stalled);
	assert_int_equal(progress.committed, box->batch);
}

static void
full_disk__lets_a_master_start_and_go_on_removing(void **state)
{
	struct box *box = *state;
	uint64_t end = fill_up(box);
	char *text;

	box_close(box);
	vfs_set_room(used_bytes(box) + STORE_RESERVE_BYTES, reserve);
	assert_int_equal(box_open(box, VFS_NAME), 0);
	assert_true(box_progress(box).is_full);

	for (uint64_t id = 1; id < end; id++)
		box_remove_object(box, id);
	box_commit(box);
	assert_int_equal(box_progress(box).committed, box->batch);
	text = box_dump(box);
	assert_null(strstr(text, "object "));
	free(text);
}

/* ---- full from the n-th write on ---- */

static bool
open_full(struct box *box)
{
	int r = box_open(box, VFS_NAME);

	if (r == 0)
		return true;
	/* where no file can be made SQLite does not say why */
	assert_true(r == -ENOSPC || r == -ENOENT);
	assert_non_null(strstr(box->why, box->path));
	assert_non_null(strstr(box->why, r == -ENOSPC ? "full" : "unable to open"));
	vfs_succeed(); /* somebody makes room */
	assert_int_equal(box_open(box, VFS_NAME), 0);
	return false;
}

/* A start that migrates books of the first version, and one that finds them whole. */
static bool
start_on_a_full_disk(uint32_t n, const char *sql, const char *wanted)
{
	struct box box;
	char *text;
	bool was_full;

	box_init(&box);
	vfs_start();
	if (sql != NULL) {
		FILE *file = fopen(box.path, "w");

		assert_non_null(file);
		fclose(file);
		box_sql(&box, sql_schemas[0].text);
		box_sql(&box, sql);
	} else {
		assert_int_equal(box_open(&box, VFS_NAME), 0);
		tell_all(&box);
		box_close(&box);
	}
	vfs_fail_at(n, VFS_FOR_EVER, VFS_FULL);
	(void)open_full(&box);
	was_full = vfs_n_failed() > 0;
	vfs_succeed();
	text = box_dump(&box);
	assert_non_null(strstr(text, wanted));
	free(text);
	assert_check_finds_nothing(&box);
	box_fini(&box);
	vfs_stop();
	return was_full;
}

static void
start__on_a_disk_full_from_any_write_on__is_refused_or_goes_on__and_loses_nothing(void **state)
{
	uint32_t n = 1;

	(void)state;
	while (n < OPS_MAX && start_on_a_full_disk(n, /* sql= */ NULL, chapters[STORY_BATCHES]))
		n++;
	assert_in_range(n, 3, OPS_MAX - 1);
}

static void
migration__on_a_disk_full_from_any_write_on__is_all_or_nothing(void **state)
{
	static const char sql[] =
		"PRAGMA application_id = 0x54494631;"
		"INSERT INTO cluster VALUES (1, 1, 6, 100, 5, 5, 0);"
		"INSERT INTO segment VALUES (7, 1, 42, 1, 1048576, 5, 'box', 'here', 'tcp:1');"
		"INSERT INTO object VALUES (3, 1, CAST('old' AS BLOB), 600, 5, NULL, NULL);"
		"INSERT INTO replica VALUES (24, 7, 4096);";
	uint32_t n = 1;

	(void)state;
	while (n < OPS_MAX && start_on_a_full_disk(n, sql,
						   "object 3 tenant 1 len 600 at 5 crc 0 0 key old "
						   "attr \n  on 7: 4096+600\n"))
		n++;
	assert_in_range(n, 10, OPS_MAX - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(full_disk__gives_up_the_reserve_and_commits_what_was_submitted),
		TEST(full_disk__lets_every_object_be_removed),
		TEST(full_disk__once_there_is_room_again__has_its_reserve_back),
		TEST(full_disk__lets_a_master_start_and_go_on_removing),
		TEST(full_disk__without_a_reserve__stalls_and_says_so_and_loses_nothing),
		cmocka_unit_test(
			start__on_a_disk_full_from_any_write_on__is_refused_or_goes_on__and_loses_nothing),
		cmocka_unit_test(migration__on_a_disk_full_from_any_write_on__is_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, write_chapters, burn_chapters);
}
