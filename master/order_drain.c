/* SPDX-License-Identifier: Apache-2.0 */

/*
 * order_drain.c -- a row of `drain`: planned, running, and how far.
 *
 *      row NULL --judged--> planned --in the row, so that it can't be deleted any more--> read
 * again
 *                                                                                             |
 *             done, failed, cancelled <--job ended-- running, once a second how far <--job made
 *
 * Whoever dies in between: a row that is planned gives the job that drains the segment already, or
 * a new one; a row that is running names its job.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "master/job.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define EVERY_MS 1000

/* ---- those that are followed ---- */

static struct order_drain *
followed(struct master *master, int64_t row_id)
{
	for (size_t i = 0; i < master->order_drains.n; i++)
		if (master->order_drains.at[i].order.row_id == row_id)
			return &master->order_drains.at[i];
	return NULL;
}

static void
follow(struct master *master, const struct order *order, uint64_t job_id)
{
	struct order_drain drain = {.order = *order, .job_id = job_id};

	if (vec_push(&master->order_drains, drain) < 0)
		log_event(LOG_WARN, "order_not_followed", "name=%s", order->name);
}

static void
unfollow(struct master *master, int64_t row_id)
{
	struct order_drain *drain = followed(master, row_id);

	if (drain != NULL)
		*drain = master->order_drains.at[--master->order_drains.n];
}

/* ---- judging and beginning ---- */

/* Its name or its id; NULL: none is lent. */
static const struct segment *
segment_of(const struct master *master, const char *word)
{
	uint64_t id;

	if (num_parse(word, &id) != 0)
		id = 0; /* then it is a name */
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (segment->state != SEGMENT_LEAVING &&
		    (segment->id == id || strcmp(segment->name, word) == 0))
			return segment;
	}
	return NULL;
}

static void
tell_words(struct master *master, const struct order *order, enum order_state state,
	   const char *words)
{
	struct order_outcome outcome = {.state = state};

	snprintf(outcome.words, sizeof(outcome.words), "%s", words);
	order_tell_committed(master, order, &outcome);
}

static void
judge(struct master *master, const struct order *order)
{
	if (segment_of(master, order->name) == NULL)
		tell_words(master, order, ORDER_REFUSED,
			   "no segment that is lent has that name or id: tiffin segments");
	else
		tell_words(master, order, ORDER_PLANNED, "");
}

static struct order_progress
progress_of(const struct master *master, const struct job *job)
{
	struct order_progress progress = {.job_id = job->id,
					  .n_done = job->n_done,
					  .n_failed = job->n_failed,
					  .bytes_done = job->bytes_done};

	job_left(master, job, &progress.n_left, &progress.bytes_left);
	return progress;
}

static void
begin(struct master *master, struct order_drain *drain)
{
	const struct segment *segment = segment_of(master, drain->order.name);
	struct rec_id id = {segment != NULL ? segment->id : 0};
	struct job_wish wish = {
		.segments = &id, .n_segments = 1, .concurrency = (uint32_t)drain->order.values[0]};
	struct order_outcome outcome = {.state = ORDER_RUNNING};
	struct job *job = NULL;
	uint32_t status = job_make(master, &wish, &job);

	if (status == STATUS_UNAVAILABLE)
		return; /* once more in a second */
	if (status != STATUS_OK) {
		tell_words(master, &drain->order, ORDER_FAILED, status_meaning(status));
		unfollow(master, drain->order.row_id);
		return;
	}
	drain->job_id = job->id;
	outcome.progress = progress_of(master, job);
	drain->told = outcome.progress;
	snprintf(outcome.words, sizeof(outcome.words), "job %" PRIu64, job->id);
	order_tell_committed(master, &drain->order, &outcome);
	drain->order.state = ORDER_RUNNING;
}

/* ---- how far ---- */

static enum order_state
state_of(const struct job *job)
{
	switch (job->state) {
	case JOB_RUNNING:
		return ORDER_RUNNING;
	case JOB_SUCCEEDED:
		return ORDER_DONE;
	case JOB_CANCELLED:
		return ORDER_CANCELLED;
	case JOB_FAILED:
		return ORDER_FAILED;
	}
	assert(false);
	return ORDER_FAILED;
}

/* look -- false: it is followed no more. */
static bool
look(struct master *master, struct order_drain *drain)
{
	const struct job *job = job_find(master, drain->job_id);
	struct order_outcome outcome = {.state = ORDER_FAILED};

	if (job == NULL) {
		tell_words(master, &drain->order, ORDER_FAILED,
			   "its job is not in the books any more: order it again");
		return false;
	}
	outcome.state = state_of(job);
	outcome.progress = progress_of(master, job);
	if (outcome.state == ORDER_RUNNING &&
	    memcmp(&outcome.progress, &drain->told, sizeof(drain->told)) == 0)
		return true;
	snprintf(outcome.words, sizeof(outcome.words), "%s",
		 job->state == JOB_FAILED      ? status_meaning(job->reason)
		 : job->state == JOB_CANCELLED ? "by request"
		 : job->state == JOB_SUCCEEDED ? "nothing lies there any more"
					       : "");
	drain->told = outcome.progress;
	order_tell_committed(master, &drain->order, &outcome);
	return outcome.state == ORDER_RUNNING;
}

/* ---- cancelling ---- */

/* take_back -- the segment takes new data again: of its own job, or of whatever has drained it. */
static uint32_t
take_back(struct master *master, const struct order *order)
{
	struct job *job = job_find(master, order->has_values[1] ? (uint64_t)order->values[1] : 0);
	const struct segment *segment = segment_of(master, order->name);
	struct rec_id id = {segment != NULL ? segment->id : 0};

	if (job != NULL)
		return job_cancel(master, job);
	return order->state == ORDER_NEW || segment == NULL ? STATUS_OK : job_undo(master, &id, 1);
}

static bool
is_to_cancel(const struct order *order)
{
	return strcmp(order->wish, "cancel") == 0;
}

static void
cancel(struct master *master, const struct order *order)
{
	struct order_drain *drain = followed(master, order->row_id);
	struct order at = *order;

	if (drain != NULL && drain->job_id != 0) { /* its row may not name it yet */
		at.values[1] = (int64_t)drain->job_id;
		at.has_values[1] = true;
	}
	unfollow(master, order->row_id);
	if (take_back(master, &at) == STATUS_OK)
		tell_words(master, &at, ORDER_CANCELLED, "its segment takes new data again");
	else
		follow(master, &at, (uint64_t)at.values[1]); /* once more in a second */
}

void
order_drain(struct master *master, const struct order *order)
{
	const struct order_drain *drain = followed(master, order->row_id);
	uint64_t job_id = order->has_values[1] ? (uint64_t)order->values[1] : 0;

	if (is_to_cancel(order)) {
		cancel(master, order);
	} else if (order->state == ORDER_NEW) {
		unfollow(master, order->row_id); /* what it was before */
		judge(master, order);
	} else if (drain == NULL) {
		follow(master, order, order->state == ORDER_RUNNING ? job_id : 0);
		master->order_drains_due_ms = 0;
	}
}

void
order_drains_sweep(struct master *master)
{
	if (master->now_ms < master->order_drains_due_ms)
		return;
	master->order_drains_due_ms = master->now_ms + EVERY_MS;
	for (size_t i = master->order_drains.n; i-- > 0;) {
		struct order_drain *drain = &master->order_drains.at[i];

		if (is_to_cancel(&drain->order))
			cancel(master, &drain->order);
		else if (drain->job_id == 0)
			begin(master, drain);
		else if (!look(master, drain))
			unfollow(master, drain->order.row_id);
	}
}
