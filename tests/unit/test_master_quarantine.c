/* SPDX-License-Identifier: Apache-2.0 */

/* Extents rest until nobody can touch them: each stage of quarantine.h, and what is proof of what.
 */
#include "tests/unit/master_world.h"

/* A provider (client 11) with segment 1, and a writer (client 12). */
struct scene {
	struct world *w;
	struct end *provider, *writer;
};

static struct scene
scene_of(struct world *w)
{
	struct scene s = {.w = w, .provider = world_join(w, 11), .writer = world_join(w, 12)};

	assert_int_equal(end_mount(s.provider, 1, 1, 64 * MIB), STATUS_OK);
	return s;
}

static uint64_t
resting(const struct scene *s)
{
	return s->w->master->quarantine.resting_bytes;
}

/* Pings as the provider; gives the orders in rep, which lives until the next answer. */
static struct rep_ping
orders(const struct scene *s, uint64_t done_id)
{
	struct rec_id fenced = {done_id};
	struct rep_ping rep = {0};

	assert_int_equal(ASK(s->provider, ping, &rep, .now_ms = clock_ms(&s->w->clock.base),
			     .n_fenced = done_id != 0, .fenced = &fenced),
			 STATUS_OK);
	return rep;
}

static uint64_t
start(const struct scene *s, const char *key)
{
	uint32_t status;
	uint64_t id = end_start(s->writer, key, 1 * MIB, 0, &status);

	assert_int_equal(status, STATUS_OK);
	return id;
}

/* ---- writers ---- */

static void
quiet_revoke__frees_at_once(void **state)
{
	struct scene s = scene_of(*state);

	assert_int_equal(end_revoke(s.writer, start(&s, "k"), true), STATUS_OK);
	assert_int_equal(resting(&s), 0);
	assert_int_equal(end_space(s.writer).used_bytes, 0);
}

static void
loud_revoke__rests_until_the_provider_has_fenced_the_writer(void **state)
{
	struct scene s = scene_of(*state);
	struct rep_ping rep = {0};

	assert_int_equal(end_revoke(s.writer, start(&s, "k"), false), STATUS_OK);
	assert_int_equal(resting(&s), 1 * MIB);
	world_pass_ms(s.w, 3000);
	assert_int_equal(resting(&s), 1 * MIB);

	rep = orders(&s, 0);
	assert_int_equal(rep.n_fences, 1);
	assert_int_equal(rep.fences[0].client_id, 12);
	orders(&s, rep.fences[0].fence_id);

	world_pass_ms(s.w, 100);
	assert_int_equal(resting(&s), 0);
}

static void
expired_put__rests_for_as_long_as_its_writer_is_not_fenced(void **state)
{
	struct scene s = scene_of(*state);

	start(&s, "k");
	for (int i = 0; i < 60; i++) {
		world_pass_ms(s.w, 1000);
		end_ping(s.provider);
		end_ping(s.writer);
	}
	assert_int_equal(counter_get(&s.w->master->counters.puts_expired), 1);
	assert_int_equal(resting(&s), 1 * MIB);
	assert_int_equal(end_space(s.writer).used_bytes, 0);
}

static void
fence__that_was_never_ordered__proves_nothing(void **state)
{
	struct scene s = scene_of(*state);

	end_revoke(s.writer, start(&s, "k"), false);
	orders(&s, 12345);
	/* the order goes out with this answer, so its number in the same request was a guess */
	assert_int_equal(resting(&s), 1 * MIB);
}

static void
fence__guessed_before_its_order_went_out__proves_nothing(void **state)
{
	struct scene s = scene_of(*state);
	uint64_t id;

	end_revoke(s.writer, start(&s, "k"), false);
	id = s.w->master->quarantine.last_fence_id;
	orders(&s, id);

	assert_int_equal(resting(&s), 1 * MIB);
	orders(&s, id);
	world_pass_ms(s.w, 100);
	assert_int_equal(resting(&s), 0);
}

static void
fence__confirmed_by_another_client__proves_nothing(void **state)
{
	struct scene s = scene_of(*state);
	struct rep_ping rep, other;
	struct rec_id fenced;

	end_revoke(s.writer, start(&s, "k"), false);
	rep = orders(&s, 0);
	fenced.id = rep.fences[0].fence_id;
	ASK(s.writer, ping, &other, .now_ms = 5, .n_fenced = 1, .fenced = &fenced);

	assert_int_equal(resting(&s), 1 * MIB);
}

