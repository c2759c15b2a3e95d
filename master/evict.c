/* SPDX-License-Identifier: Apache-2.0 */

/*
 * evict.c -- make room: objects go in the order of their ages, by bytes, never under a lease.
 *
 * Each tenant has an order of its own (ages.h).  One object that is under a lease is in use: it
 * goes to its list's front, so that it stands in nobody's way and is looked at once a round.  Empty
 * objects hold no room and are in no order; so directories stay.
 *
 * Who pays when the whole store is full: the tenant that holds most, down to the next one's size,
 * then both, and so on.  The largest of n tenants holds at least an n-th of what is taken, so
 * nobody below its fair share pays for others as long as somebody above it has anything to give.
 * The globally oldest would pay in the single order of all: then a tenant that reads a lot of new
 * data once drives out everybody else's, which is just what tenants are there to prevent.  Quotas
 * play no part in it: they are ceilings, and promise nothing.
 */
#include <inttypes.h>

#include "master/books.h"
#include "master/lease.h"
#include "transfer/base/log.h"

#define STEPS_A_TURN 256

static bool
is_met(const struct evict_goal *goal)
{
	return goal->done_bytes >= goal->bytes && goal->done_objects >= goal->objects;
}

/* Soft pins of a tenant looked at each time, for those whose time is over. */
#define UNPIN_STEPS 16

/*
 * Ends, too, when the tenant is not of that grade any more; TENANT_GRADES: whatever its grade.
 *
 * with_soft  what has a soft pin may go as well, when nothing else is left; or, without the option
 *            evict_soft_pins, only that whose pin has ended.
 */
static void
evict_in_grade(struct master *master, struct tenant *tenant, unsigned grade, bool with_soft,
	       struct evict_goal *goal)
{
	uint64_t now_s = clock_wall_ms(master->clock) / 1000;
	struct ages_walk walk;
	struct object *object;

	if (!with_soft)
		counter_sub(&master->counters.pins_soft,
			    ages_unpin_ended(&tenant->ages, now_s, UNPIN_STEPS));
	walk = ages_walk(&tenant->ages, with_soft);

	while (!is_met(goal) && goal->steps > 0 &&
	       (grade == TENANT_GRADES || tenant->at_grade == grade) &&
	       (object = ages_next(&walk)) != NULL) {
		uint64_t room_bytes = object_room_bytes(object);
		uint64_t len_bytes = object->len_bytes * object->n_replicas;
		uint64_t hash = books_hash(master, object->key.bytes, object->key.len_bytes);
		bool was_again = object->is_again;

		goal->steps--;
		if (lease_runs(object, master->now_ms) ||
		    (!master->limits.evict_soft_pins && object->pinned_until_s > now_s)) {
			ages_spare(object);
			continue;
		}
		if (books_remove(master, object, REPLICA_REMOVED) < 0)
			break;
		ages_let_go(&tenant->ages, hash, was_again, tenant->n_objects + 1);
		goal->done_bytes += room_bytes;
		goal->done_objects++;
		counter_add(&master->counters.evictions, 1);
		counter_add(&master->counters.evicted_bytes, len_bytes);
	}
}

void
evict_within(struct master *master, struct tenant *tenant, struct evict_goal *goal)
{
	evict_in_grade(master, tenant, TENANT_GRADES, /* with_soft= */ false, goal);
	if (!is_met(goal) && goal->steps > 0)
		evict_in_grade(master, tenant, TENANT_GRADES, /* with_soft= */ true, goal);
}

/*
 * Whoever sinks by what it gave is met again among those of its new grade.  Nobody gets more than
 * half of the steps that are left: if all of it is under leases, others are looked at as well.
 *
 * Gives whether everybody was looked at to the end.
 */
static bool
evict_by_grades(struct master *master, bool with_soft, struct evict_goal *goal)
{
	bool is_alone = master->tenants.by_name.n == 1, is_whole = true;

	for (unsigned grade = TENANT_GRADES; grade-- > 1 && !is_met(goal);)
		list_each_safe(&master->tenants.grades[grade], link) {
			unsigned kept = is_alone ? 0 : goal->steps / 2;

			goal->steps -= kept;
			evict_in_grade(master, list_of(link, struct tenant, grade), grade,
				       with_soft, goal);
			is_whole &= goal->steps > 0;
			goal->steps += kept;
		}
	return is_whole;
}

uint64_t
evict_bytes(struct master *master, uint64_t bytes, unsigned max_steps)
{
	struct evict_goal goal = {.bytes = bytes, .steps = max_steps};

	if (evict_by_grades(master, /* with_soft= */ false, &goal) && !is_met(&goal))
		evict_by_grades(master, /* with_soft= */ true, &goal);
	return goal.done_bytes;
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
