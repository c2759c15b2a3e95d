/* SPDX-License-Identifier: Apache-2.0 */

/* Watches: changes as they are committed, and what was missed by who comes back. */
#include "tests/unit/master_world.h"

/* A watcher, and what it was told so far. */
struct heard {
	struct end *end;
	uint64_t id; /* of its watch */
	size_t at;   /* in end->in: frames before it were looked at */
	uint64_t epoch, number;
	unsigned n_changes, n_overflows, n_frames;
	uint64_t last_object_id;
};

static void
note_frame(struct heard *heard, const struct frame *frame)
{
	struct rep_watch rep = {0};

	arena_reset(&heard->end->arena);
	assert_int_equal(frame->status, STATUS_OK);
	assert_int_equal(rep_watch_decode(frame->payload, &heard->end->arena, &rep), 0);
	assert_true(rep.is_overflow != 0 || rep.number >= heard->number);
	for (uint32_t i = 0; i < rep.n_changes; i++) {
		assert_true(rep.changes[i].number > heard->number &&
			    rep.changes[i].number <= rep.number);
		heard->number = rep.changes[i].number;
		heard->last_object_id = rep.changes[i].object_id;
	}
	heard->n_changes += rep.n_changes;
	heard->n_overflows += rep.is_overflow;
	heard->number = rep.number;
	heard->n_frames++;
}

/* note -- all that came since. */
static void
note(struct heard *heard)
{
	struct buf *in = &heard->end->in;
	struct frame frame;
	size_t len;

	for (; heard->at < buf_len(in); heard->at += len) {
		assert_int_equal(frame_peek(buf_first(in) + heard->at, buf_len(in) - heard->at,
					    &frame, &len),
				 0);
		if (frame.request_id == heard->id)
			note_frame(heard, &frame);
	}
}

/* watch_from -- behind its position; a new connection of the same client.  Counts begin anew. */
static void
watch_from(struct world *w, struct heard *heard, const char *prefix)
{
	struct heard before = *heard;

	*heard = (struct heard){
		.end = world_join_again(w, 12), .epoch = w->master->epoch, .number = before.number};
	heard->id = SEND(heard->end, watch, .prefix = span_of(prefix, strlen(prefix)),
			 .after_epoch = before.epoch, .after_number = before.number);
	world_turn(w);
	note(heard);
	assert_int_equal(heard->n_frames > 0, 1);
}

static void
watch_begin(struct world *w, struct heard *heard, const char *prefix)
{
	*heard = (struct heard){0};
	watch_from(w, heard, prefix);
}

/* put_many -- n objects of keys of 1000 bytes, all in one batch. */
static void
put_many(struct end *writer, uint32_t n)
{
	struct rec_put *puts = calloc(n, sizeof(*puts));
	struct rec_put_done *done = calloc(n, sizeof(*done));
	char(*keys)[1000] = calloc(n, sizeof(*keys));
	struct rep_put_start rep = {0};
	struct rep_put_end ended = {0};

	for (uint32_t i = 0; i < n; i++) {
		memset(keys[i], 'k', sizeof(keys[i]));
		memcpy(keys[i], &(uint32_t){0x01010101 + i}, sizeof(uint32_t));
		for (int b = 0; b < 4; b++)
			if (keys[i][b] == '\0')
				keys[i][b] = 'z';
		puts[i] = (struct rec_put){span_of(keys[i], sizeof(keys[i])), 0};
	}
	buf_clear(&writer->in);
	assert_int_equal(ASK(writer, put_start, &rep, .replica_num = 1, .flags = 1, .n_puts = n,
			     .puts = puts),
			 STATUS_OK);
	for (uint32_t i = 0; i < n; i++)
		done[i].object_id = rep.places[i].object_id;
	assert_int_equal(ASK(writer, put_end, &ended, .n_puts = n, .puts = done), STATUS_OK);
	free(puts);
	free(done);
	free(keys);
}

static void
watch__hears_of_changes_below_its_prefix_once_they_are_committed(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11), *watcher = world_join(w, 12);
	struct rec_put_done done = {0};
	struct rep_watch rep = {0};
	struct frame frame = {0};
	uint32_t status;
	uint64_t id;

	id = SEND(watcher, watch, .prefix = span_of("a/", 2));
	world_turn(w);
	end_put(writer, "b", 0);
	assert_int_equal(end_answers(watcher, id, &frame), 1);
	done.object_id = end_start(writer, "a/x", 0, 0, &status);
	SEND(writer, put_end, .n_puts = 1, .puts = &done);
	world_turn_alone(w);
	assert_int_equal(end_answers(watcher, id, &frame), 1);
	world_turn(w);

	assert_int_equal(end_answers(watcher, id, &frame), 2);
	assert_true((frame.flags & FRAME_MORE) != 0);
	assert_int_equal(HEAR(watcher, id, watch, &rep), STATUS_OK);
	assert_int_equal(rep.n_changes, 1);
	assert_int_equal(rep.changes[0].kind, CHANGE_PUT);
	assert_int_equal(rep.changes[0].object_id, done.object_id);
}

