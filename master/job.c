/* SPDX-License-Identifier: Apache-2.0 */
#include "master/job.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "master/books.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define LOOKED_AT_A_STEP 256

struct job *
job_find(const struct master *master, uint64_t id)
{
	return id == 0 ? NULL : map_get(&master->tasks.jobs, id);
}

void
job_row(const struct job *job, bool with_segments, struct job_row *ret)
{
	*ret = (struct job_row){
		.job_id = job->id,
		.made_at_ms = job->made_at_ms,
		.ended_at_ms = job->ended_at_ms,
		.n_done = job->n_done,
		.n_failed = job->n_failed,
		.bytes_done = job->bytes_done,
		.bytes_failed = job->bytes_failed,
		.state = job->state,
		.reason = job->reason,
		.concurrency = job->concurrency,
	};
	if (!with_segments)
		return;
	ret->n_segments = job->n_segments;
	ret->n_targets = job->n_targets;
	memcpy(ret->ids, job->ids, (job->n_segments + job->n_targets) * sizeof(job->ids[0]));
}

static int
journal_job(struct master *master, const struct job *job, bool with_segments)
{
	struct job_row row;
	struct record record = {.kind = RECORD_JOB_SET, .job = &row};

	job_row(job, with_segments, &row);
	return books_journal(master, &record);
}

/* All that are there yet. */
static int
set_drain(struct master *master, const struct job *job, enum segment_drain drain)
{
	for (uint32_t i = 0; i < job->n_segments; i++) {
		struct segment *segment = segment_find(master, job->ids[i]);
		int r = segment == NULL ? 0 : segment_set_drain(master, segment, drain);

		if (r < 0)
			return err_up(r);
	}
	return 0;
}

/* ---- making ---- */

static struct job *
job_new(uint64_t id, uint32_t n_segments, uint32_t n_targets)
{
	size_t n_ids = (size_t)n_segments + n_targets;
	struct job *job = calloc(1, sizeof(*job) + n_ids * sizeof(job->ids[0]));

	if (job == NULL)
		return NULL;
	job->id = id;
	job->state = JOB_RUNNING;
	job->n_segments = n_segments;
	job->n_targets = n_targets;
	list_init(&job->tasks);
	list_link_init(&job->at_list);
	return job;
}

static bool
has_segment(const struct job *job, uint64_t segment_id)
{
	for (uint32_t i = 0; i < job->n_segments; i++)
		if (job->ids[i] == segment_id)
			return true;
	return false;
}

/* The job under way that drains it, or NULL. */
static struct job *
job_of(const struct master *master, uint64_t segment_id)
{
	list_each(&master->tasks.running_jobs, link)
		if (has_segment(list_of(link, struct job, at_list), segment_id))
			return list_of(link, struct job, at_list);
	return NULL;
}

static bool
is_same(const struct job *job, const struct job_wish *wish)
{
	if (job->n_segments != wish->n_segments)
		return false;
	for (uint32_t i = 0; i < wish->n_segments; i++)
		if (!has_segment(job, wish->segments[i].id))
			return false;
	return true;
}

static bool
is_among(uint64_t id, const struct rec_id *ids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ids[i].id == id)
			return true;
	return false;
}

static bool
is_there(const struct master *master, uint64_t segment_id)
{
	const struct segment *segment = segment_find(master, segment_id);

	return segment != NULL && segment->state != SEGMENT_LEAVING;
}

static uint32_t
judge(const struct master *master, const struct job_wish *wish)
{
	if (wish->n_segments == 0 || wish->concurrency > JOB_CONCURRENCY_MAX)
		return STATUS_INVALID;
	for (uint32_t i = 0; i < wish->n_segments; i++) {
		uint64_t id = wish->segments[i].id;

		if (is_among(id, wish->segments, i) || is_among(id, wish->targets, wish->n_targets))
			return STATUS_INVALID;
		if (!is_there(master, id))
			return STATUS_SEGMENT_NOT_FOUND;
		if (job_of(master, id) != NULL)
			return STATUS_TASK_BUSY;
	}
	for (uint32_t i = 0; i < wish->n_targets; i++) {
		if (is_among(wish->targets[i].id, wish->targets, i))
			return STATUS_INVALID;
		if (!is_there(master, wish->targets[i].id))
			return STATUS_SEGMENT_NOT_FOUND;
	}
	return STATUS_OK;
}

/* A new round: what could not be moved in the last one is tried again. */
static void
begin_round(struct segment *segment)
{
	segment->n_stuck = 0;
	if (++segment->drain_round == 0)
		segment->drain_round = 1;
}

/* needs: room for it in the map of jobs.  0 or -ENOMEM; then segments may be DRAINING in part,
 * which the records say as well: they are to be undone, or drained anew. */
static int
begin(struct master *master, struct job *job)
{
	int r = journal_job(master, job, /* with_segments= */ true);

	if (r == 0)
		r = set_drain(master, job, DRAIN_DRAINING);
	for (uint32_t i = 0; i < job->n_segments && r == 0; i++)
		begin_round(segment_find(master, job->ids[i]));
	return err_up(r);
}

