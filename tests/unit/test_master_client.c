/* SPDX-License-Identifier: Apache-2.0 */

/* Clients come, fall silent, and are lost; the master's own delays are nobody's silence. */
#include "tests/unit/master_world.h"

static const struct client *
client_of(const struct world *w, uint64_t id)
{
	return map_get(&w->master->clients, id);
}

static void
silent_client__is_suspect_after_its_ttl__and_lost_after_the_grace(void **state)
{
	struct world *w = *state;

	world_join(w, 11);
	world_pass_ms(w, 9900);
	assert_int_equal(client_of(w, 11)->state, CLIENT_OK);
	world_pass_ms(w, 200);
	assert_int_equal(client_of(w, 11)->state, CLIENT_SUSPECT);
	world_pass_ms(w, 5000);
	assert_null(client_of(w, 11));
}

static uint32_t
join_as(struct world *w, uint64_t client_id, uint32_t uid, struct frame *ret_frame)
{
	struct end *end = world_connect(w);
	struct rep_hello hello = {0};
	uint64_t id;

	end->peer->uid = uid;
	end->last_request = 1000 * w->n_ends;
	assert_int_equal(ASK(end, hello, &hello, .version = PROTO_VERSION), STATUS_OK);
	id = SEND(end, join, .client_id = client_id, .name = span_of("end", 3),
		  .host = span_of("here", 4), .tenant = span_of("default", 7));
	world_turn(w);
	end_answers(end, id, ret_frame);
	return ret_frame->status;
}

static void
join__under_the_id_of_another_users_client__is_denied_as_long_as_that_is_known(void **state)
{
	struct world *w = *state;
	struct frame frame;
	struct span why;
	const struct peer *first;

	assert_int_equal(join_as(w, 11, 1000, &frame), STATUS_OK);
	first = client_of(w, 11)->peer;

	assert_int_equal(join_as(w, 11, 1001, &frame), STATUS_DENIED);
	why = why_decode(frame.payload);
	assert_non_null(memmem(why.at, why.len, "another user", 12));
	assert_int_equal(join_as(w, 11, PEER_BY_KEY, &frame), STATUS_DENIED);
	assert_ptr_equal(client_of(w, 11)->peer, first);
	assert_false(first->is_broken);

	assert_int_equal(join_as(w, 11, 1000, &frame), STATUS_OK);
	world_pass_ms(w, 16000); /* it is lost, and forgotten */
	assert_int_equal(join_as(w, 11, 1001, &frame), STATUS_OK);
}

static void
client__that_pings__lives(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	for (int i = 0; i < 30; i++) {
		world_pass_ms(w, 1000);
		assert_int_equal(end_ping(end), STATUS_OK);
	}
	assert_int_equal(client_of(w, 11)->state, CLIENT_OK);
}

static void
segment_of_a_suspect__gets_no_new_data__and_is_back_with_the_first_word(void **state)
{
	struct world *w = *state;
	struct end *provider = world_join(w, 11), *writer = world_join(w, 12);
	uint32_t status;

	end_mount(provider, 1, 1, 64 * MIB);
	end_put(writer, "k", 100);
	for (int i = 0; i < 11; i++) {
		world_pass_ms(w, 1000);
		end_ping(writer);
	}
	assert_int_equal(end_start(writer, "a", 100, 0, &status), 0);
	assert_int_equal(status, STATUS_NO_SEGMENT);
	assert_int_equal(end_get(writer, "k").status, STATUS_OK);

	end_ping(provider);
	assert_true(end_start(writer, "a", 100, 0, &status) != 0);
}