static void
watch__of_a_rename__hears_of_both_keys(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_rename_pair pair = {span_of("a", 1), span_of("b", 1)};
	struct rep_rename renamed;
	struct rep_watch rep = {0};
	uint64_t id;

	end_put(end, "a", 0);
	id = SEND(end, watch, .prefix = span_of("", 0));
	assert_int_equal(ASK(end, rename, &renamed, .n_pairs = 1, .pairs = &pair), STATUS_OK);

	assert_int_equal(HEAR(end, id, watch, &rep), STATUS_OK);
	assert_int_equal(rep.n_changes, 2);
	assert_int_equal(rep.changes[0].kind, CHANGE_REMOVED);
	assert_int_equal(rep.changes[1].kind, CHANGE_PUT);
}

static void
too_many_watches__of_one_connection__are_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	uint64_t id = 0;

	for (int i = 0; i < 65; i++)
		id = SEND(end, watch, .prefix = span_of("", 0));
	world_turn(w);
	assert_int_equal(end_status(end, id - 1), STATUS_OK);
	assert_int_equal(end_status(end, id), STATUS_TOO_MANY);
}

/* ---- who comes back ---- */

static void
watcher__that_comes_back__hears_what_it_missed__once(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11);
	struct heard heard;
	uint64_t last;

	watch_begin(w, &heard, "a/");
	end_put(writer, "a/1", 0);
	note(&heard);
	assert_int_equal(heard.n_changes, 1);
	end_hang_up(heard.end);
	end_put(writer, "a/2", 0);
	end_put(writer, "b", 0);
	last = end_put(writer, "a/3", 0);

	watch_from(w, &heard, "a/");
	assert_int_equal(heard.n_changes, 2);
	assert_int_equal(heard.last_object_id, last);
	assert_int_equal(heard.n_overflows, 0);
	end_put(writer, "a/4", 0);
	note(&heard);
	assert_int_equal(heard.n_changes, 3);
}

static void
watcher__that_comes_back__to_no_news__hears_nothing(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11);
	struct heard heard;

	end_put(writer, "a/1", 0);
	watch_begin(w, &heard, "");
	end_hang_up(heard.end);
	world_pass_ms(w, 2 * CHANGES_KEPT_MS); /* nothing is kept any more */
	assert_null(w->master->changes.ring);
	watch_from(w, &heard, "");
	assert_int_equal(heard.n_changes, 0);
	assert_int_equal(heard.n_overflows, 0);
}

static void
watcher__that_comes_back_too_late__is_told_so_once(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11);
	struct heard heard;

	watch_begin(w, &heard, "");
	end_hang_up(heard.end);
	for (int i = 0; i < 9; i++)
		put_many(writer, 1000); /* more bytes than are kept */
	watch_from(w, &heard, "");
	assert_int_equal(heard.n_overflows, 1);
	assert_int_equal(heard.n_changes, 0);
	end_put(writer, "new", 0);
	note(&heard);
	assert_int_equal(heard.n_overflows, 1);
	assert_int_equal(heard.n_changes, 1);
	assert_int_equal(counter_get(&w->master->counters.watch_overflows), 1);
}

static void
watcher__that_comes_back_to_a_store_that_kept_nothing__is_told_so(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11);
	struct heard heard;

	watch_begin(w, &heard, "");
	end_hang_up(heard.end);
	world_pass_ms(w, CHANGES_KEPT_MS + 1000);
	writer = world_join_again(w, 11); /* it was silent for long */
	end_put(writer, "a", 0);
	watch_from(w, &heard, "");
	assert_int_equal(heard.n_overflows, 1);
	assert_int_equal(heard.n_changes, 0);
}

static void
watcher__of_a_master_that_was_restarted__is_told_that_it_missed_some(void **state)
{
	struct world *w = *state;
	struct heard heard;

	watch_begin(w, &heard, "");
	end_put(world_join(w, 11), "a", 0);
	note(&heard);
	assert_int_equal(heard.n_changes, 1);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	watch_from(w, &heard, "");
	assert_int_equal(heard.n_overflows, 1);
	assert_int_equal(heard.n_changes, 0);
	end_put(world_join(w, 11), "b", 0);
	note(&heard);
	assert_int_equal(heard.n_changes, 1);
	assert_int_equal(heard.n_overflows, 1);
}

