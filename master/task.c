/* SPDX-License-Identifier: Apache-2.0 */
#include "master/task.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "master/books.h"
#include "master/job.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

void
tasks_init(struct tasks *tasks)
{
	*tasks = (struct tasks){0};
	map_init(&tasks->by_id);
	map_init(&tasks->by_object);
	map_init(&tasks->jobs);
	list_init(&tasks->all);
	list_init(&tasks->waiting);
	list_init(&tasks->ended);
	list_init(&tasks->running_jobs);
	list_init(&tasks->ended_jobs);
}

static void
free_jobs(struct tasks *tasks, struct list *jobs)
{
	list_each_safe(jobs, link)
		job_forget(tasks, list_of(link, struct job, at_list));
}

void
tasks_fini(struct tasks *tasks)
{
	size_t at = 0;
	uint64_t id;
	void *value;

	while (map_next(&tasks->by_id, &at, &id, &value)) {
		struct task *task = value;

		assert(task->put == NULL);
		list_remove(&task->at_list);
		list_remove(&task->at_job);
		list_remove(&task->at_all);
		free(task);
	}
	free_jobs(tasks, &tasks->running_jobs);
	free_jobs(tasks, &tasks->ended_jobs);
	map_fini(&tasks->by_id);
	map_fini(&tasks->by_object);
	map_fini(&tasks->jobs);
}

struct task *
task_find(const struct master *master, uint64_t id)
{
	return id == 0 ? NULL : map_get(&master->tasks.by_id, id);
}

struct task_row
task_row(const struct task *task)
{
	return (struct task_row){
		.task_id = task->id,
		.job_id = task->job_id,
		.object_id = task->object_id,
		.len_bytes = task->len_bytes,
		.from_id = task->from_id,
		.to_id = task_has_ended(task) ? task->to_id : task->wished_to_id,
		.made_at_ms = task->made_at_ms,
		.ended_at_ms = task->ended_at_ms,
		.reason = task->reason,
		.kind = task->kind,
		.state = task->state,
		.tries = task->tries,
	};
}

static int
journal_task(struct master *master, const struct task *task)
{
	struct task_row row = task_row(task);
	struct record record = {
		.kind = RECORD_TASK_SET, .task = &row, .key = task->key, .key_len = task->key_len};

	return books_journal(master, &record);
}

static int
journal_job(struct master *master, const struct job *job)
{
	struct job_row row;
	struct record record = {.kind = RECORD_JOB_SET, .job = &row};

	job_row(job, /* with_segments= */ false, &row);
	return books_journal(master, &record);
}

/* ---- making ---- */

static uint32_t
judge(const struct master *master, const struct task_wish *wish)
{
	const struct segment *to = segment_find(master, wish->to_id);

	if (wish->object->n_replicas == 0)
		return STATUS_NO_COPY;
	if (wish->kind == TASK_MOVE && object_copy_on(wish->object, wish->from_id) == NULL)
		return STATUS_NO_COPY;
	if (wish->to_id != 0 && (to == NULL || to->state == SEGMENT_LEAVING))
		return STATUS_SEGMENT_NOT_FOUND;
	if (wish->to_id != 0 && object_copy_on(wish->object, wish->to_id) != NULL)
		return STATUS_EXISTS;
	if (to != NULL && to->drain != DRAIN_NONE)
		return STATUS_NO_SEGMENT;
	if (wish->kind == TASK_COPY && wish->object->n_replicas >= REPLICAS_MAX)
		return STATUS_TOO_MANY;
	return master->tasks.by_object.n >= TASKS_MAX ? STATUS_TOO_MANY : STATUS_OK;
}

static struct task *
task_new(uint64_t id, const uint8_t *key, size_t key_len)
{
	struct task *task = calloc(1, sizeof(*task) + key_len);

	if (task == NULL)
		return NULL;
	task->id = id;
	task->state = TASK_WAITING;
	task->key_len = (uint16_t)key_len;
	memcpy(task->key, key, key_len);
	list_link_init(&task->at_list);
	list_link_init(&task->at_job);
	list_link_init(&task->at_all);
	return task;
}

/* Found by its id and its object from now on, and waiting. */
static int
enlist(struct master *master, struct task *task)
{
	struct tasks *tasks = &master->tasks;

	if (map_put(&tasks->by_id, task->id, task) < 0)
		return err_new(-ENOMEM);
	if (map_put(&tasks->by_object, task->object_id, task) < 0) {
		map_take(&tasks->by_id, task->id);
		return err_new(-ENOMEM);
	}
	list_push_back(&tasks->waiting, &task->at_list);
	list_push_back(&tasks->all, &task->at_all);
	counter_add(&master->counters.tasks, 1);
	return 0;
}

/* Not under way any more. */
static void
delist(struct master *master, struct task *task)
{
	map_take(&master->tasks.by_object, task->object_id);
	list_remove(&task->at_list);
	counter_sub(&master->counters.tasks, 1);
}

