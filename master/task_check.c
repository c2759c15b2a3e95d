/* SPDX-License-Identifier: Apache-2.0 */

/*
 * task_check.c -- the laws of tasks and jobs, asserted by counting anew.
 *
 *      task      by its id and on the list of all, always; by its object until it ends
 *      its put   one that points back, in the state that the task says, beside the object's copies
 *      job       what it counts hangs on it; a segment is drained by one job at most
 */
#include "master/job.h"
#include "master/master.h"
#include "transfer/base/num.h"

static size_t
count(const struct list *list)
{
	size_t n = 0;

	list_each(list, link)
		n++;
	return n;
}

static void
check_put(const struct master *master, const struct task *task)
{
	const struct put *put = task->put;
	const struct object *object = map_get(&master->objects, task->object_id);
	const struct replica *rep = put->object->replicas;

	assert(put->is_copy && put->task == task);
	assert(map_get(&master->puts_by_id, put->object->id) == put);
	assert(put->room_bytes == task->len_bytes);
	/* just while a segment leaves it may have lost its room */
	if (rep == NULL)
		return;
	assert(rep->segment->id == task->to_id);
	assert(rep->state ==
	       (task->state == TASK_OFFERED ? REPLICA_INITIALIZED : REPLICA_PROCESSING));
	if (object == NULL)
		return; /* gone meanwhile: found out when it is reported */
	object_each_replica(object, other)
		assert(other->segment != rep->segment);
}

static void
check_task(const struct master *master, const struct task *task)
{
	bool is_held = task->state == TASK_OFFERED || task->state == TASK_RUNNING;

	assert(map_get(&master->tasks.by_id, task->id) == task);
	assert(task->id < master->next_object_id);
	assert((map_get(&master->tasks.by_object, task->object_id) == task) ==
	       !task_has_ended(task));
	assert((task->put != NULL) == is_held);
	assert(list_link_is_on(&task->at_list) == (task->state != TASK_RUNNING));
	assert(list_link_is_on(&task->at_job) == (task->job != NULL));
	assert(implies(task_has_ended(task), task->job == NULL && task->is_stored));
	assert(implies(task->job != NULL, task->job->id == task->job_id));
	assert(task->tries <= TASK_TRIES_MAX);
	if (is_held)
		check_put(master, task);
}

/* The master's own are forgotten when they end. */
static void
count_own(const struct task *task, struct offload *own)
{
	if (!task->is_own)
		return;
	assert(!task_has_ended(task) && task->job == NULL && !task->is_stored);
	own->n_promotions += task->kind == TASK_COPY;
	own->n_offloads += task->kind == TASK_MOVE;
	if (task->kind == TASK_MOVE)
		own->bytes += num_align_up(task->len_bytes, (uint64_t)ALLOC_GRAIN);
}

static void
check_job(const struct master *master, const struct job *job, bool is_running)
{
	assert(map_get(&master->tasks.jobs, job->id) == job);
	assert((job->state == JOB_RUNNING) == is_running);
	assert(count(&job->tasks) == job->n_tasks);
	assert(job->n_tasks <= job->concurrency);
	assert(implies(!is_running, job->n_tasks == 0));
	for (uint32_t i = 0; i < job->n_segments && is_running; i++) {
		const struct segment *segment = map_get(&master->segments, job->ids[i]);

		/* a new life of it is a new segment, which nobody drains */
		assert(implies(segment != NULL && segment->n_stuck > 0, segment->drain_round > 0));
	}
}

void
task_check_offers(const struct client *client)
{
	uint64_t bytes = 0;
	uint32_t n = 0;

	list_each(&client->offers, link) {
		bytes += list_of(link, struct task, at_list)->len_bytes;
		n++;
	}
	assert(client->n_offers == n && client->offer_bytes == bytes);
	assert(n <= TASK_OFFERS_MAX);
}

void
tasks_check(const struct master *master)
{
	const struct tasks *tasks = &master->tasks;
	struct offload own = {0};
	uint64_t last_id = 0;
	size_t n = 0, n_ended = 0;

	list_each(&tasks->all, link) {
		const struct task *task = list_of(link, struct task, at_all);

		assert(task->id > last_id);
		last_id = task->id;
		check_task(master, task);
		count_own(task, &own);
		n_ended += task_has_ended(task);
		n++;
	}
	assert(own.n_offloads == master->offload.n_offloads && own.bytes == master->offload.bytes);
	assert(own.n_promotions == master->offload.n_promotions);
	assert(n == tasks->by_id.n);
	assert(n - n_ended == tasks->by_object.n);
	assert(n_ended == tasks->n_ended && count(&tasks->ended) == n_ended);
	assert(counter_get(&master->counters.tasks) == tasks->by_object.n);
	list_each(&tasks->running_jobs, link)
		check_job(master, list_of(link, struct job, at_list), true);
	list_each(&tasks->ended_jobs, link)
		check_job(master, list_of(link, struct job, at_list), false);
	assert(count(&tasks->ended_jobs) == tasks->n_ended_jobs);
	assert(count(&tasks->running_jobs) + tasks->n_ended_jobs == tasks->jobs.n);
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);
		size_t n_stuck = 0;

		list_each(&segment->replicas, at) {
			const struct replica *rep = list_of(at, struct replica, at_segment);

			n_stuck +=
				rep->stuck_round != 0 && rep->stuck_round == segment->drain_round;
		}
		assert(segment->n_stuck == n_stuck);
	}
}
