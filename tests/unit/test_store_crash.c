/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same story of thirty batches, ended at each call of the disk:
 *
 *      the process dies     what was told "committed" is there afterwards
 *      the power is cut     what was told "synced" is there afterwards
 *
 * And nothing else is ever there but a prefix of what was submitted.
 */
#include "tests/unit/store_chapters.h"

static void
die(uint32_t n)
{
	if (fork_point(n))
		vfs_fail_at(1, VFS_FOR_EVER, VFS_IO_ERROR);
}

/* tell_until_death -- in the parent to the end of all; gives what a child was promised. */
static struct store_progress
tell_until_death(struct box *box)
{
	struct store_progress progress = {0};

	find_disks_anew();
	box_init(box);
	vfs_start();
	vfs_before_op(die);
	if (open_with_fault(box))
		progress = tell_all(box);
	if (!branch.is_child)
		box_close(box);
	if (branch.is_child && box->store != NULL && branch.n % 16 == 0)
		box_close(box); /* or it gives up and closes, as is all the same to the disk */
	return progress;
}

static void
process__that_dies_at_any_call__leaves_all_that_was_committed(void **state)
{
	struct store_progress progress;
	struct box box;

	(void)state;
	progress = tell_until_death(&box);
	if (branch.is_child) {
		vfs_death();
		vfs_succeed();
		assert_prefix_of_at_least(progress.committed);
		branch_over(&box);
	}
	box_fini(&box);
	vfs_stop();
	assert_all_branches_are_well(500);
	print_message("%zu disks, %zu of them as found before\n",
		      found_disks->n + found_disks->n_spared, found_disks->n_spared);
}

static void
power_cut__at_any_call__leaves_all_that_was_synced(void **state)
{
	struct store_progress progress;
	struct box box;

	(void)state;
	progress = tell_until_death(&box);
	if (branch.is_child) {
		vfs_power_cut(branch.n);
		vfs_succeed();
		assert_prefix_of_at_least(progress.synced);
		branch_over(&box);
	}
	box_fini(&box);
	vfs_stop();
	assert_all_branches_are_well(500);
	print_message("%zu disks, %zu of them as found before\n",
		      found_disks->n + found_disks->n_spared, found_disks->n_spared);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			process__that_dies_at_any_call__leaves_all_that_was_committed,
			in_the_trunk),
		cmocka_unit_test_setup(power_cut__at_any_call__leaves_all_that_was_synced,
				       in_the_trunk),
	};

	return cmocka_run_group_tests(tests, write_chapters, burn_chapters);
}
