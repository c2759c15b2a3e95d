/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same story of thirty batches, with each call of the disk going wrong in turn, for a while:
 * the batch is tried again, and in the end everything is there.
 */
#include "tests/unit/store_chapters.h"

static struct {
	enum vfs_fault fault;
	uint32_t len, every;
} plan;

static void
fail_here(uint32_t n)
{
	if (n % plan.every == 0 && fork_point(n))
		vfs_fail_at(1, plan.len, plan.fault);
}

/* tell_with_failures -- `len` calls in a row fail, beginning with each, or with every so many. */
static void
tell_with_failures(enum vfs_fault fault, uint32_t len, uint32_t every)
{
	struct store_progress progress;
	struct box box;
	char *found;

	plan.fault = fault;
	plan.len = len;
	plan.every = every;
	box_init(&box);
	vfs_start();
	vfs_before_op(fail_here);
	if (!open_with_fault(&box)) {
		vfs_succeed();
		open_again(&box);
	}
	tell_all(&box);
	for (int i = 0; i < 8; i++) { /* patience runs out of its back-off */
		clock_fake_advance_ms(&box.clock, 1100);
		store_step(box.store);
	}
	assert_int_equal(vfs_n_failed() > 0, branch.is_child);
	vfs_succeed();
	vfs_before_op(NULL);
	clock_fake_advance_ms(&box.clock, 1100);
	store_step(box.store);
	progress = box_progress(&box);

	assert_false(progress.is_stalled);
	assert_int_equal(progress.committed, STORY_BATCHES);
	assert_int_equal(progress.synced, STORY_BATCHES);
	found = box_dump(&box);
	assert_string_equal(found, chapters[STORY_BATCHES]);
	free(found);
	if (branch.is_child)
		branch_over(&box);
	box_fini(&box);
	vfs_stop();
}

static void
story__when_any_one_call_of_the_disk_fails__is_told_to_its_end(void **state)
{
	(void)state;
	tell_with_failures(VFS_IO_ERROR, 1, 1);
	assert_all_branches_are_well(500);
}

static void
story__when_five_calls_in_a_row_fail__is_told_to_its_end(void **state)
{
	(void)state;
	tell_with_failures(VFS_IO_ERROR, 5, 3);
	assert_all_branches_are_well(500 / 3);
}

static void
story__when_the_disk_is_full_for_a_while__is_told_to_its_end(void **state)
{
	(void)state;
	tell_with_failures(VFS_FULL, 3, 2);
	assert_all_branches_are_well(500 / 2);
}

static void
stalled__while_the_disk_fails__says_why_and_acknowledges_nothing(void **state)
{
	struct store_progress progress;
	struct box box;

	(void)state;
	box_init(&box);
	vfs_start();
	assert_int_equal(box_open(&box, VFS_NAME), 0);
	box_tell(&box, 1);

	vfs_fail_at(1, VFS_FOR_EVER, VFS_IO_ERROR);
	box_tell(&box, 2);
	box_tell(&box, 3);

	progress = box_progress(&box);
	assert_true(progress.is_stalled);
	assert_non_null(strstr(progress.why, box.path));
	assert_non_null(strstr(progress.why, "disk I/O error"));
	assert_int_equal(progress.committed, 1);

	vfs_succeed();
	clock_fake_advance_ms(&box.clock, 1100);
	store_step(box.store);
	progress = box_progress(&box);
	assert_false(progress.is_stalled);
	assert_string_equal(progress.why, "");
	assert_int_equal(progress.committed, 3);
	box_fini(&box);
	vfs_stop();
}

static void
sync__after_an_io_error__is_not_believed_until_all_is_written_again(void **state)
{
	struct store_counts before, after;
	struct box box;

	(void)state;
	box_init(&box);
	vfs_start();
	assert_int_equal(box_open(&box, VFS_NAME), 0);
	box_story(&box, 1);
	box_commit(&box);
	store_counts(box.store, &before);

	/* The sync of the WAL fails, once; a kernel would then call the next one a success. */
	box_story(&box, 2);
	box.journal.wants_sync = true;
	vfs_fail_next_sync();
	box_commit(&box);
	clock_fake_advance_ms(&box.clock, 20);
	store_step(box.store);

	store_counts(box.store, &after);
	assert_int_equal(box_progress(&box).synced, 2);
	assert_true(after.n_checkpoints > before.n_checkpoints);
	box_fini(&box);
	vfs_stop();
}

static void
small_batch__that_fails_where_it_is_submitted__is_tried_again_by_the_thread(void **state)
{
	struct store_progress progress = {0};
	struct box box;
	bool has_stalled = false;

	(void)state;
	box_init(&box);
	box.config.is_inline = false;
	box.config.clock = clock_real();
	box.config.here_max_records = 1;
	vfs_start();
	assert_int_equal(box_open(&box, VFS_NAME), 0);
	for (int i = 0; i < 100 && !has_stalled; i++) {
		clock_sleep_ms(clock_real(), 50); /* the thread looks about, and sleeps */
		vfs_fail_at(1, 1, VFS_IO_ERROR);
		box_add_segment(&box, (uint64_t)i + 1);
		box_submit(&box);
		has_stalled = box_progress(&box).is_stalled;
	}

	for (int i = 0; i < 1000 && progress.committed < box.batch; i++) {
		clock_sleep_ms(clock_real(), 10);
		progress = box_progress(&box);
	}
	assert_int_equal(progress.committed, box.batch);
	assert_false(progress.is_stalled);
	assert_true(has_stalled);
	box_fini(&box);
	vfs_stop();
}

#define TEST(name) cmocka_unit_test_setup(name, in_the_trunk)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(story__when_any_one_call_of_the_disk_fails__is_told_to_its_end),
		TEST(story__when_five_calls_in_a_row_fail__is_told_to_its_end),
		TEST(story__when_the_disk_is_full_for_a_while__is_told_to_its_end),
		TEST(stalled__while_the_disk_fails__says_why_and_acknowledges_nothing),
		TEST(small_batch__that_fails_where_it_is_submitted__is_tried_again_by_the_thread),
		TEST(sync__after_an_io_error__is_not_believed_until_all_is_written_again),
	};

	return cmocka_run_group_tests(tests, write_chapters, burn_chapters);
}
