/* SPDX-License-Identifier: Apache-2.0 */

/*
 * master_works.h -- a master with two providers that carry out tasks, by the test's own hand.
 *
 *      struct cast c = cast_of(w);         segments 1 and 2 of the providers a and b; object "k" on
 * 1 end_copy(c.user, "k", 2);           a wish end_carry_out(c.b);                 what a worker
 * does, without the bytes
 */
#ifndef TESTS_UNIT_MASTER_WORKS_H
#define TESTS_UNIT_MASTER_WORKS_H

#include "tests/unit/master_world.h"

#include "master/job.h"

#define LEN 5000u

static inline void
end_work(struct end *end)
{
	struct rep_ping rep = {0};

	assert_int_equal(
		ASK(end, ping, &rep, .now_ms = clock_ms(&end->world->clock.base), .has_worker = 1),
		STATUS_OK);
}

/* Two providers, 1 and 2, of one segment each, with the same number; a client 9 with an object. */
struct cast {
	struct end *a, *b, *user;
	uint64_t object_id;
};

static inline struct cast
cast_of(struct world *w)
{
	struct cast c = {world_join(w, 1), world_join(w, 2), world_join(w, 9), 0};

	assert_int_equal(end_mount(c.a, 1, 1, 8 * MIB), STATUS_OK);
	c.object_id = end_put(c.user, "k", LEN);
	assert_true(c.object_id != 0);
	assert_int_equal(end_mount(c.b, 2, 1, 8 * MIB), STATUS_OK);
	end_work(c.a);
	end_work(c.b);
	return c;
}

static inline struct rec_task_fate
end_copy(struct end *end, const char *key, uint64_t to_id)
{
	struct rec_copy_wish wish = {span_of(key, strlen(key)), to_id};
	struct rep_copy rep = {0};
	uint32_t status = ASK(end, copy, &rep, .n_copies = 1, .copies = &wish);

	return status == STATUS_OK ? rep.fates[0] : (struct rec_task_fate){status, 0};
}

static inline struct rec_task_fate
end_move(struct end *end, const char *key, uint64_t from_id, uint64_t to_id)
{
	struct rec_move_wish wish = {span_of(key, strlen(key)), from_id, to_id};
	struct rep_move rep = {0};
	uint32_t status = ASK(end, move, &rep, .n_moves = 1, .moves = &wish);

	return status == STATUS_OK ? rep.fates[0] : (struct rec_task_fate){status, 0};
}

static inline struct rec_task_state
end_task(struct end *end, uint64_t id)
{
	struct rec_id one = {id};
	struct rep_query_task rep = {0};

	assert_int_equal(ASK(end, query_task, &rep, .n_tasks = 1, .tasks = &one), STATUS_OK);
	return rep.tasks[0];
}

/* The works it got; they live until the end's next answer. */
static inline struct rep_fetch_tasks
end_fetch(struct end *end)
{
	struct rep_fetch_tasks rep = {0};

	assert_int_equal(ASK(end, fetch_tasks, &rep, .most = 1), STATUS_OK);
	return rep;
}

static inline uint32_t
end_report(struct end *end, uint64_t task_id, uint64_t put_id, uint32_t status)
{
	struct rec_work_done done = {task_id, put_id, status, 1, 0};
	struct rep_report_task rep = {0};
	uint32_t r = ASK(end, report_task, &rep, .n_works = 1, .works = &done);

	return r == STATUS_OK ? rep.fates[0].status : r;
}

/* As a worker should: fetch one, give the lease back, report. */
static inline uint32_t
end_carry_out(struct end *end)
{
	struct rep_fetch_tasks rep = end_fetch(end);
	uint64_t task_id, put_id, object_id;
	uint32_t lease_id;

	if (rep.n_works == 0)
		return NO_ANSWER;
	task_id = rep.works[0].task_id;
	put_id = rep.works[0].to[0].object_id;
	object_id = rep.works[0].from[0].object_id;
	lease_id = rep.works[0].from[0].lease_id;
	assert_int_equal(end_release(end, object_id, lease_id), STATUS_OK);
	return end_report(end, task_id, put_id, STATUS_OK);
}

static inline const struct segment *
seg(struct world *w, uint64_t id)
{
	return segment_find(w->master, id);
}

#endif
