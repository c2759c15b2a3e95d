/* SPDX-License-Identifier: Apache-2.0 */

/* Puts, leases and room: who wins, what is counted, what may be evicted, who waits. */
#include "tests/unit/master_world.h"

enum { REPLACE = 1, STRICT = 2 };

static struct end *
provider_of(struct world *w, uint64_t size_bytes)
{
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, size_bytes), STATUS_OK);
	return end;
}

/* ---- who wins ---- */

static void
second_put__of_a_key_under_way__is_refused(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	uint32_t status;

	assert_true(end_start(end, "k", 4096, 0, &status) != 0);
	assert_int_equal(end_start(end, "k", 4096, 0, &status), 0);
	assert_int_equal(status, STATUS_EXISTS);
}

/* More of them than are looked up at a time. */
static void
put_start__of_many_keys__refuses_just_those_that_exist_or_come_twice(void **state)
{
	enum { N = 150 };
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_put_start rep = {0};
	struct rec_put puts[N + 1];
	char keys[N][8];

	for (int i = 0; i < N; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%03d", i);
		if (i % 7 == 0)
			end_put(end, keys[i], 512);
		puts[i] = (struct rec_put){span_of(keys[i], 4), 512};
	}
	puts[N] = puts[1];

	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_puts = N + 1, .puts = puts),
			 STATUS_OK);

	for (int i = 0; i < N; i++)
		assert_int_equal(rep.places[i].status, i % 7 == 0 ? STATUS_EXISTS : STATUS_OK);
	assert_int_equal(rep.places[N].status, STATUS_EXISTS);
}

static void
put_end__of_many_puts__ends_those_that_are_there(void **state)
{
	enum { N = 150 };
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_put_end rep = {0};
	struct rec_put_done dones[N];
	char key[8];
	uint32_t status;

	for (int i = 0; i < N; i++) {
		uint64_t id = 0;

		snprintf(key, sizeof(key), "k%03d", i);
		if (i % 7 != 0)
			id = end_start(end, key, 512, 0, &status);
		dones[i] = (struct rec_put_done){.object_id = id, .len_bytes = 512};
	}

	assert_int_equal(ASK(end, put_end, &rep, .n_puts = N, .puts = dones), STATUS_OK);

	for (int i = 0; i < N; i++) {
		uint32_t fate = i % 7 == 0 ? STATUS_NOT_FOUND : STATUS_OK;

		snprintf(key, sizeof(key), "k%03d", i);
		assert_int_equal(rep.fates[i].status, fate);
		assert_int_equal(end_exist(end, key), fate);
	}
}

static void
second_put__that_replaces__wins_over_the_one_that_ended_first(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	uint32_t status;
	uint64_t a = end_start(end, "k", 4096, REPLACE, &status);
	uint64_t b = end_start(end, "k", 8192, REPLACE, &status);

	assert_int_equal(end_finish(end, a, 4096), STATUS_OK);
	assert_int_equal(end_finish(end, b, 8192), STATUS_OK);
	assert_int_equal(end_get(end, "k").object_id, b);
}

static void
put__overtaken_by_one_that_replaces__is_told_so_and_its_room_is_free(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	uint32_t status;
	uint64_t a = end_start(end, "k", 4096, 0, &status);
	uint64_t b = end_start(end, "k", 8192, REPLACE, &status);

	assert_int_equal(end_finish(end, b, 8192), STATUS_OK);
	assert_int_equal(end_finish(end, a, 4096), STATUS_EXISTS);
	assert_int_equal(end_space(end).used_bytes, 8192);
}

static void
object__is_invisible_until_put_end(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	uint32_t status;
	uint64_t id = end_start(end, "k", 4096, 0, &status);

	assert_int_equal(end_exist(end, "k"), STATUS_NOT_FOUND);
	assert_int_equal(end_finish(end, id, 4096), STATUS_OK);
	assert_int_equal(end_exist(end, "k"), STATUS_OK);
}

static void
put_end__shorter_than_the_room__gives_the_rest_back(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	uint32_t status;
	uint64_t id = end_start(end, "k", 8 * MIB, 0, &status);

	assert_int_equal(end_finish(end, id, 1000), STATUS_OK);
	assert_int_equal(end_space(end).used_bytes, 1024);
	assert_int_equal(end_get(end, "k").len_bytes, 1000);
}

static void
put_end__longer_than_the_room__is_refused(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	uint32_t status;
	uint64_t id = end_start(end, "k", 4096, 0, &status);

	assert_int_equal(end_finish(end, id, 4097), STATUS_INVALID);
	assert_int_equal(end_finish(end, id, 4096), STATUS_OK);
}

