/* SPDX-License-Identifier: Apache-2.0 */

/* place_copy.c -- where one more copy of an object goes, or one in place of another. */
#include <string.h>

#include "master/books.h"
#include "master/place.h"
#include "transfer/base/err.h"

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

/* The freest of those that may take it and have less free than `below`; NULL: none is left. */
static struct segment *
freest(const struct master *master, const struct copy_wish *wish, bool any_host, uint64_t below)
{
	struct segment *best = NULL;

	for (size_t i = 0; i < master->placeable.n; i++) {
		struct segment *segment = master->placeable.at[i];
		uint64_t bytes = free_bytes(segment);

		if (bytes < below && (best == NULL || bytes > free_bytes(best)) &&
		    may_take(wish, segment, any_host))
			best = segment;
	}
	return best;
}

static int
try_in_turn(struct master *master, struct object *object, const struct copy_wish *wish,
	    bool any_host)
{
	struct segment *segment = freest(master, wish, any_host, UINT64_MAX);
	int r = PLACE_E_NO_SEGMENT;

	while (segment != NULL) {
		uint64_t below = free_bytes(segment);

		r = place_on(master, object, segment, wish->of->len_bytes);
		if (r <= 0)
			return r;
		segment = freest(master, wish, any_host, below);
	}
	return r;
}

int
place_copy(struct master *master, struct object *object, const struct copy_wish *wish)
{
	int r = try_in_turn(master, object, wish, /* any_host= */ false);

	assert(wish->of->len_bytes > 0);

	if (r > 0)
		r = try_in_turn(master, object, wish, /* any_host= */ true);
	return r < 0 ? err_up(r) : r;
}