uint32_t
job_make(struct master *master, const struct job_wish *wish, struct job **ret_job)
{
	struct tasks *tasks = &master->tasks;
	struct job *job = wish->n_segments == 0 ? NULL : job_of(master, wish->segments[0].id);
	uint32_t status;

	if (job != NULL && is_same(job, wish)) {
		*ret_job = job;
		return STATUS_OK;
	}
	status = judge(master, wish);
	if (status != STATUS_OK)
		return status;
	if (put_reserve_id(master) < 0)
		return STATUS_UNAVAILABLE;
	job = job_new(master->next_object_id, wish->n_segments, wish->n_targets);
	if (job == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < wish->n_segments; i++)
		job->ids[i] = wish->segments[i].id;
	for (uint32_t i = 0; i < wish->n_targets; i++)
		job->ids[wish->n_segments + i] = wish->targets[i].id;
	job->concurrency = wish->concurrency == 0 ? JOB_CONCURRENCY : wish->concurrency;
	job->made_at_ms = clock_wall_ms(master->clock);
	if (map_put(&tasks->jobs, job->id, job) < 0) {
		free(job);
		return STATUS_UNAVAILABLE;
	}
	master->next_object_id++;
	list_push_back(&tasks->running_jobs, &job->at_list);
	if (begin(master, job) < 0) {
		(void)job_cancel(master, job);
		return STATUS_UNAVAILABLE;
	}
	log_event(LOG_INFO, "drain_begun", "job=%" PRIu64 " segments=%" PRIu32, job->id,
		  job->n_segments);
	job_tell(master, job);
	*ret_job = job;
	return STATUS_OK;
}

/* ---- ending ---- */

static int
job_end(struct master *master, struct job *job, enum job_state state)
{
	enum job_state before = job->state;
	int r;

	assert(job->n_tasks == 0);

	job->state = state;
	job->ended_at_ms = clock_wall_ms(master->clock);
	r = journal_job(master, job, /* with_segments= */ false);
	if (r < 0) {
		job->state = before;
		job->ended_at_ms = 0;
		return err_up(r);
	}
	log_event(state == JOB_FAILED ? LOG_WARN : LOG_INFO, "drain_ended",
		  "job=%" PRIu64 " state=%d moved=%" PRIu64 " failed=%" PRIu64, job->id, (int)state,
		  job->n_done, job->n_failed);
	job_tell(master, job);
	job->ended_ms = master->now_ms;
	list_remove(&job->at_list);
	list_push_back(&master->tasks.ended_jobs, &job->at_list);
	master->tasks.n_ended_jobs++;
	return 0;
}

/* Its segments take new data again, but for those that another job drains by now. */
static int
take_back(struct master *master, const struct job *job)
{
	for (uint32_t i = 0; i < job->n_segments; i++) {
		struct segment *segment = segment_find(master, job->ids[i]);
		const struct job *other = job_of(master, job->ids[i]);
		int r = 0;

		if (segment != NULL && (other == NULL || other == job))
			r = segment_set_drain(master, segment, DRAIN_NONE);
		if (r < 0)
			return err_up(r);
	}
	return 0;
}

uint32_t
job_cancel(struct master *master, struct job *job)
{
	list_each_safe(&job->tasks, link)
		if (task_cancel(master, list_of(link, struct task, at_job)) != STATUS_OK)
			return STATUS_UNAVAILABLE;
	if (job->state != JOB_CANCELLED && take_back(master, job) < 0)
		return STATUS_UNAVAILABLE;
	if (job->state == JOB_RUNNING && job_end(master, job, JOB_CANCELLED) < 0)
		return STATUS_UNAVAILABLE;
	return STATUS_OK;
}

uint32_t
job_undo(struct master *master, const struct rec_id *segments, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!is_there(master, segments[i].id))
			return STATUS_SEGMENT_NOT_FOUND;
	for (uint32_t i = 0; i < n; i++) {
		struct job *job = job_of(master, segments[i].id);

		if (job != NULL && job_cancel(master, job) != STATUS_OK)
			return STATUS_UNAVAILABLE;
		if (segment_set_drain(master, segment_find(master, segments[i].id), DRAIN_NONE) < 0)
			return STATUS_UNAVAILABLE;
	}
	return STATUS_OK;
}

void
jobs_forget(struct master *master, unsigned max_steps)
{
	struct tasks *tasks = &master->tasks;

	while (max_steps-- > 0 && tasks->n_ended_jobs > 0) {
		struct job *job = list_of(list_first(&tasks->ended_jobs), struct job, at_list);
		struct record record = {.kind = RECORD_JOB_REMOVE, .object_id = job->id};

		if (!ended_may_go(master->now_ms, job->ended_ms, tasks->n_ended_jobs,
				  JOBS_KEPT_MAX) ||
		    books_journal(master, &record) < 0)
			return;
		tasks->n_ended_jobs--;
		job_forget(tasks, job);
	}
}