static void
put__of_another_client__can_be_neither_ended_nor_revoked(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct end *other = world_join(end->world, 12);
	uint32_t status;
	uint64_t id = end_start(end, "k", 4096, 0, &status);

	assert_int_equal(end_finish(other, id, 4096), STATUS_NOT_YOURS);
	assert_int_equal(end_revoke(other, id, true), STATUS_NOT_YOURS);
	assert_int_equal(end_finish(end, id, 4096), STATUS_OK);
}

static void
stream__that_grows_and_is_cut__keeps_its_length(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_put_extend rep = {0};
	uint32_t status;
	uint64_t id = end_start(end, "k", 0, 0, &status);

	assert_true(id != 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ASK(end, put_extend, &rep, .object_id = id, .more_bytes = 1 * MIB),
				 STATUS_OK);
	assert_int_equal(rep.n_replicas, 1);
	assert_int_equal(rep.replicas[0].n_grants, 3);
	assert_int_equal(end_finish(end, id, 1 * MIB + 5), STATUS_OK);
	assert_int_equal(end_space(end).used_bytes, 1 * MIB + 512);
	assert_int_equal(end_get(end, "k").replicas[0].n_extents, 2);
}

static void
empty_object__needs_no_segment(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_true(end_put(end, "k", 0) != 0);
	assert_int_equal(end_get(end, "k").status, STATUS_OK);
}

static void
put__without_any_segment__says_so(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	uint32_t status;

	assert_int_equal(end_start(end, "k", 10, 0, &status), 0);
	assert_int_equal(status, STATUS_NO_SEGMENT);
}

static struct rep_put_start
start_copies(struct end *end, uint8_t n, uint8_t flags)
{
	struct rec_put put = {span_of("k", 1), 4096};
	struct rep_put_start rep = {0};

	assert_int_equal(ASK(end, put_start, &rep, .replica_num = n, .flags = flags, .n_puts = 1,
			     .puts = &put),
			 STATUS_OK);
	return rep;
}

static void
more_copies_than_segments__are_fewer__or_none_when_strict(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_put_start rep = {0};

	end_mount(end, 2, 1, 64 * MIB);
	rep = start_copies(end, 3, STRICT);
	assert_int_equal(rep.places[0].status, STATUS_NO_SEGMENT);
	rep = start_copies(end, 3, 0);
	assert_int_equal(rep.places[0].status, STATUS_OK);
	assert_int_equal(rep.places[0].n_replicas, 2);
	assert_int_not_equal(rep.places[0].replicas[0].segment_id,
			     rep.places[0].replicas[1].segment_id);
}

static void
grow__that_fails_on_the_second_copy__leaves_the_first_as_it_was(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_put_start rep = {0};
	struct rep_put_extend more = {0};
	uint64_t before, id;

	end_mount(end, 2, 1, 1 * MIB);
	rep = start_copies(end, 2, STRICT);
	assert_int_equal(rep.places[0].status, STATUS_OK);
	before = end_space(end).used_bytes;

	id = SEND(end, put_extend, .object_id = rep.places[0].object_id, .more_bytes = 2 * MIB);
	world_pass_ms(end->world, 2100);
	assert_int_equal(HEAR(end, id, put_extend, &more), STATUS_NO_SPACE);

	assert_int_equal(end_space(end).used_bytes, before);
	assert_int_equal(end_finish(end, rep.places[0].object_id, 4096), STATUS_OK);
}

/* ---- read leases ---- */

static void
object_under_a_lease__is_not_removed_without_force(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rec_object_place place;

	end_put(end, "k", 4096);
	place = end_get(end, "k");
	assert_int_equal(end_remove(end, "k", false), STATUS_HAS_LEASE);
	end_release(end, place.object_id, place.lease_id);
	assert_int_equal(end_remove(end, "k", false), STATUS_OK);
}

static void
object_looked_at__without_a_lease__is_told_and_may_be_removed(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_key_only keys[] = {{span_of("a", 1)}, {span_of("none", 4)}};
	struct rep_get_replica_list rep = {0};
	uint64_t id;

	end_mount(end, 1, 1, MIB);
	id = end_put(end, "a", 100);
	assert_int_equal(
		ASK(end, get_replica_list, &rep, .lease_ms = LEASE_NONE, .n_keys = 2, .keys = keys),
		STATUS_OK);
	assert_int_equal(rep.objects[0].object_id, id);
	assert_int_equal(rep.objects[0].lease_id, 0);
	assert_int_equal(rep.objects[0].lease_ms, 0);
	assert_int_equal(rep.objects[0].n_replicas, 1);
	assert_int_equal(rep.objects[0].replicas[0].segment_id, 1);
	assert_int_equal(rep.objects[1].status, STATUS_NOT_FOUND);
	assert_int_equal(counter_get(&w->master->counters.gets), 0);
	assert_int_equal(counter_get(&w->master->counters.gets_missed), 0);
	assert_int_equal(end_remove(end, "a", false), STATUS_OK);
}

