/* SPDX-License-Identifier: Apache-2.0 */

/* store_load_tasks.c -- tasks, and jobs with the segments that they are about. */
#include "master/store_rows.h"
#include "sql/sql_text.h"

static bool
read_task(struct loader *loader, const struct walk *walk, struct task_row *ret,
	  struct record *record)
{
	uint64_t kind, state, tries, reason;
	uint64_t *const rets[] = {&ret->object_id, &ret->len_bytes,  &ret->from_id,
				  &ret->to_id,     &ret->made_at_ms, &ret->ended_at_ms};
	struct cursor key;

	*ret = (struct task_row){.task_id = walk->id};
	*record = (struct record){.kind = RECORD_TASK_SET, .task = ret};
	if (walk->id > JOURNAL_OBJECT_ID_MAX || !number(walk->stmt, 1, INT64_MAX, &ret->job_id) ||
	    !number(walk->stmt, 2, 2, &kind) || kind == 0 || !number(walk->stmt, 3, 6, &state) ||
	    state == 0 || !number(walk->stmt, 4, UINT8_MAX, &tries) ||
	    !number(walk->stmt, 5, UINT16_MAX, &reason) ||
	    !numbers(walk->stmt, 6, rets, array_len(rets)) ||
	    !bytes(walk->stmt, 12, SQLITE_BLOB, KEY_MAX, &key) || cursor_left(&key) == 0)
		return broken(loader, "a task has a value out of range", walk->id);
	ret->kind = (uint8_t)kind;
	ret->state = (uint8_t)state;
	ret->tries = (uint8_t)tries;
	ret->reason = (uint32_t)reason;
	record->key = key.at;
	record->key_len = (uint16_t)cursor_left(&key);
	return true;
}

bool
load_tasks(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_task_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct task_row task;
		struct record record;

		is_well = read_task(loader, &walk, &task, &record) && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

static bool
read_job(struct loader *loader, const struct walk *walk, struct job_row *ret)
{
	uint64_t state, reason, concurrency;
	uint64_t *const rets[] = {&ret->n_done,       &ret->n_failed,   &ret->bytes_done,
				  &ret->bytes_failed, &ret->made_at_ms, &ret->ended_at_ms};

	*ret = (struct job_row){.job_id = walk->id};
	if (walk->id > JOURNAL_OBJECT_ID_MAX || !number(walk->stmt, 1, 4, &state) || state == 0 ||
	    !number(walk->stmt, 2, UINT16_MAX, &reason) ||
	    !number(walk->stmt, 3, 256, &concurrency) || concurrency == 0 ||
	    !numbers(walk->stmt, 4, rets, array_len(rets)))
		return broken(loader, "a job has a value out of range", walk->id);
	ret->state = (uint32_t)state;
	ret->reason = (uint32_t)reason;
	ret->concurrency = (uint32_t)concurrency;
	return true;
}

/* take_job_segments -- of the job at hand; they stand in the order of jobs, targets last. */
static bool
take_job_segments(struct loader *loader, struct walk *segments, struct job_row *job)
{
	while (segments->is_at_row && segments->id == job->job_id) {
		uint64_t is_target, segment_id;
		uint32_t n = job->n_segments + job->n_targets;

		if (!number(segments->stmt, 1, 1, &is_target) ||
		    !number(segments->stmt, 2, INT64_MAX, &segment_id) || segment_id == 0 ||
		    n == array_len(job->ids))
			return broken(loader, "a job has a value out of range", job->job_id);
		job->ids[n] = segment_id;
		job->n_targets += is_target == 1;
		job->n_segments += is_target == 0;
		loader->rc = sqlite3_step(segments->stmt);
		segments->is_at_row = loader->rc == SQLITE_ROW;
		if (!segments->is_at_row && loader->rc != SQLITE_DONE)
			return false;
		loader->rc = SQLITE_OK;
		if (segments->is_at_row && !number(segments->stmt, 0, INT64_MAX, &segments->id))
			return broken(loader, "a job has a value out of range", job->job_id);
	}
	return true;
}

bool
load_jobs(struct loader *loader, int *r)
{
	struct walk walk = {0}, segments = {0};
	bool is_well = walk_start(loader, &walk, sql_job_load) &&
		       walk_start(loader, &segments, sql_job_segment_load) &&
		       walk_next(loader, &segments);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct job_row job;
		struct record record = {.kind = RECORD_JOB_SET, .job = &job};

		is_well = read_job(loader, &walk, &job) &&
			  take_job_segments(loader, &segments, &job) && give(loader, &record, r);
	}
	if (is_well && segments.is_at_row)
		is_well = broken(loader, "a job's segment has no job", segments.id);
	sqlite3_finalize(walk.stmt);
	sqlite3_finalize(segments.stmt);
	return is_well;
}
