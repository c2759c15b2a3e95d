/* SPDX-License-Identifier: Apache-2.0 */
#include "master/ghost.h"

#include <errno.h>

#include "master/books.h"
#include "master/lease.h"
#include "transfer/base/err.h"

/* Nobody renews by a ghost any more.  No round has the number 0; a next number might be one that
 * the object itself, which lives on under the same id, has given out. */
static void
end_round(struct object *ghost)
{
	ghost->lease_id = 0;
	ghost->n_holders = 1;
}

void
ghost_end_rounds(struct master *master, struct object *object)
{
	struct object *ghost = map_get(&master->ghosts, object->id);

	lease_break(master, object);
	if (ghost != NULL && ghost != object)
		end_round(ghost);
}

static void
unclaim(struct master *master, const struct object *object, const struct replica *until)
{
	for (const struct replica *rep = object->replicas; rep != until; rep = rep->next)
		for (uint32_t i = 0; i < rep->n_extents; i++)
			segment_unclaim(rep->segment, replica_extents(rep)[i], master->now_ms);
}

static int
claim_copy(struct master *master, const struct replica *rep)
{
	uint64_t batch;

	for (uint32_t i = 0; i < rep->n_extents; i++) {
		int r = segment_claim(rep->segment, replica_extents(rep)[i],
				      &master->quarantine.opener, &batch);

		if (r < 0) {
			while (i-- > 0)
				segment_unclaim(rep->segment, replica_extents(rep)[i],
						master->now_ms);
			return err_up(r);
		}
	}
	return 0;
}

int
ghost_make(struct master *master, struct object *object)
{
	int r;

	if (map_get(&master->ghosts, object->id) != NULL)
		return err_new(-EEXIST); /* a copy of it that was moved away; one ghost an id */
	r = map_put(&master->ghosts, object->id, object);
	if (r < 0)
		return err_new(-ENOMEM);
	object_each_replica(object, rep) {
		r = claim_copy(master, rep);
		if (r < 0) {
			unclaim(master, object, rep);
			map_take(&master->ghosts, object->id);
			return err_up(r);
		}
	}
	object->is_ghost = true;
	list_push_back(&master->ghost_list, &object->at_lru);
	return 0;
}

int
ghost_make_of(struct master *master, const struct object *object, const struct replica *rep)
{
	struct object *ghost;
	struct replica *copy;
	int r = object_new(object->tenant, object->id, object->key.bytes, object->key.len_bytes,
			   &ghost);

	if (r < 0)
		return err_up(r);
	ghost->len_bytes = object->len_bytes;
	ghost->batch = master->batch;
	ghost->lease_until_ms = object->lease_until_ms;
	ghost->lease_id = object->lease_id;
	ghost->n_holders = object->n_holders;
	r = object_add_replica(ghost, rep->segment, replica_extents(rep), rep->n_extents, &copy);
	if (r < 0) {
		object_free(ghost);
		return err_up(r);
	}
	r = ghost_make(master, ghost);
	replica_move(copy, REPLICA_PROCESSING);
	replica_move(copy, REPLICA_COMPLETE);
	replica_move(copy, REPLICA_REMOVED);
	if (r < 0) {
		object_drop_replica(ghost, copy);
		object_free(ghost);
	}
	return err_up(r);
}

void
ghost_drop(struct master *master, struct replica *rep)
{
	struct object *object = rep->object;
	struct rest_terms terms = {
		.tenant = object->tenant,
		.until_ms = master->leases_of_before_ms,
		.batch = object->batch,
		.now_ms = master->now_ms,
		.has_claim = true,
	};

	assert(object->is_ghost);

	end_round(object);
	books_rest(master, rep, &terms);
	object_drop_replica(object, rep);
	if (object->replicas != NULL)
		return;
	map_take(&master->ghosts, object->id);
	object_free(object);
}

/* The list is walked round and round, a few a turn. */
void
ghost_sweep(struct master *master, unsigned max_steps)
{
	for (unsigned n = 0; n < max_steps && !list_is_empty(&master->ghost_list); n++) {
		struct object *object =
			list_of(list_first(&master->ghost_list), struct object, at_lru);

		list_remove(&object->at_lru);
		list_push_back(&master->ghost_list, &object->at_lru);
		if (lease_runs(object, master->now_ms))
			continue;
		for (unsigned left = object->n_replicas; left > 0; left--)
			ghost_drop(master, object->replicas);
	}
}