static void
lease__held_by_two__ends_with_the_second_release(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rec_object_place a, b;

	end_put(end, "k", 4096);
	a = end_get(end, "k");
	b = end_get(end, "k");
	end_release(end, a.object_id, a.lease_id);
	assert_int_equal(end_remove(end, "k", false), STATUS_HAS_LEASE);
	end_release(end, b.object_id, b.lease_id);
	assert_int_equal(end_remove(end, "k", false), STATUS_OK);
}

static void
late_release__of_a_round_that_is_over__ends_nobody_elses_promise(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rec_object_place old;

	end_put(end, "k", 4096);
	old = end_get(end, "k");
	world_pass_ms(end->world, 6000);
	end_get(end, "k");

	end_release(end, old.object_id, old.lease_id);
	assert_int_equal(end_remove(end, "k", false), STATUS_HAS_LEASE);
}

static void
renewal__after_the_end__is_refused(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rec_object_place place;

	end_put(end, "k", 4096);
	place = end_get(end, "k");
	world_pass_ms(end->world, 6000);
	assert_int_equal(end_renew(end, place.object_id, place.lease_id), STATUS_LEASE_EXPIRED);
	assert_int_equal(end_renew(end, 999, 1), STATUS_LEASE_EXPIRED);
}

static void
promise__is_reckoned_from_the_moment_of_the_request__however_late_the_loop(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct world *w = end->world;
	struct rec_key_only key = {span_of("k", 1)};

	end_put(end, "k", 4096);
	clock_fake_advance_ms(&w->clock, 3000); /* the loop was late, the request came just now */
	SEND(end, get_replica_list, .n_keys = 1, .keys = &key);
	world_pass_ms(w, 4900);

	assert_int_equal(end_remove(end, "k", false), STATUS_HAS_LEASE);
}

/* ---- room ---- */

static void
put__into_a_full_segment__evicts_what_was_leased_longest_ago(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct world *w = end->world;

	end_put(end, "a", 1 * MIB);
	end_put(end, "b", 1 * MIB);
	end_put(end, "c", 1 * MIB);
	end_put(end, "d", 1 * MIB);
	end_get(end, "a"); /* used again */
	world_pass_ms(w, 5500);
	end_ping(end);

	{
		struct rec_put put = {span_of("e", 1), 1 * MIB};
		uint64_t id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);

		world_pass_ms(w, 1000);
		assert_int_equal(end_status(end, id), STATUS_OK);
	}

	assert_int_equal(end_exist(end, "a"), STATUS_OK);
	assert_int_equal(end_exist(end, "b"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "d"), STATUS_OK);
}

static void
put__when_the_oldest_are_all_leased__evicts_a_younger_one(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct world *w = end->world;
	struct rec_put put = {span_of("e", 1), 150 << 10};
	char key[16];
	uint64_t id;

	for (int i = 0; i < 65; i++) {
		snprintf(key, sizeof(key), "old%d", i);
		assert_int_not_equal(end_put(end, key, 60 << 10), 0);
		end_get(end, key);
	}
	assert_int_not_equal(end_put(end, "young", 150 << 10), 0);

	id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_pass_ms(w, 1000);

	assert_int_equal(end_status(end, id), STATUS_OK);
	assert_int_equal(end_exist(end, "young"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "old0"), STATUS_OK);
}

static void
put__when_all_is_leased__fails_after_its_wait_and_not_before(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct world *w = end->world;
	struct rec_put put = {span_of("e", 1), 1 * MIB};
	struct rep_put_start rep = {0};
	uint32_t status;
	uint64_t id;

	for (const char *key = "abc"; *key != '\0'; key++) {
		char name[2] = {*key, '\0'};

		end_put(end, name, 1 * MIB);
		end_get(end, name);
	}
	end_revoke(end, end_start(end, "x", 1 * MIB, 0, &status), false); /* rests: there is hope */
	id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_pass_ms(w, 1900);
	assert_int_equal(end_status(end, id), NO_ANSWER);
	world_pass_ms(w, 200);

	assert_int_equal(HEAR(end, id, put_start, &rep), STATUS_OK);
	assert_int_equal(rep.places[0].status, STATUS_NO_SPACE);
	assert_int_equal(end_exist(end, "b"), STATUS_OK);
}

static void
put__when_all_is_leased_and_nothing_rests__fails_at_once(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	uint32_t status;

	end_put(end, "a", 4 * MIB);
	end_get(end, "a");

	assert_int_equal(end_start(end, "b", 1 * MIB, 0, &status), 0);
	assert_int_equal(status, STATUS_NO_SPACE);
}

