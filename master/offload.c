/* SPDX-License-Identifier: Apache-2.0 */
#include "master/offload.h"

#include <inttypes.h>

#include "master/books.h"
#include "master/ghost.h"
#include "master/lease.h"
#include "master/task.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define SKETCH_WIDTH 16384 /* four bytes each: for some ten thousand objects that are wanted */

void
offload_fini(struct offload *offload)
{
	free(offload->sketch);
	offload->sketch = NULL;
}

bool
offload_is_on(const struct master *master)
{
	return master->limits.offload != OFFLOAD_OFF && master->pool_bytes[POOL_MEMORY] > 0 &&
	       master->pools[POOL_DISK].segments.n > 0 &&
	       (master->limits.offload == OFFLOAD_ON ||
		master->now_ms >= master->offload.rest_until_ms);
}

/* ---- out of memory ---- */

static bool
is_in_memory(const struct replica *rep)
{
	return pool_kind_of(rep->segment) == POOL_MEMORY;
}

static bool
has_other_copy(const struct object *object)
{
	object_each_replica(object, rep)
		if (rep->state == REPLICA_COMPLETE && !is_in_memory(rep) &&
		    segment_is_here(rep->segment))
			return true;
	return false;
}

/* part -- the object has one copy less.  false: no memory to say so. */
static bool
part(struct master *master, struct object *object, struct replica *rep, uint64_t *bytes)
{
	struct record gone = {.kind = RECORD_REPLICA_REMOVE,
			      .object_id = object->id,
			      .segment_id = rep->segment->id};
	uint64_t room_bytes = replica_room_bytes(rep);

	if (rep->state != REPLICA_COMPLETE || !ghost_has_room(master, object) ||
	    books_journal(master, &gone) < 0)
		return false;
	books_part(master, object, rep, /* is_moved= */ false);
	*bytes += room_bytes;
	return true;
}

/* part_all -- its copies in memory but `kept`, which may be NULL. */
static void
part_all(struct master *master, struct object *object, const struct replica *kept, uint64_t *bytes)
{
	struct replica *next;

	for (struct replica *rep = object->replicas; rep != NULL; rep = next) {
		next = rep->next;
		if (rep != kept && is_in_memory(rep) && !part(master, object, rep, bytes))
			return;
	}
}

/* One of its copies in memory from which it can be read now. */
static struct replica *
source_of(const struct object *object)
{
	object_each_replica(object, rep)
		if (is_in_memory(rep) && rep->state == REPLICA_COMPLETE &&
		    rep->segment->state == SEGMENT_OK)
			return rep;
	return NULL;
}

static bool
disks_have(const struct master *master, uint64_t bytes)
{
	struct pool_part disks = pool_all(&master->pools[POOL_DISK]);

	for (size_t i = 0; i < disks.n; i++)
		if (disks.at[i]->size_bytes - alloc_used_bytes(disks.at[i]->alloc) >= bytes)
			return true;
	return false;
}

/* One of any size always may. */
static bool
is_enough_under_way(const struct master *master, uint64_t bytes)
{
	const struct offload *offload = &master->offload;

	return offload->n_offloads >= OFFLOADS_MAX ||
	       (offload->n_offloads > 0 &&
		offload->bytes + bytes > master->pool_bytes[POOL_MEMORY] / OFFLOAD_SHARE);
}

