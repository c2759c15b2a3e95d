/* SPDX-License-Identifier: Apache-2.0 */
#include "master/put_room.h"

#include "master/books.h"
#include "master/place.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

/* ---- claims: what is being written must be known to the books as open (segment.h) ---- */

static int
claim(struct master *master, struct segment *segment, struct extent extent)
{
	uint64_t batch;
	int r = segment_claim(segment, extent, &master->quarantine.opener, &batch);

	if (r < 0)
		return err_up(r);
	if (batch > master->progress.synced) {
		books_hold(master, batch);
		master->hold_sync = true;
	}
	return 0;
}

static void
unclaim_extents(struct master *master, const struct replica *rep, uint32_t from, uint32_t until)
{
	for (uint32_t i = from; i < until; i++)
		segment_unclaim(rep->segment, replica_extents(rep)[i], master->now_ms);
}

void
put_unclaim(struct master *master, const struct replica *rep)
{
	unclaim_extents(master, rep, 0, rep->n_extents);
}

/* All extents from `from` on, or none. */
static int
claim_extents(struct master *master, const struct replica *rep, uint32_t from)
{
	for (uint32_t i = from; i < rep->n_extents; i++) {
		int r = claim(master, rep->segment, replica_extents(rep)[i]);

		if (r < 0) {
			unclaim_extents(master, rep, from, i);
			return err_up(r);
		}
	}
	return 0;
}

int
put_claim(struct master *master, const struct replica *rep)
{
	return err_up(claim_extents(master, rep, 0));
}

/* ---- copies that never became COMPLETE ---- */

/* Nobody has been told of these extents, or their only writer is done: they are free at once. */
static void
give_back(struct object *object, struct replica *rep)
{
	for (uint32_t i = 0; i < rep->n_extents; i++)
		alloc_give(rep->segment->alloc, replica_extents(rep)[i]);
	replica_move(rep, REPLICA_FAILED);
	object_drop_replica(object, rep);
}

void
put_drop_copy(struct master *master, struct put *put, struct replica *rep, bool is_quiet)
{
	struct rest_terms terms = {
		.tenant = object_payer(put->object),
		.writer_id = put->client->id,
		.now_ms = master->now_ms,
		.has_claim = true,
	};

	if (is_quiet || rep->state == REPLICA_INITIALIZED) {
		put_unclaim(master, rep);
		give_back(put->object, rep);
		return;
	}
	replica_move(rep, REPLICA_FAILED);
	books_rest(master, rep, &terms);
	object_drop_replica(put->object, rep);
}

/* ---- copies are placed ---- */

static int
of_place(int outcome)
{
	switch (outcome) {
	case PLACE_E_FULL:
		return PUT_E_FULL;
	case PLACE_E_QUOTA:
		return PUT_E_QUOTA;
	default:
		return PUT_E_NO_SEGMENT;
	}
}

/* The host whose segments come first for this copy; NULL: none. */
static const char *
beside(const struct master *master, const struct put *put, enum pool_kind kind)
{
	const struct segment *segment;

	if (kind == POOL_MEMORY && put->object->replicas == NULL) {
		segment = segment_find(master, put->copies.beside_id);
		if (segment != NULL)
			return segment->host;
	}
	return master->limits.placement == PLACEMENT_LOCAL_FIRST ? put->client->host : NULL;
}

/* One copy, claimed and PROCESSING. */
static int
add_copy(struct master *master, struct put *put, uint64_t room_bytes, enum pool_kind kind)
{
	struct place_wish place = {
		.room_bytes = room_bytes,
		.pool = kind,
		.preferred = put->copies.preferred[kind],
		.n_preferred = put->copies.n_preferred[kind],
		.beside = beside(master, put, kind),
	};
	struct replica *rep;
	int r = place_replica(master, put->object, &place);

	if (r != 0)
		return r;
	rep = put->object->replicas;
	while (rep->next != NULL)
		rep = rep->next;
	r = claim_extents(master, rep, 0);
	if (r < 0) {
		give_back(put->object, rep);
		return err_up(r);
	}
	replica_move(rep, REPLICA_PROCESSING);
	return 0;
}

/* The nth of n copies there could not be placed. */
static void
note_lack(struct master *master, const struct put *put, const struct lack *lack)
{
	master->lack = *lack;
	master->lack.kind = place_home(master, lack->kind);
	object_each_replica(put->object, rep)
		master->lack.taken[master->lack.n_taken++] = rep->segment->id;
}

/*
 * As many as are wanted, in memory first.  What can't be had is told by the true count in the
 * answer; but room for one in memory is worth waiting for.
 */