static void
put__while_much_rests_behind_a_fence__evicts_all_the_same(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct rec_put put = {span_of("b", 1), 1 * MIB};
	uint32_t status;
	uint64_t id;

	end_put(end, "a", 2 * MIB);
	end_revoke(end, end_start(end, "x", 2 * MIB, 0, &status), false);
	id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_pass_ms(end->world, 300);

	assert_int_equal(end_status(end, id), STATUS_OK);
	assert_int_equal(end_exist(end, "a"), STATUS_NOT_FOUND);
}

static void
put__longer_than_all_segments__fails_at_once(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	uint32_t status;

	assert_int_equal(end_start(end, "k", 5 * MIB, 0, &status), 0);
	assert_int_equal(status, STATUS_NO_SPACE);
}

static void
eviction__begins_above_the_high_mark_and_ends_at_the_low(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct world *w = end->world;
	char key[16];

	w->master->limits.evict_high_pct = 50;
	w->master->limits.evict_low_pct = 25;
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), "k%02d", i);
		end_put(end, key, 1 * MIB);
	}
	world_pass_ms(w, 500);

	assert_in_range(end_space(end).used_bytes, 15 * MIB, 32 * MIB);
	assert_int_equal(end_exist(end, "k39"), STATUS_OK);
	assert_int_equal(end_exist(end, "k00"), STATUS_NOT_FOUND);
}

/* Ids are reserved by the million; after a crash none that was told may be given out again. */
static void
an_id__is_not_told_before_it_is_reserved_on_the_disk(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 11), *b = world_join(w, 12);
	uint64_t first, second;
	struct rec_put put = {.key = span_of("k", 1)};

	end_mount(a, 1, 1, 64 * MIB);
	assert_true(end_put(a, "chunk", 100) != 0);
	w->master->next_object_id = w->master->reserved_object_id;
	first = SEND(a, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	put.key = span_of("m", 1);
	second = SEND(b, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_turn_alone(w);
	assert_int_equal(end_status(a, first), NO_ANSWER);
	assert_int_equal(end_status(b, second), NO_ANSWER);
	world_turn(w);
	assert_int_equal(end_status(a, first), STATUS_OK);
	assert_int_equal(end_status(b, second), STATUS_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(second_put__of_a_key_under_way__is_refused),
		WORLD_TEST(put_start__of_many_keys__refuses_just_those_that_exist_or_come_twice),
		WORLD_TEST(put_end__of_many_puts__ends_those_that_are_there),
		WORLD_TEST(second_put__that_replaces__wins_over_the_one_that_ended_first),
		WORLD_TEST(put__overtaken_by_one_that_replaces__is_told_so_and_its_room_is_free),
		WORLD_TEST(object__is_invisible_until_put_end),
		WORLD_TEST(put_end__shorter_than_the_room__gives_the_rest_back),
		WORLD_TEST(put_end__longer_than_the_room__is_refused),
		WORLD_TEST(put__of_another_client__can_be_neither_ended_nor_revoked),
		WORLD_TEST(stream__that_grows_and_is_cut__keeps_its_length),
		WORLD_TEST(empty_object__needs_no_segment),
		WORLD_TEST(put__without_any_segment__says_so),
		WORLD_TEST(more_copies_than_segments__are_fewer__or_none_when_strict),
		WORLD_TEST(grow__that_fails_on_the_second_copy__leaves_the_first_as_it_was),
		WORLD_TEST(object_under_a_lease__is_not_removed_without_force),
		WORLD_TEST(object_looked_at__without_a_lease__is_told_and_may_be_removed),
		WORLD_TEST(lease__held_by_two__ends_with_the_second_release),
		WORLD_TEST(late_release__of_a_round_that_is_over__ends_nobody_elses_promise),
		WORLD_TEST(renewal__after_the_end__is_refused),
		WORLD_TEST(
			promise__is_reckoned_from_the_moment_of_the_request__however_late_the_loop),
		WORLD_TEST(put__into_a_full_segment__evicts_what_was_leased_longest_ago),
		WORLD_TEST(put__when_the_oldest_are_all_leased__evicts_a_younger_one),
		WORLD_TEST(put__when_all_is_leased__fails_after_its_wait_and_not_before),
		WORLD_TEST(put__when_all_is_leased_and_nothing_rests__fails_at_once),
		WORLD_TEST(put__while_much_rests_behind_a_fence__evicts_all_the_same),
		WORLD_TEST(put__longer_than_all_segments__fails_at_once),
		WORLD_TEST(eviction__begins_above_the_high_mark_and_ends_at_the_low),
		WORLD_TEST(an_id__is_not_told_before_it_is_reserved_on_the_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
