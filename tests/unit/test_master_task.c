/* SPDX-License-Identifier: Apache-2.0 */

/* Copies and moves: planned, fetched, reported, durable; and everything that goes wrong on the way.
 */
#include "tests/unit/master_works.h"

/* ---- copy ---- */

static void
copy__is_offered_to_the_provider_of_its_target__and_the_ping_says_so(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct rep_ping ping = {0};

	assert_int_equal(fate.status, STATUS_OK);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_OFFERED);
	assert_int_equal(ASK(c.b, ping, &ping, .has_worker = 1), STATUS_OK);
	assert_int_equal(ping.n_tasks, 1);
	assert_int_equal(ASK(c.a, ping, &ping, .has_worker = 1), STATUS_OK);
	assert_int_equal(ping.n_tasks, 0);
}

static void
fetch__tells_where_to_read_and_where_to_write__once(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct rep_fetch_tasks rep = end_fetch(c.b);
	const struct rec_work *work;

	assert_int_equal(rep.n_works, 1);
	work = &rep.works[0];
	assert_int_equal(work->task_id, fate.task_id);
	assert_memory_equal(work->key.at, "k", 1);
	assert_int_equal(work->from[0].object_id, c.object_id);
	assert_int_equal(work->from[0].len_bytes, LEN);
	assert_int_equal(work->from[0].n_replicas, 1);
	assert_int_equal(work->from[0].replicas[0].segment_id, 1);
	assert_int_equal(work->to[0].n_replicas, 1);
	assert_int_equal(work->to[0].replicas[0].segment_id, 2);
	assert_int_equal(work->to[0].replicas[0].grants[0].len_bytes, LEN);
	assert_int_equal(end_fetch(c.b).n_works, 0);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_RUNNING);
}

static void
copy__reported__is_one_more_copy_for_readers(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct rec_object_place place;

	assert_int_equal(end_get(c.user, "k").n_replicas, 1);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);

	place = end_get(c.user, "k");
	assert_int_equal(place.n_replicas, 2);
	assert_int_equal(place.object_id, c.object_id);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_DONE);
	assert_int_equal(counter_get(&w->master->counters.object_bytes), 2 * LEN);
}

static void
copy__that_landed__survives_the_restart_of_the_master(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct end *user;

	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	world_close(w);
	assert_int_equal(world_open(w), 0);

	assert_int_equal(seg(w, 1)->n_replicas, 1);
	assert_int_equal(seg(w, 2)->n_replicas, 1);
	user = world_join(w, 9);
	assert_int_equal(end_task(user, fate.task_id).state, TASK_DONE);
}

static void
report__is_answered_only_when_the_copy_is_in_the_books(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_work_done done = {.is_quiet = 1};
	struct rep_fetch_tasks rep;
	uint64_t id;

	end_copy(c.user, "k", 2);
	rep = end_fetch(c.b);
	done.task_id = rep.works[0].task_id;
	done.put_id = rep.works[0].to[0].object_id;

	id = SEND(c.b, report_task, .n_works = 1, .works = &done);
	world_turn_alone(w);
	assert_int_equal(end_status(c.b, id), NO_ANSWER);
	world_turn(w);
	assert_int_equal(end_status(c.b, id), STATUS_OK);
}

static void
report__repeated__is_ok_and_adds_nothing(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rep_fetch_tasks rep;
	uint64_t task_id, put_id;

	end_copy(c.user, "k", 2);
	rep = end_fetch(c.b);
	task_id = rep.works[0].task_id;
	put_id = rep.works[0].to[0].object_id;
	assert_int_equal(end_report(c.b, task_id, put_id, STATUS_OK), STATUS_OK);

	assert_int_equal(end_report(c.b, task_id, put_id, STATUS_OK), STATUS_OK);
	assert_int_equal(seg(w, 2)->n_replicas, 1);
}

static void
report__of_somebody_else__or_of_a_try_that_is_over__changes_nothing(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rep_fetch_tasks rep;
	uint64_t task_id, put_id;

	end_copy(c.user, "k", 2);
	rep = end_fetch(c.b);
	task_id = rep.works[0].task_id;
	put_id = rep.works[0].to[0].object_id;

	assert_int_equal(end_report(c.a, task_id, put_id, STATUS_OK), STATUS_NOT_YOURS);
	assert_int_equal(end_report(c.b, task_id, put_id + 1, STATUS_OK), STATUS_NOT_FOUND);
	assert_int_equal(end_report(c.b, task_id + 99, put_id, STATUS_OK), STATUS_TASK_NOT_FOUND);
	assert_int_equal(end_get(c.user, "k").n_replicas, 1);
}

