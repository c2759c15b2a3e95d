/* SPDX-License-Identifier: Apache-2.0 */

/*
 * task.h -- one object is to have a copy elsewhere; a provider carries it out.
 *
 *      made -> WAITING --planned--> OFFERED --fetched--> RUNNING --reported--> DONE
 *                ^   |                 |                    |
 *                |   |                 +---- try failed ----+
 *                +---+---------------------------+
 *                    |  tried often enough, or no sense in trying: FAILED;  cancel: CANCELLED
 *
 *      WAITING   nothing is reserved; tried again at retry_at_ms
 *      OFFERED   a put of its own (put_copy.c) has the room, INITIALIZED; the worker has not asked
 * yet RUNNING   the worker writes under that put's write lease, and reads under a lease on the
 * object DONE      the copy is the object's; with a move the other one is not any more
 *
 * The worker is the provider of the segment that gets the copy: it pulls.  When that one carries
 * out no tasks it is the provider of a segment that has one: it pushes.
 *
 * Whatever goes wrong between OFFERED and DONE ends the put like any other: its lease runs out,
 * its writer is lost, its segment leaves, it is revoked; its room rests for the fence, and the task
 * waits for its next try.  An object that was removed or replaced meanwhile is simply not found.
 *
 * One task an object at a time.  Ids of tasks and jobs are out of the numbers of objects.  What was
 * asked for by name stands in the books until it is forgotten; the tasks of a job only when they
 * failed, for the others are found again in its segments (job.h); the master's own never.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_TASK_H
#define MASTER_TASK_H

#include "master/journal.h"
#include "master/put.h"
#include "master/proto/codec.h"
#include "transfer/base/map.h"

struct job;
struct segment;

enum task_kind { TASK_COPY = 1, TASK_MOVE };

enum task_state {
	TASK_WAITING = 1,
	TASK_OFFERED,
	TASK_RUNNING,
	TASK_DONE,
	TASK_FAILED,
	TASK_CANCELLED,
};

#define TASK_TRIES_MAX 5
#define TASK_RETRY_MS  200 /* after the first try that failed; doubles with each */
/* To one worker at a time, one of any size always; their room is taken meanwhile. */
#define TASK_OFFERS_MAX      1024
#define TASK_OFFER_BYTES_MAX (256ull << 20)
#define TASKS_MAX            65536
#define TASKS_KEPT_MAX       1024 /* that have ended */
#define TASK_KEPT_MS         (60ull * 60 * 1000)

struct task {
	uint64_t id, object_id, len_bytes;
	uint64_t from_id, to_id; /* segments: wished; to_id also where it is going, or went */
	struct put *put;         /* OFFERED, RUNNING */
	struct job *job;         /* whose part it is, until one of them ends; or NULL */
	uint64_t job_id;
	uint64_t wished_to_id;
	uint64_t retry_at_ms;
	uint64_t made_at_ms, ended_at_ms; /* since 1970; 0: not ended */
	uint64_t ended_ms;
	uint32_t reason; /* enum status: of the last try that failed */
	uint8_t kind, state, tries;
	uint8_t medium; /* enum medium: where to, 0: any */
	bool is_stored;
	bool is_own; /* nobody asked for it (offload.h) */
	struct list_link
		at_list; /* WAITING: tasks.waiting; OFFERED: its worker's; ended: tasks.ended */
	struct list_link at_job;
	struct list_link at_all;
	uint16_t key_len;
	uint8_t key[];
};

struct tasks {
	struct map by_id;
	struct list all;      /* in the order of their ids */
	struct map by_object; /* object id -> the task that has it: not ended */
	struct list waiting;  /* looked at in turn */
	struct list ended;    /* oldest first */
	size_t n_ended;
	struct map jobs; /* id -> struct job */
	struct list running_jobs, ended_jobs;
	size_t n_ended_jobs;
};

void tasks_init(struct tasks *tasks);

/* tasks_fini -- needs: every put was failed. */
void tasks_fini(struct tasks *tasks);

struct task_wish {
	enum task_kind kind;
	struct object *object;
	uint64_t from_id, to_id;
	struct job *job;
	uint8_t medium; /* enum medium, 0: any */
	bool is_own;
};

