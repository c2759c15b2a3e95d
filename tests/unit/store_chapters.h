/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_chapters.h -- the story of store_box.h, told over a disk that fails.
 *
 * What the books say after each batch is written down first, with nothing going wrong;
 * whatever happens, they must be found at one of these chapters.
 */
#ifndef TESTS_UNIT_STORE_CHAPTERS_H
#define TESTS_UNIT_STORE_CHAPTERS_H

#include "tests/unit/store_box.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/fault/vfs.h"

#define OPS_MAX 5000u /* far more than the story needs */

/* What the books say after each batch, when nothing goes wrong; [0] is before the first. */
static char *chapters[STORY_BATCHES + 1];

static inline int
write_chapters(void **state)
{
	struct box box;

	(void)state;
	box_init(&box);
	assert_int_equal(box_open(&box, NULL), 0);
	chapters[0] = box_dump(&box);
	for (unsigned k = 1; k <= STORY_BATCHES; k++) {
		box_tell(&box, k);
		chapters[k] = box_dump(&box);
		assert_check_finds_nothing(&box); /* so it does wherever a chapter is found again */
	}
	box_fini(&box);
	return 0;
}

static inline int
burn_chapters(void **state)
{
	(void)state;
	for (unsigned k = 0; k <= STORY_BATCHES; k++)
		free(chapters[k]);
	return 0;
}

/* tell_all -- the whole story, and what was promised of it when the last word was spoken. */
static inline struct store_progress
tell_all(struct box *box)
{
	struct store_progress progress;

	box_story_begin(box);
	for (unsigned k = 1; k <= STORY_BATCHES; k++) {
		box_tell(box, k);
		progress = box_progress(box);
		assert_true(progress.synced <= progress.committed);
		assert_true(progress.committed <= k);
	}
	return progress;
}

/* open_with_fault -- false: it failed, which must leave a line, and the next attempt is well. */
static inline bool
open_with_fault(struct box *box)
{
	int r = box_open(box, VFS_NAME);

	if (r == 0)
		return true;
	assert_true(r < 0);
	assert_non_null(strstr(box->why, box->path));
	return false;
}

/* ---- the story is told once, and branches -------------------------------------------- */

/*
 * fork_point() at an op of the disk gives true in a child, to whom something happens there.  It
 * goes on from where the story stands, by itself: with the memory, and so with the disk, as they
 * are at that moment.  What comes before is told once for all.
 *
 *      op 1 --- 2 --- 3 --- 4 ---  ...  --- end     the parent: nothing ever goes wrong
 *         \     \     \     \
 *          end   end   end   end                    children: each judges its own end
 *
 * A child that is well ends with branch_over().  One that is not fails its test as any other does,
 * and ends where the next test would begin (in_the_trunk()); the parent fails with it.
 */
static struct {
	bool is_child, has_moved;
	uint32_t n; /* the child's op */
	uint32_t n_points, n_bad, first_bad;
} branch;

#define BAD_MAX 3u /* so many children that fail say enough */

static inline bool
fork_point(uint32_t n)
{
	int status;
	pid_t pid;

	if (branch.n_bad >= BAD_MAX)
		return false;
	fflush(NULL);
	pid = fork();
	assert(pid >= 0);
	if (pid == 0) {
		vfs_before_op(NULL);
		branch.is_child = true;
		branch.n = n;
		return true;
	}
	branch.n_points++;
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return false;
	if (branch.n_bad++ == 0)
		branch.first_bad = n;
	return false;
}

/* open_again -- an open failed, in a child: its next one is in a folder of its own, for the lock in
 * the old one is the parent's. */
static inline void
open_again(struct box *box)
{
	assert(branch.is_child);
	box_settle(box);
	branch.has_moved = true;
	assert_int_equal(box_open(box, VFS_NAME), 0);
}

/* branch_over -- the child's end. */
static inline void
branch_over(struct box *box)
{
	assert(branch.is_child);
	if (branch.has_moved)
		box_fini(box);
	fflush(NULL);
	_exit(0);
}

/* in_the_trunk -- the setup of every test: a child goes no further than its own. */
static inline int
in_the_trunk(void **state)
{
	(void)state;
	if (branch.is_child) {
		fflush(NULL);
		_exit(1);
	}
	branch.n_points = branch.n_bad = 0;
	return 0;
}

static inline void
assert_all_branches_are_well(uint32_t at_least)
{
	if (branch.n_bad > 0)
		fail_msg("first at op %u", branch.first_bad);
	assert_in_range(branch.n_points, at_least, OPS_MAX);
	print_message("%u ops\n", branch.n_points);
}

/* ---- what came of a branch ------------------------------------------------------------ */

/* Disks that were looked at already, by whichever child, and the chapter that was found there. */
struct found_disks {
	size_t n, n_spared;
	struct {
		uint64_t hash;
		uint64_t chapter;
	} at[OPS_MAX];
};

static struct found_disks *found_disks;

static inline void
find_disks_anew(void)
{
	if (found_disks == NULL) {
		found_disks = mmap(NULL, sizeof(*found_disks), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		assert(found_disks != MAP_FAILED);
	}
	found_disks->n = found_disks->n_spared = 0;
}

/* read_chapter -- the last of those that say what the books say; fails when none does. */
static inline uint64_t
read_chapter(void)
{
	struct box box;
	uint64_t k = STORY_BATCHES;
	char *found;

	box_init(&box); /* another folder: the dead master's lock is its own */
	assert_int_equal(box_open(&box, VFS_NAME), 0);
	found = box_dump(&box);
	while (strcmp(found, chapters[k]) != 0) {
		if (k == 0)
			fail_msg("at op %u: found\n%s", branch.n, found);
		k--;
	}
	free(found);
	box_fini(&box);
	return k;
}

/* assert_prefix_of_at_least -- the books on this disk are one of the chapters from `least` on. */
static inline void
assert_prefix_of_at_least(uint64_t least)
{
	uint64_t hash = vfs_hash(), k;
	size_t i = 0;

	while (i < found_disks->n && found_disks->at[i].hash != hash)
		i++;
	if (i == found_disks->n) {
		k = read_chapter();
		found_disks->at[i].hash = hash;
		found_disks->at[i].chapter = k;
		found_disks->n++;
	} else {
		k = found_disks->at[i].chapter;
		found_disks->n_spared++;
	}
	if (k < least)
		fail_msg("at op %u: promised %llu batches, found %llu", branch.n,
			 (unsigned long long)least, (unsigned long long)k);
}

#endif