static void
report__with_the_wrong_sum__is_no_copy__and_is_tried_again(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_put put = {span_of("sum", 3), LEN};
	struct rec_put_done done = {.len_bytes = LEN, .has_crc = 1, .crc = 77};
	struct rec_work_done bad = {.is_quiet = 1, .crc = 78};
	struct rec_id to = {1};
	struct rep_put_start started = {0};
	struct rep_put_end ended = {0};
	struct rep_report_task rep = {0};
	struct rep_fetch_tasks works;
	struct rec_task_fate fate;

	assert_int_equal(ASK(c.user, put_start, &started, .replica_num = 1, .n_puts = 1,
			     .puts = &put, .n_preferred = 1, .preferred = &to),
			 STATUS_OK);
	done.object_id = started.places[0].object_id;
	assert_int_equal(ASK(c.user, put_end, &ended, .n_puts = 1, .puts = &done), STATUS_OK);
	fate = end_copy(c.user, "sum", 2);
	works = end_fetch(c.b);
	bad.task_id = works.works[0].task_id;
	bad.put_id = works.works[0].to[0].object_id;

	assert_int_equal(ASK(c.b, report_task, &rep, .n_works = 1, .works = &bad), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_BAD_CHECKSUM);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_WAITING);
	assert_int_equal(end_task(c.user, fate.task_id).reason, STATUS_BAD_CHECKSUM);
	assert_int_equal(seg(w, 2)->n_replicas, 0);
	world_pass_ms(w, 1000);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_OFFERED);
}

static void
copy__asked_for_again__is_the_same_task__another_wish_is_busy(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);

	assert_int_equal(end_copy(c.user, "k", 2).task_id, fate.task_id);
	assert_int_equal(end_copy(c.user, "k", 0).status, STATUS_TASK_BUSY);
	assert_int_equal(end_move(c.user, "k", 1, 2).status, STATUS_TASK_BUSY);
}

static void
copy__that_makes_no_sense__is_refused(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);

	assert_true(end_put(c.user, "empty", 0) != 0);
	assert_int_equal(end_copy(c.user, "nobody", 2).status, STATUS_NOT_FOUND);
	assert_int_equal(end_copy(c.user, "k", 1).status, STATUS_EXISTS);
	assert_int_equal(end_copy(c.user, "k", 77).status, STATUS_SEGMENT_NOT_FOUND);
	assert_int_equal(end_copy(c.user, "empty", 2).status, STATUS_NO_COPY);
	assert_int_equal(end_move(c.user, "k", 2, 0).status, STATUS_NO_COPY);
	assert_int_equal(w->master->tasks.by_id.n, 0);
}

static void
put_end__of_a_tasks_put__is_refused(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rep_put_extend extended = {0};
	uint64_t put_id;

	end_copy(c.user, "k", 2);
	put_id = end_fetch(c.b).works[0].to[0].object_id;

	assert_int_equal(end_finish(c.b, put_id, LEN), STATUS_INVALID);
	assert_int_equal(ASK(c.b, put_extend, &extended, .object_id = put_id, .more_bytes = 1),
			 STATUS_INVALID);
	assert_int_equal(ASK(c.b, put_extend, &extended, .object_id = put_id), STATUS_OK);
	assert_int_equal(end_get(c.user, "k").object_id, c.object_id);
}

/* ---- what goes wrong ---- */

static void
task__that_nobody_fetches__frees_its_room_at_once_and_is_offered_again(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);

	for (int i = 0; i < 31; i++) {
		world_pass_ms(w, 1000);
		end_work(c.a);
		end_work(c.b);
		end_ping(c.user);
	}
	assert_int_equal(seg(w, 2)->resting_bytes, 0);
	assert_int_equal(end_task(c.user, fate.task_id).tries, 1);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_OFFERED);
	/* the other side is asked: it pushes */
	assert_int_equal(end_task(c.user, fate.task_id).client_id, 1);
}

static void
worker__that_is_lost_while_it_writes__is_fenced_and_the_task_waits(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);

	assert_int_equal(end_fetch(c.b).n_works, 1);
	end_hang_up(c.b);
	for (int i = 0; i < 12; i++) {
		world_pass_ms(w, 1000);
		end_work(c.a);
		end_ping(c.user);
	}
	/* its write lease is not over, but its segment is suspect */
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_RUNNING);
	for (int i = 0; i < 60; i++) {
		world_pass_ms(w, 1000);
		end_work(c.a);
		end_ping(c.user);
	}
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_FAILED);
	assert_int_equal(end_get(c.user, "k").n_replicas, 1);
}

