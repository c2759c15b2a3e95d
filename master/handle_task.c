/* SPDX-License-Identifier: Apache-2.0 */

/* handle_task.c -- copy, move, drain, cancel, and what became of them; work for providers. */
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "master/job.h"
#include "master/lease.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define DRAIN_UNDO      1
#define FETCH_BYTES_MAX (64ull << 20) /* of all tasks of one fetch but the first */
#define REPLY_BYTES_MAX (1u << 20)
#define PLANS_A_REQUEST 64

/* ---- copy, move ---- */

static struct rec_task_fate
make_one(struct peer *peer, struct span key, const struct task_wish *wish)
{
	struct task_wish mine = *wish;
	struct task *task = NULL;
	struct rec_task_fate fate = {STATUS_NOT_FOUND, 0};

	mine.object = books_find(peer->master, peer->client->tenant, key.at, key.len);
	if (mine.object == NULL)
		return fate;
	fate.status = task_make(peer->master, &mine, &task);
	if (fate.status == STATUS_OK)
		fate.task_id = task->id;
	return fate;
}

int
handle_copy(struct peer *peer, const struct msg_copy *msg, struct buf *out)
{
	struct rec_task_fate *fates =
		arena_alloc(&peer->master->arena, msg->n_copies + 1u, sizeof(*fates));
	struct rep_copy rep = {.n_fates = msg->n_copies, .fates = fates};

	if (fates == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_copies; i++) {
		struct task_wish wish = {.kind = TASK_COPY, .to_id = msg->copies[i].to_id};

		fates[i] = make_one(peer, msg->copies[i].key, &wish);
	}
	task_plan(peer->master, PLANS_A_REQUEST);
	return handle_encoded(rep_copy_encode(out, &rep));
}

int
handle_move(struct peer *peer, const struct msg_move *msg, struct buf *out)
{
	struct rec_task_fate *fates =
		arena_alloc(&peer->master->arena, msg->n_moves + 1u, sizeof(*fates));
	struct rep_move rep = {.n_fates = msg->n_moves, .fates = fates};

	if (fates == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_moves; i++) {
		struct task_wish wish = {.kind = TASK_MOVE,
					 .from_id = msg->moves[i].from_id,
					 .to_id = msg->moves[i].to_id};

		fates[i] = make_one(peer, msg->moves[i].key, &wish);
	}
	task_plan(peer->master, PLANS_A_REQUEST);
	return handle_encoded(rep_move_encode(out, &rep));
}

/* ---- drain, cancel ---- */

int
handle_drain(struct peer *peer, const struct msg_drain *msg, struct buf *out)
{
	struct job_wish wish = {
		.segments = msg->segments,
		.targets = msg->targets,
		.n_segments = msg->n_segments,
		.n_targets = msg->n_targets,
		.concurrency = msg->concurrency,
	};
	struct rep_drain rep = {0};
	struct job *job;
	uint32_t status;

	if ((msg->flags & ~DRAIN_UNDO) != 0)
		return STATUS_INVALID;
	if ((msg->flags & DRAIN_UNDO) != 0) {
		status = job_undo(peer->master, msg->segments, msg->n_segments);
		return status != STATUS_OK ? (int)status
					   : handle_encoded(rep_drain_encode(out, &rep));
	}
	status = job_make(peer->master, &wish, &job);
	if (status != STATUS_OK)
		return (int)status;
	rep.job_id = job->id;
	job_step(peer->master, job); /* it may end with this */
	task_plan(peer->master, PLANS_A_REQUEST);
	return handle_encoded(rep_drain_encode(out, &rep));
}

int
handle_cancel(struct peer *peer, const struct msg_cancel *msg, struct buf *out)
{
	struct master *master = peer->master;
	uint32_t *statuses = handle_statuses(peer, msg->n_ids);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_ids; i++) {
		struct task *task = task_find(master, msg->ids[i].id);
		struct job *job = job_find(master, msg->ids[i].id);

		statuses[i] = STATUS_TASK_NOT_FOUND;
		if (task != NULL)
			statuses[i] = task_cancel(master, task);
		else if (job != NULL)
			statuses[i] = job_cancel(master, job);
	}
	return handle_fates(out, statuses, msg->n_ids);
}

/* ---- query_task ---- */

static int
tell_task(struct buf *out, const struct task *task)
{
	struct rec_task_state rec = {
		.status = STATUS_OK,
		.task_id = task->id,
		.job_id = task->job_id,
		.kind = task->kind,
		.state = task->state,
		.tries = task->tries,
		.reason = task->reason,
		.object_id = task->object_id,
		.len_bytes = task->len_bytes,
		.from_id = task->from_id,
		.to_id = task->to_id,
		.client_id = task->put == NULL ? 0 : task->put->client->id,
		.made_at_ms = task->made_at_ms,
		.ended_at_ms = task->ended_at_ms,
		.key = span_of(task->key, task->key_len),
	};

	return rec_task_state_encode(out, &rec);
}