enum offload_fate
offload_object(struct master *master, struct object *object, uint64_t *ret_bytes)
{
	bool waits = master->limits.offload == OFFLOAD_ON;
	struct task_wish wish = {.kind = TASK_MOVE, .object = object, .medium = MEDIUM_FILE};
	const struct replica *source;
	struct task *task;
	uint64_t len;

	*ret_bytes = 0;
	if (map_get(&master->tasks.by_object, object->id) != NULL)
		return OFFLOAD_GOES; /* counted when it was made, or somebody else's */
	if (has_other_copy(object)) {
		part_all(master, object, NULL, ret_bytes);
		return *ret_bytes > 0 ? OFFLOAD_GOES : OFFLOAD_CANT;
	}
	source = source_of(object);
	if (source == NULL || !ghost_has_room(master, object))
		return OFFLOAD_CANT;
	len = replica_room_bytes(source);
	if (!disks_have(master, len)) {
		master->offload.wanted_bytes +=
			len; /* by the sweep: here an eviction is under way */
		return waits ? OFFLOAD_FULL : OFFLOAD_CANT;
	}
	if (is_enough_under_way(master, len))
		return waits ? OFFLOAD_FULL : OFFLOAD_CANT;
	wish.from_id = source->segment->id;
	wish.is_own = true;
	if (task_make(master, &wish, &task) != STATUS_OK)
		return OFFLOAD_CANT;
	*ret_bytes = len;
	part_all(master, object, source, ret_bytes);
	return OFFLOAD_GOES;
}

/* ---- back to memory ---- */

static bool
memory_has(const struct master *master, uint64_t bytes)
{
	uint64_t high = master->pool_bytes[POOL_MEMORY] / 100 * master->limits.evict_high_pct;
	struct pool_part all = pool_all(&master->pools[POOL_MEMORY]);
	uint64_t used = bytes;

	for (size_t i = 0; i < all.n; i++)
		used += segment_used_bytes(all.at[i]);
	return used <= high;
}

static bool
has_sketch(struct offload *offload)
{
	if (offload->sketch != NULL)
		return true;
	offload->sketch = calloc(1, sketch_bytes(SKETCH_WIDTH));
	if (offload->sketch == NULL)
		return false;
	sketch_init(offload->sketch, SKETCH_WIDTH);
	return true;
}

void
promote_used(struct master *master, struct object *object)
{
	struct offload *offload = &master->offload;
	struct task_wish wish = {
		.kind = TASK_COPY, .object = object, .medium = MEDIUM_DRAM, .is_own = true};
	uint64_t room = num_align_up(object->len_bytes, (uint64_t)ALLOC_GRAIN);
	struct task *task;

	if (master->limits.promote_uses == 0 || !offload_is_on(master) || !has_sketch(offload))
		return;
	if (sketch_see(offload->sketch, object->id) < master->limits.promote_uses)
		return;
	if (offload->n_promotions >= PROMOTIONS_MAX || !memory_has(master, room) ||
	    !tenant_has_room(object->tenant, room) ||
	    map_get(&master->tasks.by_object, object->id) != NULL)
		return;
	(void)task_make(master, &wish, &task); /* else the next use may do better */
}

/* ---- what is under way ---- */

static uint64_t
room_of(const struct task *task)
{
	return num_align_up(task->len_bytes, (uint64_t)ALLOC_GRAIN);
}

void
offload_began(struct master *master, const struct task *task)
{
	struct offload *offload = &master->offload;

	if (task->kind == TASK_COPY) {
		offload->n_promotions++;
		return;
	}
	offload->n_offloads++;
	offload->bytes += room_of(task);
}

void
offload_ended(struct master *master, const struct task *task, bool has_failed)
{
	struct offload *offload = &master->offload;

	if (task->kind == TASK_COPY) {
		assert(offload->n_promotions > 0);
		offload->n_promotions--;
	} else {
		assert(offload->n_offloads > 0 && offload->bytes >= room_of(task));
		offload->n_offloads--;
		offload->bytes -= room_of(task);
	}
	if (has_failed && task->kind == TASK_MOVE) {
		offload->rest_until_ms = master->now_ms + OFFLOAD_REST_MS;
		log_event(LOG_WARN, "offload_rests", "task=%" PRIu64 " for_ms=%d", task->id,
			  OFFLOAD_REST_MS);
	}
	if (task->state != TASK_DONE)
		return;
	counter_add(task->kind == TASK_COPY ? &master->counters.promotions
					    : &master->counters.offloads,
		    1);
	counter_add(task->kind == TASK_COPY ? &master->counters.promoted_bytes
					    : &master->counters.offloaded_bytes,
		    task->len_bytes);
}
