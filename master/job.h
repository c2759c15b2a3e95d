/* SPDX-License-Identifier: Apache-2.0 */

/*
 * job.h -- drain: all that lies in some segments is to move elsewhere.
 *
 *      made: the segments are DRAINING (segment.h)
 *        |
 *      RUNNING   a bounded number of moves (task.h) at once, each for the next copy of the
 * segment's |       own list, which is walked round and round
 *        +--> SUCCEEDED   nothing lies there, and every promise on what did is over: DRAINED
 *        +--> FAILED      only what could not be moved lies there; the tasks say why
 *        +--> CANCELLED   the segments take new data again
 *
 * Copies that are being written, and those that are read under a lease after their object went,
 * are waited for.  An object with other copies and no further segment to go to just loses this one.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_JOB_H
#define MASTER_JOB_H

#include "master/task.h"

enum job_state { JOB_RUNNING = 1, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED };

#define JOB_CONCURRENCY     16
#define JOB_CONCURRENCY_MAX 256
#define JOBS_KEPT_MAX       256

struct job {
	uint64_t id;
	enum job_state state;
	uint32_t reason, concurrency;
	uint64_t n_done, n_failed, bytes_done, bytes_failed;
	uint64_t made_at_ms, ended_at_ms, ended_ms;
	struct list tasks; /* struct task.at_job: not ended */
	size_t n_tasks;
	struct list_link at_list; /* tasks.running_jobs or .ended_jobs */
	uint32_t n_segments, n_targets;
	uint64_t ids[]; /* segments, then targets */
};

struct job_wish {
	const struct rec_id *segments, *targets;
	uint32_t n_segments, n_targets, concurrency;
};

/*
 * job_make -- begin to drain; the same segments again give the job that does.
 *
 * result:  an enum status: OK, INVALID, SEGMENT_NOT_FOUND, TASK_BUSY, UNAVAILABLE.
 */
uint32_t job_make(struct master *master, const struct job_wish *wish, struct job **ret_job);

/* job_undo -- the segments take new data again; jobs that drain them are cancelled.  A status. */
uint32_t job_undo(struct master *master, const struct rec_id *segments, uint32_t n);

/* job_cancel -- OK or UNAVAILABLE; its segments take new data again, also those DRAINED. */
uint32_t job_cancel(struct master *master, struct job *job);

struct job *job_find(const struct master *master, uint64_t id);

/* job_left -- copies that lie in its segments still, and their bytes. */
void job_left(const struct master *master, const struct job *job, uint64_t *ret_n,
	      uint64_t *ret_bytes);

/* job_step -- more moves for those under way to be concurrency; or its end. */
void job_step(struct master *master, struct job *job);

/* job_row -- what the books keep of it; with its segments: when it is new. */
void job_row(const struct job *job, bool with_segments, struct job_row *ret);

/* job_load -- from the books.  0, -ENOMEM. */
int job_load(struct master *master, const struct record *record) MUST_CHECK;

/* jobs_forget -- those that ended long ago, at most max_steps. */
void jobs_forget(struct master *master, unsigned max_steps);

/* job_forget -- off all lists, and freed. */
void job_forget(struct tasks *tasks, struct job *job);

#endif
