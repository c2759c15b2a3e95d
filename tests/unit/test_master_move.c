/* SPDX-License-Identifier: Apache-2.0 */

/* Moves: the old copy goes when the new one is there, and not before its readers are done. */
#include "master/ghost.h"
#include "tests/unit/master_works.h"

/* ---- move ---- */

static void
move__reported__leaves_one_copy_elsewhere__and_frees_the_old_place(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_object_place place;

	assert_int_equal(end_move(c.user, "k", 1, 0).status, STATUS_OK);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);

	world_pass_ms(w, 500);
	assert_int_equal(seg(w, 1)->n_replicas, 0);
	assert_int_equal(alloc_used_bytes(seg(w, 1)->alloc), 0);
	place = end_get(c.user, "k");
	assert_int_equal(place.n_replicas, 1);
	assert_int_equal(place.replicas[0].segment_id, 2);
	assert_int_equal(place.object_id, c.object_id);
}

static void
move__of_an_object_that_is_read__keeps_the_old_copy_as_long_as_the_lease_is_renewed(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_object_place place = end_get(c.user, "k");
	struct rec_object_place later;

	end_move(c.user, "k", 1, 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);

	for (int i = 0; i < 20; i++) {
		world_pass_ms(w, 2000);
		end_work(c.a);
		end_work(c.b);
		assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_OK);
		assert_int_equal(seg(w, 1)->n_replicas, 1);
	}
	later = end_get(c.user, "k");
	assert_int_equal(later.n_replicas, 1);
	assert_int_equal(later.replicas[0].segment_id, 2);
	assert_int_not_equal(later.lease_id, place.lease_id);
	assert_int_equal(end_renew(c.user, later.object_id, later.lease_id), STATUS_OK);

	assert_int_equal(end_release(c.user, place.object_id, place.lease_id), STATUS_OK);
	world_pass_ms(w, 1000);
	assert_int_equal(seg(w, 1)->n_replicas, 0);
	assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_LEASE_EXPIRED);
	assert_int_equal(end_renew(c.user, later.object_id, later.lease_id), STATUS_OK);
}

/* pass_renewing -- 40 s in which everybody works and these leases are kept. */
static void
pass_renewing(struct world *w, struct end *const *ends, size_t n_ends,
	      const struct rec_object_place *places, size_t n_places)
{
	for (int i = 0; i < 20; i++) {
		world_pass_ms(w, 2000);
		for (size_t k = 0; k < n_ends; k++)
			end_work(ends[k]);
		for (size_t k = 0; k < n_places; k++)
			assert_int_equal(
				end_renew(ends[0], places[k].object_id, places[k].lease_id),
				STATUS_OK);
	}
}

