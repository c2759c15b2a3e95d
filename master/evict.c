/* SPDX-License-Identifier: Apache-2.0 */

/*
 * evict.c -- make room: objects go in the order of their ages, by bytes, never under a lease.
 *
 * Room is wanted in one tier: in memory, or on disks (offload.h); in a store without memory on
 * disks alone.  What has to go from memory goes to a disk, if there is one; from a disk it is gone.
 *
 * Each tenant has an order of its own (ages.h).  One object that is under a lease is in use: it
 * goes to its list's front, so that it stands in nobody's way and is looked at once a round.  Empty
 * objects hold no room and are in no order; so directories stay.
 *
 * An object takes its group with it (group.h): a part of that is worth less than the room.
 *
 * Who pays when the whole store is full: the tenant that holds most, down to the next one's size,
 * then both, and so on.  The largest of n tenants holds at least an n-th of what is taken, so
 * nobody below its fair share pays for others as long as somebody above it has anything to give.
 * The globally oldest would pay in the single order of all: then a tenant that reads a lot of new
 * data once drives out everybody else's, which is just what tenants are there to prevent.  Quotas
 * play no part in it: they are ceilings, and promise nothing.
 */
#include "master/books.h"
#include "master/lease.h"
#include "master/place.h"
#include "transfer/base/num.h"

#define STEPS_A_TURN 256

static bool
is_met(const struct evict_goal *goal)
{
	return goal->done_bytes >= goal->bytes && goal->done_objects >= goal->objects;
}

/* Soft pins of a tenant looked at each time, for those whose time is over. */
#define UNPIN_STEPS 16

/* remove_one -- it is gone.  false: no memory to say so. */
static bool
remove_one(struct master *master, struct object *object, struct evict_goal *goal)
{
	struct tenant *tenant = object->tenant;
	uint64_t room_bytes = object_room_bytes(object);
	uint64_t len_bytes = object->len_bytes * object->n_replicas;
	uint64_t hash = books_hash(master, object->key.bytes, object->key.len_bytes);
	bool was_again = object->is_again;

	if (books_remove(master, object, REPLICA_REMOVED) < 0)
		return false;
	ages_let_go(&tenant->ages, hash, was_again, tenant->n_objects + 1);
	goal->done_bytes += room_bytes;
	goal->done_objects++;
	counter_add(&master->counters.evictions, 1);
	counter_add(&master->counters.evicted_bytes, len_bytes);
	return true;
}

/* let_go -- it leaves the tier in which room is wanted.  false: no more at this time. */
static bool
let_go(struct master *master, struct object *object, struct evict_goal *goal)
{
	uint64_t bytes;

	if (goal->from != EVICT_MEMORY || !offload_is_on(master))
		return remove_one(master, object, goal);
	switch (offload_object(master, object, &bytes)) {
	case OFFLOAD_GOES:
		ages_spare(object); /* looked at again only if it does not go after all */
		goal->done_bytes += bytes;
		return true;
	case OFFLOAD_FULL:
		return false;
	case OFFLOAD_CANT:
		break;
	}
	return remove_one(master, object, goal);
}

static bool
has_room_in(const struct object *object, enum pool_kind kind)
{
	object_each_replica(object, rep)
		if (pool_kind_of(rep->segment) == kind)
			return true;
	return false;
}

/* It has nothing where room is wanted: a nof copy alone, or a soft pin, whose list is one for all.
 */
static bool
is_elsewhere(const struct object *object, const struct evict_goal *goal)
{
	switch (goal->from) {
	case EVICT_MEMORY:
		return !has_room_in(object, POOL_MEMORY);
	case EVICT_DISKS:
		return !object->is_on_disk;
	case EVICT_NOF:
		return !has_room_in(object, POOL_NOF);
	case EVICT_BOTH:
		break;
	}
	return false;
}

/* ---- groups ---- */

/* A member goes with its group; not under a lease or a pin, and one without bytes never. */
static bool
may_go_along(const struct master *master, const struct object *object,
	     const struct evict_goal *goal)
{
	uint64_t now_s = clock_wall_ms(master->clock) / 1000;

	return object->len_bytes > 0 && !lease_runs(object, master->now_ms) &&
	       object->pinned_until_s <= now_s && !is_elsewhere(object, goal);
}

/* evict_group -- what of it is to go, as far as there are steps; the sweep goes on with the rest.
 * false: no more at this time. */
static bool
evict_group(struct master *master, struct group *group, struct evict_goal *goal)
{
	struct member *member;

	while (goal->steps > 0 && (member = group_next(group)) != NULL) {
		struct object *object = map_get(&master->objects, member->object_id);
		uint64_t id = object->id;
		size_t n_groups = master->groups.n;

		goal->steps--;
		if (may_go_along(master, object, goal) && !let_go(master, object, goal))
			return false;
		if (master->groups.n < n_groups)
			return true;              /* it was the last: the group is no more */
		group_spare(&master->groups, id); /* it is looked at once */
	}
	return true;
}

/* evict_chosen -- the object, and with it its group.  false: no more at this time. */
static bool
evict_chosen(struct master *master, struct object *object, struct evict_goal *goal)
{
	struct group *group = group_of(&master->groups, object);

	if (group == NULL || group->n_members == 1)
		return let_go(master, object, goal);
	group_go(&master->groups, group, (uint8_t)goal->from);
	group_spare(&master->groups, object->id);
	return let_go(master, object, goal) && evict_group(master, group, goal);
}