static int
begin(struct master *master, struct task *task)
{
	int r = enlist(master, task);

	if (r < 0)
		return err_up(r);
	r = task->is_stored ? journal_task(master, task) : 0;
	if (r < 0) {
		delist(master, task);
		list_remove(&task->at_all);
		map_take(&master->tasks.by_id, task->id);
	}
	return err_up(r);
}

static void
join_job(struct task *task, struct job *job)
{
	task->job = job;
	task->job_id = job->id;
	list_push_back(&job->tasks, &task->at_job);
	job->n_tasks++;
}

uint32_t
task_make(struct master *master, const struct task_wish *wish, struct task **ret_task)
{
	const struct object *object = wish->object;
	struct task *task = map_get(&master->tasks.by_object, object->id);
	uint32_t status;

	if (task != NULL && wish->job == NULL && !task->is_own && task->kind == wish->kind &&
	    task->from_id == wish->from_id && task->wished_to_id == wish->to_id) {
		*ret_task = task;
		return STATUS_OK;
	}
	status = task != NULL ? STATUS_TASK_BUSY : judge(master, wish);
	if (status != STATUS_OK)
		return status;
	if (put_reserve_id(master) < 0)
		return STATUS_UNAVAILABLE;
	task = task_new(master->next_object_id, object->key.bytes, object->key.len_bytes);
	if (task == NULL)
		return STATUS_UNAVAILABLE;
	task->kind = (uint8_t)wish->kind;
	task->object_id = object->id;
	task->len_bytes = object->len_bytes;
	task->from_id = wish->from_id;
	task->to_id = task->wished_to_id = wish->to_id;
	task->made_at_ms = clock_wall_ms(master->clock);
	task->medium = wish->medium;
	task->is_own = wish->is_own;
	task->is_stored = wish->job == NULL && !wish->is_own;
	if (begin(master, task) < 0) {
		free(task);
		return STATUS_UNAVAILABLE;
	}
	master->next_object_id++;
	if (task->is_own)
		offload_began(master, task);
	else if (wish->job == NULL)
		task_tell_begun(master, task);
	else
		join_job(task, wish->job);
	*ret_task = task;
	return STATUS_OK;
}

/* ---- ending ---- */

static void
leave_job(struct task *task)
{
	if (task->job == NULL)
		return;
	list_remove(&task->at_job);
	task->job->n_tasks--;
	task->job = NULL;
}

static void
count_for_job(struct job *job, const struct task *task, enum task_state state)
{
	if (job == NULL)
		return;
	if (state == TASK_DONE) {
		job->n_done++;
		job->bytes_done += task->len_bytes;
	} else if (state == TASK_FAILED) {
		job->n_failed++;
		job->bytes_failed += task->len_bytes;
		job->reason = task->reason;
	}
}

/* The task as it will have ended, in the books; its job's counts, too. */
static int
journal_end(struct master *master, struct task *task, enum task_state state)
{
	struct books_mark mark = books_mark(master);
	struct job before, *job = task->job;
	int r = 0;

	if (task->is_stored)
		r = journal_task(master, task);
	if (r < 0 || job == NULL)
		return err_up(r);
	before = *job;
	count_for_job(job, task, state);
	r = journal_job(master, job);
	if (r < 0) {
		job->n_done = before.n_done;
		job->n_failed = before.n_failed;
		job->bytes_done = before.bytes_done;
		job->bytes_failed = before.bytes_failed;
		job->reason = before.reason;
		books_rewind(master, mark);
	}
	return err_up(r);
}

/* One copy that its drain gives up; it is not tried again in this round. */
static void
note_stuck(struct master *master, const struct task *task)
{
	struct object *object = map_get(&master->objects, task->object_id);
	struct segment *segment = segment_find(master, task->from_id);

	if (object == NULL || segment == NULL)
		return;
	object_each_replica(object, rep) {
		if (rep->segment != segment || rep->stuck_round == segment->drain_round)
			continue;
		rep->stuck_round = segment->drain_round;
		segment->n_stuck++;
	}
}

static void
task_free(struct tasks *tasks, struct task *task)
{
	map_take(&tasks->by_id, task->id);
	list_remove(&task->at_list);
	list_remove(&task->at_all);
	free(task);
}

/* Those that ended longest ago, as far as it is too long or they are too many. */
void
tasks_forget(struct master *master, unsigned max_steps)
{
	struct tasks *tasks = &master->tasks;

	while (max_steps-- > 0 && tasks->n_ended > 0) {
		struct task *task = list_of(list_first(&tasks->ended), struct task, at_list);
		struct record record = {.kind = RECORD_TASK_REMOVE, .object_id = task->id};

		if (!ended_may_go(master->now_ms, task->ended_ms, tasks->n_ended, TASKS_KEPT_MAX) ||
		    books_journal(master, &record) < 0)
			return;
		tasks->n_ended--;
		task_free(tasks, task);
	}
}