static void
move__and_removal_of_an_object_that_is_read__each_keeps_what_its_readers_renew(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *const ends[] = {c.user, c.a, c.b};
	struct rec_object_place places[2];

	places[0] = end_get(c.user, "k");
	end_move(c.user, "k", 1, 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	places[1] = end_get(c.user, "k");
	assert_int_equal(end_remove(c.user, "k", true), STATUS_OK);

	pass_renewing(w, ends, 3, places, 2);
	assert_int_equal(seg(w, 1)->n_replicas, 1);
	assert_int_equal(seg(w, 2)->n_replicas, 1);

	assert_int_equal(end_release(c.user, places[0].object_id, places[0].lease_id), STATUS_OK);
	world_pass_ms(w, 1000);
	assert_int_equal(seg(w, 1)->n_replicas, 0);
	assert_int_equal(seg(w, 2)->n_replicas, 1);
	assert_int_equal(end_renew(c.user, places[1].object_id, places[1].lease_id), STATUS_OK);
	world_pass_ms(w, 6000);
	assert_int_equal(alloc_used_bytes(seg(w, 2)->alloc), 0);
	assert_int_equal(end_renew(c.user, places[1].object_id, places[1].lease_id),
			 STATUS_LEASE_EXPIRED);
}

/* Told of two copies; both are moved away, one after the other. */
static void
move__of_both_copies_that_a_reader_knows__keeps_both_as_long_as_it_renews(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *third = world_join(w, 3), *fourth = world_join(w, 4);
	struct end *const ends[] = {c.user, c.a, c.b, third, fourth};
	struct rec_object_place place;

	(void)end_copy(c.user, "k", 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	place = end_get(c.user, "k");
	assert_int_equal(place.n_replicas, 2);
	assert_int_equal(end_mount(third, 3, 1, 8 * MIB), STATUS_OK);
	assert_int_equal(end_mount(fourth, 4, 1, 8 * MIB), STATUS_OK);
	end_work(third);
	end_work(fourth);

	end_move(c.user, "k", 1, 3);
	assert_int_equal(end_carry_out(third), STATUS_OK);
	end_move(c.user, "k", 2, 4);
	assert_int_equal(end_carry_out(fourth), STATUS_OK);

	pass_renewing(w, ends, 5, &place, 1);
	assert_int_equal(seg(w, 1)->n_replicas, 1);
	assert_int_equal(seg(w, 2)->n_replicas, 1);
	assert_int_equal(end_get(c.user, "k").n_replicas, 2);

	/* who was told after the first move may read the second copy, but renews by no ghost of it
	 */
	world_pass_ms(w, 6000);
	assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_LEASE_EXPIRED);
	assert_int_equal(alloc_used_bytes(seg(w, 1)->alloc), 0);
	assert_int_equal(alloc_used_bytes(seg(w, 2)->alloc), 0);
	assert_int_equal(w->master->ghosts.n, 0);
}

/* A copy of round 2 goes with its segment: who was told in round 1 may have been told of it, too.
 */
static void
segment__of_a_younger_ghost_leaves__ends_the_older_rounds_and_not_the_younger(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *third = world_join(w, 3), *fourth = world_join(w, 4);
	struct rec_object_place first, later;
	struct rec_id gone = {2};
	struct rep_unmount_segment rep;

	(void)end_copy(c.user, "k", 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	assert_int_equal(end_mount(third, 3, 1, 8 * MIB), STATUS_OK);
	assert_int_equal(end_mount(fourth, 4, 1, 8 * MIB), STATUS_OK);
	end_work(third);
	end_work(fourth);

	first = end_get(c.user, "k");
	end_move(c.user, "k", 1, 3);
	assert_int_equal(end_carry_out(third), STATUS_OK);
	end_move(c.user, "k", 2, 4);
	assert_int_equal(end_carry_out(fourth), STATUS_OK);
	later = end_get(c.user, "k");
	assert_int_equal(ASK(c.b, unmount_segment, &rep, .n_segments = 1, .segments = &gone),
			 STATUS_OK);
	world_pass_ms(w, 100);

	assert_int_equal(end_renew(c.user, first.object_id, first.lease_id), STATUS_LEASE_EXPIRED);
	assert_int_equal(end_renew(c.user, later.object_id, later.lease_id), STATUS_OK);
	assert_int_equal(seg(w, 1)->n_replicas, 1); /* what was promised holds */
}

static void
move__again_and_again_under_readers__waits_when_there_are_enough_ghosts(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_object_place places[GHOSTS_MAX + 1];
	struct end *ends[GHOSTS_MAX + 3] = {c.user, c.a, c.b};
	unsigned n = 0;

	for (unsigned i = 3; i < array_len(ends); i++) {
		ends[i] = world_join(w, 100 + i);
		assert_int_equal(end_mount(ends[i], i, 1, 8 * MIB), STATUS_OK);
		end_work(ends[i]);
	}
	for (uint64_t at = 1; n < GHOSTS_MAX; n++, at++) {
		places[n] = end_get(c.user, "k");
		end_move(c.user, "k", at, at + 1);
		assert_int_equal(end_carry_out(ends[at + 1]), STATUS_OK);
	}
	places[n++] = end_get(c.user, "k");
	end_move(c.user, "k", GHOSTS_MAX + 1, GHOSTS_MAX + 2);

	pass_renewing(w, ends, array_len(ends), places, n);
	assert_int_equal(end_carry_out(ends[GHOSTS_MAX + 2]), NO_ANSWER);
	for (unsigned i = 1; i <= GHOSTS_MAX + 1; i++)
		assert_int_equal(seg(w, i)->n_replicas, 1);

	/* a removal is no move: it goes through, and its readers go on as well */
	assert_int_equal(end_release(c.user, places[0].object_id, places[0].lease_id), STATUS_OK);
	world_pass_ms(w, 1000);
	assert_int_equal(seg(w, 1)->n_replicas, 0);
	assert_int_equal(end_carry_out(ends[GHOSTS_MAX + 2]), STATUS_OK);
	assert_int_equal(end_remove(c.user, "k", true), STATUS_OK);
	pass_renewing(w, ends, array_len(ends), places + 1, n - 1);
	world_pass_ms(w, 6000);
	assert_int_equal(w->master->ghosts.n, 0);
	for (unsigned i = 1; i < array_len(ends); i++)
		assert_int_equal(alloc_used_bytes(seg(w, i)->alloc), 0);
}

static void
move__of_the_last_copy_to_a_full_place__keeps_the_copy(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *small = world_join(w, 3);

	assert_true(end_put(c.user, "big", 4 * MIB) != 0);
	assert_int_equal(end_mount(small, 3, 1, 1 * MIB), STATUS_OK);
	end_work(small);
	end_move(c.user, "big", end_get(c.user, "big").replicas[0].segment_id, 3);
	world_pass_ms(w, 5000);
	assert_int_equal(end_get(c.user, "big").n_replicas, 1);
}

/* ---- at a quota ---- */

static const struct tenant *
at_quota(struct world *w, const struct cast *c, uint64_t bytes)
{
	assert_int_equal(end_tenant_put(c->user, "default", TENANT_SET_BYTES, bytes, 0), STATUS_OK);
	return world_tenant(w, "default");
}

/* The room of the one object, and not a grain more. */
#define ROOM (LEN / 512 * 512 + 512)

static void
move__of_a_tenant_at_its_quota__goes_through_and_never_exceeds_it(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	const struct tenant *tenant = at_quota(w, &c, ROOM);
	struct rec_object_place place = end_get(c.user, "k");

	assert_int_equal(tenant->charged_bytes, ROOM);
	end_move(c.user, "k", 1, 2);
	world_pass_ms(w, 10);
	assert_int_equal(tenant->charged_bytes, ROOM);
	assert_int_equal(tenant->moving_bytes, ROOM);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);

	/* the old copy is read on, and then rests: that is the store's own */
	for (int i = 0; i < 5; i++) {
		world_pass_ms(w, 2000);
		end_work(c.a);
		end_work(c.b);
		assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_OK);
		assert_int_equal(tenant->charged_bytes, ROOM);
		assert_int_equal(tenant->moving_bytes, ROOM);
	}
	assert_int_equal(end_put(c.user, "more", 1), 0);
	world_pass_ms(w, 6000);
	assert_int_equal(tenant->charged_bytes, ROOM);
	assert_int_equal(tenant->moving_bytes, 0);
	assert_int_equal(alloc_used_bytes(seg(w, 1)->alloc), 0);
}

