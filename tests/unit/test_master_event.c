/* SPDX-License-Identifier: Apache-2.0 */

/* Events: gathered by the second, kept in a ring, told to whoever follows. */
#include "tests/unit/master_world.h"

#define RING 20

static int
setup(void **state)
{
	struct world *w;

	assert_int_equal(world_setup(state), 0);
	w = *state;
	w->limits.events_max = RING;
	world_close(w);
	return world_open(w);
}

static uint32_t
ask_events(struct end *end, uint64_t after_id, struct rep_events *rep)
{
	*rep = (struct rep_events){0};
	return ASK(end, events, rep, .after_id = after_id);
}

/* find -- the newest of that kind among those told; NULL: none. */
static const struct rec_event *
find(const struct rep_events *rep, const char *kind)
{
	for (uint32_t i = rep->n_events; i-- > 0;)
		if (span_equal(rep->events[i].kind, span_of(kind, strlen(kind))))
			return &rep->events[i];
	return NULL;
}

static void
many_of_a_kind_within_a_second__are_one_event_with_count_and_words(void **state)
{
	struct world *w = *state;
	const struct rec_event *found;
	struct rep_events rep;
	struct end *end;

	world_pass_ms(w, 1100);
	for (int i = 0; i < 9; i++)
		event_tell(w->master, EVENT_segment_gone, 7, "seg%d", i);
	end = world_join(w, 11);
	world_pass_ms(w, 1100);
	assert_int_equal(ask_events(end, 0, &rep), STATUS_OK);
	found = find(&rep, "segment_gone");
	assert_non_null(found);
	assert_int_equal(found->count, 9);
	assert_int_equal(found->subject_id, 7);
	assert_true(span_equal(
		found->words, span_of("seg0; seg1; seg2; seg3; seg4; seg5; seg6; seg7; seg8", 52)));
	assert_non_null(find(&rep, "master_started"));
}

static void
several_subjects_within_a_second__are_told_as_none(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_events rep;

	world_pass_ms(w, 1100);
	event_tell(w->master, EVENT_segment_gone, 7, "a");
	event_tell(w->master, EVENT_segment_gone, 8, "b");
	event_tell(w->master, EVENT_segment_gone, 8, "c");
	world_pass_ms(w, 1100);
	assert_int_equal(ask_events(end, 0, &rep), STATUS_OK);
	assert_int_equal(find(&rep, "segment_gone")->subject_id, 0);
	assert_int_equal(find(&rep, "segment_gone")->count, 3);
}

static void
words__of_a_storm__are_cut(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	const struct rec_event *found;
	struct rep_events rep;

	world_pass_ms(w, 1100);
	for (int i = 0; i < 5000; i++)
		event_tell(w->master, EVENT_segment_gone, 7, "a name of some length %d", i);
	world_pass_ms(w, 1100);
	assert_int_equal(ask_events(end, 0, &rep), STATUS_OK);
	found = find(&rep, "segment_gone");
	assert_int_equal(found->count, 5000);
	assert_true(found->words.len < EVENT_WORDS_MAX);
	assert_memory_equal(found->words.at + found->words.len - 3, "...", 3);
}

static void
counters_that_grew__become_events_with_bytes(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_events rep;

	world_pass_ms(w, 1100);
	counter_add(&w->master->counters.evictions, 1000);
	counter_add(&w->master->counters.evicted_bytes, 4096000);
	world_pass_ms(w, 2500);
	assert_int_equal(ask_events(end, 0, &rep), STATUS_OK);
	assert_int_equal(find(&rep, "evicted")->count, 1000);
	assert_int_equal(find(&rep, "evicted")->bytes, 4096000);
}

static void
ring__keeps_the_newest__also_over_a_restart(void **state)
{
	struct world *w = *state;
	struct rep_events rep;
	struct end *end;
	uint64_t last_id;

	for (int i = 0; i < 3 * RING; i++) {
		event_tell(w->master, EVENT_segment_gone, 7, "seg%d", i);
		world_pass_ms(w, 1000);
	}
	end = world_join(w, 11);
	assert_int_equal(ask_events(end, 0, &rep), STATUS_OK);
	assert_int_equal(rep.n_events, RING);
	last_id = rep.last_id;
	assert_int_equal(rep.events[RING - 1].event_id, last_id);
	assert_int_equal(rep.events[0].event_id, last_id - RING + 1);

	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	assert_int_equal(ask_events(end, last_id - 2, &rep), STATUS_OK);
	assert_true(rep.n_events >= 2);
	assert_int_equal(rep.events[0].event_id, last_id - 1);
	assert_int_equal(rep.events[1].event_id, last_id);
	world_pass_ms(w, 1100);
	assert_int_equal(ask_events(end, last_id, &rep), STATUS_OK);
	assert_int_equal(rep.events[0].event_id, last_id + 1);
}

