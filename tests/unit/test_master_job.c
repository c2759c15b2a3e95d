/* SPDX-License-Identifier: Apache-2.0 */

/* Drain: what lies in a segment moves elsewhere, a bounded number at once; then it is DRAINED. */
#include "tests/unit/master_works.h"

static uint32_t
end_drain(struct end *end, uint64_t segment_id, uint8_t flags, uint64_t *ret_job_id)
{
	struct rec_id id = {segment_id};
	struct rep_drain rep = {0};
	uint32_t status = ASK(end, drain, &rep, .flags = flags, .concurrency = 4, .n_segments = 1,
			      .segments = &id);

	*ret_job_id = rep.job_id;
	return status;
}

static struct rec_job_state
end_job(struct end *end, uint64_t job_id)
{
	struct rec_id id = {job_id};
	struct rep_query_job rep = {0};

	assert_int_equal(ASK(end, query_job, &rep, .n_jobs = 1, .jobs = &id), STATUS_OK);
	return rep.jobs[0];
}

static uint8_t
end_segment_state(struct end *end, uint64_t segment_id)
{
	struct rec_id id = {segment_id};
	struct rep_query_segment rep = {0};

	assert_int_equal(ASK(end, query_segment, &rep, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	return rep.segments[0].state;
}

/* n objects on segment 1, k0.. */
static void
put_many(struct cast *c, unsigned n)
{
	struct rec_id to = {1};
	char key[16];

	for (unsigned i = 0; i < n; i++) {
		struct rec_put put = {.len_bytes = LEN};
		struct rep_put_start rep = {0};

		put.key = span_of(key, (size_t)snprintf(key, sizeof(key), "k%u", i));
		assert_int_equal(ASK(c->user, put_start, &rep, .replica_num = 1, .n_preferred = 1,
				     .preferred = &to, .n_puts = 1, .puts = &put),
				 STATUS_OK);
		assert_int_equal(end_finish(c->user, rep.places[0].object_id, LEN), STATUS_OK);
	}
}

/* The workers do what is offered, until nothing is for a while. */
static void
work_all(struct world *w, struct end *const *workers, size_t n)
{
	for (unsigned idle = 0; idle < 100;) {
		bool has_done = false;

		for (size_t i = 0; i < n; i++)
			has_done |= end_carry_out(workers[i]) == STATUS_OK;
		idle = has_done ? 0 : idle + 1;
		if (has_done)
			continue;
		world_pass_ms(w, 50);
		for (size_t i = 0; i < n && idle % 20 == 0; i++)
			end_work(workers[i]);
	}
}

static void
drain__moves_everything__and_the_segment_is_drained(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *const workers[] = {c.b};
	struct rec_job_state job;
	uint64_t job_id;

	put_many(&c, 20);
	assert_int_equal(end_drain(c.user, 1, 0, &job_id), STATUS_OK);
	assert_int_equal(end_segment_state(c.user, 1), 5);
	job = end_job(c.user, job_id);
	assert_int_equal(job.n_left, 21);
	assert_int_equal(job.n_under_way, 4);

	work_all(w, workers, 1);

	job = end_job(c.user, job_id);
	assert_int_equal(job.state, JOB_SUCCEEDED);
	assert_int_equal(job.n_done, 21);
	assert_int_equal(job.bytes_done, 21 * LEN);
	assert_int_equal(job.n_failed, 0);
	assert_int_equal(end_segment_state(c.user, 1), 6);
	assert_int_equal(seg(w, 1)->n_replicas, 0);
	assert_int_equal(seg(w, 2)->n_replicas, 21);
	assert_int_equal(end_get(c.user, "k").object_id, c.object_id);
}

static void
draining_segment__is_read_but_gets_no_new_data(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_object_place place;
	uint64_t job_id;

	end_drain(c.user, 1, 0, &job_id);
	for (int i = 0; i < 20; i++)
		assert_true(end_put(c.user, "new", LEN) != 0);
	place = end_get(c.user, "new");
	assert_int_equal(place.replicas[0].segment_id, 2);
	assert_int_equal(end_get(c.user, "k").replicas[0].segment_id, 1);
}

static void
drain__of_an_empty_segment__has_succeeded_at_once(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	uint64_t job_id;

	assert_int_equal(end_drain(c.user, 2, 0, &job_id), STATUS_OK);
	assert_int_equal(end_job(c.user, job_id).state, JOB_SUCCEEDED);
	assert_int_equal(end_segment_state(c.user, 2), 6);
}

static void
drain__asked_for_again__is_the_same_job__while_it_runs(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	uint64_t first, second;

	assert_int_equal(end_drain(c.user, 1, 0, &first), STATUS_OK);
	assert_int_equal(end_drain(c.user, 1, 0, &second), STATUS_OK);
	assert_int_equal(first, second);
}

static void
drain__that_makes_no_sense__is_refused_and_changes_nothing(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_id both[2] = {{1}, {1}}, to = {1};
	struct rep_drain rep = {0};
	uint64_t job_id;

	assert_int_equal(end_drain(c.user, 77, 0, &job_id), STATUS_SEGMENT_NOT_FOUND);
	assert_int_equal(ASK(c.user, drain, &rep), STATUS_INVALID);
	assert_int_equal(ASK(c.user, drain, &rep, .n_segments = 2, .segments = both),
			 STATUS_INVALID);
	assert_int_equal(ASK(c.user, drain, &rep, .n_segments = 1, .segments = both, .n_targets = 1,
			     .targets = &to),
			 STATUS_INVALID);
	assert_int_equal(
		ASK(c.user, drain, &rep, .n_segments = 1, .segments = both, .concurrency = 257),
		STATUS_INVALID);
	assert_int_equal(end_segment_state(c.user, 1), SEGMENT_OK);
	assert_int_equal(w->master->tasks.jobs.n, 0);
}

static void
cancel__of_a_drain__lets_new_data_in_again(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rep_cancel rep = {0};
	struct rec_id id;

	end_drain(c.user, 1, 0, &id.id);
	assert_int_equal(ASK(c.user, cancel, &rep, .n_ids = 1, .ids = &id), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
	assert_int_equal(end_job(c.user, id.id).state, JOB_CANCELLED);
	assert_int_equal(end_segment_state(c.user, 1), SEGMENT_OK);
	assert_int_equal(w->master->tasks.by_object.n, 0);
	assert_int_equal(end_get(c.user, "k").replicas[0].segment_id, 1);
}

static void
undo__of_a_drained_segment__lets_new_data_in_again(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *const workers[] = {c.b};
	uint64_t job_id;

	end_drain(c.user, 1, 0, &job_id);
	work_all(w, workers, 1);
	assert_int_equal(end_segment_state(c.user, 1), 6);
	assert_int_equal(end_drain(c.user, 1, 1, &job_id), STATUS_OK);
	assert_int_equal(end_segment_state(c.user, 1), SEGMENT_OK);
}

static void
drain__with_nowhere_to_go__fails_and_each_task_says_why(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 1), *user = world_join(w, 9);
	struct end *const workers[] = {a};
	struct rep_query_task tasks = {0};
	struct rec_job_state job;
	uint64_t job_id;

	assert_int_equal(end_mount(a, 1, 1, 8 * MIB), STATUS_OK);
	end_work(a);
	assert_true(end_put(user, "x", LEN) != 0 && end_put(user, "y", LEN) != 0);
	assert_int_equal(end_drain(user, 1, 0, &job_id), STATUS_OK);
	work_all(w, workers, 1);

	job = end_job(user, job_id);
	assert_int_equal(job.state, JOB_FAILED);
	assert_int_equal(job.n_failed, 2);
	assert_int_equal(job.reason, STATUS_NO_SEGMENT);
	assert_int_equal(ASK(user, query_task, &tasks, .job_id = job_id), STATUS_OK);
	assert_int_equal(tasks.n_tasks, 2);
	assert_int_equal(tasks.tasks[0].state, TASK_FAILED);
	assert_int_equal(tasks.tasks[0].reason, STATUS_NO_SEGMENT);
	assert_int_equal(end_segment_state(user, 1), 5);
	assert_int_equal(end_exist(user, "x"), STATUS_OK);
}

static void
drain__once_more_after_it_failed__tries_again(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 1), *b = world_join(w, 2), *user = world_join(w, 9);
	struct end *const workers[] = {a, b};
	uint64_t job_id;

	assert_int_equal(end_mount(a, 1, 1, 8 * MIB), STATUS_OK);
	end_work(a);
	assert_true(end_put(user, "x", LEN) != 0);
	assert_int_equal(end_drain(user, 1, 0, &job_id), STATUS_OK);
	work_all(w, workers, 1);
	assert_int_equal(end_job(user, job_id).state, JOB_FAILED);

	assert_int_equal(end_mount(b, 2, 1, 8 * MIB), STATUS_OK);
	end_work(b);
	assert_int_equal(end_drain(user, 1, 0, &job_id), STATUS_OK);
	work_all(w, workers, 2);
	assert_int_equal(end_job(user, job_id).state, JOB_SUCCEEDED);
	assert_int_equal(end_get(user, "x").replicas[0].segment_id, 2);
}

static void
drain__of_an_object_that_lies_everywhere__lets_one_copy_go(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *const workers[] = {c.b};
	uint64_t job_id;

	end_copy(c.user, "k", 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	end_drain(c.user, 1, 0, &job_id);
	work_all(w, workers, 1);
	assert_int_equal(end_job(c.user, job_id).state, JOB_SUCCEEDED);
	assert_int_equal(end_get(c.user, "k").n_replicas, 1);
}

static void
drain__of_an_object_with_another_copy__keeps_the_count_while_there_is_a_place(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *third = world_join(w, 3);
	struct end *const workers[] = {c.b, third};
	uint64_t job_id;

	end_copy(c.user, "k", 2);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	assert_int_equal(end_mount(third, 3, 1, 8 * MIB), STATUS_OK);
	end_work(third);
	end_drain(c.user, 1, 0, &job_id);
	work_all(w, workers, 2);
	assert_int_equal(end_job(c.user, job_id).state, JOB_SUCCEEDED);
	assert_int_equal(end_get(c.user, "k").n_replicas, 2);
	assert_int_equal(seg(w, 3)->n_replicas, 1);
}

static void
drain__waits_for_a_put_under_way_and_for_readers(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *const workers[] = {c.b};
	struct rec_id to = {1};
	struct rec_put put = {span_of("late", 4), LEN};
	struct rep_put_start started = {0};
	struct rec_object_place place;
	uint64_t job_id, put_id;

	assert_int_equal(ASK(c.user, put_start, &started, .replica_num = 1, .n_preferred = 1,
			     .preferred = &to, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	put_id = started.places[0].object_id;
	place = end_get(c.user, "k");
	end_drain(c.user, 1, 0, &job_id);
	for (int i = 0; i < 5; i++) {
		(void)end_carry_out(c.b);
		world_pass_ms(w, 1000);
		end_work(c.b);
		assert_int_equal(end_renew(c.user, place.object_id, place.lease_id), STATUS_OK);
	}
	assert_int_equal(end_job(c.user, job_id).state, JOB_RUNNING);
	assert_int_equal(end_job(c.user, job_id).n_left, 2);

	assert_int_equal(end_finish(c.user, put_id, LEN), STATUS_OK);
	assert_int_equal(end_release(c.user, place.object_id, place.lease_id), STATUS_OK);
	work_all(w, workers, 1);
	assert_int_equal(end_job(c.user, job_id).state, JOB_SUCCEEDED);
	assert_int_equal(end_get(c.user, "late").replicas[0].segment_id, 2);
}

static void
drain__goes_on_after_a_restart_of_the_master(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *a, *b, *user;
	struct end *workers[1];
	uint64_t job_id;

	put_many(&c, 10);
	end_drain(c.user, 1, 0, &job_id);
	for (int i = 0; i < 3; i++)
		assert_int_equal(end_carry_out(c.b), STATUS_OK);
	world_close(w);
	assert_int_equal(world_open(w), 0);

	user = world_join(w, 9);
	a = world_join(w, 1);
	workers[0] = b = world_join(w, 2);
	assert_int_equal(end_mount(a, 1, 1, 8 * MIB), STATUS_OK);
	assert_int_equal(end_mount(b, 2, 1, 8 * MIB), STATUS_OK);
	end_work(a);
	assert_int_equal(end_job(user, job_id).state, JOB_RUNNING);
	assert_int_equal(end_job(user, job_id).n_done, 3);
	assert_int_equal(end_segment_state(user, 1), 5);
	for (int i = 0; i < 4; i++) {
		end_work(a);
		end_work(b);
		end_ping(user);
		work_all(w, workers, 1);
	}
	assert_int_equal(end_job(user, job_id).state, JOB_SUCCEEDED);
	assert_int_equal(end_job(user, job_id).n_done, 11);

	world_close(w);
	assert_int_equal(world_open(w), 0);
	assert_int_equal(seg(w, 1)->drain, DRAIN_DRAINED);
}

static void
drain__to_named_targets__goes_nowhere_else(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct end *third = world_join(w, 3);
	struct end *const workers[] = {c.b, third};
	struct rec_id from = {1}, to = {3};
	struct rep_drain rep = {0};

	put_many(&c, 10);
	assert_int_equal(end_mount(third, 3, 1, 8 * MIB), STATUS_OK);
	end_work(third);
	assert_int_equal(ASK(c.user, drain, &rep, .n_segments = 1, .segments = &from,
			     .n_targets = 1, .targets = &to),
			 STATUS_OK);
	work_all(w, workers, 2);
	assert_int_equal(end_job(c.user, rep.job_id).state, JOB_SUCCEEDED);
	assert_int_equal(seg(w, 3)->n_replicas, 11);
	assert_int_equal(seg(w, 2)->n_replicas, 0);
}

static void
drained_segment__that_leaves__ends_its_job(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	struct rec_id id = {1};
	struct rep_unmount_segment gone = {0};
	uint64_t job_id;

	end_drain(c.user, 1, 0, &job_id);
	assert_int_equal(ASK(c.a, unmount_segment, &gone, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	for (int i = 0; i < 20; i++) {
		world_pass_ms(w, 1000);
		end_ping(c.user);
	}
	assert_int_equal(end_job(c.user, job_id).state, JOB_SUCCEEDED);
	assert_int_equal(end_job(c.user, job_id).n_done, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(drain__moves_everything__and_the_segment_is_drained),
		WORLD_TEST(draining_segment__is_read_but_gets_no_new_data),
		WORLD_TEST(drain__of_an_empty_segment__has_succeeded_at_once),
		WORLD_TEST(drain__asked_for_again__is_the_same_job__while_it_runs),
		WORLD_TEST(drain__that_makes_no_sense__is_refused_and_changes_nothing),
		WORLD_TEST(cancel__of_a_drain__lets_new_data_in_again),
		WORLD_TEST(undo__of_a_drained_segment__lets_new_data_in_again),
		WORLD_TEST(drain__with_nowhere_to_go__fails_and_each_task_says_why),
		WORLD_TEST(drain__once_more_after_it_failed__tries_again),
		WORLD_TEST(drain__of_an_object_that_lies_everywhere__lets_one_copy_go),
		WORLD_TEST(
			drain__of_an_object_with_another_copy__keeps_the_count_while_there_is_a_place),
		WORLD_TEST(drain__waits_for_a_put_under_way_and_for_readers),
		WORLD_TEST(drain__goes_on_after_a_restart_of_the_master),
		WORLD_TEST(drain__to_named_targets__goes_nowhere_else),
		WORLD_TEST(drained_segment__that_leaves__ends_its_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