static void
copy__of_a_tenant_at_its_quota__is_one_more_than_it_may_have(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	const struct tenant *tenant = at_quota(w, &c, 2 * ROOM - 1);
	uint64_t id = end_copy(c.user, "k", 2).task_id;

	for (unsigned i = 0; i < 60; i++) {
		world_pass_ms(w, 1000);
		end_work(c.a);
		end_work(c.b);
		end_ping(c.user);
	}
	assert_int_equal(end_task(c.user, id).state, TASK_FAILED);
	assert_int_equal(end_task(c.user, id).reason, STATUS_QUOTA_EXCEEDED);
	assert_int_equal(tenant->charged_bytes, ROOM);
}

/* Of two copies one moves, and is lost on the way: what would land is one more again. */
static void
move__whose_old_copy_is_lost_on_the_way__lands_only_within_the_quota(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *third = world_join(w, 3);
	struct rep_fetch_tasks rep;
	struct rec_id gone = {2};
	struct rep_unmount_segment left;
	const struct tenant *tenant;
	uint64_t task_id, put_id;

	(void)end_copy(c.user, "k", 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	assert_int_equal(end_mount(third, 3, 1, 8 * MIB), STATUS_OK);
	end_work(third);
	tenant = at_quota(w, &c, 2 * ROOM);

	end_move(c.user, "k", 2, 3);
	rep = end_fetch(third);
	assert_int_equal(rep.n_works, 1);
	task_id = rep.works[0].task_id;
	put_id = rep.works[0].to[0].object_id;
	assert_int_equal(ASK(c.b, unmount_segment, &left, .n_segments = 1, .segments = &gone),
			 STATUS_OK);
	world_pass_ms(w, 6000);
	assert_true(end_put(c.user, "more", LEN) != 0);

	assert_int_equal(end_report(third, task_id, put_id, STATUS_OK), STATUS_QUOTA_EXCEEDED);
	world_pass_ms(w, 1000);
	assert_int_equal(tenant->charged_bytes, 2 * ROOM);
	assert_int_equal(tenant->moving_bytes, 0);
	assert_int_equal(end_get(c.user, "k").n_replicas, 1);
}

/* ---- many ---- */

static void
query__walks_all_tasks_by_id_with_a_cursor(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rep_query_task rep = {0};
	uint64_t last = 0;
	char key[16];

	for (int i = 0; i < 50; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		assert_true(end_put(c.user, key, 100) != 0);
		(void)end_copy(c.user, key, 0);
	}
	assert_int_equal(ASK(c.user, query_task, &rep), STATUS_OK);
	assert_int_equal(rep.n_tasks, 50);
	for (uint32_t i = 0; i < rep.n_tasks; i++) {
		assert_true(rep.tasks[i].task_id > last);
		last = rep.tasks[i].task_id;
	}
	assert_int_equal(ASK(c.user, query_task, &rep, .after_id = last - 1), STATUS_OK);
	assert_int_equal(rep.n_tasks, 1);
	assert_int_equal(rep.tasks[0].task_id, last);
}

static void
tasks__more_than_a_worker_takes_at_once__are_carried_out_in_turn(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	char key[16];
	unsigned n = 0;

	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		assert_true(end_put(c.user, key, 100) != 0);
		(void)end_copy(c.user, key, 0);
	}
	while (n < 100) {
		uint32_t a = end_carry_out(c.a), b = end_carry_out(c.b);

		assert_true(a == STATUS_OK || a == NO_ANSWER);
		assert_true(b == STATUS_OK || b == NO_ANSWER);
		assert_false(a == NO_ANSWER && b == NO_ANSWER);
		n += (a == STATUS_OK ? 1u : 0u) + (b == STATUS_OK ? 1u : 0u);
	}
	assert_int_equal(counter_get(&w->master->counters.tasks_done), 100);
}

