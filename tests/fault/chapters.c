/* SPDX-License-Identifier: Apache-2.0 */

/* chapters.c -- the story, chapter by chapter: each call, and what its answer says. */
#include <stdio.h>
#include <string.h>

#include "tests/fault/story.h"

#define BATCH 6

static const uint64_t lens[] = {0, 1, 4096, 100000, 3u << 20};
static const char *const names[] = {"p0", "p1", "p2", "p3", "p4"};

/* note_put -- what the answer to a put of value says of its key. */
static void
note_put(struct ledger_row *row, struct value value, int r)
{
	if (r == 0)
		row_is(row, value);
	else if (r == TIFFIN_E_EXISTS && row->n_values == 0)
		story_broken("EXISTS, but nothing was ever put under", row->key);
	else if (r != TIFFIN_E_EXISTS)
		row_may_be(row, value);
}

static int
put(struct story *story, const char *name, struct value value, uint32_t flags)
{
	struct ledger_row *row = ledger_row(&story->ledger, story_key(story, name));
	struct tiffin_put_options options = {.struct_bytes = sizeof(options), .flags = flags};
	struct iovec slices[STORY_SLICES_MAX];
	size_t n = story_scatter(0, value.len_bytes, slices);
	int r;

	value_fill(value, 0, slices, n);
	story_step("put", row->key);
	r = story_told(story, tiffin_put(story->client, row->key, slices, n, &options, NULL));
	note_put(row, value, r);
	return r;
}

/* get_row -- a whole object; the answer must be one that the ledger allows. */
static int
get_row(struct story *story, struct ledger_row *row)
{
	struct iovec slices[STORY_SLICES_MAX];
	size_t n = story_scatter(1, 3u << 20, slices);
	uint64_t len_bytes;
	int r;

	story_step("get", row->key);
	r = story_told(story, tiffin_get(story->client, row->key, slices, n, &len_bytes));
	if (r == TIFFIN_E_NOT_FOUND && !row->may_be_absent)
		story_broken("NOT_FOUND, but it was acknowledged:", row->key);
	if (r == 0 && !row_allows(row, slices, n, len_bytes))
		story_broken("other bytes in", row->key);
	return r;
}

void
story_put(struct story *story)
{
	struct ledger_row *row = ledger_row(&story->ledger, story_key(story, "p1"));
	bool was_sure = false;
	int r;

	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		put(story, names[i], story_next(story, lens[i]), 0);
	was_sure = !row->may_be_absent;
	r = put(story, "p1", story_next(story, 2), 0);
	story->n_failed -= r == TIFFIN_E_EXISTS;
	if (was_sure && r == 0)
		story_broken("put over an object that was acknowledged:", row->key);
	put(story, "p2", story_next(story, 5000), TIFFIN_REPLACE);
	put(story, "new", story_next(story, 777), TIFFIN_REPLACE | TIFFIN_STRICT);
}

void
story_get(struct story *story)
{
	struct ledger_row *row = ledger_row(&story->ledger, story_key(story, "p4"));
	struct iovec slices[STORY_SLICES_MAX];
	size_t n = story_scatter(1, 200000, slices);
	struct tiffin_stat stat;
	uint8_t attr[TIFFIN_ATTR_MAX];
	uint64_t len_bytes;
	int r;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		get_row(story, ledger_row(&story->ledger, story_key(story, names[i])));

	story_step("get_range", row->key);
	r = story_told(story,
		       tiffin_get_range(story->client, row->key, 12345, slices, n, &len_bytes));
	if (r == 0 && (row->n_values != 1 || len_bytes != 200000 ||
		       !value_is(row->values[0], 12345, slices, n, len_bytes)))
		story_broken("other bytes in a range of", row->key);

	story_step("set_attr", row->key);
	r = story_told(story, tiffin_set_attr(story->client, row->key, 0, "attr", 4));
	if (r == TIFFIN_E_NOT_FOUND && !row->may_be_absent)
		story_broken("NOT_FOUND, but it was acknowledged:", row->key);
	story_step("stat", row->key);
	story_told(story, tiffin_stat(story->client, row->key, &stat, attr));
	story_step("get of nothing", "none");
	r = story_told(story,
		       tiffin_get(story->client, story_key(story, "none"), slices, n, &len_bytes));
	story->n_failed -= r == TIFFIN_E_NOT_FOUND;
	if (r == 0)
		story_broken("bytes of nothing:", "none");
}