static void
keep_ended(struct master *master, struct task *task)
{
	struct tasks *tasks = &master->tasks;

	if (!task->is_stored) { /* a part of a job that went well: its counts tell */
		task_free(tasks, task);
		return;
	}
	task->ended_ms = master->now_ms;
	list_push_back(&tasks->ended, &task->at_list);
	tasks->n_ended++;
}

/* To those who asked for it. */
static void
tell_ended(struct master *master, const struct task *task)
{
	if (task->state == TASK_DONE) {
		counter_add(&master->counters.tasks_done, 1);
		counter_add(&master->counters.task_bytes, task->len_bytes);
	} else {
		counter_add(&master->counters.tasks_failed, 1);
	}
	task_tell_ended(master, task);
}

int
task_end(struct master *master, struct task *task, enum task_state state, uint32_t reason)
{
	struct task before;
	int r;

	assert(task->put == NULL && !task_has_ended(task) && state >= TASK_DONE);

	memcpy(&before, task, sizeof(before));
	task->state = (uint8_t)state;
	task->reason = reason;
	task->ended_at_ms = clock_wall_ms(master->clock);
	task->is_stored |= state == TASK_FAILED && !task->is_own;
	r = journal_end(master, task, state);
	if (r < 0) {
		task->state = before.state;
		task->reason = before.reason;
		task->ended_at_ms = 0;
		task->is_stored = before.is_stored;
		return err_up(r);
	}

	log_event(state == TASK_FAILED ? LOG_WARN : LOG_DEBUG, "task_ended",
		  "task=%" PRIu64 " object=%" PRIu64 " state=%d reason=%s", task->id,
		  task->object_id, (int)state, status_name(reason));
	if (task->is_own)
		offload_ended(master, task, state == TASK_FAILED);
	else
		tell_ended(master, task);
	if (state == TASK_FAILED && task->job != NULL)
		note_stuck(master, task);
	delist(master, task);
	leave_job(task);
	keep_ended(master, task);
	return 0;
}

void
task_retry(struct master *master, struct task *task, uint32_t reason)
{
	assert(task->put == NULL);

	list_remove(&task->at_list);
	task->state = TASK_WAITING;
	task->to_id = task->wished_to_id;
	task->reason = reason;
	task->tries++;
	task->retry_at_ms = master->now_ms + ((uint64_t)TASK_RETRY_MS << (task->tries - 1));
	list_push_back(&master->tasks.waiting, &task->at_list);
	if (task->tries < TASK_TRIES_MAX)
		return;
	task->tries = TASK_TRIES_MAX;
	if (task_end(master, task, TASK_FAILED, reason) < 0)
		task->tries--; /* no memory to say so: once more */
}

/* What a job, or the master itself, wanted to move is gone by itself: that is no failure. */
void
task_pointless(struct master *master, struct task *task, uint32_t reason)
{
	enum task_state state = task->job != NULL || task->is_own ? TASK_CANCELLED : TASK_FAILED;

	if (task_end(master, task, state, reason) < 0)
		task_retry(master, task, reason);
}

/* ---- from the books ---- */

static struct task *
task_of_row(const struct task_row *row, const struct record *record)
{
	struct task *task = task_new(row->task_id, record->key, record->key_len);

	if (task == NULL)
		return NULL;
	task->object_id = row->object_id;
	task->len_bytes = row->len_bytes;
	task->from_id = row->from_id;
	task->to_id = task->wished_to_id = row->to_id;
	task->job_id = row->job_id;
	task->made_at_ms = row->made_at_ms;
	task->ended_at_ms = row->ended_at_ms;
	task->reason = row->reason;
	task->kind = row->kind;
	task->state = row->state;
	task->tries = row->tries;
	task->is_stored = true;
	return task;
}

/* What was under way when the master ended is planned anew. */
int
task_load(struct master *master, const struct record *record)
{
	struct tasks *tasks = &master->tasks;
	struct task *task;
	int r;

	if (record->task->task_id >= master->next_object_id ||
	    map_get(&tasks->by_id, record->task->task_id) != NULL)
		return err_new(-EBADMSG);
	task = task_of_row(record->task, record);
	if (task == NULL)
		return err_new(-ENOMEM);
	if (!task_has_ended(task) &&
	    (task->object_id == 0 || map_get(&tasks->by_object, task->object_id) != NULL)) {
		free(task);
		return err_new(-EBADMSG);
	}
	if (!task_has_ended(task)) {
		task->state = TASK_WAITING;
		r = enlist(master, task);
	} else {
		r = map_put(&tasks->by_id, task->id, task);
		if (r == 0) {
			list_push_back(&tasks->all, &task->at_all);
			keep_ended(master, task);
		}
	}
	if (r < 0) {
		free(task);
		return err_new(-ENOMEM);
	}
	return 0;
}