int
put_add_copies(struct master *master, struct put *put, uint64_t room_bytes)
{
	const struct copies_wish *wish = &put->copies;
	int worst = PLACE_E_NO_SEGMENT;

	for (enum pool_kind kind = 0; kind < POOLS; kind++) {
		unsigned n = 0;
		int r = 0;

		while (n < wish->n[kind] && (r = add_copy(master, put, room_bytes, kind)) == 0)
			n++;
		if (r < 0)
			return err_up(r);
		if (r == 0)
			continue;
		note_lack(master, put,
			  &(struct lack){.kind = kind,
					 .nth = n + 1,
					 .n = wish->n[kind],
					 .room_bytes = room_bytes});
		if (wish->is_strict ||
		    (kind == POOL_MEMORY && n == 0 && r != PLACE_E_NO_SEGMENT && !wish->settles))
			return of_place(r);
		worst = num_min(worst, r);
	}
	return put->object->replicas == NULL ? of_place(worst) : 0;
}

/* ---- they grow, and are cut ---- */

/* A copy's extents from n on go back, unclaimed: nobody has been told, or their writer is done. */
static void
drop_extents(struct replica *rep, uint32_t n)
{
	struct extent first = replica_extents(rep)[0];

	assert(n > 0);
	for (uint32_t i = n; i < rep->n_extents; i++) {
		alloc_give(rep->segment->alloc, rep->many[i]);
		tenant_discharge(rep->object->tenant, extent_room_bytes(rep->many[i]));
	}
	if (n == 1 && rep->n_extents > 1) {
		free(rep->many);
		rep->one = first;
	}
	rep->n_extents = n;
}

static void
shrink_copy(struct master *master, struct replica *rep, uint32_t n)
{
	unclaim_extents(master, rep, n, rep->n_extents);
	drop_extents(rep, n);
}

static int
grow_copy(struct master *master, struct replica *rep, uint64_t more_bytes)
{
	uint32_t n_before = rep->n_extents;
	int r = place_more(master, rep, more_bytes);

	if (r != 0)
		return r;
	r = claim_extents(master, rep, n_before);
	if (r < 0)
		drop_extents(rep, n_before);
	return err_up(r);
}

int
put_grow_copies(struct master *master, struct put *put, uint64_t more_bytes)
{
	uint32_t n_before[REPLICAS_MAX];
	struct replica *rep = put->object->replicas;
	unsigned n = 0;
	int r = 0;

	for (; rep != NULL && r == 0; rep = rep->next) {
		n_before[n] = rep->n_extents;
		r = grow_copy(master, rep, more_bytes);
		if (r == 0)
			n++;
		else
			master->lack = (struct lack){.kind = pool_kind_of(rep->segment),
						     .room_bytes = more_bytes,
						     .on_id = rep->segment->id};
	}
	if (r == 0)
		return 0;

	rep = put->object->replicas;
	for (unsigned i = 0; i < n; i++, rep = rep->next)
		shrink_copy(master, rep, n_before[i]);
	return r < 0 ? err_up(r) : of_place(r);
}

/* The room behind the last byte is free again; the writer is done with it. */
static int
cut_copy(struct master *master, struct object *object, struct replica *rep, uint64_t len_bytes)
{
	uint32_t n = 0;
	struct extent *ext = rep->n_extents == 1 ? &rep->one : rep->many;

	if (len_bytes == 0) {
		put_unclaim(master, rep);
		give_back(object, rep);
		return 0;
	}
	while (len_bytes > ext[n].len_bytes)
		len_bytes -= ext[n++].len_bytes;
	if (len_bytes < ext[n].len_bytes) {
		int r = alloc_shrink(rep->segment->alloc, ext[n], len_bytes);

		if (r < 0)
			return err_up(r);
		segment_unclaim(rep->segment, ext[n], master->now_ms);
		tenant_discharge(object->tenant, extent_room_bytes(ext[n]));
		ext[n].len_bytes = len_bytes;
		tenant_charge(object->tenant, extent_room_bytes(ext[n]));
		/* claimed anew with its true length: its chunks are open already */
		r = claim(master, rep->segment, ext[n]);
		assert(r == 0);
	}
	shrink_copy(master, rep, n + 1);
	return 0;
}

int
put_cut_copies(struct master *master, struct put *put, uint64_t len_bytes)
{
	for (struct replica *rep = put->object->replicas, *next; rep != NULL; rep = next) {
		int r;

		next = rep->next;
		r = cut_copy(master, put->object, rep, len_bytes);
		if (r < 0)
			return err_up(r);
	}
	put->room_bytes = len_bytes;
	return 0;
}