/* The first behind the cursor: the list is in the order of ids. */
static const struct list_link *
behind(const struct tasks *tasks, uint64_t after_id)
{
	const struct task *after = after_id == 0 ? NULL : map_get(&tasks->by_id, after_id);
	const struct list_link *link = after != NULL ? after->at_all.next : tasks->all.head.next;

	while (link != &tasks->all.head && list_of(link, const struct task, at_all)->id <= after_id)
		link = link->next;
	return link;
}

static int
tell_tasks_after(const struct master *master, const struct msg_query_task *msg, struct buf *out)
{
	const struct tasks *tasks = &master->tasks;
	const struct list_link *link = behind(tasks, msg->after_id);
	uint32_t n = 0;
	size_t at;
	int r = codec_list_begin(out, &at);

	for (; r == 0 && link != &tasks->all.head && n < BATCH_MAX; link = link->next) {
		const struct task *task = list_of(link, const struct task, at_all);

		if (msg->job_id != 0 && task->job_id != msg->job_id)
			continue;
		r = tell_task(out, task);
		n++;
	}
	if (r == 0)
		codec_list_end(out, at, n);
	return handle_encoded(r);
}

int
handle_query_task(struct peer *peer, const struct msg_query_task *msg, struct buf *out)
{
	int r;

	if (msg->n_tasks == 0)
		return tell_tasks_after(peer->master, msg, out);
	r = codec_put_u32(out, msg->n_tasks);
	for (uint32_t i = 0; i < msg->n_tasks && r == 0; i++) {
		const struct task *task = task_find(peer->master, msg->tasks[i].id);
		struct rec_task_state none = {.status = STATUS_TASK_NOT_FOUND,
					      .task_id = msg->tasks[i].id};

		r = task == NULL ? rec_task_state_encode(out, &none) : tell_task(out, task);
	}
	return handle_encoded(r);
}

/* ---- query_job ---- */

static struct rec_id *
ids_of(struct master *master, const uint64_t *ids, uint32_t n)
{
	struct rec_id *recs = arena_alloc(&master->arena, n + 1u, sizeof(*recs));

	for (uint32_t i = 0; recs != NULL && i < n; i++)
		recs[i].id = ids[i];
	return recs;
}

static int
tell_job(struct master *master, struct buf *out, const struct job *job)
{
	struct rec_job_state rec = {
		.status = STATUS_OK,
		.job_id = job->id,
		.state = (uint8_t)job->state,
		.reason = job->reason,
		.concurrency = job->concurrency,
		.n_under_way = (uint32_t)job->n_tasks,
		.n_done = job->n_done,
		.n_failed = job->n_failed,
		.bytes_done = job->bytes_done,
		.bytes_failed = job->bytes_failed,
		.made_at_ms = job->made_at_ms,
		.ended_at_ms = job->ended_at_ms,
		.n_segments = job->n_segments,
		.segments = ids_of(master, job->ids, job->n_segments),
		.n_targets = job->n_targets,
		.targets = ids_of(master, job->ids + job->n_segments, job->n_targets),
	};

	if (rec.segments == NULL || rec.targets == NULL)
		return CODEC_E_NO_MEMORY;
	if (job->state == JOB_RUNNING)
		job_left(master, job, &rec.n_left, &rec.bytes_left);
	return rec_job_state_encode(out, &rec);
}

static int
compare_jobs(const void *a, const void *b)
{
	uint64_t x = (*(const struct job *const *)a)->id, y = (*(const struct job *const *)b)->id;

	return (x > y) - (x < y);
}

/* Few are kept, and few can be under way: a segment has one at most. */
static int
tell_jobs_after(struct master *master, uint64_t after_id, struct buf *out)
{
	const struct job **all =
		arena_alloc(&master->arena, master->tasks.jobs.n + 1, sizeof(*all));
	size_t at = 0, n = 0, n_told;
	uint64_t id;
	void *value;
	int r;

	if (all == NULL)
		return STATUS_UNAVAILABLE;
	while (map_next(&master->tasks.jobs, &at, &id, &value))
		if (id > after_id)
			all[n++] = value;
	qsort(all, n, sizeof(*all), compare_jobs);
	n_told = num_min(n, (size_t)JOBS_TOLD_MAX);
	r = codec_put_u32(out, (uint32_t)n_told);
	for (size_t i = 0; i < n_told && r == 0; i++)
		r = tell_job(master, out, all[i]);
	return handle_encoded(r);
}

int
handle_query_job(struct peer *peer, const struct msg_query_job *msg, struct buf *out)
{
	int r;

	if (msg->n_jobs == 0)
		return tell_jobs_after(peer->master, msg->after_id, out);
	r = codec_put_u32(out, msg->n_jobs);
	for (uint32_t i = 0; i < msg->n_jobs && r == 0; i++) {
		const struct job *job = job_find(peer->master, msg->jobs[i].id);
		struct rec_job_state none = {.status = STATUS_TASK_NOT_FOUND,
					     .job_id = msg->jobs[i].id};

		r = job == NULL ? rec_job_state_encode(out, &none)
				: tell_job(peer->master, out, job);
	}
	return handle_encoded(r);
}

