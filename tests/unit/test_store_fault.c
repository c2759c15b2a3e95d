/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same story of thirty batches, each time with another call of the disk going wrong,
 * for a while: the batch is tried again, and in the end everything is there.
 */
#include "tests/unit/store_chapters.h"

static void
fail_once_at(uint32_t n, uint32_t len, enum vfs_fault fault, bool *ret_is_over)
{
	struct store_progress progress;
	struct box box;
	char *found;

	box_init(&box);
	vfs_start();
	vfs_fail_at(n, len, fault);
	if (!open_with_fault(&box)) {
		vfs_succeed();
		assert_int_equal(box_open(&box, VFS_NAME), 0);
	}
	tell_all(&box);
	for (int i = 0; i < 8; i++) { /* patience runs out of its back-off */
		clock_fake_advance_ms(&box.clock, 1100);
		store_step(box.store);
	}
	*ret_is_over = vfs_n_failed() == 0;
	vfs_succeed();
	clock_fake_advance_ms(&box.clock, 1100);
	store_step(box.store);
	progress = box_progress(&box);

	assert_false(progress.is_stalled);
	assert_int_equal(progress.committed, STORY_BATCHES);
	assert_int_equal(progress.synced, STORY_BATCHES);
	found = box_dump(&box);
	assert_string_equal(found, chapters[STORY_BATCHES]);
	free(found);
	box_fini(&box);
	vfs_stop();
}

static void
story__when_any_one_call_of_the_disk_fails__is_told_to_its_end(void **state)
{
	bool is_over = false;
	uint32_t n;

	(void)state;
	for (n = 1; n < OPS_MAX && !is_over; n++)
		fail_once_at(n, 1, VFS_IO_ERROR, &is_over);
	assert_in_range(n, 100, OPS_MAX - 1);
}

static void
story__when_five_calls_in_a_row_fail__is_told_to_its_end(void **state)
{
	bool is_over = false;

	(void)state;
	for (uint32_t n = 1; n < OPS_MAX && !is_over; n += 3)
		fail_once_at(n, 5, VFS_IO_ERROR, &is_over);
	assert_true(is_over);
}

static void
story__when_the_disk_is_full_for_a_while__is_told_to_its_end(void **state)
{
	bool is_over = false;

	(void)state;
	for (uint32_t n = 1; n < OPS_MAX && !is_over; n += 2)
		fail_once_at(n, 3, VFS_FULL, &is_over);
	assert_true(is_over);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(story__when_any_one_call_of_the_disk_fails__is_told_to_its_end),
		cmocka_unit_test(story__when_five_calls_in_a_row_fail__is_told_to_its_end),
		cmocka_unit_test(story__when_the_disk_is_full_for_a_while__is_told_to_its_end),
		cmocka_unit_test(stalled__while_the_disk_fails__says_why_and_acknowledges_nothing),
		cmocka_unit_test(
			small_batch__that_fails_where_it_is_submitted__is_tried_again_by_the_thread),
		cmocka_unit_test(
			sync__after_an_io_error__is_not_believed_until_all_is_written_again),
	};

	return cmocka_run_group_tests(tests, write_chapters, burn_chapters);
}
