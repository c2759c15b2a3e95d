/* SPDX-License-Identifier: Apache-2.0 */

/* A put that finds no room is told why: bytes of each reason, and the largest hole. */
#include "master/metrics.h"
#include "master/pin.h"
#include "tests/unit/master_world.h"

static int
setup(void **state)
{
	struct world *w;

	assert_int_equal(world_setup(state), 0);
	w = *state;
	w->master->limits.events_max = 100;
	return 0;
}

/* The item's status, once its time to wait is over. */
static uint32_t
start_patiently(struct end *end, struct msg_put_start msg, struct rep_put_start *ret_rep)
{
	struct buf payload;
	uint64_t id;

	buf_init(&payload);
	assert_int_equal(msg_put_start_encode(&payload, &msg), 0);
	id = end_send(end, MSG_put_start, &payload);
	world_turn(end->world);
	for (int i = 0; i < 60 && end_status(end, id) == NO_ANSWER; i++)
		world_pass_ms(end->world, 50);
	assert_int_equal(HEAR(end, id, put_start, ret_rep), STATUS_OK);
	return ret_rep->places[0].status;
}

static void
pin_hard(struct end *end, const char *key)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_pin rep = {0};

	assert_int_equal(ASK(end, pin, &rep, .pin = PIN_KIND_HARD, .n_keys = 1, .keys = &only),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
}

static void
assert_words(struct span why, const char *words)
{
	if (memmem(why.at, why.len, words, strlen(words)) == NULL)
		fail_msg("no \"%s\" in: %.*s", words, (int)why.len, (const char *)why.at);
}

/* Reads go on: their leases are fresh. */
static void
read_all(struct end *end, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(end_get(end, keys[i]).status, STATUS_OK);
}

static void
refusal__tells_the_bytes_of_each_reason__and_the_largest_hole(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11), *other = world_join(w, 12);
	struct rec_put put = {span_of("new", 3), 8 * MIB};
	struct rep_put_start rep = {0};
	struct rep_events events = {0};
	uint32_t status;
	uint64_t lost;

	w->master->limits.put_wait_ms = 500;
	assert_int_equal(end_mount(end, 1, 1, 32 * MIB), STATUS_OK);
	assert_true(end_put(end, "read", 10 * MIB) != 0);
	assert_true(end_put(end, "pinned", 7 * MIB) != 0);
	pin_hard(end, "pinned");
	lost = end_start(other, "lost", 3 * MIB, 0, &status);
	assert_int_equal(end_revoke(other, lost, /* is_quiet= */ false), STATUS_OK);
	assert_true(end_start(end, "slow", 5 * MIB, 0, &status) != 0);
	read_all(end, (const char *const[]){"read"}, 1);

	assert_int_equal(
		start_patiently(end,
				(struct msg_put_start){.replica_num = 1, .n_puts = 1, .puts = &put},
				&rep),
		STATUS_NO_SPACE);
	assert_words(
		rep.why,
		"no room for 8.0 MiB: of 32.0 MiB in 1 segments of memory, 7.0 MiB free "
		"(largest hole 7.0 MiB), 10.0 MiB leased, 7.0 MiB pinned (tiffin unpin), 5.0 MiB "
		"being written, 3.0 MiB resting");
	assert_int_equal(counter_get(&w->master->counters.puts_no_space), 1);

	/* The event says so, too. */
	world_pass_ms(w, 1100);
	assert_int_equal(ASK(end, events, &events), STATUS_OK);
	for (uint32_t i = 0; i < events.n_events; i++)
		if (span_equal(events.events[i].kind, span_of("put_refused", 11))) {
			assert_words(events.events[i].words, "7.0 MiB pinned");
			return;
		}
	fail_msg("no event");
}

