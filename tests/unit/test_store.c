/* SPDX-License-Identifier: Apache-2.0 */

/* What a store that is open does: rows, progress, syncs, checkpoints, its thread. */
#include "tests/unit/store_box.h"

#include <semaphore.h>

#include "transfer/base/log.h"

static int
setup(void **state)
{
	struct box *box = malloc(sizeof(*box));

	assert_non_null(box);
	box_init(box);
	assert_int_equal(box_open(box, NULL), 0);
	*state = box;
	return 0;
}

static int
teardown(void **state)
{
	log_set_sink(NULL, NULL, LOG_ERROR);
	box_fini(*state);
	free(*state);
	return 0;
}

static uint64_t
file_bytes(const struct box *box, const char *suffix)
{
	char name[128];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", box->path, suffix);
	return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void
pass_ms(struct box *box, uint64_t len_ms)
{
	clock_fake_advance_ms(&box->clock, len_ms);
	store_step(box->store);
}

/* ---- rows -------------------------------------------------------------------------- */

static void
books__after_a_restart__say_what_they_said_before(void **state)
{
	struct box *box = *state;
	char *before, *after;

	for (unsigned k = 1; k <= STORY_BATCHES; k++)
		box_tell(box, k);
	before = box_dump(box);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	after = box_dump(box);

	assert_string_equal(before, after);
	assert_non_null(strstr(before, "key renamed/"));
	free(before);
	free(after);
}

static void
object__comes_back_with_every_field(void **state)
{
	struct box *box = *state;
	char *text;

	box_add_segment(box, 1);
	box_add_segment(box, 2);
	box_add_object(box, 10, 2, 3);
	box_commit(box);
	text = box_dump(box);

	assert_non_null(strstr(text, "object 10 tenant 1 len 3000 at 1790000000010 crc 1 bde2a "
				     "key dir3/key-10 attr attr\n"
				     "  on 1: 655360+1000 663552+1000 671744+1000\n"
				     "  on 2: 655360+1000 663552+1000 671744+1000\n"));
	free(text);
}

static void
object__of_no_bytes__comes_back_with_its_copy(void **state)
{
	struct box *box = *state;
	char *text;

	box_add_segment(box, 1);
	box_add_object(box, 4, 1, 0);
	box_commit(box);
	text = box_dump(box);

	assert_non_null(strstr(text, "object 4 tenant 1 len 0 "));
	assert_non_null(strstr(text, "  on 1:\n"));
	free(text);
}

static void
object__removed__leaves_no_row_behind(void **state)
{
	struct box *box = *state;
	char *before, *after;

	box_add_segment(box, 1);
	box_add_segment(box, 2);
	box_commit(box);
	before = box_dump(box);
	box_add_object(box, 1, 2, 3);
	box_commit(box);
	box_remove_object(box, 1);
	box_commit(box);
	after = box_dump(box);

	assert_string_equal(before, after);
	assert_check_finds_nothing(box);
	free(before);
	free(after);
}

static void
replica__removed__leaves_the_other_and_its_extents(void **state)
{
	struct box *box = *state;
	char *text;

	box_add_segment(box, 1);
	box_add_segment(box, 2);
	box_add_object(box, 1, 2, 2);
	box_add(box,
		&(struct record){.kind = RECORD_REPLICA_REMOVE, .object_id = 1, .segment_id = 1});
	box_commit(box);
	text = box_dump(box);

	assert_null(strstr(text, "  on 1:"));
	assert_non_null(strstr(text, "  on 2: 65536+1000 73728+1000\n"));
	assert_check_finds_nothing(box);
	free(text);
}

static void
segment__mounted_again__has_the_new_words(void **state)
{
	struct box *box = *state;
	char *text;

	box_add_segment(box, 1);
	box_commit(box);
	box_add(box, &(struct record){.kind = RECORD_SEGMENT_ADD,
				      .segment_id = 1,
				      .segment_epoch = 9,
				      .client_id = 8,
				      .len_bytes = 4096,
				      .medium = 3,
				      .name = "other",
				      .name_len = 5});
	box_commit(box);
	text = box_dump(box);

	assert_string_equal(text, "segment 1 epoch 9 len 4096 client 8 medium 3 other  \n");
	free(text);
}

static void
segment__removed__takes_its_chunks_with_it(void **state)
{
	struct box *box = *state;
	char *text;

	box_add_segment(box, 1);
	box_add(box, &(struct record){.kind = RECORD_CHUNK_OPEN, .segment_id = 1, .chunk = 3});
	box_add(box, &(struct record){.kind = RECORD_SEGMENT_REMOVE, .segment_id = 1});
	box_commit(box);
	text = box_dump(box);

	assert_string_equal(text, "");
	free(text);
}

static int
refuse_objects(void *arg, const struct record *record)
{
	(*(int *)arg)++;
	return record->kind == RECORD_OBJECT_ADD ? -ENOSPC : 0;
}

static void
load__when_the_listener_fails__ends_with_its_failure(void **state)
{
	struct box *box = *state;
	int n = 0;

	box_add_segment(box, 1);
	box_add_object(box, 1, 1, 1);
	box_add_object(box, 2, 1, 1);
	box_commit(box);

	assert_int_equal(store_load(box->store, refuse_objects, &n, box->why, sizeof(box->why)),
			 -ENOSPC);
	assert_int_equal(n, 3); /* the tenant default, the segment, the object */
}

/* ---- progress ------------------------------------------------------------------------- */

static void
batches__are_numbered_from_one_and_committed_in_order(void **state)
{
	struct box *box = *state;

	box_add_segment(box, 1);
	box_submit(box);
	assert_int_equal(box->batch, 1);
	box_add_object(box, 1, 1, 1);
	box_submit(box);
	assert_int_equal(box->batch, 2);
	assert_int_equal(box_progress(box).committed, 0);
	assert_int_equal(box->journal.n_records, 0);

	store_step(box->store);
	assert_int_equal(box_progress(box).committed, 2);
	assert_false(box_progress(box).is_stalled);
}

static void
commit__is_synced_at_once_only_when_asked(void **state)
{
	struct box *box = *state;

	box_add_segment(box, 1);
	box_commit(box);
	assert_int_equal(box_progress(box).committed, 1);
	assert_int_equal(box_progress(box).synced, 0);

	box_add_object(box, 1, 1, 1);
	box->journal.wants_sync = true;
	box_commit(box);
	assert_int_equal(box_progress(box).synced, 2);
}

static void
commit__is_synced_in_the_end__though_nothing_more_comes(void **state)
{
	struct box *box = *state;

	box_add_segment(box, 1);
	box_commit(box);
	pass_ms(box, 249);
	assert_int_equal(box_progress(box).synced, 0);

	pass_ms(box, 1);
	assert_int_equal(box_progress(box).synced, 1);
}

static void
want_sync__syncs_what_is_committed(void **state)
{
	struct box *box = *state;

	box_add_segment(box, 1);
	box_commit(box);
	store_want_sync(box->store);
	store_step(box->store);

	assert_int_equal(box_progress(box).synced, 1);
}

static void
want_sync__when_all_is_synced__costs_nothing_later(void **state)
{
	struct box *box = *state;

	store_want_sync(box->store);
	store_step(box->store);
	box_add_segment(box, 1);
	box_commit(box);

	assert_int_equal(box_progress(box).synced, 0);
}

static void
idle__cuts_the_wal_to_nothing(void **state)
{
	struct box *box = *state;
	struct store_counts counts;

	box_close(box);
	box->config.wal_cap_bytes = 1u << 20;
	assert_int_equal(box_open(box, NULL), 0);
	box_tell(box, 1);
	assert_true(file_bytes(box, "-wal") > 0);
	pass_ms(box, 2000);
	pass_ms(box, 2000);

	assert_int_equal(file_bytes(box, "-wal"), 0);
	store_counts(box->store, &counts);
	assert_int_equal(counts.wal_bytes, 0);
	assert_true(counts.db_bytes > 0);
	assert_true(counts.busy_ns > 0);
}

static void
wal__without_readers__stays_near_its_cap(void **state)
{
	struct box *box = *state;

	for (unsigned k = 1; k <= STORY_BATCHES; k++) {
		box_tell(box, k);
		assert_true(file_bytes(box, "-wal") < 2 * box->config.wal_cap_bytes);
	}
}

static void
count_pinned(void *arg, enum log_level level, const char *line)
{
	(void)level;
	*(int *)arg += strstr(line, "store_wal_pinned") != NULL;
}

static void
wal__pinned_by_a_reader__warns_once_and_shrinks_when_it_is_gone(void **state)
{
	struct box *box = *state;
	int n_warnings = 0;
	sqlite3 *reader;

	log_set_sink(count_pinned, &n_warnings, LOG_WARN);
	assert_int_equal(sqlite3_open_v2(box->path, &reader, SQLITE_OPEN_READONLY, NULL),
			 SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM object;", NULL, NULL, NULL),
		SQLITE_OK);
	for (unsigned k = 1; k <= STORY_BATCHES; k++)
		box_tell(box, k);
	assert_int_equal(n_warnings, 1);
	assert_true(file_bytes(box, "-wal") > box->config.wal_cap_bytes);
	assert_int_equal(box_progress(box).committed, STORY_BATCHES);

	sqlite3_close(reader);
	pass_ms(box, 2000);
	assert_int_equal(file_bytes(box, "-wal"), 0);
	assert_int_equal(n_warnings, 1);
}

static void
file__of_objects_put_and_removed_again_and_again__does_not_grow(void **state)
{
	struct box *box = *state;
	struct store_counts first, last;

	box_add_segment(box, 1);
	for (uint64_t round = 0; round < 60; round++) {
		for (uint64_t i = 0; i < 100; i++) {
			box_add_object(box, round * 100 + i + 1, 1, 1);
			if (round > 0)
				box_remove_object(box, (round - 1) * 100 + i + 1);
		}
		box_commit(box);
		pass_ms(box, 2000);
		store_counts(box->store, round < 5 ? &first : &last);
	}

	assert_true(last.db_bytes <= 2 * first.db_bytes);
}

static void
close__commits_what_was_submitted(void **state)
{
	struct box *box = *state;
	char *text;

	box_add_segment(box, 1);
	box_submit(box);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	text = box_dump(box);

	assert_non_null(strstr(text, "segment 1 "));
	free(text);
}

/* ---- the thread -------------------------------------------------------------------------- */

static void
post(void *arg)
{
	sem_post(arg);
}

static void
thread__commits_and_syncs_and_wakes_the_loop(void **state)
{
	struct box *box = *state;
	sem_t news;

	box_close(box);
	sem_init(&news, 0, 0);
	box->config.is_inline = false;
	box->config.clock = clock_real();
	box->config.wake = post;
	box->config.wake_arg = &news;
	assert_int_equal(box_open(box, NULL), 0);
	for (unsigned k = 1; k <= STORY_BATCHES; k++) {
		box_story(box, k);
		box_submit(box);
	}

	while (box_progress(box).synced < STORY_BATCHES)
		assert_int_equal(sem_wait(&news), 0);
	assert_int_equal(box_progress(box).committed, STORY_BATCHES);
	assert_check_finds_nothing(box);
	box_close(box);
	sem_destroy(&news);
}

/* open_with_thread -- again, with batches up to so many records committed where they are submitted.
 */
static void
open_with_thread(struct box *box, unsigned here_max_records)
{
	box_close(box);
	box->config.is_inline = false;
	box->config.clock = clock_real();
	box->config.here_max_records = here_max_records;
	assert_int_equal(box_open(box, NULL), 0);
}

/* submit_here -- one record after the other, until the store thread sleeps and leaves one to us. */
static void
submit_here(struct box *box)
{
	for (int i = 0; i < 1000; i++) {
		box_add_segment(box, box->batch + 1);
		box_submit(box);
		if (box_progress(box).committed == box->batch)
			return;
		clock_sleep_ms(clock_real(), 10);
	}
	fail_msg("the store thread never sleeps");
}

static void
small_batch__while_the_thread_sleeps__is_committed_on_return_and_wakes_nobody(void **state)
{
	struct box *box = *state;
	struct store_counts before, after;
	sem_t news;
	int n_before, n_after;

	sem_init(&news, 0, 0);
	box->config.wake = post;
	box->config.wake_arg = &news;
	box->config.sync_every_ms = 60000;
	open_with_thread(box, 1);
	submit_here(box);
	clock_sleep_ms(clock_real(), 20); /* it looks what is due now, and sleeps again */

	store_counts(box->store, &before);
	sem_getvalue(&news, &n_before);
	submit_here(box);
	store_counts(box->store, &after);
	sem_getvalue(&news, &n_after);

	assert_true(after.n_commits > before.n_commits);
	if (after.n_commits == before.n_commits + 1)
		assert_int_equal(n_after, n_before);
	box_close(box);
	sem_destroy(&news);
}

static void
small_batch__committed_on_return__is_synced_in_the_end(void **state)
{
	struct box *box = *state;

	box->config.sync_every_ms = 50;
	open_with_thread(box, 1);
	submit_here(box);

	for (int i = 0; i < 1000 && box_progress(box).synced < box->batch; i++)
		clock_sleep_ms(clock_real(), 10);
	assert_int_equal(box_progress(box).synced, box->batch);
}

static void
small_batches__in_turn_with_the_thread__are_all_there_after_a_restart(void **state)
{
	struct box *box = *state;
	char *before, *after;

	box->config.sync_every_ms = 1; /* so that the thread is often in between */
	open_with_thread(box, 1000);
	for (unsigned k = 1; k <= STORY_BATCHES; k++) {
		box_story(box, k);
		box_submit(box);
		clock_sleep_ms(clock_real(), k % 3);
	}
	while (box_progress(box).synced < STORY_BATCHES)
		clock_sleep_ms(clock_real(), 1);
	before = box_dump(box);
	assert_check_finds_nothing(box);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	after = box_dump(box);

	assert_string_equal(after, before);
	free(before);
	free(after);
}

static void
load__while_the_thread_commits__sees_one_state(void **state)
{
	struct box *box = *state;

	box_close(box);
	box->config.is_inline = false;
	box->config.clock = clock_real();
	assert_int_equal(box_open(box, NULL), 0);
	for (unsigned k = 1; k <= STORY_BATCHES; k++) {
		box_story(box, k);
		box_submit(box);
		free(box_dump(box)); /* judges every law */
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(books__after_a_restart__say_what_they_said_before),
		TEST(object__comes_back_with_every_field),
		TEST(object__of_no_bytes__comes_back_with_its_copy),
		TEST(object__removed__leaves_no_row_behind),
		TEST(replica__removed__leaves_the_other_and_its_extents),
		TEST(segment__mounted_again__has_the_new_words),
		TEST(segment__removed__takes_its_chunks_with_it),
		TEST(load__when_the_listener_fails__ends_with_its_failure),
		TEST(batches__are_numbered_from_one_and_committed_in_order),
		TEST(commit__is_synced_at_once_only_when_asked),
		TEST(commit__is_synced_in_the_end__though_nothing_more_comes),
		TEST(want_sync__syncs_what_is_committed),
		TEST(want_sync__when_all_is_synced__costs_nothing_later),
		TEST(idle__cuts_the_wal_to_nothing),
		TEST(wal__without_readers__stays_near_its_cap),
		TEST(wal__pinned_by_a_reader__warns_once_and_shrinks_when_it_is_gone),
		TEST(file__of_objects_put_and_removed_again_and_again__does_not_grow),
		TEST(close__commits_what_was_submitted),
		TEST(thread__commits_and_syncs_and_wakes_the_loop),
		TEST(small_batch__while_the_thread_sleeps__is_committed_on_return_and_wakes_nobody),
		TEST(small_batch__committed_on_return__is_synced_in_the_end),
		TEST(small_batches__in_turn_with_the_thread__are_all_there_after_a_restart),
		TEST(load__while_the_thread_commits__sees_one_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
