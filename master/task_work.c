/* SPDX-License-Identifier: Apache-2.0 */

/* task_work.c -- a task and its worker: the put that it writes to, who gets it, what it reports. */
#include <errno.h>

#include "master/books.h"
#include "master/task.h"
#include "transfer/base/err.h"

/* ---- its put ---- */

static void
forget_put(struct task *task)
{
	if (task->state == TASK_OFFERED) {
		task->put->client->n_offers--;
		task->put->client->offer_bytes -= task->len_bytes;
	}
	list_remove(&task->at_list);
	task->put->task = NULL;
	task->put = NULL;
}

/* Give the try up. */
void
task_drop_put(struct master *master, struct task *task, bool is_quiet)
{
	struct put *put = task->put;

	forget_put(task);
	task->state = TASK_WAITING;
	list_push_back(&master->tasks.waiting, &task->at_list);
	put_fail(master, put, is_quiet);
}

void
task_lost_put(struct master *master, struct task *task)
{
	const struct segment *to = segment_find(master, task->to_id);

	forget_put(task);
	task_retry(master, task,
		   to == NULL || to->state == SEGMENT_LEAVING ? STATUS_SEGMENT_NOT_FOUND
							      : STATUS_LEASE_EXPIRED);
}

uint32_t
task_cancel(struct master *master, struct task *task)
{
	if (task_has_ended(task))
		return STATUS_OK;
	if (task->put != NULL)
		task_drop_put(master, task, /* is_quiet= */ false);
	return task_end(master, task, TASK_CANCELLED, STATUS_CANCELLED) < 0 ? STATUS_UNAVAILABLE
									    : STATUS_OK;
}

/* ---- its worker ---- */

static struct client *
worker_of(const struct segment *segment)
{
	return segment->state == SEGMENT_OK && segment->client->has_worker ? segment->client : NULL;
}

/* Whoever gets the copy; after it let a lease run out, somebody who has one may do better. */
struct client *
task_worker(const struct task *task, const struct object *of, const struct segment *to)
{
	struct client *first = worker_of(to), *second = NULL;

	object_each_replica(of, rep)
		if (second == NULL && rep->state == REPLICA_COMPLETE)
			second = worker_of(rep->segment);
	if (second != NULL && task->reason == STATUS_LEASE_EXPIRED && task->tries % 2 == 1)
		return second;
	return first != NULL ? first : second;
}

struct task *
task_fetch(struct master *master, struct client *client)
{
	struct list_link *link = list_first(&client->offers);
	struct task *task;

	if (link == NULL)
		return NULL;
	task = list_of(link, struct task, at_list);
	assert(task->state == TASK_OFFERED && task->put->client == client);
	list_remove(link);
	client->n_offers--;
	client->offer_bytes -= task->len_bytes;
	task->state = TASK_RUNNING;
	put_take(master, task->put);
	put_hold_id(master);
	return task;
}

void
task_hand_back(struct master *master, struct task *task)
{
	task_drop_put(master, task, /* is_quiet= */ true);
	task_retry(master, task, STATUS_NOT_COMPLETE);
}

/* ---- the report ---- */

/* The records of a copy that landed; what was there before goes first, for there are 8 at most. */
static int
journal_copy(struct master *master, const struct object *object, const struct replica *rep,
	     uint64_t from_id)
{
	struct replica_record one = {rep->segment->id, rep->n_extents, replica_extents(rep)};
	struct record gone = {
		.kind = RECORD_REPLICA_REMOVE, .object_id = object->id, .segment_id = from_id};
	struct record come = {.kind = RECORD_REPLICA_ADD,
			      .object_id = object->id,
			      .len_bytes = object->len_bytes,
			      .n_replicas = 1,
			      .replicas = &one};
	int r = from_id == 0 ? 0 : books_journal(master, &gone);

	return r < 0 ? err_up(r) : books_journal(master, &come);
}

