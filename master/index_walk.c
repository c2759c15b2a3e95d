/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A walk stands between two keys:
 *
 *      path[0]      a  [c]  f            given: all keys left of the path
 *                       |
 *      path[1]      e  [k]  m  t         `next` of each step is behind the child on the path
 *                       |
 *      ahead           (...)             what hangs here comes next; 0: what hangs at m
 */
#include <string.h>

#include "master/index_tree.h"

/* Children so far ahead of the walk are fetched into the cache. */
#define N_FETCHED 8

static void
fetch(const struct index_node *node, unsigned at)
{
	const index_child *children = index_node_children(node);

	if (node->cap != 0 && at <= node->last)
		__builtin_prefetch((const void *)(children[at] & ~(index_child)1));
}

static void
step_down(struct index_walk *walk, struct index_node *node, unsigned next)
{
	assert(walk->n < INDEX_DEPTH_MAX);
	walk->path[walk->n++] = (struct index_walk_step){node, next};
}

/* step_into -- a fork from its first child on. */
static void
step_into(struct index_walk *walk, struct index_node *node)
{
	step_down(walk, node, 0);
	for (unsigned at = 1; at < N_FETCHED; at++)
		fetch(node, at);
}

/* step_on -- the child at which the path ends, and beyond it; 0 at the end of all. */
static index_child
step_on(struct index_walk *walk)
{
	while (walk->n > 0) {
		struct index_walk_step *step = &walk->path[walk->n - 1];
		index_child child = index_node_next(step->node, &step->next);

		if (child != 0) {
			fetch(step->node, step->next + N_FETCHED);
			step->next++;
			return child;
		}
		walk->n--;
	}
	return 0;
}

struct key *
index_walk_next(struct index_walk *walk)
{
	index_child child = walk->ahead;
	struct key *key;

	walk->ahead = 0;
	if (child == 0)
		child = step_on(walk);
	while (child != 0 && !index_child_is_key(child)) {
		step_into(walk, index_child_node(child));
		child = step_on(walk);
	}
	key = child != 0 ? index_child_key(child) : NULL;
	walk->last = key;
	return key;
}

/*
 * seek -- stand before the first key behind the key of these bytes (is_prefix: behind all that
 * begin with them).
 *
 * The nearest key says how long the descent goes with the bytes: up to part_at.  The first
 * thing below that is either wholly before or wholly behind them, or a fork just there.
 */
static void
seek(struct index_walk *walk, const uint8_t *bytes, size_t len_bytes, bool is_prefix)
{
	const struct key *nearest = index_nearest(walk->top, bytes, len_bytes);
	size_t part_at = index_part_at(nearest, bytes, len_bytes);
	uint8_t byte = index_byte_at(bytes, len_bytes, part_at);
	index_child child = walk->top;

	/* Behind the prefix the bytes agree with whatever comes, and the whole of it is passed. */
	if (is_prefix && part_at >= len_bytes)
		part_at = SIZE_MAX;
	walk->n = 0;
	walk->ahead = 0;
	walk->last = NULL;
	while (!index_child_is_key(child)) {
		struct index_node *node = index_child_node(child);
		unsigned seat;

		if (node->depth >= part_at || (is_prefix && node->depth >= len_bytes))
			break;
		seat = index_node_seat(node, index_byte_at(bytes, len_bytes, node->depth));
		child = index_node_next(node, &seat);
		step_down(walk, node, seat + 1);
	}
	if (part_at == SIZE_MAX)
		return; /* child is what has been passed */
	if (!index_child_is_key(child) && index_child_node(child)->depth == part_at) {
		struct index_node *node = index_child_node(child);

		step_down(walk, node, index_node_seat(node, byte));
	} else if (index_byte_at(nearest->bytes, nearest->len_bytes, part_at) > byte) {
		walk->ahead = child;
	}
}

void
index_walk_start(struct index_walk *walk, const struct index *index, const uint8_t *prefix,
		 size_t prefix_len, const uint8_t *after, size_t after_len)
{
	walk->top = index_below(index, prefix, prefix_len);
	walk->ahead = walk->top;
	walk->last = NULL;
	walk->n = 0;
	if (walk->top != 0 && after_len > 0)
		seek(walk, after, after_len, false);
}

static bool
begins_with(const struct key *key, const uint8_t *bytes, size_t len_bytes)
{
	return len_bytes == 0 ||
	       (key->len_bytes >= len_bytes && memcmp(key->bytes, bytes, len_bytes) == 0);
}

/* leave -- of the path, what lies below the bytes that its key begins with. */
static void
leave(struct index_walk *walk, size_t len_bytes)
{
	while (walk->n > 0 && walk->path[walk->n - 1].node->depth >= len_bytes)
		walk->n--;
}

void
index_walk_skip(struct index_walk *walk, const uint8_t *bytes, size_t len_bytes)
{
	struct key *next;
	size_t part_at;

	if (walk->last != NULL && begins_with(walk->last, bytes, len_bytes)) {
		leave(walk, len_bytes);
		return;
	}

	next = index_walk_next(walk);
	if (next == NULL)
		return;
	if (begins_with(next, bytes, len_bytes)) {
		leave(walk, len_bytes);
		return;
	}
	part_at = index_part_at(next, bytes, len_bytes);
	if (index_byte_at(next->bytes, next->len_bytes, part_at) <
	    index_byte_at(bytes, len_bytes, part_at)) {
		seek(walk, bytes, len_bytes, true);
	} else {
		walk->ahead = index_child_of_key(next);
		walk->last = NULL;
	}
}