static void
metrics__tell_what_held_the_bytes_when_a_put_was_last_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct metrics metrics;
	struct buf text;
	uint32_t status;

	assert_int_equal(end_mount(end, 1, 1, 16 * MIB), STATUS_OK);
	assert_true(end_put(end, "pinned", 12 * MIB) != 0);
	pin_hard(end, "pinned");
	assert_int_equal(end_start(end, "new", 8 * MIB, 0, &status), 0);
	assert_int_equal(status, STATUS_NO_SPACE);

	metrics_init(&metrics);
	buf_init(&text);
	while (!metrics.is_whole)
		assert_int_equal(metrics_gather(&metrics, w->master), 0);
	assert_int_equal(metrics_text(&metrics, &text), 0);
	assert_words(span_of((const char *)buf_first(&text), buf_len(&text)),
		     "tiffin_master_refused_bytes{kind=\"memory\",reason=\"pinned\"} 12582912\n");
	assert_words(span_of((const char *)buf_first(&text), buf_len(&text)),
		     "tiffin_master_refused_bytes{kind=\"memory\",reason=\"free\"} 4194304\n");
	buf_fini(&text);
	metrics_fini(&metrics);
}

static void
put_larger_than_any_segment__is_refused_at_once__and_nothing_goes_for_it(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("new", 3), 24 * MIB};
	struct rep_put_start rep = {0};

	for (uint64_t id = 1; id <= 4; id++)
		assert_int_equal(end_mount(end, id, 1, 16 * MIB), STATUS_OK);
	for (const char *key = "abcdefgh"; *key != '\0'; key++)
		assert_true(end_put(end, (const char[]){*key, '\0'}, 6 * MIB) != 0);

	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(rep.places[0].status, STATUS_NO_SPACE);
	assert_words(rep.why,
		     "24.0 MiB is wanted, and the largest of 4 segments of memory that are "
		     "left for it has 16.0 MiB");
	assert_int_equal(counter_get(&w->master->counters.evictions), 0);
}

static void
strict_copies__of_which_one_can_lie_nowhere__are_refused_at_once__and_nothing_goes(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("new", 3), 8 * MIB};
	struct rep_put_start rep = {0};

	assert_int_equal(end_mount(end, 1, 1, 16 * MIB), STATUS_OK);
	assert_int_equal(end_mount(end, 2, 1, 4 * MIB), STATUS_OK);
	assert_true(end_put(end, "small", 2 * MIB) != 0);

	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 2, .flags = PUT_STRICT,
			     .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(rep.places[0].status, STATUS_NO_SPACE);
	assert_words(rep.why, "8.0 MiB is wanted for copy 2 of 2, each on another segment, and the "
			      "largest of 1 segments of memory that are left for it has 4.0 MiB");
	assert_int_equal(counter_get(&w->master->counters.evictions), 0);
}

static void
strict_copies__more_than_segments__are_refused__and_the_segments_are_counted(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("new", 3), MIB};
	struct rec_id drained = {3};
	struct rep_put_start rep = {0};
	struct rep_drain drain = {0};

	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(end_mount(end, id, 1, 16 * MIB), STATUS_OK);
	assert_int_equal(ASK(end, drain, &drain, .n_segments = 1, .segments = &drained), STATUS_OK);
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 3, .flags = PUT_STRICT,
			     .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(rep.places[0].status, STATUS_NO_SEGMENT);
	assert_words(rep.why, "there is no segment of memory left for copy 3 of 3, each on another "
			      "segment: 3 of them are lent (1 of them silent, failing or drained), "
			      "32.0 MiB free");
	assert_int_equal(counter_get(&w->master->counters.puts_no_segment), 1);
}