static void
later_rest_of_the_same_writer__shares_an_order_that_has_not_gone_out(void **state)
{
	struct scene s = scene_of(*state);

	end_revoke(s.writer, start(&s, "a"), false);
	end_revoke(s.writer, start(&s, "b"), false);
	assert_int_equal(orders(&s, 0).n_fences, 1);
}

static void
later_rest_of_the_same_writer__needs_an_order_of_its_own_after_the_first_went_out(void **state)
{
	struct scene s = scene_of(*state);
	struct rep_ping rep = {0};
	uint64_t first;

	end_revoke(s.writer, start(&s, "a"), false);
	first = orders(&s, 0).fences[0].fence_id;
	end_revoke(s.writer, start(&s, "b"), false);
	rep = orders(&s, first);
	world_pass_ms(s.w, 100);

	assert_int_equal(rep.n_fences, 1);
	assert_int_not_equal(rep.fences[0].fence_id, first);
	assert_int_equal(resting(&s), 1 * MIB);
}

static void
new_mount__of_a_provider_that_cut_everybody__is_proof(void **state)
{
	struct scene s = scene_of(*state);

	end_revoke(s.writer, start(&s, "k"), false);
	assert_int_equal(end_mount(s.provider, 1, 1, 64 * MIB), STATUS_OK);
	world_pass_ms(s.w, 100);
	assert_int_equal(resting(&s), 0);
}

static void
new_mount__that_names_the_writer__is_no_proof(void **state)
{
	struct scene s = scene_of(*state);
	struct rec_id writer = {12};
	struct rec_segment_lent lent = {
		.segment_id = 1,
		.segment_epoch = 1,
		.size_bytes = 64 * MIB,
		.medium = 1,
		.name = span_of("seg1", 4),
		.host = span_of("here", 4),
		.endpoint = span_of("e", 1),
		.n_writers = 1,
		.writers = &writer,
	};
	struct rep_mount_segment rep = {0};

	end_revoke(s.writer, start(&s, "k"), false);
	assert_int_equal(ASK(s.provider, mount_segment, &rep, .n_segments = 1, .segments = &lent),
			 STATUS_OK);
	world_pass_ms(s.w, 100);
	assert_int_equal(resting(&s), 1 * MIB);
}

/* ---- readers ---- */

static void
removed_object__rests_until_the_lease_on_it_is_over(void **state)
{
	struct scene s = scene_of(*state);

	end_put(s.writer, "k", 1 * MIB);
	assert_int_equal(end_get(s.writer, "k").status, STATUS_OK);
	assert_int_equal(end_remove(s.writer, "k", true), STATUS_OK);

	world_pass_ms(s.w, 4900);
	assert_int_equal(alloc_used_bytes(segment_find(s.w->master, 1)->alloc), 1 * MIB);
	world_pass_ms(s.w, 500);
	assert_int_equal(alloc_used_bytes(segment_find(s.w->master, 1)->alloc), 0);
}

static void
removed_object__that_is_renewed__rests_on__and_is_not_evicted(void **state)
{
	struct scene s = scene_of(*state);
	struct rec_object_place place;

	end_put(s.writer, "k", 1 * MIB);
	place = end_get(s.writer, "k");
	assert_int_equal(end_remove(s.writer, "k", true), STATUS_OK);

	for (int i = 0; i < 10; i++) {
		world_pass_ms(s.w, 2000);
		end_ping(s.provider);
		assert_int_equal(end_renew(s.writer, place.object_id, place.lease_id), STATUS_OK);
	}

	assert_true(list_is_empty(&s.writer->peer->client->tenant->ages.lists[AGES_ONCE]));
	assert_true(list_is_empty(&s.writer->peer->client->tenant->ages.lists[AGES_AGAIN]));
	assert_int_equal(alloc_used_bytes(segment_find(s.w->master, 1)->alloc), 1 * MIB);
	end_release(s.writer, place.object_id, place.lease_id);
	world_pass_ms(s.w, 200);
	assert_int_equal(alloc_used_bytes(segment_find(s.w->master, 1)->alloc), 0);
}

static void
removed_object__without_a_lease__waits_for_the_sync_of_its_removal(void **state)
{
	struct scene s = scene_of(*state);
	struct rec_key_only key = {span_of("k", 1)};

	end_put(s.writer, "k", 1 * MIB);
	world_pass_ms(s.w, 200);
	SEND(s.writer, remove, .n_keys = 1, .keys = &key);
	world_turn_alone(s.w);
	assert_int_equal(resting(&s), 1 * MIB);
	world_turn_alone(s.w);
	assert_int_equal(resting(&s), 1 * MIB);

	world_pass_ms(s.w, 200);
	assert_int_equal(resting(&s), 0);
}