void
story_batch(struct story *story)
{
	struct tiffin_item items[BATCH] = {0};
	struct iovec all[STORY_SLICES_MAX], slices[BATCH];
	struct ledger_row *rows[BATCH];
	struct value values[BATCH];
	const char *keys[BATCH];
	int results[BATCH], r;

	story_scatter(0, 3u << 20, all);
	for (size_t i = 0; i < BATCH; i++) {
		char name[8];

		snprintf(name, sizeof(name), "b%zu", i);
		rows[i] = ledger_row(&story->ledger, story_key(story, name));
		values[i] = story_next(story, i * 3000);
		slices[i] = (struct iovec){(uint8_t *)all[6].iov_base + i * 40000, i * 3000};
		value_fill(values[i], 0, &slices[i], 1);
		items[i] = (struct tiffin_item){
			.key = rows[i]->key, .slices = &slices[i], .n_slices = 1};
		keys[i] = rows[i]->key;
	}
	story_step("put_batch", "");
	r = story_told(story, tiffin_put_batch(story->client, items, BATCH, NULL));
	for (size_t i = 0; i < BATCH; i++) {
		note_put(rows[i], values[i], r == 0 ? story_told(story, items[i].result) : r);
		memset(slices[i].iov_base, 0, slices[i].iov_len);
	}
	story_step("get_batch", "");
	r = story_told(story, tiffin_get_batch(story->client, items, BATCH));
	for (size_t i = 0; r == 0 && i < BATCH; i++) {
		int got = story_told(story, items[i].result);

		if (got == TIFFIN_E_NOT_FOUND && !rows[i]->may_be_absent)
			story_broken("NOT_FOUND, but it was acknowledged:", rows[i]->key);
		if (got == 0 && !row_allows(rows[i], &slices[i], 1, items[i].ret_len_bytes))
			story_broken("other bytes in", rows[i]->key);
	}
	story_step("exist", "");
	r = story_told(story, tiffin_exist(story->client, keys, BATCH, results));
	for (size_t i = 0; r == 0 && i < BATCH; i++)
		if (results[i] == TIFFIN_E_NOT_FOUND && !rows[i]->may_be_absent)
			story_broken("does not exist, but it was acknowledged:", rows[i]->key);
}

/* write_stream -- 300000 bytes, the end first; then one's own bytes back. */
static int
write_stream(struct story *story, struct tiffin_put *put, struct value value)
{
	struct iovec slices[STORY_SLICES_MAX], back[STORY_SLICES_MAX];
	uint64_t len_bytes;
	size_t n;
	int r;

	for (int part = 2; part >= 0; part--) {
		n = story_scatter(0, 100000, slices);
		value_fill(value, (uint64_t)part * 100000, slices, n);
		story_step("put_write", "");
		r = story_told(story, tiffin_put_write(put, (uint64_t)part * 100000, slices, n));
		if (r < 0)
			return r;
	}
	n = story_scatter(1, 99999, back);
	story_step("put_read", "");
	r = story_told(story, tiffin_put_read(put, 50001, back, n, &len_bytes));
	if (r == 0 && (len_bytes != 99999 || !value_is(value, 50001, back, n, len_bytes)))
		story_broken("other bytes in one's own put", "");
	story_step("put_truncate", "");
	return story_told(story, tiffin_put_truncate(put, value.len_bytes));
}

