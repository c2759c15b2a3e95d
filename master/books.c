/* SPDX-License-Identifier: Apache-2.0 */
#include "master/books.h"

#include <errno.h>
#include <string.h>

#include "master/ghost.h"
#include "master/lease.h"
#include "master/pin.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

int
books_journal(struct master *master, const struct record *record)
{
	int r = journal_add(&master->journal, record);

	if (r < 0)
		return err_up(r);
	books_hold(master, master->batch);
	return 0;
}

struct books_mark
books_mark(const struct master *master)
{
	return (struct books_mark){master->journal.bytes.end, master->journal.n_records,
				   master->journal.wants_sync};
}

void
books_rewind(struct master *master, struct books_mark mark)
{
	master->journal.bytes.end = mark.end;
	master->journal.n_records = mark.n_records;
	master->journal.wants_sync = mark.wants_sync;
}

/* Nobody hears that a key has nothing before that would be so after a restart, too. */
void
books_miss(struct master *master, uint64_t hash)
{
	if (!gone_is_empty(&master->gone))
		books_hold(master, gone_batch(&master->gone, hash));
}

/* The hash costs more than the rest, and is nearly always for nothing. */
static void
hold_miss(struct master *master, const uint8_t *key, size_t key_len)
{
	if (!gone_is_empty(&master->gone))
		books_miss(master, books_hash(master, key, key_len));
}

static struct object *
hold_found(struct master *master, struct key *found)
{
	struct object *object = object_of(found);

	books_hold(master, object->batch);
	return object;
}

/* found_object -- what the index says of that key, its answer held until it is committed. */
static struct object *
found_object(struct master *master, struct key *found, const uint8_t *key, size_t key_len)
{
	if (found != NULL)
		return hold_found(master, found);
	hold_miss(master, key, key_len);
	return NULL;
}

struct object *
books_find_hashed(struct master *master, struct tenant *tenant, const uint8_t *key, size_t key_len,
		  uint64_t hash)
{
	struct key *found = index_get(tenant->index, key, key_len);

	if (found != NULL)
		return hold_found(master, found);
	books_miss(master, hash);
	return NULL;
}

struct object *
books_find(struct master *master, struct tenant *tenant, const uint8_t *key, size_t key_len)
{
	return found_object(master, index_get(tenant->index, key, key_len), key, key_len);
}

/*
 * Leased again within four seconds, it stays where it is in the order: its neighbours' memory is
 * left alone, which would cost as much as all else of a look-up.  For about so long its lease keeps
 * it from eviction anyway.  Ticks of 256 ms wrap after four hours; who is not leased for just so
 * long stays once.
 */
#define LRU_TICK_MS 256
#define LRU_GRAIN   16

#define FIND_AT_ONCE 64

static uint16_t
lru_tick(const struct master *master)
{
	return (uint16_t)(master->now_ms / LRU_TICK_MS);
}

static bool
lru_is_due(const struct master *master, const struct object *object)
{
	return (uint16_t)(lru_tick(master) - object->lru_tick) >= LRU_GRAIN;
}

bool
lease_is_use(const struct master *master, struct object *object)
{
	if (!lru_is_due(master, object))
		return false;
	object->lru_tick = lru_tick(master);
	return true;
}

void
books_fetch(const struct master *master, struct key *const *found, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (found[i] != NULL)
			object_fetch(found[i]);
	for (size_t i = 0; i < n; i++) {
		const struct object *object;

		if (found[i] == NULL)
			continue;
		object = container_of(found[i], struct object, key);
		if (!lru_is_due(master, object))
			continue;
		__builtin_prefetch(object->at_lru.prev, 1);
		__builtin_prefetch(object->at_lru.next, 1);
	}
}

static void
find_some(struct master *master, const struct tenant *tenant, const struct rec_key_only *keys,
	  uint32_t n, struct object **objects)
{
	struct index_probe probes[FIND_AT_ONCE];
	struct key *found[FIND_AT_ONCE];

	for (uint32_t i = 0; i < n; i++)
		probes[i] = (struct index_probe){keys[i].key.at, keys[i].key.len};
	index_get_all(tenant->index, probes, n, found);
	books_fetch(master, found, n);
	for (uint32_t i = 0; i < n; i++)
		objects[i] = found_object(master, found[i], keys[i].key.at, keys[i].key.len);
}

