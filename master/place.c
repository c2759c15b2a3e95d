/* SPDX-License-Identifier: Apache-2.0 */
#include "master/place.h"

#include <errno.h>
#include <string.h>

#include "master/books.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

/* In however many pieces: all but the last are whole grains. */
static uint64_t
room_of(uint64_t len_bytes)
{
	return extent_room_bytes((struct extent){0, len_bytes});
}

static uint64_t
free_bytes(const struct segment *segment)
{
	return segment->size_bytes - alloc_used_bytes(segment->alloc);
}

/* One run if there is one, else as many as it takes. Gives count in *ret_n, extents in
 * master->scratch. */
static int
take_extents(struct master *master, struct segment *segment, uint64_t len_bytes, size_t *ret_n)
{
	int r = alloc_take(segment->alloc, len_bytes, &master->scratch[0]);

	*ret_n = 1;
	if (r != ALLOC_E_FULL)
		return r < 0 ? err_up(r) : 0;
	if (free_bytes(segment) < len_bytes)
		return PLACE_E_FULL;
	r = alloc_take_pieces(segment->alloc, len_bytes, master->scratch, EXTENTS_MAX, ret_n);
	if (r == ALLOC_E_FULL)
		return PLACE_E_FULL;
	return err_up(r);
}

static void
give_extents(struct segment *segment, const struct extent *extents, size_t n)
{
	for (size_t i = 0; i < n; i++)
		alloc_give(segment->alloc, extents[i]);
}

static bool
is_on_host(const struct object *object, const char *host)
{
	object_each_replica(object, rep)
		if (strcmp(rep->segment->host, host) == 0)
			return true;
	return false;
}

static bool
is_on_segment(const struct object *object, const struct segment *segment)
{
	object_each_replica(object, rep)
		if (rep->segment == segment)
			return true;
	return false;
}

static bool
may_take(const struct object *object, const struct segment *segment, bool any_host)
{
	return segment_is_placeable(segment) && !is_on_segment(object, segment) &&
	       (any_host || !is_on_host(object, segment->host));
}

int
place_on(struct master *master, struct object *object, struct segment *segment, uint64_t room_bytes)
{
	struct replica *rep;
	size_t n;
	int r = take_extents(master, segment, room_bytes, &n);

	if (r != 0)
		return r;
	r = object_add_replica(object, segment, master->scratch, (uint32_t)n, &rep);
	if (r < 0)
		give_extents(segment, master->scratch, n);
	return err_up(r);
}

/* a has the larger part of it free. */
static bool
is_freer(const struct segment *a, const struct segment *b)
{
	return (double)free_bytes(a) * (double)b->size_bytes >
	       (double)free_bytes(b) * (double)a->size_bytes;
}

/* Of those drawn the freest that may take it; NULL: none may. */
static struct segment *
draw(struct master *master, const struct object *object, struct pool_part part, unsigned n_draws)
{
	struct segment *best = NULL;

	for (unsigned i = 0; i < n_draws; i++) {
		struct segment *segment = part.at[rand_below(master->rand, part.n)];

		if (may_take(object, segment, /* any_host= */ false) &&
		    (best == NULL || is_freer(segment, best)))
			best = segment;
	}
	return best;
}

static int
try_draw(struct master *master, struct object *object, struct pool_part part, uint64_t room_bytes)
{
	unsigned n_draws = master->limits.placement == PLACEMENT_RANDOM ? 1 : 2;
	struct segment *segment;

	if (part.n < 2)
		return PLACE_E_FULL; /* nothing to choose */
	segment = draw(master, object, part, n_draws);
	return segment == NULL ? PLACE_E_FULL : place_on(master, object, segment, room_bytes);
}