static void
ended_tasks__are_forgotten_after_a_while__in_the_books_too(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);

	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	clock_fake_advance_ms(&w->clock, TASK_KEPT_MS + 1000);
	world_turn(w);
	world_turn(w);
	assert_null(task_find(w->master, fate.task_id));
	world_close(w);
	assert_int_equal(world_open(w), 0);
	assert_null(task_find(w->master, fate.task_id));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(move__reported__leaves_one_copy_elsewhere__and_frees_the_old_place),
		WORLD_TEST(
			move__of_an_object_that_is_read__keeps_the_old_copy_as_long_as_the_lease_is_renewed),
		WORLD_TEST(
			move__and_removal_of_an_object_that_is_read__each_keeps_what_its_readers_renew),
		WORLD_TEST(
			move__of_both_copies_that_a_reader_knows__keeps_both_as_long_as_it_renews),
		WORLD_TEST(
			segment__of_a_younger_ghost_leaves__ends_the_older_rounds_and_not_the_younger),
		WORLD_TEST(move__again_and_again_under_readers__waits_when_there_are_enough_ghosts),
		WORLD_TEST(move__of_the_last_copy_to_a_full_place__keeps_the_copy),
		WORLD_TEST(move__of_a_tenant_at_its_quota__goes_through_and_never_exceeds_it),
		WORLD_TEST(copy__of_a_tenant_at_its_quota__is_one_more_than_it_may_have),
		WORLD_TEST(move__whose_old_copy_is_lost_on_the_way__lands_only_within_the_quota),
		WORLD_TEST(query__walks_all_tasks_by_id_with_a_cursor),
		WORLD_TEST(tasks__more_than_a_worker_takes_at_once__are_carried_out_in_turn),
		WORLD_TEST(ended_tasks__are_forgotten_after_a_while__in_the_books_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