static struct object *
find_one(struct master *master, const struct tenant *tenant, struct span key)
{
	struct key *found = foreseen_key(&master->foreseen, tenant, key.at, key.len);

	if (found == NULL)
		found = index_get(tenant->index, key.at, key.len);
	return found_object(master, found, key.at, key.len);
}

void
books_find_all(struct master *master, const struct tenant *tenant, const struct rec_key_only *keys,
	       uint32_t n, struct object **objects)
{
	if (n == 1) {
		objects[0] = find_one(master, tenant, keys[0].key);
		return;
	}
	for (uint32_t at = 0; at < n; at += FIND_AT_ONCE)
		find_some(master, tenant, keys + at, num_min(n - at, FIND_AT_ONCE), objects + at);
}

/* What an object counts in the index, coming (+1) or going (-1). */
static void
count_object(struct master *master, const struct object *object, int sign)
{
	uint64_t bytes = object->len_bytes * object->n_replicas;

	object->tenant->n_objects += (uint64_t)sign;
	object->tenant->bytes += (uint64_t)sign * object->len_bytes;
	if (object->pinned_until_s > 0)
		counter_add(object->pinned_until_s == PIN_HARD ? &master->counters.pins_hard
							       : &master->counters.pins_soft,
			    (uint64_t)sign);
	counter_add(&master->counters.objects, (uint64_t)sign);
	counter_add(&master->counters.object_bytes, (uint64_t)sign * bytes);
}

/* Its key has left the index already. */
static void
leave_lists(struct master *master, struct object *object)
{
	map_take(&master->objects, object->id);
	ages_leave(object);
	object->is_indexed = false;
	count_object(master, object, -1);
}

static void
leave_books(struct master *master, struct object *object)
{
	leave_lists(master, object);
	gone_add(&master->gone, books_hash(master, object->key.bytes, object->key.len_bytes),
		 master->batch);
}

int
books_enter(struct master *master, struct object *object, struct object **ret_old)
{
	struct key *old;
	int r = map_put(&master->objects, object->id, object);

	if (r < 0)
		return err_new(-ENOMEM);
	r = index_put(object->tenant->index, &object->key, &old);
	if (r < 0) {
		map_take(&master->objects, object->id);
		return err_up(r);
	}

	object->is_indexed = true;
	ages_enter(object);
	object->lru_tick = lru_tick(master);
	count_object(master, object, +1);
	*ret_old = old == NULL ? NULL : object_of(old);
	if (*ret_old != NULL)
		leave_books(master, *ret_old);
	return 0;
}

void
books_rest(struct master *master, const struct replica *rep, const struct rest_terms *terms)
{
	assert(rep->state == REPLICA_REMOVED || rep->state == REPLICA_FAILED);
	quarantine_add(&master->quarantine, rep->segment, replica_extents(rep), rep->n_extents,
		       terms);
}

static void
drop_stored(struct master *master, struct replica *rep, enum replica_state to, struct tenant *payer)
{
	struct object *object = rep->object;
	struct rest_terms terms = {
		.tenant = payer,
		.until_ms = num_max(object->lease_until_ms, master->leases_of_before_ms),
		.batch = master->batch,
		.now_ms = master->now_ms,
	};

	replica_move(rep, to);
	books_rest(master, rep, &terms);
	object_drop_replica(object, rep);
}

void
books_scrap(struct master *master, struct object *object, enum replica_state to)
{
	assert(!object->is_indexed && !object->is_ghost);

	object->batch = master->batch; /* of its removal, from now on */
	group_leave(&master->groups, object);
	if (object->replicas != NULL && lease_runs(object, master->now_ms) &&
	    ghost_make(master, object) == 0) {
		object_each_replica(object, rep)
			replica_move(rep, to);
		return;
	}
	ghost_end_rounds(master, object);
	while (object->replicas != NULL)
		drop_stored(master, object->replicas, to, object->tenant);
	object_free(object);
}

