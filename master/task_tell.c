/* SPDX-License-Identifier: Apache-2.0 */

/* task_tell.c -- what becomes of tasks and jobs, as events for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "master/job.h"
#include "transfer/base/utf8.h"

#define SHOWN_MAX 160 /* of a key, or of names of segments */

/* what_it_is -- "move of KEY". */
static const char *
what_it_is(char *buf, size_t cap, const struct task *task)
{
	char key[KEY_MAX + 1], shown[SHOWN_MAX];

	memcpy(key, task->key, task->key_len);
	key[task->key_len] = '\0';
	snprintf(buf, cap, "%s of %s", task->kind == TASK_MOVE ? "move" : "copy",
		 utf8_show(shown, sizeof(shown), key));
	return buf;
}

void
task_tell_begun(struct master *master, const struct task *task)
{
	char what[SHOWN_MAX + 16];

	event_tell(master, EVENT_task_begun, task->id, "%s", what_it_is(what, sizeof(what), task));
}

/* Those that went well are counted: event.def. */
void
task_tell_ended(struct master *master, const struct task *task)
{
	char what[SHOWN_MAX + 16];

	what_it_is(what, sizeof(what), task);
	if (task->state == TASK_CANCELLED)
		event_tell(master, EVENT_task_cancelled, task->id, "%s", what);
	else if (task->state == TASK_FAILED && task->tries >= TASK_TRIES_MAX)
		event_tell(master, EVENT_task_retried_out, task->id, "%s, %d times: %s", what,
			   (int)task->tries, status_meaning(task->reason));
	else if (task->state == TASK_FAILED)
		event_tell(master, EVENT_task_failed, task->id, "%s: %s", what,
			   status_meaning(task->reason));
}

/* names_of -- of its segments: names of those that are there, ids of others; cut to what fits. */
static const char *
names_of(char *buf, size_t cap, const struct master *master, const struct job *job)
{
	size_t n = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < job->n_segments && n < cap; i++) {
		const struct segment *segment = segment_find(master, job->ids[i]);
		const char *comma = i > 0 ? ", " : "";

		if (segment != NULL)
			n += (size_t)snprintf(buf + n, cap - n, "%s%s", comma, segment->name);
		else
			n += (size_t)snprintf(buf + n, cap - n, "%s%" PRIu64, comma, job->ids[i]);
	}
	return buf;
}

void
job_tell(struct master *master, const struct job *job)
{
	static const enum event_kind kinds[] = {
		[JOB_RUNNING] = EVENT_drain_begun,
		[JOB_SUCCEEDED] = EVENT_drain_done,
		[JOB_FAILED] = EVENT_drain_failed,
		[JOB_CANCELLED] = EVENT_drain_cancelled,
	};
	char names[SHOWN_MAX];

	names_of(names, sizeof(names), master, job);
	if (job->state == JOB_RUNNING)
		event_tell(master, kinds[job->state], job->id, "%s", names);
	else
		event_tell(master, kinds[job->state], job->id,
			   "%s: %" PRIu64 " moved, %" PRIu64 " can't be moved%s%s", names,
			   job->n_done, job->n_failed, job->reason != 0 ? ", the last: " : "",
			   job->reason != 0 ? status_meaning(job->reason) : "");
}