/* evict_groups -- what was left of them. */
static void
evict_groups(struct master *master)
{
	struct evict_goal goal = {.steps = STEPS_A_TURN};

	while (goal.steps > 0 && !list_is_empty(&master->groups.going)) {
		struct group *group =
			list_of(list_first(&master->groups.going), struct group, at_going);

		goal.from = group->going_from;
		if (!evict_group(master, group, &goal))
			break;
	}
	if (goal.done_bytes > 0)
		store_want_sync(master->store);
}

/* May it go, now that it is its turn? */
static bool
may_go(const struct master *master, const struct object *object, const struct evict_goal *goal,
       uint64_t now_s)
{
	const struct group *group = group_of(&master->groups, object);

	return !lease_runs(object, master->now_ms) && !is_elsewhere(object, goal) &&
	       (master->limits.evict_soft_pins || object->pinned_until_s <= now_s) &&
	       (group == NULL || !group_is_in_use(group, object, master->now_ms));
}

/* ---- in whose order ---- */

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
	walk = ages_walk(&tenant->ages, goal->from == EVICT_DISKS, with_soft);

	while (!is_met(goal) && goal->steps > 0 &&
	       (grade == TENANT_GRADES || tenant->at_grade == grade) &&
	       (object = ages_next(&walk)) != NULL) {
		bool has_group = object->is_grouped;

		goal->steps--;
		if (!may_go(master, object, goal, now_s)) {
			ages_spare(object);
			continue;
		}
		if (!evict_chosen(master, object, goal))
			break;
		if (has_group) /* with it others went, on whom the walk relies */
			walk = ages_walk(&tenant->ages, goal->from == EVICT_DISKS, with_soft);
	}
}

/* A quota holds for both tiers: what lies on disks was used longest ago. */
void
evict_within(struct master *master, struct tenant *tenant, struct evict_goal *goal)
{
	goal->from = EVICT_DISKS;
	evict_in_grade(master, tenant, TENANT_GRADES, /* with_soft= */ false, goal);
	goal->from = EVICT_BOTH;
	if (!is_met(goal) && goal->steps > 0)
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

static uint64_t
evict_from(struct master *master, enum evict_from from, uint64_t bytes, unsigned max_steps)
{
	struct evict_goal goal = {.bytes = bytes, .steps = max_steps, .from = from};

	if (evict_by_grades(master, /* with_soft= */ false, &goal) && !is_met(&goal))
		evict_by_grades(master, /* with_soft= */ true, &goal);
	return goal.done_bytes;
}

uint64_t
evict_kind(struct master *master, enum pool_kind kind, uint64_t bytes, unsigned max_steps)
{
	static const enum evict_from from[] = {
		[POOL_MEMORY] = EVICT_MEMORY, [POOL_DISK] = EVICT_DISKS, [POOL_NOF] = EVICT_NOF};

	return evict_from(master, from[kind], bytes, max_steps);
}

uint64_t
evict_bytes(struct master *master, uint64_t bytes, unsigned max_steps)
{
	return evict_kind(master, place_home(master, POOL_MEMORY), bytes, max_steps);
}

uint64_t
evict_disks(struct master *master, uint64_t bytes)
{
	return evict_from(master, EVICT_DISKS, bytes, STEPS_A_TURN);
}

static void
evict_pool_to_mark(struct master *master, enum pool_kind kind, enum evict_from from, uint64_t used)
{
	uint64_t high = master->pool_bytes[kind] / 100 * master->limits.evict_high_pct;
	uint64_t low = master->pool_bytes[kind] / 100 * master->limits.evict_low_pct;

	if (used > high)
		master->is_evicting[kind] = true;
	if (used <= low)
		master->is_evicting[kind] = false;
	if (!master->is_evicting[kind])
		return;
	if (evict_from(master, from, used - low, STEPS_A_TURN) > 0)
		store_want_sync(master->store);
	else
		master->is_evicting[kind] = false;
}

/* Resting bytes, and those on their way to disks, are on their way out: they count as free already,
 * or too much would go. */
void
evict_to_mark(struct master *master)
{
	uint64_t used[POOLS] = {0};

	if (master->size_bytes == 0 || master->progress.is_stalled)
		return;
	evict_groups(master);
	if (master->offload.wanted_bytes > 0)
		(void)evict_disks(master, master->offload.wanted_bytes);
	master->offload.wanted_bytes = 0;
	list_each(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		if (segment_is_here(segment))
			used[pool_kind_of(segment)] += segment_used_bytes(segment);
	}
	used[POOL_MEMORY] -= num_min(used[POOL_MEMORY], master->offload.bytes);
	evict_pool_to_mark(master, POOL_MEMORY, EVICT_MEMORY, used[POOL_MEMORY]);
	evict_pool_to_mark(master, POOL_DISK, EVICT_DISKS, used[POOL_DISK]);
	evict_pool_to_mark(master, POOL_NOF, EVICT_NOF, used[POOL_NOF]);
}

bool
evict_is_busy(const struct master *master)
{
	bool is_busy = master->offload.n_offloads + master->offload.n_promotions > 0 ||
		       !list_is_empty(&master->groups.going);

	for (int i = 0; i < POOLS; i++)
		is_busy |= master->is_evicting[i];
	return is_busy;
}
