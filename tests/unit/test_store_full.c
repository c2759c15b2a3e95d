/* SPDX-License-Identifier: Apache-2.0 */

/* A metadata disk without room, in whatever is under way: the reserve is given up, removals go on,
 * and nothing that was acknowledged is lost. */
#include "tests/unit/store_chapters.h"

#define N_OBJECTS 2000u

/* As master/store_internal.h has it: what a master takes at start. */
#define STORE_RESERVE_BYTES (2u << 20)

static char reserve[128];

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
	vfs_set_room(1, reserve);
	vfs_set_room(vfs_used_bytes() + 32768, reserve);
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

/* A sync that finds no room, though what it is for is committed: a checkpoint makes that safe, and
 * then nothing is left to be tried again. */
static void
stall__that_a_checkpoint_settles__is_over_once_there_is_room(void **state)
{
	struct box *box = *state;
	struct store_progress progress;

	box_remove_object(box, 1); /* pages that are there already */
	box_commit(box);
	vfs_set_room(1, NULL);
	do {
		clock_fake_advance_ms(&box->clock, 500);
		store_step(box->store);
		progress = box_progress(box);
	} while (progress.synced < box->batch);
	assert_true(progress.is_stalled);

	vfs_set_room(0, NULL);
	clock_fake_advance_ms(&box->clock, 10000);
	store_step(box->store);
	assert_false(box_progress(box).is_stalled);
}

static void
full_disk__lets_a_master_start_and_go_on_removing(void **state)
{
	struct box *box = *state;
	uint64_t end = fill_up(box);
	char *text;

	box_close(box);
	vfs_set_room(vfs_used_bytes() + STORE_RESERVE_BYTES, reserve);
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
	assert_int_equal(r, -ENOSPC);
	assert_non_null(strstr(box->why, box->path));
	assert_true(strstr(box->why, "database or disk is full") != NULL ||
		    strstr(box->why, "unable to open database file: No space left") != NULL);
	vfs_succeed(); /* somebody makes room */
	open_again(box);
	return false;
}

static void
full_from_here(uint32_t n)
{
	if (fork_point(n))
		vfs_fail_at(1, VFS_FOR_EVER, VFS_FULL);
}

static void
assert_says(struct box *box, const char *wanted)
{
	char *text = NULL;

	assert_int_equal(box_load(box, &text), 0);
	assert_non_null(strstr(text, wanted));
	free(text);
	assert_check_finds_nothing(box);
}

/* start_on_a_full_disk -- open the box, with whatever is in it. */
static void
start_on_a_full_disk(struct box *box, const char *wanted)
{
	vfs_before_op(full_from_here);
	(void)open_full(box);
	assert_int_equal(vfs_n_failed() > 0, branch.is_child);
	vfs_before_op(NULL);
	vfs_succeed();
	assert_says(box, wanted);
	if (branch.is_child)
		branch_over(box);
	box_fini(box);
	vfs_stop();
}

static void
start__on_a_disk_full_from_any_write_on__is_refused_or_goes_on__and_loses_nothing(void **state)
{
	struct box box;

	(void)state;
	box_init(&box);
	vfs_start();
	assert_int_equal(box_open(&box, VFS_NAME), 0);
	tell_all(&box);
	box_close(&box);
	start_on_a_full_disk(&box, chapters[STORY_BATCHES]);
	assert_all_branches_are_well(3);
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
	struct box box;

	(void)state;
	box_init(&box);
	box.config.vfs = VFS_NAME;
	vfs_start();
	box_sql(&box, sql_schemas[0].text);
	box_sql(&box, sql);
	start_on_a_full_disk(&box, "object 3 tenant 1 len 600 at 5 crc 0 0 key old attr \n"
				   "  on 7: 4096+600\n");
	assert_all_branches_are_well(10);
}

static void
story__on_a_disk_full_from_any_write_on__is_told_to_its_end_once_there_is_room(void **state)
{
	struct box box;

	(void)state;
	box_init(&box);
	box.mend = vfs_succeed;
	vfs_start();
	vfs_before_op(full_from_here);
	(void)open_full(&box);
	tell_all(&box);
	assert_int_equal(vfs_n_failed() > 0, branch.is_child);
	vfs_before_op(NULL);
	vfs_succeed();
	clock_fake_advance_ms(&box.clock, 1100);
	store_step(box.store);

	assert_false(box_progress(&box).is_stalled);
	assert_int_equal(box_progress(&box).committed, STORY_BATCHES);
	assert_says(&box, chapters[STORY_BATCHES]);
	if (branch.is_child)
		branch_over(&box);
	box_fini(&box);
	vfs_stop();
	assert_all_branches_are_well(500);
}

#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define BRANCHING(name) cmocka_unit_test_setup(name, in_the_trunk)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(full_disk__gives_up_the_reserve_and_commits_what_was_submitted),
		TEST(full_disk__lets_every_object_be_removed),
		TEST(full_disk__once_there_is_room_again__has_its_reserve_back),
		TEST(stall__that_a_checkpoint_settles__is_over_once_there_is_room),
		TEST(full_disk__lets_a_master_start_and_go_on_removing),
		TEST(full_disk__without_a_reserve__stalls_and_says_so_and_loses_nothing),
		BRANCHING(
			start__on_a_disk_full_from_any_write_on__is_refused_or_goes_on__and_loses_nothing),
		BRANCHING(
			story__on_a_disk_full_from_any_write_on__is_told_to_its_end_once_there_is_room),
		BRANCHING(migration__on_a_disk_full_from_any_write_on__is_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, write_chapters, burn_chapters);
}
