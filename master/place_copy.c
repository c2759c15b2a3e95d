/* SPDX-License-Identifier: Apache-2.0 */

/* place_copy.c -- where one more copy of an object goes, or one in place of another. */
#include <string.h>

#include "master/books.h"
#include "master/place.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

static bool
is_wanted(const struct copy_wish *wish, const struct segment *segment)
{
	if (wish->medium != 0 && segment->medium != wish->medium)
		return false;
	for (size_t i = 0; i < wish->n_only; i++)
		if (wish->only[i] == segment->id)
			return true;
	return wish->n_only == 0;
}

/* A copy that is to go does not count for its host: there the new one may be. */
static bool
may_take(const struct copy_wish *wish, const struct segment *segment, bool any_host)
{
	if (!segment_is_placeable(segment) || !is_wanted(wish, segment))
		return false;
	object_each_replica(wish->of, rep) {
		if (rep->segment == segment)
			return false;
		if (!any_host && rep->segment->id != wish->from_id &&
		    strcmp(rep->segment->host, segment->host) == 0)
			return false;
	}
	return true;
}

static uint64_t
free_bytes(const struct segment *segment)
{
	return segment->size_bytes - alloc_used_bytes(segment->alloc);
}

/* Of the pool that the copy belongs to. */
static enum pool_kind
pool_of(const struct master *master, const struct copy_wish *wish)
{
	const struct segment *from = segment_find(master, wish->from_id);

	return from == NULL ? POOL_MEMORY : pool_kind_of(from);
}

/* The freest of those that may take it and have less free than `below`; NULL: none is left. */
static struct segment *
freest(struct pool_part part, const struct copy_wish *wish, bool any_host, uint64_t below)
{
	struct segment *best = NULL;

	for (size_t i = 0; i < part.n; i++) {
		struct segment *segment = part.at[i];
		uint64_t bytes = free_bytes(segment);

		if (bytes < below && (best == NULL || bytes > free_bytes(best)) &&
		    may_take(wish, segment, any_host))
			best = segment;
	}
	return best;
}

static int
try_in_turn(struct master *master, enum pool_kind kind, struct object *object,
	    const struct copy_wish *wish, bool any_host)
{
	struct pool_part part = pool_all(&master->pools[kind]);
	struct segment *segment = freest(part, wish, any_host, UINT64_MAX);
	int r = PLACE_E_NO_SEGMENT;

	while (segment != NULL) {
		uint64_t below = free_bytes(segment);

		r = place_on(master, object, segment, wish->of->len_bytes);
		if (r <= 0)
			return r;
		segment = freest(part, wish, any_host, below);
	}
	return r;
}

int
place_copy(struct master *master, struct object *object, const struct copy_wish *wish)
{
	enum pool_kind kind = pool_of(master, wish);
	int worst = PLACE_E_NO_SEGMENT;

	assert(wish->of->len_bytes > 0);

	for (int i = 0; i < POOLS; i++, kind = (kind + 1) % POOLS) {
		int r = try_in_turn(master, kind, object, wish, /* any_host= */ false);

		if (r > 0)
			r = try_in_turn(master, kind, object, wish, /* any_host= */ true);
		if (r <= 0)
			return err_up(r);
		worst = num_min(worst, r);
	}
	return worst;
}