void
job_forget(struct tasks *tasks, struct job *job)
{
	map_take(&tasks->jobs, job->id);
	list_remove(&job->at_list);
	free(job);
}

/* ---- going on ---- */

void
job_left(const struct master *master, const struct job *job, uint64_t *ret_n, uint64_t *ret_bytes)
{
	uint64_t n = 0, bytes = 0;

	for (uint32_t i = 0; i < job->n_segments; i++) {
		const struct segment *segment = segment_find(master, job->ids[i]);

		if (segment == NULL)
			continue;
		n += segment->n_replicas;
		bytes += segment_used_bytes(segment);
	}
	*ret_n = n;
	*ret_bytes = bytes;
}

/* May the drain take this copy next? */
static bool
is_next(const struct master *master, const struct replica *rep)
{
	return rep->object->is_indexed && rep->state == REPLICA_COMPLETE &&
	       rep->stuck_round != rep->segment->drain_round &&
	       map_get(&master->tasks.by_object, rep->object->id) == NULL;
}

/* Tasks for what comes next in the segment's list; what was looked at stands at its end then. */
static void
take_some(struct master *master, struct job *job, struct segment *segment)
{
	size_t n = num_min(segment->n_replicas, (size_t)LOOKED_AT_A_STEP);

	for (size_t i = 0; i < n && job->n_tasks < job->concurrency; i++) {
		struct replica *rep =
			list_of(list_first(&segment->replicas), struct replica, at_segment);
		struct task_wish wish = {.kind = TASK_MOVE, .from_id = segment->id, .job = job};
		struct task *task;

		list_remove(&rep->at_segment);
		list_push_back(&segment->replicas, &rep->at_segment);
		if (!is_next(master, rep))
			continue;
		wish.object = rep->object;
		if (task_make(master, &wish, &task) != STATUS_OK)
			return;
	}
}

enum left { LEFT_NOTHING, LEFT_STUCK, LEFT_SOME };

static enum left
left_in(const struct master *master, const struct segment *segment)
{
	if (segment == NULL || segment->state == SEGMENT_LEAVING)
		return LEFT_NOTHING;
	if (segment->n_replicas > 0)
		return segment->n_replicas == segment->n_stuck ? LEFT_STUCK : LEFT_SOME;
	return master->now_ms < segment->leave_until_ms ? LEFT_SOME : LEFT_NOTHING;
}

static void
finish(struct master *master, struct job *job, enum left left)
{
	if (left == LEFT_STUCK) {
		(void)job_end(master, job, JOB_FAILED);
		return;
	}
	if (set_drain(master, job, DRAIN_DRAINED) == 0)
		(void)job_end(master, job, JOB_SUCCEEDED);
}

void
job_step(struct master *master, struct job *job)
{
	enum left most = LEFT_NOTHING;

	for (uint32_t i = 0; i < job->n_segments; i++) {
		struct segment *segment = segment_find(master, job->ids[i]);
		enum left left = left_in(master, segment);

		most = num_max(most, left);
		if (left == LEFT_SOME)
			take_some(master, job, segment);
	}
	if (most != LEFT_SOME && job->n_tasks == 0)
		finish(master, job, most);
}

/* ---- from the books ---- */

/* What failed is tried again: its count begins anew. */
static void
load_running(struct master *master, struct job *job)
{
	job->n_failed = job->bytes_failed = 0;
	for (uint32_t i = 0; i < job->n_segments; i++) {
		struct segment *segment = segment_find(master, job->ids[i]);

		if (segment != NULL)
			begin_round(segment);
	}
	list_push_back(&master->tasks.running_jobs, &job->at_list);
}

int
job_load(struct master *master, const struct record *record)
{
	const struct job_row *row = record->job;
	struct job *job;

	if (row->job_id >= master->next_object_id || job_find(master, row->job_id) != NULL)
		return err_new(-EBADMSG);
	job = job_new(row->job_id, row->n_segments, row->n_targets);
	if (job == NULL)
		return err_new(-ENOMEM);
	if (map_put(&master->tasks.jobs, job->id, job) < 0) {
		free(job);
		return err_new(-ENOMEM);
	}
	job->state = (enum job_state)row->state;
	job->reason = row->reason;
	job->concurrency = row->concurrency;
	job->n_done = row->n_done;
	job->n_failed = row->n_failed;
	job->bytes_done = row->bytes_done;
	job->bytes_failed = row->bytes_failed;
	job->made_at_ms = row->made_at_ms;
	job->ended_at_ms = row->ended_at_ms;
	memcpy(job->ids, row->ids, (row->n_segments + row->n_targets) * sizeof(row->ids[0]));
	if (job->state == JOB_RUNNING) {
		load_running(master, job);
	} else {
		job->ended_ms = master->now_ms;
		list_push_back(&master->tasks.ended_jobs, &job->at_list);
		master->tasks.n_ended_jobs++;
	}
	return 0;
}