void
story_stream(struct story *story)
{
	struct ledger_row *row = ledger_row(&story->ledger, story_key(story, "s"));
	struct value value = story_next(story, 250000);
	struct tiffin_put *put;
	int r;

	story_step("put_begin", row->key);
	r = story_told(story, tiffin_put_begin(story->client, row->key, 4096, NULL, &put));
	if (r == 0 && write_stream(story, put, value) == 0) {
		story_step("put_commit", row->key);
		r = story_told(story, tiffin_put_commit(put, "stream", 6, NULL));
		note_put(row, value, r);
	} else if (r == 0) {
		story_step("put_abort", row->key);
		tiffin_put_abort(put);
	}
	if (row->n_values > 0)
		get_row(story, row);

	story_step("put_begin to abort", "");
	r = story_told(story, tiffin_put_begin(story->client, story_key(story, "never"), 1u << 20,
					       NULL, &put));
	if (r == 0) {
		struct iovec slices[STORY_SLICES_MAX];
		size_t n = story_scatter(0, 1000, slices);

		story_step("put_write to abort", "");
		story_told(story, tiffin_put_write(put, 7, slices, n));
		story_step("put_abort", "");
		tiffin_put_abort(put);
	}
	get_row(story, ledger_row(&story->ledger, story_key(story, "p3")));
}

void
story_view(struct story *story)
{
	struct ledger_row *row = ledger_row(&story->ledger, story_key(story, "p4"));
	struct iovec slices[STORY_SLICES_MAX], run;
	size_t n = story_scatter(1, 100000, slices);
	struct tiffin_view *view;
	const void *bytes;
	uint64_t len_bytes;
	int r;

	story_step("view_open", row->key);
	r = story_told(story, tiffin_view_open(story->client, row->key, &view));
	if (r == TIFFIN_E_NOT_FOUND && !row->may_be_absent)
		story_broken("NOT_FOUND, but it was acknowledged:", row->key);
	if (r < 0)
		return;
	story_step("view_read", row->key);
	r = story_told(story, tiffin_view_read(view, 1u << 20, slices, n, &len_bytes));
	if (r == 0 && (len_bytes != 100000 || row->n_values != 1 ||
		       !value_is(row->values[0], 1u << 20, slices, n, len_bytes)))
		story_broken("other bytes in a view of", row->key);
	story_step("view_borrow", row->key);
	r = story_told(story, tiffin_view_borrow(view, 4096, &bytes, &len_bytes));
	if (r == 0) {
		bool is_right;

		run = (struct iovec){(void *)(uintptr_t)bytes, (size_t)len_bytes};
		is_right = value_is(row->values[0], 4096, &run, 1, len_bytes);
		story_step("view_check", row->key);
		if (story_told(story, tiffin_view_check(view)) == 0 && !is_right)
			story_broken("other bytes were borrowed from", row->key);
	}
	story_step("view_close", row->key);
	tiffin_view_close(view);
}

static void
on_change(void *arg, int change, const char *key, uint64_t object_id)
{
	(void)arg;
	(void)change;
	(void)key;
	(void)object_id;
}

void
story_list(struct story *story)
{
	struct tiffin_watch *watch = NULL;
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	size_t n_sure = 0, n_found = 0;
	int r;

	story_step("watch_open", "");
	if (story_told(story, tiffin_watch_open(story->client, story->prefix, on_change, NULL,
						&watch)) < 0)
		watch = NULL;
	for (size_t i = 0; i < story->ledger.n; i++)
		n_sure += !story->ledger.rows[i].may_be_absent;
	story_step("list_open", "");
	r = story_told(story, tiffin_list_open(story->client, story->prefix, 0, NULL, &list));
	if (r == 0) {
		do {
			story_step("list_next", "");
			r = story_told(story, tiffin_list_next(list, &key, &stat));
			n_found += r == 1 && !ledger_row(&story->ledger, key)->may_be_absent;
		} while (r == 1);
		if (r == 0 && n_found != n_sure)
			story_broken("a list lacks keys that were acknowledged", "");
		tiffin_list_close(list);
	}
	story_step("watch_close", "");
	tiffin_watch_close(watch);
}

