/* SPDX-License-Identifier: Apache-2.0 */

/* after.c -- after the story: all that was acknowledged is there, and all can be given back. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/fault/story.h"

#define TRIES      200
#define PAUSE_MS   50
#define REMOVE_MAX 256

/* pause -- between two looks at a store that may be on its way back. */
static void
pause_a_little(void)
{
	const struct timespec pause = {0, PAUSE_MS * 1000000L};

	nanosleep(&pause, NULL);
}

/* look -- 0, NOT_FOUND, or what went wrong. */
static int
look(struct story *story, const struct ledger_row *row)
{
	struct iovec slices[STORY_SLICES_MAX];
	size_t n = story_scatter(1, 3u << 20, slices);
	uint64_t len_bytes;
	int r;

	story_step("verify", row->key);
	r = tiffin_get(story->client, row->key, slices, n, &len_bytes);
	if (r == 0 && !row_allows(row, slices, n, len_bytes))
		story_broken("other bytes in", row->key);
	return r;
}

int
story_verify(struct story *story)
{
	for (size_t i = 0; i < story->ledger.n; i++) {
		const struct ledger_row *row = &story->ledger.rows[i];
		int r = look(story, row);

		for (int tries = 0; r < 0 && r != TIFFIN_E_NOT_FOUND && tries < TRIES; tries++) {
			pause_a_little();
			r = look(story, row);
		}
		if (r == TIFFIN_E_NOT_FOUND && !row->may_be_absent)
			story_broken("it was acknowledged, and is not there:", row->key);
		if (r < 0 && r != TIFFIN_E_NOT_FOUND)
			story_broken("it cannot be read:", tiffin_errname(r));
		story_told(story, 0);
	}
	return 0;
}

/* remove_some -- how many of the first keys were there, or an error. */
static int
remove_some(struct story *story)
{
	static char keys[REMOVE_MAX][LEDGER_KEY_BYTES];
	const char *at[REMOVE_MAX], *key;
	int results[REMOVE_MAX], r, n = 0;
	struct tiffin_list *list;
	struct tiffin_stat stat;

	r = tiffin_list_open(story->client, "", 0, NULL, &list);
	if (r < 0)
		return r;
	while (n < REMOVE_MAX && (r = tiffin_list_next(list, &key, &stat)) == 1) {
		snprintf(keys[n], LEDGER_KEY_BYTES, "%s", key);
		at[n] = keys[n];
		n++;
	}
	tiffin_list_close(list);
	if (r < 0 || n == 0)
		return r < 0 ? r : 0;
	r = tiffin_remove_batch(story->client, at, (size_t)n, TIFFIN_FORCE, results);
	return r < 0 ? r : n;
}

int
story_clear(struct story *story, unsigned seconds, unsigned n_segments)
{
	struct tiffin_space space = {0};
	unsigned n_looks = seconds * 1000 / PAUSE_MS;
	int r;

	do {
		story_step("clear", "");
		r = remove_some(story);
		if (r < 0)
			pause_a_little();
	} while (r > 0 || (r < 0 && n_looks-- > 0));
	if (r < 0)
		story_broken("it cannot be removed:", tiffin_errname(r));
	for (; n_looks > 0; n_looks--) {
		story_step("space", "");
		r = tiffin_space(story->client, &space);
		if (r == 0 && space.used_bytes == 0 && space.resting_bytes == 0 &&
		    space.n_objects == 0 && space.n_segments == n_segments)
			return story_told(story, 0);
		pause_a_little();
	}
	printf("broken: nothing is stored, but used=%llu resting=%llu objects=%llu segments=%u\n",
	       (unsigned long long)space.used_bytes, (unsigned long long)space.resting_bytes,
	       (unsigned long long)space.n_objects, (unsigned)space.n_segments);
	return 1;
}