static void
worker__that_lets_its_lease_run_out__leaves_its_room_at_a_gate(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct rep_fetch_tasks rep = end_fetch(c.b);
	uint64_t put_id = rep.works[0].to[0].object_id;

	for (int i = 0; i < 31; i++) {
		struct rep_ping ping;

		world_pass_ms(w, 1000);
		end_work(c.a);
		/* it pings, but carries out no fence */
		assert_int_equal(ASK(c.b, ping, &ping, .has_worker = 1), STATUS_OK);
		end_ping(c.user);
	}
	assert_true(seg(w, 2)->resting_bytes >= LEN);
	assert_int_equal(end_report(c.b, fate.task_id, put_id, STATUS_OK), STATUS_NOT_FOUND);
	assert_int_equal(end_get(c.user, "k").n_replicas, 1);
}

static void
object__removed_while_it_is_copied__ends_the_task(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct rep_fetch_tasks rep = end_fetch(c.b);
	uint64_t put_id = rep.works[0].to[0].object_id;

	assert_int_equal(end_remove(c.user, "k", false), STATUS_HAS_LEASE);
	assert_int_equal(end_remove(c.user, "k", true), STATUS_OK);
	assert_int_equal(end_report(c.b, fate.task_id, put_id, STATUS_OK), STATUS_NOT_FOUND);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_FAILED);
	assert_int_equal(seg(w, 2)->n_replicas, 0);
}

static void
object__replaced_before_the_task_is_fetched__is_not_copied(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);

	assert_true(end_put(c.user, "k", 100) != 0);
	assert_int_equal(end_fetch(c.b).n_works, 0);
	world_pass_ms(w, 5000);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_FAILED);
	assert_int_equal(end_task(c.user, fate.task_id).reason, STATUS_NOT_FOUND);
}

static void
object__renamed_while_it_is_copied__gets_its_copy(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_rename_pair pair = {span_of("k", 1), span_of("a/much/longer/key", 17)};
	struct rep_rename renamed;

	end_copy(c.user, "k", 2);
	assert_int_equal(ASK(c.user, rename, &renamed, .n_pairs = 1, .pairs = &pair), STATUS_OK);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	assert_int_equal(end_get(c.user, "a/much/longer/key").n_replicas, 2);
}

/* The books may have cleared it away by now: it is not saved by a copy that comes that late. */
static void
copy__of_an_object_that_is_given_up__is_too_late(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	uint64_t put_id = end_fetch(c.b).works[0].to[0].object_id;

	segment_leave(w->master, segment_find(w->master, 1));
	clock_fake_advance_ms(&w->clock, 1);
	world_turn_alone(w); /* now it stands in the journal */
	assert_non_null(map_get(&w->master->objects, c.object_id));
	assert_int_equal(end_report(c.b, fate.task_id, put_id, STATUS_OK), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(c.user, "k"), STATUS_NOT_FOUND);
}

static void
target__that_leaves__fails_the_try_and_a_free_choice_finds_another(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *third = world_join(w, 3);
	struct rec_task_fate fate = end_copy(c.user, "k", 0);
	struct rec_id id = {2};
	struct rep_unmount_segment gone = {0};

	assert_int_equal(end_task(c.user, fate.task_id).to_id, 2);
	assert_int_equal(end_fetch(c.b).n_works, 1);
	assert_int_equal(end_mount(third, 3, 1, 8 * MIB), STATUS_OK);
	end_work(third);
	assert_int_equal(ASK(c.b, unmount_segment, &gone, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	world_pass_ms(w, 1000);

	assert_int_equal(end_task(c.user, fate.task_id).to_id, 3);
	assert_int_equal(end_carry_out(third), STATUS_OK);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_DONE);
}

static void
target__without_room__is_tried_a_few_times_then_the_task_says_why(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *small = world_join(w, 3);
	struct rec_task_fate fate;

	assert_true(end_put(c.user, "big", 4 * MIB) != 0);
	assert_int_equal(end_mount(small, 3, 1, 1 * MIB), STATUS_OK);
	end_work(small);
	fate = end_copy(c.user, "big", 3);
	assert_int_equal(fate.status, STATUS_OK);
	world_pass_ms(w, 5000);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_FAILED);
	assert_int_equal(end_task(c.user, fate.task_id).reason, STATUS_NO_SPACE);
	assert_int_equal(end_task(c.user, fate.task_id).tries, TASK_TRIES_MAX);
}

static void
segments__whose_providers_carry_out_nothing__fail_the_task(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate;

	end_ping(c.a);
	end_ping(c.b);
	fate = end_copy(c.user, "k", 2);
	world_pass_ms(w, 5000);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_FAILED);
	assert_int_equal(end_task(c.user, fate.task_id).reason, STATUS_NO_WORKER);
}

static void
target__whose_provider_has_no_worker__is_pushed_to_by_the_source(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);

	end_ping(c.b);
	end_copy(c.user, "k", 2);
	assert_int_equal(end_carry_out(c.a), STATUS_OK);
	assert_int_equal(end_get(c.user, "k").n_replicas, 2);
}

