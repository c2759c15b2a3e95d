/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same story of thirty batches, each time ended at another call of the disk:
 *
 *      the process dies     what was told "committed" is there afterwards
 *      the power is cut     what was told "synced" is there afterwards
 *
 * And nothing else is ever there but a prefix of what was submitted.
 */
#include "tests/unit/store_chapters.h"

/* assert_prefix_of_at_least -- the books are one of the chapters from `least` on. */
static void
assert_prefix_of_at_least(struct box *box, uint64_t least, const char *what, uint32_t n)
{
	char *found;

	assert_int_equal(box_open(box, NULL), 0);
	found = box_dump(box);
	for (uint64_t k = least; k <= STORY_BATCHES; k++) {
		if (strcmp(found, chapters[k]) == 0) {
			free(found);
			box_close(box);
			return;
		}
	}
	fail_msg("%s at op %u: promised %llu batches, found\n%s", what, n,
		 (unsigned long long)least, found);
}

/* die_at -- the n-th op and all later fail.  Gives what was promised until then. */
static struct store_progress
die_at(struct box *box, uint32_t n, bool *ret_is_over)
{
	struct store_progress progress = {0};

	vfs_start();
	vfs_fail_at(n, VFS_FOR_EVER, VFS_IO_ERROR);
	if (open_with_fault(box)) {
		progress = tell_all(box);
		*ret_is_over = vfs_n_failed() == 0;
		vfs_fail_at(1, VFS_FOR_EVER, VFS_IO_ERROR);
		box_close(box);
	}
	return progress;
}

static void
process__that_dies_at_any_call__leaves_all_that_was_committed(void **state)
{
	bool is_over = false;

	(void)state;
	for (uint32_t n = 1; n < OPS_MAX && !is_over; n++) {
		struct store_progress progress;
		struct box box;

		box_init(&box);
		progress = die_at(&box, n, &is_over);
		vfs_stop();
		assert_prefix_of_at_least(&box, progress.committed, "death", n);
		box_fini(&box);
	}
	assert_true(is_over);
}

static void
power_cut__at_any_call__leaves_all_that_was_synced(void **state)
{
	bool is_over = false;

	(void)state;
	for (uint32_t n = 1; n < OPS_MAX && !is_over; n++) {
		struct store_progress progress;
		struct box box;
		char shm[128];

		box_init(&box);
		progress = die_at(&box, n, &is_over);
		vfs_power_cut(n);
		vfs_stop();
		snprintf(shm, sizeof(shm), "%s-shm", box.path);
		unlink(shm);
		assert_prefix_of_at_least(&box, progress.synced, "power cut", n);
		box_fini(&box);
	}
	assert_true(is_over);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process__that_dies_at_any_call__leaves_all_that_was_committed),
		cmocka_unit_test(power_cut__at_any_call__leaves_all_that_was_synced),
	};

	return cmocka_run_group_tests(tests, write_chapters, burn_chapters);
}
