/* SPDX-License-Identifier: Apache-2.0 */

/* Moves: the old copy goes when the new one is there, and not before its readers are done. */
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

static void
move__and_removal_of_an_object_that_is_read__both_under_their_leases(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_object_place place = end_get(c.user, "k"), later;

	end_move(c.user, "k", 1, 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	later = end_get(c.user, "k");
	assert_int_equal(end_remove(c.user, "k", true), STATUS_OK);

	/* one ghost an id: the other copy rests for what was promised, and nobody may renew, for
	 * the master does not know who was told of which copy */
	assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_LEASE_EXPIRED);
	assert_true(seg(w, 1)->n_replicas == 1); /* its readers' promise runs on */
	assert_true(seg(w, 2)->resting_bytes >= LEN);
	assert_int_equal(end_renew(c.user, later.object_id, later.lease_id), STATUS_LEASE_EXPIRED);
	world_pass_ms(w, 6000);
	assert_int_equal(seg(w, 2)->resting_bytes, 0);
}

/* Told of two copies; both are moved away, one after the other. */
static void
move__of_both_copies_that_a_reader_knows__ends_its_lease(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *third = world_join(w, 3), *fourth = world_join(w, 4);
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
	assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_OK);
	end_move(c.user, "k", 2, 4);
	assert_int_equal(end_carry_out(fourth), STATUS_OK);

	/* the place of its second copy is to be free some time */
	assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_LEASE_EXPIRED);
	world_pass_ms(w, 6000);
	assert_int_equal(alloc_used_bytes(seg(w, 1)->alloc), 0);
	assert_int_equal(alloc_used_bytes(seg(w, 2)->alloc), 0);
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
		WORLD_TEST(move__and_removal_of_an_object_that_is_read__both_under_their_leases),
		WORLD_TEST(move__of_both_copies_that_a_reader_knows__ends_its_lease),
		WORLD_TEST(move__of_the_last_copy_to_a_full_place__keeps_the_copy),
		WORLD_TEST(query__walks_all_tasks_by_id_with_a_cursor),
		WORLD_TEST(tasks__more_than_a_worker_takes_at_once__are_carried_out_in_turn),
		WORLD_TEST(ended_tasks__are_forgotten_after_a_while__in_the_books_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
