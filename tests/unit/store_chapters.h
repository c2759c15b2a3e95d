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

#endif