/*
 * task_make -- an object is to be copied or moved.
 *
 * gives:   *ret_task: a new one, or the one that has the same wish already.
 * result:  an enum status: OK, EXISTS, TASK_BUSY, NO_COPY, SEGMENT_NOT_FOUND, NO_SEGMENT, TOO_MANY,
 *          UNAVAILABLE.
 */
uint32_t task_make(struct master *master, const struct task_wish *wish, struct task **ret_task);

/* task_find -- or NULL. */
struct task *task_find(const struct master *master, uint64_t id);

static inline bool
task_has_ended(const struct task *task)
{
	return task->state >= TASK_DONE;
}

/* task_worker -- who would carry it out, with a copy of `of` going to `to`; NULL: nobody. */
struct client *task_worker(const struct task *task, const struct object *of,
			   const struct segment *to);

/* task_fetch -- the next task that is offered to the client becomes RUNNING; NULL: none is. */
struct task *task_fetch(struct master *master, struct client *client);

/* task_hand_back -- it was fetched, but not told: there is nothing to be read.  Planned again. */
void task_hand_back(struct master *master, struct task *task);

/*
 * task_report -- its worker says what came of it.
 *
 * result:  an enum status: OK also when the failure was noted, or when it was DONE before;
 *          UNAVAILABLE: report again.
 */
uint32_t task_report(struct master *master, struct client *client,
		     const struct rec_work_done *done);

/* task_lost_put -- its put has ended, and is freed; the task waits for another try, or has failed.
 */
void task_lost_put(struct master *master, struct task *task);

/* task_drop_put -- give this try up; it waits, for task_retry() or task_end(). */
void task_drop_put(struct master *master, struct task *task, bool is_quiet);

/* task_cancel -- OK, or UNAVAILABLE; one that has ended stays as it is. */
uint32_t task_cancel(struct master *master, struct task *task);

/*
 * task_end -- DONE, FAILED or CANCELLED, for `reason`, in the books and in its job's counts.
 *
 * needs:   it has no put.  0 or -ENOMEM, then nothing has changed.
 */
int task_end(struct master *master, struct task *task, enum task_state state,
	     uint32_t reason) MUST_CHECK;

/* task_retry -- this try failed: WAITING, or FAILED after too many. */
void task_retry(struct master *master, struct task *task, uint32_t reason);

/* task_pointless -- there is nothing to copy any more: FAILED; within a job it is over, no more. */
void task_pointless(struct master *master, struct task *task, uint32_t reason);

/* task_tell_begun, task_tell_ended, job_tell -- events, for people: what it is now. */
void task_tell_begun(struct master *master, const struct task *task);
void task_tell_ended(struct master *master, const struct task *task);
void job_tell(struct master *master, const struct job *job);

/* ended_may_go -- of n tasks or jobs that have ended the one that did at ended_ms, the oldest: is
 * it too long ago, or are they more than are kept? */
static inline bool
ended_may_go(uint64_t now_ms, uint64_t ended_ms, size_t n, size_t kept_max)
{
	return n > kept_max || now_ms - ended_ms >= TASK_KEPT_MS;
}

/* tasks_forget -- what ended long ago, at most max_steps. */
void tasks_forget(struct master *master, unsigned max_steps);

/* task_row -- what the books keep of it. */
struct task_row task_row(const struct task *task);

/* task_load -- from the books.  needs: objects and jobs are loaded.  0, -EBADMSG, -ENOMEM. */
int task_load(struct master *master, const struct record *record) MUST_CHECK;

/* ---- planning (task_plan.c) ---- */

/* task_plan -- find places and workers for those that wait, at most max_steps. */
void task_plan(struct master *master, unsigned max_steps);

/* tasks_sweep -- jobs go on, tasks are planned, what ended long ago is forgotten. */
void tasks_sweep(struct master *master);

/* task_check_offers -- what waits until this worker fetches it is counted right. */
void task_check_offers(const struct client *client);

/* tasks_check -- every law of tasks and jobs (tests, simulation). */
void tasks_check(const struct master *master);

#endif
