/* SPDX-License-Identifier: Apache-2.0 */

/*
 * evict.c -- make room: the objects leased longest ago go first, by bytes, never under a lease.
 *
 * One that is under a lease is in use: it goes to the list's front, so that it stands in nobody's
 * way and is looked at once a round.  Empty objects hold no room and are not on the list; so
 * directories stay.
 */
#include <inttypes.h>

#include "master/books.h"
#include "transfer/base/log.h"

#define STEPS_A_TURN 256

uint64_t
evict_bytes(struct master *master, uint64_t bytes, unsigned max_steps)
{
	struct list_link *link = master->lru.head.prev, *first = master->lru.head.next;
	bool is_last = false;
	uint64_t done_bytes = 0;

	while (done_bytes < bytes && link != &master->lru.head && !is_last && max_steps-- > 0) {
		struct object *object = list_of(link, struct object, at_lru);
		uint64_t len_bytes = object->len_bytes * object->n_replicas;

		is_last = link == first;
		link = link->prev;
		if (lease_runs(object, master->now_ms)) {
			list_remove(&object->at_lru);
			list_push_front(&master->lru, &object->at_lru);
			continue;
		}
		if (books_remove(master, object, REPLICA_REMOVED) < 0)
			break;
		done_bytes += len_bytes;
		counter_add(&master->counters.evictions, 1);
		counter_add(&master->counters.evicted_bytes, len_bytes);
	}
	return done_bytes;
}

/* Resting bytes are on their way out: they count as free already, or too much would go. */
void
evict_to_mark(struct master *master)
{
	uint64_t high, low, used = 0;

	if (master->size_bytes == 0 || master->progress.is_stalled)
		return;
	high = master->size_bytes / 100 * master->limits.evict_high_pct;
	low = master->size_bytes / 100 * master->limits.evict_low_pct;
	list_each(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		if (segment_is_here(segment))
			used += segment_used_bytes(segment);
	}
	if (used > high)
		master->is_evicting = true;
	if (used <= low)
		master->is_evicting = false;
	if (!master->is_evicting)
		return;
	if (evict_bytes(master, used - low, STEPS_A_TURN) > 0)
		store_want_sync(master->store);
	else
		master->is_evicting = false;
}