static void
position__that_nobody_gave__is_an_overflow(void **state)
{
	struct world *w = *state;
	struct heard heard = {.epoch = w->master->epoch, .number = 1000};

	watch_from(w, &heard, "");
	assert_int_equal(heard.n_overflows, 1);
}

/* Others change much while nothing concerns the watch: its position stays young all the same. */
static void
position__of_a_quiet_prefix__goes_on(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11);
	struct heard heard;
	uint64_t before;

	watch_begin(w, &heard, "quiet/");
	before = heard.number;
	for (int i = 0; i < 5; i++)
		put_many(writer, 1000);
	note(&heard);
	assert_true(heard.number >= before + 4096);
	assert_int_equal(heard.n_changes, 0);
	assert_in_range(heard.n_frames, 2, 3);
}

/* ---- who does not read ---- */

static void
watcher__that_reads_late__hears_all(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11);
	struct heard heard;
	struct peer *peer;

	watch_begin(w, &heard, "");
	peer = heard.end->peer;
	heard.end->peer = NULL; /* it does not read */
	for (int i = 0; i < 5; i++)
		put_many(writer, 1000);
	assert_in_range(buf_len(&peer->out), 1 << 20, 3 << 20);
	heard.end->peer = peer;
	for (int i = 0; i < 5; i++)
		world_turn(w);
	note(&heard);
	assert_int_equal(heard.n_changes, 5000);
	assert_int_equal(heard.n_overflows, 0);
}

static void
watcher__that_reads_too_late__is_told_once_that_it_missed_some(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11);
	struct heard heard;
	struct peer *peer;

	watch_begin(w, &heard, "");
	peer = heard.end->peer;
	heard.end->peer = NULL;
	for (int i = 0; i < 12; i++)
		put_many(writer, 1000);
	heard.end->peer = peer;
	for (int i = 0; i < 3; i++)
		world_turn(w);
	note(&heard);
	assert_int_equal(heard.n_overflows, 1);
	assert_true(heard.n_changes < 12000);
	end_put(writer, "new", 0);
	note(&heard);
	assert_int_equal(heard.n_overflows, 1);
	assert_int_equal(counter_get(&w->master->counters.watch_overflows), 1);
}

static void
changes__that_are_not_committed__are_told_to_nobody__though_they_are_many(void **state)
{
	struct world *w = *state;
	struct changes changes;
	struct tenant tenant = {.id = 1};
	struct object *object = calloc(1, sizeof(*object) + 8);

	(void)w;
	object->tenant = &tenant;
	object->key.len_bytes = 1;
	changes_init(&changes);
	assert_int_equal(changes_keep(&changes), 0);
	for (uint64_t i = 1; i <= CHANGES_MAX + 10; i++)
		changes_add(&changes, object, CHANGE_PUT, /* batch= */ i);
	assert_int_equal(changes.last - changes.first + 1, CHANGES_MAX);
	changes_commit(&changes, 5);
	assert_int_equal(changes.committed, 0); /* what was forgotten is not committed */
	changes_commit(&changes, 11);
	assert_int_equal(changes.committed, 11);
	changes_commit(&changes, 100);
	assert_int_equal(changes.committed, 100);
	changes_forget(&changes);
	changes_add(&changes, object, CHANGE_PUT, 1000000);
	assert_true(changes_has_missed(&changes, 100));
	assert_false(changes_has_missed(&changes, changes.last));
	changes_fini(&changes);
	free(object);
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(watch__hears_of_changes_below_its_prefix_once_they_are_committed),
		T(watch__of_a_rename__hears_of_both_keys),
		T(too_many_watches__of_one_connection__are_refused),
		T(watcher__that_comes_back__hears_what_it_missed__once),
		T(watcher__that_comes_back__to_no_news__hears_nothing),
		T(watcher__that_comes_back_too_late__is_told_so_once),
		T(watcher__that_comes_back_to_a_store_that_kept_nothing__is_told_so),
		T(watcher__of_a_master_that_was_restarted__is_told_that_it_missed_some),
		T(position__that_nobody_gave__is_an_overflow),
		T(position__of_a_quiet_prefix__goes_on),
		T(watcher__that_reads_late__hears_all),
		T(watcher__that_reads_too_late__is_told_once_that_it_missed_some),
		T(changes__that_are_not_committed__are_told_to_nobody__though_they_are_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
