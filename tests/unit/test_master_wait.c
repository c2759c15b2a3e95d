/* SPDX-License-Identifier: Apache-2.0 */

/* Puts, leases and room: who wins, what is counted, what may be evicted, who waits. */
#include "tests/unit/master_world.h"

static struct end *
provider_of(struct world *w, uint64_t size_bytes)
{
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, size_bytes), STATUS_OK);
	return end;
}

static void
put_that_waits__begins_as_soon_as_another_gives_its_room_back(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct world *w = end->world;
	struct rec_put put = {span_of("b", 1), 2 * MIB};
	uint32_t status;
	uint64_t held, id, gated = end_start(end, "x", 1 * MIB, 0, &status);

	held = end_start(end, "a", 3 * MIB, 0, &status);
	end_revoke(end, gated, false); /* rests: there is hope */
	id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_turn(w);
	assert_int_equal(end_status(end, id), NO_ANSWER);

	assert_int_equal(end_revoke(end, held, true), STATUS_OK);
	world_pass_ms(w, 100);
	assert_int_equal(end_status(end, id), STATUS_OK);
}

/* A put that waits for room. */
static uint64_t
park_one(struct end *end, struct end *waiter)
{
	struct rec_put put = {span_of("b", 1), 2 * MIB};
	uint32_t status;
	uint64_t gated = end_start(end, "x", 1 * MIB, 0, &status), id;

	end_start(end, "a", 3 * MIB, 0, &status);
	end_revoke(end, gated, false);
	id = SEND(waiter, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_turn(end->world);
	assert_int_equal(end_status(waiter, id), NO_ANSWER);
	return id;
}

static void
puts_that_wait__more_than_one_client_may_have__are_refused_in_words(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct world *w = end->world;
	struct end *waiter = world_join(w, 12);
	struct frame frame;
	struct span why;
	char key[16];
	uint64_t id = 0;

	park_one(end, waiter);
	for (unsigned i = 1; i <= PARKED_MAX; i++) {
		struct rec_put put = {span_of(key, 6), 2 * MIB};

		snprintf(key, sizeof(key), "w%05u", i);
		assert_int_equal(end_status(waiter, id), NO_ANSWER);
		id = SEND(waiter, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
		world_collect(w);
	}

	assert_int_equal(end_answers(waiter, id, &frame), 1);
	assert_int_equal(frame.status, STATUS_TOO_MANY);
	why = why_decode(frame.payload);
	assert_non_null(memmem(why.at, why.len, "256", 3));
	world_pass_ms(w, 3000); /* they are answered, and others may wait */
	park_one(end, waiter);
}

static uint32_t
begin_empty(struct end *end, unsigned from, unsigned n, uint64_t *ret_first_id)
{
	static char keys[BATCH_MAX][16];
	static struct rec_put puts[BATCH_MAX];
	struct rep_put_start rep = {0};
	uint32_t status;

	for (unsigned i = 0; i < n; i++) {
		int len = snprintf(keys[i], sizeof(keys[i]), "e%u", from + i);

		puts[i] = (struct rec_put){span_of(keys[i], (size_t)len), 0};
	}
	status = ASK(end, put_start, &rep, .replica_num = 1, .n_puts = n, .puts = puts);
	*ret_first_id = status == STATUS_OK ? rep.places[0].object_id : 0;
	return status;
}

static void
empty_puts__more_than_one_client_may_have__are_refused_in_words(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct rep_put_extend rep = {0};
	uint64_t id, none;
	struct frame frame;
	struct span why;

	for (unsigned i = 0; i < EMPTY_PUTS_MAX; i += BATCH_MAX)
		assert_int_equal(begin_empty(end, i, BATCH_MAX, &id), STATUS_OK);

	assert_int_equal(begin_empty(end, EMPTY_PUTS_MAX, 1, &none), STATUS_TOO_MANY);
	end_answers(end, end->last_request, &frame);
	why = why_decode(frame.payload);
	assert_non_null(memmem(why.at, why.len, "4096", 4));
	assert_int_equal(ASK(end, put_extend, &rep, .object_id = id, .more_bytes = 4096),
			 STATUS_OK);
	assert_int_equal(begin_empty(end, EMPTY_PUTS_MAX, 1, &none), STATUS_OK);
	assert_int_equal(begin_empty(end, EMPTY_PUTS_MAX + 1, 1, &none), STATUS_TOO_MANY);
	assert_int_equal(end_revoke(end, id + 1, true), STATUS_OK);
	assert_int_equal(begin_empty(end, EMPTY_PUTS_MAX + 1, 1, &none), STATUS_OK);
}

static void
put_begun_without_room__that_was_strict__gets_room_for_every_copy_or_none(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct rec_put put = {span_of("a", 1), 0};
	struct rep_put_start began = {0};
	struct rep_put_extend rep = {0};
	uint64_t id;

	assert_int_equal(ASK(end, put_start, &began, .replica_num = 2, .flags = PUT_STRICT,
			     .n_puts = 1, .puts = &put),
			 STATUS_OK);
	id = began.places[0].object_id;

	assert_int_equal(ASK(end, put_extend, &rep, .object_id = id, .more_bytes = 4096),
			 STATUS_NO_SEGMENT);

	assert_int_equal(end_mount(end, 2, 1, 4 * MIB), STATUS_OK);
	assert_int_equal(ASK(end, put_extend, &rep, .object_id = id, .more_bytes = 4096),
			 STATUS_OK);
	assert_int_equal(rep.n_replicas, 2);
}

static void
put_begun_without_room__that_preferred_a_segment__gets_its_room_there(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct rec_id preferred = {3};
	struct rec_put put = {span_of("a", 1), 0};
	struct rep_put_start began = {0};
	struct rep_put_extend rep = {0};
	uint64_t id;

	assert_int_equal(end_mount(end, 2, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_mount(end, 3, 1, 2 * MIB), STATUS_OK); /* fuller than the others */
	assert_int_equal(ASK(end, put_start, &began, .replica_num = 1, .n_preferred = 1,
			     .preferred = &preferred, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	id = began.places[0].object_id;

	assert_int_equal(ASK(end, put_extend, &rep, .object_id = id, .more_bytes = 4096),
			 STATUS_OK);
	assert_int_equal(rep.replicas[0].segment_id, 3);
}

static void
put_that_waits__for_much__is_not_starved_by_those_who_ask_for_little(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct world *w = end->world;
	struct end *waiter = world_join(w, 12);
	struct rec_put much = {span_of("much", 4), 3 * MIB};
	uint64_t held[4], id, little[4];
	char key[16];
	uint32_t status;

	for (unsigned i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "held%u", i);
		held[i] = end_start(end, key, 1 * MIB, 0, &status);
		assert_int_equal(status, STATUS_OK);
	}
	id = SEND(waiter, put_start, .replica_num = 1, .n_puts = 1, .puts = &much);
	for (unsigned i = 0; i < 4; i++) { /* room for one comes free, and another asks for it */
		struct rec_put one = {span_of(key, 7), 1 * MIB};

		snprintf(key, sizeof(key), "little%u", i);
		world_pass_ms(w, 350);
		assert_int_equal(end_revoke(end, held[i], true), STATUS_OK);
		little[i] = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &one);
		world_turn(w);
	}

	assert_int_equal(end_status(end, little[0]), STATUS_OK);
	assert_int_equal(end_status(end, little[3]), NO_ANSWER);
	world_pass_ms(w, 1000);
	assert_int_equal(end_status(waiter, id), STATUS_OK);
}

static void
batch__with_one_item_that_never_fits__begins_the_other(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct world *w = end->world;
	struct rec_put puts[2] = {{span_of("fits", 4), 2 * MIB}, {span_of("never", 5), 5 * MIB}};
	struct rep_put_start rep = {0};
	char key[8];
	uint64_t id;

	for (unsigned i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "old%u", i);
		assert_int_not_equal(end_put(end, key, 1 * MIB), 0);
	}
	world_pass_ms(w, 6000); /* they may go */

	id = SEND(end, put_start, .replica_num = 1, .n_puts = 2, .puts = puts);
	world_pass_ms(w, 3000);

	assert_int_equal(HEAR(end, id, put_start, &rep), STATUS_OK);
	assert_int_equal(rep.places[0].status, STATUS_OK);
	assert_int_equal(rep.places[1].status, STATUS_NO_SPACE);
}

static void
put_that_waits__of_a_client_that_hangs_up__is_forgotten(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct end *waiter = world_join(end->world, 12);

	park_one(end, waiter);
	end_hang_up(waiter);
	world_pass_ms(end->world, 3000);
	assert_int_equal(end->world->master->puts_by_id.n, 1);
}

static void
put_that_waits__of_a_client_that_came_back_by_another_way__is_forgotten(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct end *waiter = world_join(end->world, 12);

	park_one(end, waiter);
	world_join_again(end->world, 12);
	world_pass_ms(end->world, 3000);
	assert_true(waiter->peer->is_broken);
	assert_int_equal(end->world->master->puts_by_id.n, 1);
}

static void
put_that_waits__of_a_client_that_leaves__is_forgotten(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct end *waiter = world_join(end->world, 12);

	park_one(end, waiter);
	SEND(waiter, leave);
	world_pass_ms(end->world, 3000);
	assert_int_equal(end->world->master->puts_by_id.n, 1);
}

static void
mount__while_puts_wait_past_their_time__is_answered_for_itself(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	uint64_t id = park_one(end, end);

	clock_fake_advance_ms(&end->world->clock, 3000);
	assert_int_equal(end_mount(end, 2, 1, 4 * MIB), STATUS_OK);
	world_pass_ms(end->world, 100);
	assert_int_equal(end_status(end, id), STATUS_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(put_that_waits__begins_as_soon_as_another_gives_its_room_back),
		WORLD_TEST(put_that_waits__for_much__is_not_starved_by_those_who_ask_for_little),
		WORLD_TEST(puts_that_wait__more_than_one_client_may_have__are_refused_in_words),
		WORLD_TEST(empty_puts__more_than_one_client_may_have__are_refused_in_words),
		WORLD_TEST(
			put_begun_without_room__that_was_strict__gets_room_for_every_copy_or_none),
		WORLD_TEST(put_begun_without_room__that_preferred_a_segment__gets_its_room_there),
		WORLD_TEST(batch__with_one_item_that_never_fits__begins_the_other),
		WORLD_TEST(put_that_waits__of_a_client_that_hangs_up__is_forgotten),
		WORLD_TEST(put_that_waits__of_a_client_that_came_back_by_another_way__is_forgotten),
		WORLD_TEST(put_that_waits__of_a_client_that_leaves__is_forgotten),
		WORLD_TEST(mount__while_puts_wait_past_their_time__is_answered_for_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