static void
lost_provider__takes_its_segment_and_objects_along(void **state)
{
	struct world *w = *state;
	struct end *provider = world_join(w, 11), *writer = world_join(w, 12);

	end_mount(provider, 1, 1, 64 * MIB);
	end_put(writer, "k", 100);
	end_put(writer, "empty", 0);
	for (int i = 0; i < 17; i++) {
		world_pass_ms(w, 1000);
		end_ping(writer);
	}

	assert_int_equal(end_exist(writer, "k"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(writer, "empty"), STATUS_OK);
	assert_int_equal(end_space(writer).n_segments, 0);
	assert_int_equal(w->master->segments.n, 0);
	assert_int_equal(counter_get(&w->master->counters.objects_lost), 1);
}

static void
object_with_two_copies__outlives_one_of_its_providers(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 11), *b = world_join(w, 12);
	struct rec_put put = {span_of("k", 1), 4096};
	struct rep_put_start rep = {0};

	end_mount(a, 1, 1, 64 * MIB);
	end_mount(b, 2, 1, 64 * MIB);
	assert_int_equal(ASK(b, put_start, &rep, .replica_num = 2, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(end_finish(b, rep.places[0].object_id, 4096), STATUS_OK);
	for (int i = 0; i < 17; i++) {
		world_pass_ms(w, 1000);
		end_ping(b);
	}

	assert_int_equal(end_get(b, "k").n_replicas, 1);
	assert_int_equal(end_space(b).n_segments, 1);
}

static int
count_copies(void *arg, const struct record *record)
{
	if (record->kind == RECORD_OBJECT_ADD)
		*(unsigned *)arg += record->n_replicas;
	return 0;
}

/* Its put had a copy there when it began; the books are not told of it any more. */
static void
put_end__after_a_segment_is_given_up__stores_the_other_copy_alone(void **state)
{
	struct world *w = *state;
	unsigned n_copies = 0;
	char why[256];
	struct end *a = world_join(w, 11);
	struct rec_put put = {span_of("k", 1), 4096};
	struct rep_put_start rep = {0};

	end_mount(a, 1, 1, 64 * MIB);
	end_mount(a, 2, 1, 64 * MIB);
	assert_int_equal(ASK(a, put_start, &rep, .replica_num = 2, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	segment_leave(w->master, segment_find(w->master, 2));
	clock_fake_advance_ms(&w->clock, 1);
	world_turn_alone(w);  /* now it stands in the journal, */
	store_step(w->store); /* and the store has cleared what lay there */
	assert_int_equal(end_finish(a, rep.places[0].object_id, 4096), STATUS_OK);
	assert_int_equal(end_get(a, "k").n_replicas, 1);
	for (int i = 0; i < 8; i++) {
		world_pass_ms(w, 1000);
		end_ping(a);
	}
	assert_null(segment_find(w->master, 2));
	assert_int_equal(store_load(w->store, count_copies, &n_copies, why, sizeof(why)), 0);
	assert_int_equal(n_copies, 1);
}

static void
lease__on_an_object_that_loses_a_copy__can_be_neither_renewed_nor_ended_early(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 11), *b = world_join(w, 12);
	struct rec_put put = {span_of("k", 1), 4096};
	struct rec_object_place old, fresh;
	struct rep_put_start rep = {0};
	struct rep_leave left;

	end_mount(a, 1, 1, 64 * MIB);
	end_mount(b, 2, 1, 64 * MIB);
	ASK(b, put_start, &rep, .replica_num = 2, .n_puts = 1, .puts = &put);
	end_finish(b, rep.places[0].object_id, 4096);
	old = end_get(b, "k");
	ASK(a, leave, &left);
	world_pass_ms(w, 50);

	assert_int_equal(end_renew(b, old.object_id, old.lease_id), STATUS_LEASE_EXPIRED);
	fresh = end_get(b, "k");
	assert_int_equal(fresh.n_replicas, 1);
	end_release(b, fresh.object_id, fresh.lease_id);
	assert_int_equal(end_remove(b, "k", false), STATUS_HAS_LEASE);
}

static void
lost_writer__leaves_its_puts_behind_a_fence(void **state)
{
	struct world *w = *state;
	struct end *provider = world_join(w, 11), *writer = world_join(w, 12);
	uint32_t status;

	end_mount(provider, 1, 1, 64 * MIB);
	end_start(writer, "k", 4096, 0, &status);
	for (int i = 0; i < 16; i++) {
		world_pass_ms(w, 1000);
		end_ping(provider);
	}

	assert_null(client_of(w, 12));
	assert_int_equal(w->master->puts_by_id.n, 0);
	assert_int_equal(w->master->quarantine.fences.n, 1);
}

static void
stall_of_the_master__counts_as_silence_for_nobody(void **state)
{
	struct world *w = *state;

	world_join(w, 11);
	clock_fake_advance_ms(&w->clock, 60000);
	world_turn(w);

	assert_non_null(client_of(w, 11));
	assert_int_equal(client_of(w, 11)->state, CLIENT_OK);
	world_pass_ms(w, 15200);
	assert_null(client_of(w, 11));
}

static void
rejoin__of_a_suspect__makes_it_whole_again(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	end_mount(end, 1, 1, 64 * MIB);
	world_join(w, 12);
	world_pass_ms(w, 10500);
	end_hang_up(end);
	assert_int_equal(client_of(w, 11)->state, CLIENT_SUSPECT);

	world_join_again(w, 11);

	assert_int_equal(client_of(w, 11)->state, CLIENT_OK);
	assert_int_equal(segment_find(w->master, 1)->state, SEGMENT_OK);
	world_pass_ms(w, 5000);
	assert_null(client_of(w, 12)); /* the one behind it is not overlooked */
}

static void
leave__takes_segments_and_puts_along(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_leave rep;
	struct rep_space space = {0};
	uint32_t status;

	end_mount(end, 1, 1, 64 * MIB);
	end_start(end, "k", 4096, 0, &status);
	assert_int_equal(ASK(end, leave, &rep), STATUS_OK);
	world_pass_ms(w, 5200);

	assert_null(client_of(w, 11));
	assert_int_equal(w->master->segments.n, 0);
	assert_int_equal(ASK(end, space, &space), STATUS_NOT_JOINED);
}

static void
second_connection_of_a_client__takes_over_from_the_first(void **state)
{
	struct world *w = *state;
	struct end *first = world_join(w, 11), *second = world_join_again(w, 11);

	assert_true(first->peer->is_broken);
	assert_int_equal(end_ping(second), STATUS_OK);
	assert_int_equal(w->master->clients.n, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(silent_client__is_suspect_after_its_ttl__and_lost_after_the_grace),
		WORLD_TEST(
			join__under_the_id_of_another_users_client__is_denied_as_long_as_that_is_known),
		WORLD_TEST(client__that_pings__lives),
		WORLD_TEST(segment_of_a_suspect__gets_no_new_data__and_is_back_with_the_first_word),
		WORLD_TEST(lost_provider__takes_its_segment_and_objects_along),
		WORLD_TEST(put_end__after_a_segment_is_given_up__stores_the_other_copy_alone),
		WORLD_TEST(object_with_two_copies__outlives_one_of_its_providers),
		WORLD_TEST(
			lease__on_an_object_that_loses_a_copy__can_be_neither_renewed_nor_ended_early),
		WORLD_TEST(lost_writer__leaves_its_puts_behind_a_fence),
		WORLD_TEST(stall_of_the_master__counts_as_silence_for_nobody),
		WORLD_TEST(rejoin__of_a_suspect__makes_it_whole_again),
		WORLD_TEST(leave__takes_segments_and_puts_along),
		WORLD_TEST(second_connection_of_a_client__takes_over_from_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
