/* SPDX-License-Identifier: Apache-2.0 */
#include "master/ghost.h"

#include <errno.h>

#include "master/books.h"
#include "master/lease.h"
#include "transfer/base/err.h"

/* ---- all ghosts of one id ---- */

static struct ghosts *
ghosts_of(const struct master *master, uint64_t object_id)
{
	return object_id == 0 ? NULL : map_get(&master->ghosts, object_id);
}

static int
join(struct master *master, struct object *object)
{
	struct ghosts *ghosts = ghosts_of(master, object->id);

	if (ghosts == NULL) {
		ghosts = calloc(1, sizeof(*ghosts));
		if (ghosts == NULL || map_put(&master->ghosts, object->id, ghosts) < 0) {
			free(ghosts);
			return err_new(-ENOMEM);
		}
	}
	assert(ghosts->n < array_len(ghosts->at));
	ghosts->at[ghosts->n++] = object;
	object->is_ghost = true;
	list_push_back(&master->ghost_list, &object->at_lru);
	return 0;
}

static void
part(struct master *master, struct object *object)
{
	struct ghosts *ghosts = ghosts_of(master, object->id);
	unsigned at = 0;

	while (ghosts->at[at] != object)
		at++;
	assert(at < ghosts->n);
	ghosts->n--;
	for (; at < ghosts->n; at++)
		ghosts->at[at] = ghosts->at[at + 1];
	if (ghosts->n > 0)
		return;
	map_take(&master->ghosts, object->id);
	free(ghosts);
}

bool
ghost_has_room(const struct master *master, const struct object *object)
{
	const struct ghosts *ghosts = ghosts_of(master, object->id);

	return ghosts == NULL || ghosts->n < GHOSTS_MAX;
}

/* Nobody renews by a ghost any more, nor by an older one; NULL: by none of them.  No round has the
 * number 0; a next number might be one that the object itself, which lives on under the same id,
 * has given out. */
static void
end_rounds(struct ghosts *ghosts, const struct object *youngest)
{
	for (unsigned i = 0; i < ghosts->n; i++) {
		ghosts->at[i]->lease_id = 0;
		ghosts->at[i]->n_holders = 1;
		if (ghosts->at[i] == youngest)
			return;
	}
}

void
ghost_end_rounds(struct master *master, struct object *object)
{
	struct ghosts *ghosts = ghosts_of(master, object->id);

	lease_break(master, object);
	if (ghosts != NULL)
		end_rounds(ghosts, /* youngest= */ NULL);
}

bool
ghost_renew(struct master *master, uint64_t object_id, struct object *object, uint32_t lease_id,
	    uint64_t len_ms)
{
	struct ghosts *ghosts = ghosts_of(master, object_id);
	bool is_found = false;

	if (ghosts == NULL)
		return false;
	for (unsigned i = 0; i < ghosts->n; i++)
		if (is_found)
			lease_stretch(master, ghosts->at[i], len_ms);
		else
			is_found = lease_renew(master, ghosts->at[i], lease_id, len_ms);
	if (is_found && object != NULL)
		lease_stretch(master, object, len_ms);
	return is_found;
}

void
ghost_release(struct master *master, uint64_t object_id, uint32_t lease_id)
{
	struct ghosts *ghosts = ghosts_of(master, object_id);

	for (unsigned i = 0; ghosts != NULL && i < ghosts->n; i++)
		lease_release(master, ghosts->at[i], lease_id);
}

/* ---- one comes ---- */

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

	object_each_replica(object, rep) {
		r = claim_copy(master, rep);
		if (r < 0) {
			unclaim(master, object, rep);
			return err_up(r);
		}
	}
	r = join(master, object);
	if (r < 0)
		unclaim(master, object, /* until= */ NULL);
	return err_up(r);
}

int
ghost_make_of(struct master *master, const struct object *object, const struct replica *rep,
	      bool is_of_move)
{
	struct object *ghost;
	struct replica *copy;
	int r = object_new(object->tenant, object->id, object->key.bytes, object->key.len_bytes,
			   &ghost);

	assert(ghost_has_room(master, object));

	if (r < 0)
		return err_up(r);
	ghost->len_bytes = object->len_bytes;
	ghost->batch = master->batch;
	ghost->lease_until_ms = object->lease_until_ms;
	ghost->lease_id = object->lease_id;
	ghost->n_holders = object->n_holders;
	ghost->is_of_move = is_of_move;
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

/* ---- one goes ---- */

void
ghost_drop(struct master *master, struct replica *rep)
{
	struct object *object = rep->object;
	struct rest_terms terms = {
		.tenant = object_payer(object),
		.until_ms = master->leases_of_before_ms,
		.batch = object->batch,
		.now_ms = master->now_ms,
		.has_claim = true,
	};

	assert(object->is_ghost);

	end_rounds(ghosts_of(master, object->id), object);
	books_rest(master, rep, &terms);
	object_drop_replica(object, rep);
	if (object->replicas != NULL)
		return;
	part(master, object);
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

void
ghosts_free(struct master *master)
{
	uint64_t id;
	void *value;

	for (size_t at = 0; map_next(&master->ghosts, &at, &id, &value);)
		free(value);
	map_fini(&master->ghosts);
}

static void
check_one_id(const struct master *master, const struct ghosts *ghosts, uint64_t id)
{
	const struct object *object = map_get(&master->objects, id);
	uint64_t until_ms = object == NULL ? UINT64_MAX : object->lease_until_ms;

	assert(ghosts->n > 0 && ghosts->n <= array_len(ghosts->at));
	for (unsigned i = ghosts->n; i-- > 0;) {
		const struct object *ghost = ghosts->at[i];

		assert(ghost->id == id && ghost->is_ghost);
		assert(!lease_runs(ghost, master->now_ms) || ghost->lease_until_ms <= until_ms);
		until_ms = ghost->lease_until_ms;
	}
}

size_t
ghosts_check(const struct master *master)
{
	size_t n = 0;
	uint64_t id;
	void *value;

	for (size_t at = 0; map_next(&master->ghosts, &at, &id, &value);) {
		const struct ghosts *ghosts = value;

		check_one_id(master, ghosts, id);
		n += ghosts->n;
	}
	return n;
}