/* note_move -- what the answer to a rename says. */
static void
note_move(struct ledger_row *from, struct ledger_row *to, int r)
{
	if (r == TIFFIN_E_NOT_FOUND && !from->may_be_absent)
		story_broken("NOT_FOUND, but it was acknowledged:", from->key);
	if (r != TIFFIN_E_NOT_FOUND)
		row_moved(from, to, r == 0);
}

static void
note_removal(struct ledger_row *row, int r)
{
	if (r == TIFFIN_E_NOT_FOUND && !row->may_be_absent)
		story_broken("NOT_FOUND, but it was acknowledged:", row->key);
	if (r == 0 || r == TIFFIN_E_NOT_FOUND)
		row_is_absent(row);
	else
		row_may_be_absent(row);
}

void
story_names(struct story *story)
{
	struct ledger *ledger = &story->ledger;
	struct ledger_row *from[2], *to[2], *gone[2];
	int results[2], r;

	from[0] = ledger_row(ledger, story_key(story, "p1"));
	to[0] = ledger_row(ledger, story_key(story, "r1"));
	story_step("rename", from[0]->key);
	note_move(from[0], to[0],
		  story_told(story, tiffin_rename(story->client, from[0]->key, to[0]->key, 0)));

	from[0] = ledger_row(ledger, story_key(story, "b1"));
	from[1] = ledger_row(ledger, story_key(story, "b2"));
	to[0] = ledger_row(ledger, story_key(story, "c1"));
	to[1] = ledger_row(ledger, story_key(story, "c2"));
	story_step("rename_batch", "");
	r = story_told(story, tiffin_rename_batch(story->client,
						  (const char *[]){from[0]->key, from[1]->key},
						  (const char *[]){to[0]->key, to[1]->key}, 2, 0));
	if (r != TIFFIN_E_NOT_FOUND)
		for (size_t i = 0; i < 2; i++)
			note_move(from[i], to[i], r);

	gone[0] = ledger_row(ledger, story_key(story, "p0"));
	story_step("remove", gone[0]->key);
	note_removal(gone[0],
		     story_told(story, tiffin_remove(story->client, gone[0]->key, TIFFIN_FORCE)));
	gone[0] = ledger_row(ledger, story_key(story, "b3"));
	gone[1] = ledger_row(ledger, story_key(story, "b4"));
	story_step("remove_batch", "");
	r = story_told(story, tiffin_remove_batch(story->client,
						  (const char *[]){gone[0]->key, gone[1]->key}, 2,
						  TIFFIN_FORCE, results));
	for (size_t i = 0; i < 2; i++)
		note_removal(gone[i], r == 0 ? story_told(story, results[i]) : r);
}

void
story_lend(struct story *story)
{
	struct ledger_row *row = ledger_row(&story->ledger, story_key(story, "m"));
	char name[LEDGER_KEY_BYTES + 8];
	struct tiffin_mount_options mount = {
		.struct_bytes = sizeof(mount), .name = name, .size_bytes = 1u << 20};
	struct tiffin_put_options options = {.struct_bytes = sizeof(options), .n_preferred = 1};
	struct value value = story_next(story, 60000);
	struct iovec slices[STORY_SLICES_MAX];
	uint64_t segment_id;
	size_t n = story_scatter(0, value.len_bytes, slices);
	int r;

	snprintf(name, sizeof(name), "lent-%.*s", (int)strcspn(story->prefix, "/"), story->prefix);
	story_step("mount", name);
	if (story_told(story, tiffin_mount(story->client, &mount, &segment_id)) < 0)
		return;
	value_fill(value, 0, slices, n);
	options.preferred = &segment_id;
	story_step("put into one's own", row->key);
	r = story_told(story, tiffin_put(story->client, row->key, slices, n, &options, NULL));
	note_put(row, value, r);
	if (r == 0)
		get_row(story, row);
	story_step("unmount", name);
	story_told(story, tiffin_unmount(story->client, segment_id));
	row_may_be_absent(row);
}