/* The copy is the object's; the task is DONE and perhaps freed.  0 or -ENOMEM: nothing changed. */
static int
land(struct master *master, struct task *task, struct object *object)
{
	struct books_mark mark = books_mark(master);
	struct put *put = task->put;
	const struct replica *mine = put->object->replicas;
	struct replica *from = object_copy_on(object, task->from_id), *rep;
	int r = object_add_replica(object, mine->segment, replica_extents(mine), mine->n_extents,
				   &rep);

	if (r < 0)
		return err_up(r);
	r = journal_copy(master, object, rep, from == NULL ? 0 : task->from_id);
	if (r == 0) {
		task->put = NULL;
		r = task_end(master, task, TASK_DONE, STATUS_OK);
		task = r < 0 ? task : NULL;
	}
	if (r < 0) {
		if (task != NULL)
			task->put = put;
		books_rewind(master, mark);
		replica_move(rep, REPLICA_FAILED);
		object_drop_replica(object, rep);
		return err_up(r);
	}

	put->task = NULL;
	put_land(master, put, rep);
	object->batch = master->batch;
	counter_add(&master->counters.object_bytes, object->len_bytes);
	if (from != NULL)
		books_part(master, object, from, /* is_moved= */ true);
	return 0;
}

/* Its worker says that it could not; a status that is none of ours says nothing. */
static void
give_up(struct master *master, struct task *task, uint32_t reason, bool is_quiet)
{
	task_drop_put(master, task, is_quiet);
	task_retry(master, task,
		   reason == STATUS_BAD_CHECKSUM || reason == STATUS_QUOTA_EXCEEDED
			   ? reason
			   : STATUS_UNREACHABLE);
}

/* A move whose old copy was lost on the way is one copy more. */
static bool
has_room_to_land(const struct task *task, const struct object *object)
{
	return task->kind == TASK_COPY || object_copy_on(object, task->from_id) != NULL ||
	       tenant_has_room(object->tenant, replica_room_bytes(task->put->object->replicas));
}

static uint32_t
judge_report(const struct task *task, const struct client *client, const struct rec_work_done *done)
{
	if (task == NULL)
		return STATUS_TASK_NOT_FOUND;
	if (task->state == TASK_DONE)
		return STATUS_OK;
	if (task->state != TASK_RUNNING || task->put->object->id != done->put_id)
		return STATUS_NOT_FOUND;
	return task->put->client == client ? STATUS_OK : STATUS_NOT_YOURS;
}

uint32_t
task_report(struct master *master, struct client *client, const struct rec_work_done *done)
{
	struct task *task = task_find(master, done->task_id);
	uint32_t status = judge_report(task, client, done);
	struct object *object;

	if (status != STATUS_OK || task->state == TASK_DONE)
		return status;
	if (done->status != STATUS_OK) {
		give_up(master, task, done->status, done->is_quiet != 0);
		return STATUS_OK;
	}
	object = map_get(&master->objects, task->object_id);
	if (object == NULL || object_is_void(object)) {
		task_drop_put(master, task, /* is_quiet= */ true);
		task_pointless(master, task, STATUS_NOT_FOUND);
		return STATUS_NOT_FOUND;
	}
	if (object->has_crc && object->crc != done->crc) {
		give_up(master, task, STATUS_BAD_CHECKSUM, /* is_quiet= */ true);
		return STATUS_BAD_CHECKSUM;
	}
	if (task->put->object->replicas->segment->state != SEGMENT_OK)
		return STATUS_UNAVAILABLE; /* nobody knows whether the bytes are there */
	if (!has_room_to_land(task, object)) {
		give_up(master, task, STATUS_QUOTA_EXCEEDED, /* is_quiet= */ true);
		return STATUS_QUOTA_EXCEEDED;
	}
	return land(master, task, object) < 0 ? STATUS_UNAVAILABLE : STATUS_OK;
}