/* ---- after a restart ---- */

static void
restart(struct scene *s)
{
	world_close(s->w);
	assert_int_equal(world_open(s->w), 0);
}

static void
free_runs_of_open_chunks__rest_after_a_restart_until_the_segment_is_mounted(void **state)
{
	struct scene s = scene_of(*state);
	const struct segment *segment;

	start(&s, "k");
	restart(&s);
	segment = segment_find(s.w->master, 1);
	assert_int_equal(segment->resting_bytes, segment->chunk_bytes);

	world_pass_ms(s.w, 11000);
	assert_int_equal(segment->resting_bytes, segment->chunk_bytes);
	s.provider = world_join(s.w, 11);
	end_mount(s.provider, 1, 1, 64 * MIB);
	world_pass_ms(s.w, 100);
	assert_int_equal(segment->resting_bytes, 0);
}

static void
free_runs_of_open_chunks__rest_for_readers_of_before_even_when_mounted_at_once(void **state)
{
	struct scene s = scene_of(*state);

	start(&s, "k");
	restart(&s);
	s.provider = world_join(s.w, 11);
	end_mount(s.provider, 1, 1, 64 * MIB);
	world_pass_ms(s.w, 5000);
	assert_true(resting(&s) > 0);
	end_ping(s.provider);
	world_pass_ms(s.w, 5200);
	assert_int_equal(resting(&s), 0);
}

static void
object_removed_soon_after_a_restart__rests_for_readers_of_before(void **state)
{
	struct scene s = scene_of(*state);
	const struct segment *segment;

	end_put(s.writer, "k", 1 * MIB);
	end_get(s.writer, "k"); /* a lease that the books don't know */
	restart(&s);
	s.provider = world_join(s.w, 11);
	end_mount(s.provider, 1, 1, 64 * MIB);
	assert_int_equal(end_remove(s.provider, "k", false), STATUS_OK);

	world_pass_ms(s.w, 4900);
	segment = segment_find(s.w->master, 1);
	assert_true(alloc_used_bytes(segment->alloc) >= 1 * MIB);
	end_ping(s.provider);
	world_pass_ms(s.w, 6000);
	assert_int_equal(alloc_used_bytes(segment->alloc), 0);
}

static void
mount_with_writers(struct scene *s)
{
	struct rec_id writer = {12};
	struct rec_segment_lent lent = {
		.segment_id = 1,
		.segment_epoch = 1,
		.size_bytes = 64 * MIB,
		.medium = 1,
		.name = span_of("seg1", 4),
		.host = span_of("here", 4),
		.endpoint = span_of("e", 1),
		.n_writers = 1,
		.writers = &writer,
	};
	struct rep_mount_segment rep = {0};

	s->provider = world_join(s->w, 11);
	assert_int_equal(ASK(s->provider, mount_segment, &rep, .n_segments = 1, .segments = &lent),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
}

static void
writer_of_before_a_restart__that_says_it_is_quiet__is_proof(void **state)
{
	struct scene s = scene_of(*state);
	struct rep_ping rep = {0};

	start(&s, "k");
	restart(&s);
	mount_with_writers(&s);
	s.writer = world_join(s.w, 12);
	world_pass_ms(s.w, 9000);
	end_ping(s.provider);
	assert_int_equal(
		ASK(s.writer, ping, &rep, .now_ms = 1, .quiet_epoch = s.w->master->epoch - 1),
		STATUS_OK);
	world_pass_ms(s.w, 3000);
	assert_true(resting(&s) > 0);

	assert_int_equal(ASK(s.writer, ping, &rep, .now_ms = 1, .quiet_epoch = s.w->master->epoch),
			 STATUS_OK);
	world_pass_ms(s.w, 100);
	assert_int_equal(resting(&s), 0);
}

static void
writer_of_before_a_restart__that_is_fenced__is_proof(void **state)
{
	struct scene s = scene_of(*state);
	struct rep_ping rep = {0};

	start(&s, "k");
	restart(&s);
	mount_with_writers(&s);
	world_pass_ms(s.w, 9000);
	rep = orders(&s, 0);
	assert_int_equal(rep.n_fences, 1);
	world_pass_ms(s.w, 3000);
	assert_true(resting(&s) > 0);
	orders(&s, rep.fences[0].fence_id);
	world_pass_ms(s.w, 100);
	assert_int_equal(resting(&s), 0);
}

static void
forgotten_segment__mounted_anew__rests_whole_for_writers_that_still_map_it(void **state)
{
	struct scene s = scene_of(*state);
	struct rep_leave left;
	struct rep_ping rep = {0};
	uint32_t status;

	ASK(s.provider, leave, &left);
	world_pass_ms(s.w, 5200);
	assert_null(segment_find(s.w->master, 1));
	s.writer = world_join(s.w, 12);
	mount_with_writers(&s);
	assert_int_equal(resting(&s), 64 * MIB);
	ASK(s.writer, ping, &rep, .now_ms = 1, .quiet_epoch = s.w->master->epoch);
	assert_int_equal(resting(&s), 64 * MIB);

	orders(&s, orders(&s, 0).fences[0].fence_id);
	world_pass_ms(s.w, 100);
	assert_int_equal(resting(&s), 0);
	assert_true(end_start(s.writer, "k", 4096, 0, &status) != 0);
}

static void
lost_segment__comes_back_only_when_its_readers_promises_are_over(void **state)
{
	struct scene s = scene_of(*state);
	struct rep_leave left;

	end_put(s.writer, "k", 1 * MIB);
	end_get(s.writer, "k");
	ASK(s.provider, leave, &left);
	s.provider = world_join(s.w, 11);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(end_mount(s.provider, 1, 1, 64 * MIB), STATUS_UNAVAILABLE);
		world_pass_ms(s.w, 490);
	}
	world_pass_ms(s.w, 300);
	assert_int_equal(end_mount(s.provider, 1, 1, 64 * MIB), STATUS_OK);
}