static void
cursor__of_another_life_of_the_books__begins_anew(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_events rep;

	world_pass_ms(w, 1100);
	assert_int_equal(ask_events(end, 1000000, &rep), STATUS_OK);
	assert_true(rep.n_events > 0);
	assert_true(rep.last_id < 1000000);
}

/* read_all -- in pages of so many, with one more event between two pages; gives how many. */
static uint64_t
read_all(struct world *w, struct end *end, uint32_t most)
{
	uint64_t cursor = 0, n = 0;

	for (int page = 0; page < 3 * RING; page++) {
		struct rep_events rep = {0};

		assert_int_equal(ASK(end, events, &rep, .after_id = cursor, .most = most),
				 STATUS_OK);
		if (rep.n_events == 0)
			break;
		for (uint32_t i = 0; i < rep.n_events; i++) {
			assert_true(rep.events[i].event_id > cursor);
			assert_true(n == 0 || i > 0 || rep.events[i].event_id == cursor + 1);
			cursor = rep.events[i].event_id;
		}
		n += rep.n_events;
		if (page < 5) {
			event_tell(w->master, EVENT_segment_gone, 7, "seg");
			world_pass_ms(w, 1100);
		}
	}
	assert_int_equal(cursor, w->master->events.last_id);
	return n;
}

static void
pages__of_a_ring_that_goes_on__have_each_event_once(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	for (int i = 0; i < 2 * RING; i++) {
		event_tell(w->master, EVENT_segment_gone, 7, "seg%d", i);
		world_pass_ms(w, 1000);
		(void)end_ping(end);
	}
	assert_int_equal(read_all(w, end, 7), RING + 5);
	assert_int_equal(read_all(w, end, 30), RING + 5);
	assert_int_equal(read_all(w, end, 1), 25);
}

static void
marked_event__that_leaves_the_ring__is_forgotten(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_events rep = {0};

	world_pass_ms(w, 1100);
	assert_int_equal(ASK(end, events, &rep, .most = 1), STATUS_OK);
	for (int i = 0; i < 2 * RING; i++) {
		event_tell(w->master, EVENT_segment_gone, 7, "seg%d", i);
		world_pass_ms(w, 1000);
		(void)end_ping(end);
	}
	assert_null(w->master->events.marked);
	assert_int_equal(ask_events(end, 1, &rep), STATUS_OK);
	assert_int_equal(rep.n_events, RING);
}

static void
follower__is_answered_when_something_happens(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_events rep = {0};
	uint64_t id;

	world_pass_ms(w, 2100);
	id = SEND(end, events, .after_id = w->master->events.last_id, .wait_ms = 30000);
	world_pass_ms(w, 3000);
	assert_int_equal(end_status(end, id), NO_ANSWER);
	event_tell(w->master, EVENT_segment_gone, 7, "seg");
	world_pass_ms(w, 1100);
	assert_int_equal(HEAR(end, id, events, &rep), STATUS_OK);
	assert_int_equal(rep.n_events, 1);
}

static void
follower__without_news__gets_an_empty_answer_when_its_time_is_over(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_events rep = {0};
	uint64_t id;

	world_pass_ms(w, 2100);
	id = SEND(end, events, .after_id = w->master->events.last_id, .wait_ms = 500);
	world_pass_ms(w, 400);
	assert_int_equal(end_status(end, id), NO_ANSWER);
	world_pass_ms(w, 200);
	assert_int_equal(HEAR(end, id, events, &rep), STATUS_OK);
	assert_int_equal(rep.n_events, 0);
}

static void
follower__that_hangs_up__is_forgotten(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	world_pass_ms(w, 2100);
	SEND(end, events, .after_id = w->master->events.last_id, .wait_ms = 30000);
	world_turn(w);
	assert_false(list_is_empty(&w->master->followers));
	end_hang_up(end);
	assert_true(list_is_empty(&w->master->followers));
	event_tell(w->master, EVENT_segment_gone, 7, "seg");
	world_pass_ms(w, 1100);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(many_of_a_kind_within_a_second__are_one_event_with_count_and_words),
		T(several_subjects_within_a_second__are_told_as_none),
		T(words__of_a_storm__are_cut),
		T(counters_that_grew__become_events_with_bytes),
		T(ring__keeps_the_newest__also_over_a_restart),
		T(cursor__of_another_life_of_the_books__begins_anew),
		T(pages__of_a_ring_that_goes_on__have_each_event_once),
		T(marked_event__that_leaves_the_ring__is_forgotten),
		T(follower__is_answered_when_something_happens),
		T(follower__without_news__gets_an_empty_answer_when_its_time_is_over),
		T(follower__that_hangs_up__is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