static void
cancel__frees_the_room_of_an_offer_at_once(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct rec_id id = {fate.task_id};
	struct rep_cancel rep = {0};

	assert_int_equal(ASK(c.user, cancel, &rep, .n_ids = 1, .ids = &id), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
	assert_int_equal(end_task(c.user, fate.task_id).state, TASK_CANCELLED);
	assert_int_equal(segment_used_bytes(seg(w, 2)), 0);
	assert_int_equal(seg(w, 2)->resting_bytes, 0);
	id.id = 123456;
	assert_int_equal(ASK(c.user, cancel, &rep, .n_ids = 1, .ids = &id), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_TASK_NOT_FOUND);
}

static void
cancel__of_a_running_task__rests_for_the_fence__and_its_report_comes_too_late(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct rep_fetch_tasks works = end_fetch(c.b);
	uint64_t put_id = works.works[0].to[0].object_id;
	struct rec_id id = {fate.task_id};
	struct rep_cancel rep = {0};

	assert_int_equal(ASK(c.user, cancel, &rep, .n_ids = 1, .ids = &id), STATUS_OK);
	assert_true(seg(w, 2)->resting_bytes >= LEN);
	assert_int_equal(end_report(c.b, fate.task_id, put_id, STATUS_OK), STATUS_NOT_FOUND);
	assert_int_equal(end_get(c.user, "k").n_replicas, 1);
}

static void
task__under_way_when_the_master_ends__is_planned_anew(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_task_fate fate = end_copy(c.user, "k", 2);
	struct end *a, *b, *user;

	assert_int_equal(end_fetch(c.b).n_works, 1);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	user = world_join(w, 9);
	assert_int_equal(end_task(user, fate.task_id).state, TASK_WAITING);
	a = world_join(w, 1);
	b = world_join(w, 2);
	assert_int_equal(end_mount(a, 1, 1, 8 * MIB), STATUS_OK);
	assert_int_equal(end_mount(b, 2, 1, 8 * MIB), STATUS_OK);
	end_work(a);
	end_work(b);
	for (int i = 0; i < 12; i++) { /* the gap of the open chunk rests for a while */
		world_pass_ms(w, 1000);
		end_work(a);
		end_work(b);
		end_ping(user);
	}
	if (end_task(user, fate.task_id).state == TASK_OFFERED)
		assert_int_equal(end_carry_out(b), STATUS_OK);
	assert_int_equal(end_task(user, fate.task_id).state, TASK_DONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(copy__is_offered_to_the_provider_of_its_target__and_the_ping_says_so),
		WORLD_TEST(fetch__tells_where_to_read_and_where_to_write__once),
		WORLD_TEST(copy__reported__is_one_more_copy_for_readers),
		WORLD_TEST(copy__that_landed__survives_the_restart_of_the_master),
		WORLD_TEST(report__is_answered_only_when_the_copy_is_in_the_books),
		WORLD_TEST(report__repeated__is_ok_and_adds_nothing),
		WORLD_TEST(report__of_somebody_else__or_of_a_try_that_is_over__changes_nothing),
		WORLD_TEST(report__with_the_wrong_sum__is_no_copy__and_is_tried_again),
		WORLD_TEST(copy__asked_for_again__is_the_same_task__another_wish_is_busy),
		WORLD_TEST(copy__that_makes_no_sense__is_refused),
		WORLD_TEST(put_end__of_a_tasks_put__is_refused),
		WORLD_TEST(task__that_nobody_fetches__frees_its_room_at_once_and_is_offered_again),
		WORLD_TEST(worker__that_is_lost_while_it_writes__is_fenced_and_the_task_waits),
		WORLD_TEST(worker__that_lets_its_lease_run_out__leaves_its_room_at_a_gate),
		WORLD_TEST(object__removed_while_it_is_copied__ends_the_task),
		WORLD_TEST(object__replaced_before_the_task_is_fetched__is_not_copied),
		WORLD_TEST(object__renamed_while_it_is_copied__gets_its_copy),
		WORLD_TEST(copy__of_an_object_that_is_given_up__is_too_late),
		WORLD_TEST(target__that_leaves__fails_the_try_and_a_free_choice_finds_another),
		WORLD_TEST(target__without_room__is_tried_a_few_times_then_the_task_says_why),
		WORLD_TEST(segments__whose_providers_carry_out_nothing__fail_the_task),
		WORLD_TEST(target__whose_provider_has_no_worker__is_pushed_to_by_the_source),
		WORLD_TEST(cancel__frees_the_room_of_an_offer_at_once),
		WORLD_TEST(
			cancel__of_a_running_task__rests_for_the_fence__and_its_report_comes_too_late),
		WORLD_TEST(task__under_way_when_the_master_ends__is_planned_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