static void
strict_nof_copy__without_room_there__makes_room_there__and_not_in_memory(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("new", 3), 8 * MIB}, old = {span_of("old", 3), 12 * MIB};
	struct rep_put_start rep = {0};

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_mount_on(end, MEDIUM_NOF, 2, 1, 16 * MIB), STATUS_OK);
	assert_true(end_put(end, "memory", 16 * MIB) != 0);
	assert_int_equal(start_patiently(end,
					 (struct msg_put_start){
						 .nof_replica_num = 1, .n_puts = 1, .puts = &old},
					 &rep),
			 STATUS_OK);
	assert_int_equal(end_finish(end, rep.places[0].object_id, 12 * MIB), STATUS_OK);
	pin_hard(end, "old");

	assert_int_equal(start_patiently(end,
					 (struct msg_put_start){.replica_num = 1,
								.nof_replica_num = 1,
								.flags = PUT_STRICT,
								.n_puts = 1,
								.puts = &put},
					 &rep),
			 STATUS_NO_SPACE);
	assert_words(rep.why, "no room for 8.0 MiB: of 16.0 MiB in 1 segments of nof namespaces, "
			      "4.0 MiB free (largest hole 4.0 MiB), 0 B leased, 12.0 MiB pinned");
	assert_int_equal(end_exist(end, "memory"), STATUS_OK);
	assert_int_equal(counter_get(&w->master->counters.evictions), 0);
}

static void
growth_of_a_put__without_room_beside_it__is_refused__and_its_segment_named(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct frame frame;
	uint32_t status;
	uint64_t id, request;

	w->master->limits.put_wait_ms = 0;
	assert_int_equal(end_mount(end, 1, 1, 16 * MIB), STATUS_OK);
	assert_true(end_put(end, "pinned", 8 * MIB) != 0);
	pin_hard(end, "pinned");
	id = end_start(end, "slow", 4 * MIB, 0, &status);
	request = SEND(end, put_extend, .object_id = id, .more_bytes = 6 * MIB);
	world_pass_ms(w, 200);
	assert_int_equal(end_answers(end, request, &frame), 1);
	assert_int_equal(frame.status, STATUS_NO_SPACE);
	assert_words(why_decode(frame.payload),
		     "no room for 6.0 MiB beside the rest of its copy, on "
		     "seg1: of 16.0 MiB in 1 segments of memory, 4.0 MiB "
		     "free (largest hole 4.0 MiB)");
	assert_int_equal(counter_get(&w->master->counters.puts_no_space), 1);
}

static void
bytes_that_rest_on_a_disk__are_no_room_to_come_in_memory(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put on_disk = {span_of("d", 1), 32 * MIB}, put = {span_of("new", 3), 8 * MIB};
	struct rec_key_only gone = {span_of("d", 1)};
	struct rec_id disk = {2};
	struct rep_put_start rep = {0};

	assert_int_equal(end_mount(end, 1, 1, 16 * MIB), STATUS_OK);
	assert_int_equal(end_mount_on(end, MEDIUM_FILE, 2, 1, 64 * MIB), STATUS_OK);
	w->master->limits.offload = OFFLOAD_OFF;
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_preferred = 1,
			     .preferred = &disk, .n_puts = 1, .puts = &on_disk),
			 STATUS_OK);
	assert_int_equal(rep.places[0].replicas[0].segment_id, 2);
	assert_int_equal(end_finish(end, rep.places[0].object_id, 32 * MIB), STATUS_OK);
	assert_true(end_put(end, "old", 12 * MIB) != 0);

	SEND(end, remove, .n_keys = 1, .keys = &gone);
	SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	assert_int_equal(counter_get(&w->master->counters.evictions), 1); /* at once */
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(refusal__tells_the_bytes_of_each_reason__and_the_largest_hole),
		STORY(metrics__tell_what_held_the_bytes_when_a_put_was_last_refused),
		STORY(put_larger_than_any_segment__is_refused_at_once__and_nothing_goes_for_it),
		STORY(strict_copies__of_which_one_can_lie_nowhere__are_refused_at_once__and_nothing_goes),
		STORY(strict_copies__more_than_segments__are_refused__and_the_segments_are_counted),
		STORY(strict_nof_copy__without_room_there__makes_room_there__and_not_in_memory),
		STORY(bytes_that_rest_on_a_disk__are_no_room_to_come_in_memory),
		STORY(growth_of_a_put__without_room_beside_it__is_refused__and_its_segment_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
