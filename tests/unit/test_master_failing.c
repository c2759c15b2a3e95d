/* SPDX-License-Identifier: Apache-2.0 */

/* Segments that peers report as failing rest. */
#include "tests/unit/master_world.h"

static uint32_t
name_failing(struct end *end, const uint64_t *ids, uint32_t n)
{
	struct rec_id named[8];
	struct rep_ping rep = {0};

	for (uint32_t i = 0; i < n; i++)
		named[i].id = ids[i];
	return ASK(end, ping, &rep, .now_ms = clock_ms(&end->world->clock.base), .n_failing = n,
		   .failing = named);
}

static uint8_t
state_of(struct end *end, uint64_t segment_id)
{
	struct rec_id id = {segment_id};
	struct rep_query_segment rep = {0};

	assert_int_equal(ASK(end, query_segment, &rep, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	return rep.segments[0].state;
}

/* Puts a MiB so many times; gives how many came to that segment. */
static unsigned
put_some(struct end *end, unsigned n, uint64_t segment_id)
{
	unsigned n_there = 0;

	for (unsigned i = 0; i < n; i++) {
		struct rec_put put = {span_of("k", 1), MIB};
		struct rep_put_start rep = {0};
		struct rep_put_revoke revoked = {0};
		struct rec_id id;

		assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .flags = PUT_REPLACE,
				     .n_puts = 1, .puts = &put),
				 STATUS_OK);
		assert_int_equal(rep.places[0].status, STATUS_OK);
		n_there += rep.places[0].replicas[0].segment_id == segment_id;
		id.id = rep.places[0].object_id;
		assert_int_equal(
			ASK(end, put_revoke, &revoked, .is_quiet = 1, .n_puts = 1, .puts = &id),
			STATUS_OK);
	}
	return n_there;
}

static void
segment_that_a_peer_reports__gets_no_new_data__until_nobody_has_for_a_while(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	const uint64_t id = 2;

	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(end_mount(end, i, 1, 64 * MIB), STATUS_OK);
	assert_in_range(put_some(end, 60, 2), 5, 55);
	assert_int_equal(name_failing(end, &id, 1), STATUS_OK);
	assert_int_equal(state_of(end, 2), 7);
	assert_int_equal(put_some(end, 60, 2), 0);
	assert_int_equal(counter_get(&w->master->counters.segments_failing), 1);

	world_pass_ms(w, 9000);
	assert_int_equal(name_failing(end, &id, 1), STATUS_OK); /* still */
	world_pass_ms(w, 9000);
	assert_int_equal(end_ping(end), STATUS_OK);
	assert_int_equal(put_some(end, 60, 2), 0);
	world_pass_ms(w, 1100);
	assert_int_equal(state_of(end, 2), SEGMENT_OK);
	assert_in_range(put_some(end, 60, 2), 5, 55);
}

static void
client_that_reports_all__has_half_of_a_kind_rest__at_most(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	const uint64_t ids[] = {1, 2, 3, 4, 5, 6, 7, 99};
	unsigned n_failing = 0;

	for (uint64_t i = 1; i <= 5; i++)
		assert_int_equal(end_mount(end, i, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_mount_on(end, MEDIUM_FILE, 6, 1, 64 * MIB), STATUS_OK);
	for (int again = 0; again < 3; again++)
		assert_int_equal(name_failing(end, ids, array_len(ids)), STATUS_OK);
	for (uint64_t i = 1; i <= 5; i++)
		n_failing += state_of(end, i) == 7;
	assert_int_equal(n_failing, 2);
	assert_int_equal(state_of(end, 6), SEGMENT_OK); /* the only one on disks */
	assert_int_equal(put_some(end, 10, 99), 0);
}

static void
copy_on_a_failing_segment__is_offered_last(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("k", 1), MIB};
	struct rec_key_only key = {span_of("k", 1)};
	struct rep_put_start started = {0};
	struct rep_get_replica_list found = {0};
	uint64_t id;

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_mount(end, 2, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(ASK(end, put_start, &started, .replica_num = 2, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(end_finish(end, started.places[0].object_id, MIB), STATUS_OK);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(ASK(end, get_replica_list, &found, .n_keys = 1, .keys = &key),
				 STATUS_OK);
		assert_int_equal(found.objects[0].n_replicas, 2);
		id = found.objects[0].replicas[0].segment_id;
		assert_int_equal(name_failing(end, &id, 1), STATUS_OK);
		assert_int_equal(ASK(end, get_replica_list, &found, .n_keys = 1, .keys = &key),
				 STATUS_OK);
		assert_int_equal(found.objects[0].n_replicas, 2);
		assert_int_equal(found.objects[0].replicas[1].segment_id, id);
		world_pass_ms(w, 10100); /* the other one's turn */
	}
}

static void
failing_segment__whose_provider_lends_it_again__is_as_good_as_any(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	const uint64_t id = 1;

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_mount(end, 2, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(name_failing(end, &id, 1), STATUS_OK);
	assert_int_equal(state_of(end, 1), 7);
	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(state_of(end, 1), SEGMENT_OK);
}

static void
what_peers_say__when_it_is_not_to_be_heeded__changes_nothing(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	const uint64_t id = 1;

	w->master->limits.failing_rest_ms = 0;
	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_mount(end, 2, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(name_failing(end, &id, 1), STATUS_OK);
	assert_int_equal(state_of(end, 1), SEGMENT_OK);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(segment_that_a_peer_reports__gets_no_new_data__until_nobody_has_for_a_while),
		STORY(client_that_reports_all__has_half_of_a_kind_rest__at_most),
		STORY(copy_on_a_failing_segment__is_offered_last),
		STORY(failing_segment__whose_provider_lends_it_again__is_as_good_as_any),
		STORY(what_peers_say__when_it_is_not_to_be_heeded__changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
