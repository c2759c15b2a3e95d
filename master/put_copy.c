/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put_copy.c -- the put of a task: an object of its own that has the room, while the bytes of
 * another one come in.  It is in no index, and ends with report_task instead of put_end.
 *
 *      put_open_copy        INITIALIZED   nobody writes: given back at once when it comes to
 * nothing put_take             PROCESSING    its writer knows it: from now on it rests for the
 * fence put_land             (gone)        the extents are a COMPLETE copy of the object
 */
#include <errno.h>

#include "master/books.h"
#include "master/place.h"
#include "master/put_room.h"
#include "master/put.h"
#include "master/task.h"
#include "transfer/base/err.h"

#define IDS_RESERVED (1u << 20)

/* Ids of puts that are never stored may not be used again either: they are reserved by the million.
 */
int
put_reserve_id(struct master *master)
{
	struct record record = {.kind = RECORD_NEXT_OBJECT_ID,
				.object_id = master->next_object_id + IDS_RESERVED};
	int r;

	if (master->next_object_id < master->reserved_object_id) {
		put_hold_id(master);
		return 0;
	}
	r = books_journal(master, &record);
	if (r < 0)
		return err_up(r);
	master->journal.wants_sync = true;
	master->hold_sync = true;
	master->reserved_object_id = record.object_id;
	master->reserved_batch = master->batch;
	return 0;
}

void
put_hold_id(struct master *master)
{
	if (master->reserved_batch <= master->progress.synced)
		return;
	books_hold(master, master->reserved_batch);
	master->hold_sync = true;
}

static int
status_of_place(int r)
{
	return r < 0 ? err_up(r) : r == PLACE_E_FULL ? PUT_E_FULL : PUT_E_NO_SEGMENT;
}

static void
give_back(struct object *object)
{
	struct replica *rep = object->replicas;

	for (uint32_t i = 0; i < rep->n_extents; i++)
		alloc_give(rep->segment->alloc, replica_extents(rep)[i]);
	replica_move(rep, REPLICA_FAILED);
	object_drop_replica(object, rep);
}

static bool
has_enough_to_do(const struct client *client, const struct task *task)
{
	return client->n_offers >= TASK_OFFERS_MAX ||
	       (client->n_offers > 0 &&
		client->offer_bytes + task->len_bytes > TASK_OFFER_BYTES_MAX);
}

/* Room, a writer, and the claims; the object has its copy, or nothing has changed. */
static int
find_room(struct master *master, const struct task *task, const struct copy_wish *wish,
	  struct object *object, struct client **ret_client)
{
	struct client *client;
	int r = place_copy(master, object, wish);

	if (r != 0)
		return status_of_place(r);
	client = task_worker(task, wish->of, object->replicas->segment);
	if (client == NULL)
		r = PUT_E_NO_WORKER;
	else if (has_enough_to_do(client, task))
		r = PUT_E_BUSY;
	else
		r = put_claim(master, object->replicas);
	if (r != 0) {
		give_back(object);
		return r < 0 ? err_up(r) : r;
	}
	*ret_client = client;
	return 0;
}

static void
enlist(struct master *master, struct put *put)
{
	list_push_back(&put->client->puts, &put->at_client);
	put->client->n_puts++;
	put->started_ms = master->now_ms;
	put_lease_anew(master, put);
	counter_add(&master->counters.puts_under_way, 1);
}

int
put_open_copy(struct master *master, struct task *task, const struct copy_wish *wish,
	      struct put **ret_put)
{
	const struct object *of = wish->of;
	struct object *object = NULL;
	struct put *put = put_spare_take(master);
	int r = put == NULL ? err_new(-ENOMEM) : put_reserve_id(master);

	if (put != NULL)
		*put = (struct put){.master = master,
				    .task = task,
				    .is_copy = true,
				    .copies = {.n[POOL_MEMORY] = 1},
				    .room_bytes = of->len_bytes};
	if (r == 0)
		r = object_new(of->tenant, master->next_object_id, of->key.bytes, of->key.len_bytes,
			       &object);
	if (r == 0)
		object->is_of_move = task->kind == TASK_MOVE;
	if (r == 0 && map_put(&master->puts_by_id, object->id, put) < 0)
		r = err_new(-ENOMEM);
	if (r == 0) {
		r = find_room(master, task, wish, object, &put->client);
		if (r != 0)
			map_take(&master->puts_by_id, object->id);
	}
	if (r != 0) {
		object_free(object);
		if (put != NULL)
			put_spare(master, put);
		return r < 0 ? err_up(r) : r;
	}

	master->next_object_id++;
	list_link_init(&put->at_client);
	list_link_init(&put->at_lease);
	put->object = object;
	enlist(master, put);
	*ret_put = put;
	return 0;
}

void
put_take(struct master *master, struct put *put)
{
	struct replica *rep = put->object->replicas;

	replica_move(rep, REPLICA_PROCESSING);
	put_lease_anew(master, put);
	for (uint32_t i = 0; i < rep->n_extents; i++) {
		uint64_t batch = segment_opened_batch(rep->segment, replica_extents(rep)[i]);

		if (batch <= master->progress.synced)
			continue;
		books_hold(master, batch);
		master->hold_sync = true;
	}
}

void
put_land(struct master *master, struct put *put, struct replica *rep)
{
	struct replica *mine = put->object->replicas;

	assert(mine->segment == rep->segment && mine->n_extents == rep->n_extents);

	for (uint32_t i = 0; i < rep->n_extents; i++)
		segment_unclaim(rep->segment, replica_extents(rep)[i], master->now_ms);
	replica_move(rep, REPLICA_PROCESSING);
	replica_move(rep, REPLICA_COMPLETE);
	replica_move(mine, REPLICA_FAILED);
	object_drop_replica(put->object, mine);
	object_free(put_detach(master, put));
}