void
books_part(struct master *master, struct object *object, struct replica *rep, bool is_moved)
{
	struct segment *segment = rep->segment;

	assert(object->is_indexed && rep->object == object && object->n_replicas > 1);

	counter_sub(&master->counters.object_bytes, object->len_bytes);
	object->batch = master->batch;
	segment->leave_until_ms = num_max(segment->leave_until_ms, object->lease_until_ms);
	if (!lease_runs(object, master->now_ms) ||
	    ghost_make_of(master, object, rep, is_moved) < 0) {
		ghost_end_rounds(master, object);
		drop_stored(master, rep, REPLICA_REMOVED, is_moved ? NULL : object->tenant);
		return;
	}
	lease_break(master, object);
	replica_move(rep, REPLICA_REMOVED); /* its extents are the ghost's */
	object_drop_replica(object, rep);
}

void
books_leave(struct master *master, struct object *object)
{
	struct key *key =
		index_take(object->tenant->index, object->key.bytes, object->key.len_bytes);

	assert(key == &object->key);
	leave_books(master, object);
}

int
books_remove(struct master *master, struct object *object, enum replica_state to)
{
	struct record record = {.kind = RECORD_OBJECT_REMOVE, .object_id = object->id};
	int r = books_journal(master, &record);

	if (r < 0)
		return err_up(r);
	books_changed(master, CHANGE_REMOVED, object);
	books_leave(master, object);
	books_scrap(master, object, to);
	return 0;
}

int
books_lose(struct master *master, struct replica *rep)
{
	struct object *object = rep->object;
	struct record record = {.kind = RECORD_REPLICA_REMOVE,
				.object_id = object->id,
				.segment_id = rep->segment->id};
	int r;

	assert(!object_needs(object, rep));

	r = books_journal(master, &record);
	if (r < 0)
		return err_up(r);
	counter_sub(&master->counters.object_bytes, object->len_bytes);
	ghost_end_rounds(master, object);
	drop_stored(master, rep, REPLICA_FAILED, object->tenant);
	return 0;
}

/* Its extents go nowhere: their segment leaves with them. */
static void
drop_void(struct master *master, struct object *object, struct replica *rep)
{
	ghost_end_rounds(master, object);
	replica_move(rep, REPLICA_FAILED);
	object_drop_replica(object, rep);
}

/* Who misses its key hears what is committed: that needs no note of what has gone. */
void
books_void(struct master *master, struct replica *rep)
{
	struct object *object = rep->object;
	struct key *key;

	assert(object->is_indexed && segment_is_void(rep->segment));
	assert(rep->segment->gone_batch <= master->progress.committed);

	if (object->n_replicas > 1) {
		counter_sub(&master->counters.object_bytes, object->len_bytes);
		drop_void(master, object, rep);
		return;
	}
	books_changed(master, CHANGE_REMOVED, object);
	key = index_take(object->tenant->index, object->key.bytes, object->key.len_bytes);
	assert(key == &object->key);
	leave_lists(master, object);
	group_leave(&master->groups, object);
	drop_void(master, object, rep);
	object_free(object);
	counter_add(&master->counters.objects_lost, 1);
}

int
books_pin(struct master *master, struct object *object, uint32_t until_s)
{
	struct record record = {
		.kind = RECORD_OBJECT_PIN, .object_id = object->id, .pinned_until_s = until_s};
	int r;

	if (object->pinned_until_s == until_s)
		return 0;
	r = books_journal(master, &record);
	if (r < 0)
		return err_up(r);
	count_object(master, object, -1);
	ages_pin(object, until_s);
	count_object(master, object, +1);
	object->batch = master->batch;
	return 0;
}

void
books_changed(struct master *master, enum change_kind kind, const struct object *object)
{
	changes_add(&master->changes, object, (uint8_t)kind, master->batch);
}