static void
segment_that_leaves__takes_its_resting_extents_along(void **state)
{
	struct scene s = scene_of(*state);
	struct rec_id id = {1};
	struct rep_unmount_segment rep = {0};

	end_revoke(s.writer, start(&s, "a"), false);
	end_put(s.writer, "b", 1 * MIB);
	end_get(s.writer, "b");
	end_remove(s.writer, "b", true);
	ASK(s.provider, unmount_segment, &rep, .n_segments = 1, .segments = &id);
	world_pass_ms(s.w, 5200);

	assert_null(segment_find(s.w->master, 1));
	assert_int_equal(resting(&s), 0);
	assert_int_equal(s.w->master->ghosts.n, 0);
	assert_int_equal(s.w->master->quarantine.fences.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(quiet_revoke__frees_at_once),
		WORLD_TEST(loud_revoke__rests_until_the_provider_has_fenced_the_writer),
		WORLD_TEST(expired_put__rests_for_as_long_as_its_writer_is_not_fenced),
		WORLD_TEST(fence__that_was_never_ordered__proves_nothing),
		WORLD_TEST(fence__guessed_before_its_order_went_out__proves_nothing),
		WORLD_TEST(fence__confirmed_by_another_client__proves_nothing),
		WORLD_TEST(later_rest_of_the_same_writer__shares_an_order_that_has_not_gone_out),
		WORLD_TEST(
			later_rest_of_the_same_writer__needs_an_order_of_its_own_after_the_first_went_out),
		WORLD_TEST(new_mount__of_a_provider_that_cut_everybody__is_proof),
		WORLD_TEST(new_mount__that_names_the_writer__is_no_proof),
		WORLD_TEST(removed_object__rests_until_the_lease_on_it_is_over),
		WORLD_TEST(removed_object__that_is_renewed__rests_on__and_is_not_evicted),
		WORLD_TEST(removed_object__without_a_lease__waits_for_the_sync_of_its_removal),
		WORLD_TEST(
			free_runs_of_open_chunks__rest_after_a_restart_until_the_segment_is_mounted),
		WORLD_TEST(
			free_runs_of_open_chunks__rest_for_readers_of_before_even_when_mounted_at_once),
		WORLD_TEST(object_removed_soon_after_a_restart__rests_for_readers_of_before),
		WORLD_TEST(writer_of_before_a_restart__that_says_it_is_quiet__is_proof),
		WORLD_TEST(writer_of_before_a_restart__that_is_fenced__is_proof),
		WORLD_TEST(
			forgotten_segment__mounted_anew__rests_whole_for_writers_that_still_map_it),
		WORLD_TEST(lost_segment__comes_back_only_when_its_readers_promises_are_over),
		WORLD_TEST(segment_that_leaves__takes_its_resting_extents_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