static int
try_each(struct master *master, struct object *object, struct pool_part part, uint64_t room_bytes,
	 bool any_host)
{
	size_t start = part.n < 2 ? 0 : rand_below(master->rand, part.n);
	int worst = PLACE_E_NO_SEGMENT;

	for (size_t i = 0; i < part.n; i++) {
		struct segment *segment = part.at[(start + i) % part.n];
		int r;

		if (!may_take(object, segment, any_host))
			continue;
		r = place_on(master, object, segment, room_bytes);
		if (r <= 0)
			return r;
		worst = PLACE_E_FULL;
	}
	return worst;
}

/* Who names a segment may mean one on a disk, too. */
static bool
is_of_kind(const struct segment *segment, enum pool_kind wanted)
{
	return (pool_kind_of(segment) == POOL_NOF) == (wanted == POOL_NOF);
}

static int
try_preferred(struct master *master, struct object *object, const struct place_wish *wish)
{
	for (size_t i = 0; i < wish->n_preferred; i++) {
		struct segment *segment = segment_find(master, wish->preferred[i]);
		int r;

		if (segment == NULL || !is_of_kind(segment, wish->pool) ||
		    !may_take(object, segment, /* any_host= */ true))
			continue;
		r = place_on(master, object, segment, wish->room_bytes);
		if (r <= 0)
			return r;
	}
	return PLACE_E_NO_SEGMENT;
}

enum pool_kind
place_home(const struct master *master, enum pool_kind wanted)
{
	return wanted == POOL_MEMORY && master->pool_bytes[POOL_MEMORY] == 0 ? POOL_DISK : wanted;
}

static int
try_host(struct master *master, struct object *object, const struct place_wish *wish)
{
	struct pool_part part;
	int r;

	if (wish->beside == NULL || is_on_host(object, wish->beside))
		return PLACE_E_NO_SEGMENT;
	part = pool_of_host(&master->pools[place_home(master, wish->pool)], wish->beside);
	r = try_draw(master, object, part, wish->room_bytes);
	if (r > 0)
		r = try_each(master, object, part, wish->room_bytes, /* any_host= */ false);
	return r;
}

int
place_replica(struct master *master, struct object *object, const struct place_wish *wish)
{
	struct pool_part all = pool_all(&master->pools[place_home(master, wish->pool)]);
	int r;

	assert(wish->room_bytes > 0);

	if (!tenant_has_room(object->tenant, room_of(wish->room_bytes)))
		return PLACE_E_QUOTA;
	r = try_preferred(master, object, wish);
	if (r > 0)
		r = try_host(master, object, wish);
	if (r > 0)
		r = try_draw(master, object, all, wish->room_bytes);
	if (r > 0)
		r = try_each(master, object, all, wish->room_bytes, /* any_host= */ false);
	if (r > 0)
		r = try_each(master, object, all, wish->room_bytes, /* any_host= */ true);
	return r < 0 ? err_up(r) : r;
}

int
place_more(struct master *master, struct replica *rep, uint64_t more_bytes)
{
	struct extent *many;
	size_t n;
	int r;

	if (!tenant_has_room(rep->object->tenant, room_of(more_bytes)))
		return PLACE_E_QUOTA;
	r = take_extents(master, rep->segment, more_bytes, &n);
	if (r != 0)
		return r;
	if (rep->n_extents + n > EXTENTS_MAX) {
		give_extents(rep->segment, master->scratch, n);
		return PLACE_E_FULL;
	}
	many = malloc((rep->n_extents + n) * sizeof(*many));
	if (many == NULL) {
		give_extents(rep->segment, master->scratch, n);
		return err_new(-ENOMEM);
	}
	memcpy(many, replica_extents(rep), rep->n_extents * sizeof(*many));
	memcpy(many + rep->n_extents, master->scratch, n * sizeof(*many));
	if (rep->n_extents > 1)
		free(rep->many);
	for (size_t i = 0; i < n; i++)
		tenant_charge(rep->object->tenant, extent_room_bytes(master->scratch[i]));
	rep->many = many;
	rep->n_extents += (uint32_t)n;
	return 0;
}
