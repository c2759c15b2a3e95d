/* SPDX-License-Identifier: Apache-2.0 */

/*
 * task_plan.c -- from a wish to room and a worker.
 *
 *      no room             the longest unused go, if the place is the master's choice; again later
 *      no segment left     a drain lets this copy go, when the object has another; else again later
 *      no worker           again later
 *      worker has enough   waits
 *      read where it was   waits, after GHOSTS_MAX moves
 */
#include <errno.h>

#include "master/books.h"
#include "master/ghost.h"
#include "master/job.h"
#include "master/place.h"
#include "master/shortage.h"
#include "master/task.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define PLANS_A_SWEEP  1024
#define BUSY_A_SWEEP   64     /* whose workers have enough to do */
#define PLANS_A_LOOK   16     /* and then the clock is looked at: */
#define PLAN_NS        500000 /* hardly longer than that a sweep */
#define FORGET_A_SWEEP 64
#define EVICT_STEPS    64

static struct copy_wish
wish_of(const struct task *task, const struct object *object)
{
	struct copy_wish wish = {.of = object, .from_id = task->from_id, .medium = task->medium};

	if (task->wished_to_id != 0) {
		wish.only = &task->wished_to_id;
		wish.n_only = 1;
	} else if (task->job != NULL) {
		wish.only = task->job->ids + task->job->n_segments;
		wish.n_only = task->job->n_targets;
	}
	return wish;
}

static void
offer(struct task *task, struct put *put)
{
	task->put = put;
	task->to_id = put->object->replicas->segment->id;
	task->state = TASK_OFFERED;
	list_remove(&task->at_list);
	list_push_back(&put->client->offers, &task->at_list);
	put->client->n_offers++;
	put->client->offer_bytes += task->len_bytes;
}

/* What rests comes free soon; only what is missing beyond it is evicted. */
static void
make_room(struct master *master, uint64_t bytes)
{
	uint64_t wanted = num_add_sat(bytes, bytes / 4);
	uint64_t coming;

	(void)shortage_resting(master, place_home(master, POOL_MEMORY), &coming);
	if (wanted > coming)
		(void)evict_bytes(master, wanted - coming, EVICT_STEPS);
	store_want_sync(master->store);
}

static bool
has_other(const struct object *object, const struct replica *but)
{
	object_each_replica(object, rep)
		if (rep != but && rep->state == REPLICA_COMPLETE &&
		    segment_is_placeable(rep->segment))
			return true;
	return false;
}

/* A drain of an object that lies everywhere else already: it has one copy less.  false: no memory.
 */
static bool
let_go(struct master *master, struct task *task, struct object *object, struct replica *from)
{
	struct books_mark mark = books_mark(master);
	struct record gone = {.kind = RECORD_REPLICA_REMOVE,
			      .object_id = object->id,
			      .segment_id = from->segment->id};
	int r = books_journal(master, &gone);

	if (r == 0)
		r = task_end(master, task, TASK_DONE, STATUS_OK);
	if (r < 0) {
		books_rewind(master, mark);
		return false;
	}
	books_part(master, object, from, /* is_moved= */ false);
	return true;
}

static uint32_t
reason_of(int r)
{
	switch (r) {
	case PUT_E_FULL:
		return STATUS_NO_SPACE;
	case PUT_E_NO_SEGMENT:
		return STATUS_NO_SEGMENT;
	case PUT_E_NO_WORKER:
		return STATUS_NO_WORKER;
	default:
		return STATUS_UNAVAILABLE;
	}
}

/* It waits at the end of the list, or has left it.  Gives whether its worker has enough to do. */
static bool
plan_one(struct master *master, struct task *task)
{
	struct object *object = map_get(&master->objects, task->object_id);
	struct replica *from = object == NULL ? NULL : object_copy_on(object, task->from_id);
	struct copy_wish wish;
	struct put *put;
	int r;

	if (object == NULL || (task->kind == TASK_MOVE && from == NULL)) {
		task_pointless(master, task, object == NULL ? STATUS_NOT_FOUND : STATUS_NO_COPY);
		return false;
	}
	if (task->kind == TASK_COPY &&
	    !tenant_has_room(object->tenant, num_align_up(object->len_bytes, ALLOC_GRAIN))) {
		task_retry(master, task, STATUS_QUOTA_EXCEEDED);
		return false;
	}
	if (task->kind == TASK_MOVE && !ghost_has_room(master, object))
		return false; /* it has moved often under those who read it: not before some are
				 done */
	if (!object_is_readable(object)) {
		task_retry(master, task, STATUS_NOT_COMPLETE);
		return false;
	}
	wish = wish_of(task, object);
	r = put_open_copy(master, task, &wish, &put);
	if (r == 0) {
		offer(task, put);
		return false;
	}
	if (r == PUT_E_BUSY)
		return true;
	if (r == PUT_E_NO_SEGMENT && task->job != NULL && has_other(object, from) &&
	    let_go(master, task, object, from))
		return false;
	if (r == PUT_E_FULL && task->is_own && task->kind == TASK_MOVE)
		(void)evict_disks(master, object->len_bytes);
	else if (r == PUT_E_FULL && wish.n_only == 0 && !task->is_own)
		make_room(master, object->len_bytes);
	task_retry(master, task, reason_of(r));
	return false;
}

void
task_plan(struct master *master, unsigned max_steps)
{
	struct list *waiting = &master->tasks.waiting;
	const struct list_link *last = list_last(waiting);
	uint64_t end_ns = clock_ns(master->clock) + PLAN_NS;
	unsigned n_busy = 0;

	if (master->progress.is_stalled || master->progress.is_full)
		return;
	for (bool is_last = last == NULL; !is_last && max_steps > 0; max_steps--) {
		struct list_link *link = list_first(waiting);
		struct task *task;

		if (link == NULL ||
		    (max_steps % PLANS_A_LOOK == 0 && clock_ns(master->clock) >= end_ns))
			return;
		task = list_of(link, struct task, at_list);
		is_last = link == last;
		list_remove(link);
		list_push_back(waiting, link);
		if (task->retry_at_ms <= master->now_ms && plan_one(master, task) &&
		    ++n_busy == BUSY_A_SWEEP)
			return;
	}
}

void
tasks_sweep(struct master *master)
{
	if (master->progress.is_stalled)
		return;
	list_each_safe(&master->tasks.running_jobs, link)
		job_step(master, list_of(link, struct job, at_list));
	task_plan(master, PLANS_A_SWEEP);
	tasks_forget(master, FORGET_A_SWEEP);
	jobs_forget(master, FORGET_A_SWEEP);
}