/* ---- fetch_tasks ---- */

static bool
fill_source(struct arena *arena, const struct replica *rep, struct rec_replica *ret)
{
	struct rec_extent *extents = arena_alloc(arena, rep->n_extents, sizeof(*extents));

	if (extents == NULL)
		return false;
	for (uint32_t i = 0; i < rep->n_extents; i++)
		extents[i] = (struct rec_extent){replica_extents(rep)[i].offset_bytes,
						 replica_extents(rep)[i].len_bytes};
	*ret = (struct rec_replica){.segment_id = rep->segment->id,
				    .segment_epoch = rep->segment->epoch,
				    .n_extents = rep->n_extents,
				    .extents = extents};
	return true;
}

/* Where to read, under a new lease.  NULL: no memory. */
static struct rec_object_place *
source_of(struct master *master, struct object *object)
{
	struct rec_object_place *place = arena_alloc(&master->arena, 1, sizeof(*place));
	struct rec_replica *replicas = arena_alloc(&master->arena, REPLICAS_MAX, sizeof(*replicas));
	uint32_t n = 0;

	if (place == NULL || replicas == NULL)
		return NULL;
	object_each_replica(object, rep) {
		if (rep->state != REPLICA_COMPLETE || !segment_is_here(rep->segment))
			continue;
		if (!fill_source(&master->arena, rep, &replicas[n++]))
			return NULL;
	}
	*place = (struct rec_object_place){
		.status = STATUS_OK,
		.object_id = object->id,
		.len_bytes = object->len_bytes,
		.has_crc = object->has_crc,
		.crc = object->crc,
		.lease_ms = (uint32_t)master->limits.lease_ms,
		.lease_id = lease_grant(master, object, master->limits.lease_ms),
		.n_replicas = n,
		.replicas = replicas,
	};
	return place;
}

/* Where to write.  NULL: no memory. */
static struct rec_put_place *
target_of(struct master *master, const struct put *put)
{
	const struct replica *rep = put->object->replicas;
	struct rec_put_place *place = arena_alloc(&master->arena, 1, sizeof(*place));
	struct rec_target_replica *target = arena_alloc(&master->arena, 1, sizeof(*target));
	struct rec_grant *grants = arena_alloc(&master->arena, rep->n_extents, sizeof(*grants));

	if (place == NULL || target == NULL || grants == NULL)
		return NULL;
	for (uint32_t i = 0; i < rep->n_extents; i++)
		grants[i] = handle_grant(put, rep->segment, replica_extents(rep)[i]);
	*target = (struct rec_target_replica){.segment_id = rep->segment->id,
					      .segment_epoch = rep->segment->epoch,
					      .n_grants = rep->n_extents,
					      .grants = grants};
	*place = (struct rec_put_place){.status = STATUS_OK,
					.object_id = put->object->id,
					.n_replicas = 1,
					.replicas = target};
	return place;
}

/* One more task into the answer.  0, or CODEC_E_NO_MEMORY: its write lease will run out. */
static int
tell_work(struct master *master, struct task *task, struct object *object, struct buf *out)
{
	struct rec_work rec = {
		.task_id = task->id,
		.key = span_of(object->key.bytes, object->key.len_bytes),
		.n_from = 1,
		.from = source_of(master, object),
		.n_to = 1,
		.to = target_of(master, task->put),
	};

	if (rec.from == NULL || rec.to == NULL)
		return CODEC_E_NO_MEMORY;
	books_hold(master, object->batch);
	return rec_work_encode(out, &rec);
}

int
handle_fetch_tasks(struct peer *peer, const struct msg_fetch_tasks *msg, struct buf *out)
{
	struct master *master = peer->master;
	uint32_t most = num_min(msg->most, (uint32_t)WORKS_MAX), n = 0;
	size_t at, head = buf_len(out);
	uint64_t bytes = 0;
	struct task *task;
	int r = codec_put_u32(out, (uint32_t)master->limits.write_lease_ms);

	if (r == 0)
		r = codec_list_begin(out, &at);
	while (r == 0 && n < most && bytes < FETCH_BYTES_MAX &&
	       buf_len(out) - head < REPLY_BYTES_MAX &&
	       (task = task_fetch(master, peer->client)) != NULL) {
		struct object *object = map_get(&master->objects, task->object_id);

		if (object == NULL || !object_is_readable(object)) {
			task_hand_back(master, task);
			continue;
		}
		bytes += task->len_bytes;
		r = tell_work(master, task, object, out);
		n++;
	}
	if (r == 0)
		codec_list_end(out, at, n);
	return handle_encoded(r);
}

/* ---- report_task ---- */

int
handle_report_task(struct peer *peer, const struct msg_report_task *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_works);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_works; i++)
		statuses[i] = task_report(peer->master, peer->client, &msg->works[i]);
	tasks_sweep(peer->master);
	return handle_fates(out, statuses, msg->n_works);
}
