/* SPDX-License-Identifier: Apache-2.0 */

#include "master/index_node.h"

#include <errno.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define N_DIRECT 256

_Static_assert(8 + N_DIRECT * sizeof(index_child) <= SLAB_MOST_BYTES, "the largest fork");

/* What a node may have room for; the last one is direct. */
static const uint8_t caps[] = {2, 4, 7, 11, 16, 24, 32, 48, 64, 0};

static unsigned
n_children(const struct index_node *node)
{
	return node->last + 1u;
}

static size_t
size_bytes(uint8_t cap)
{
	size_t head_bytes = num_align_up(sizeof(struct index_node) + cap, 8);

	return head_bytes + (cap != 0 ? cap : N_DIRECT) * sizeof(index_child);
}

static uint8_t
cap_above(uint8_t cap)
{
	size_t i = 0;

	while (caps[i] != cap)
		i++;
	return caps[i + 1];
}

static uint8_t
cap_below(uint8_t cap)
{
	size_t i = 0;

	while (caps[i] != cap)
		i++;
	return i > 0 ? caps[i - 1] : cap;
}

size_t
index_node_ram_bytes(const struct index_node *node)
{
	return size_bytes(node->cap);
}

static struct index_node *
node_new(uint8_t cap, uint16_t depth, struct index_room *room)
{
	struct index_node *node = slab_alloc(room->slab, size_bytes(cap));

	if (node == NULL)
		return NULL;
	node->depth = depth;
	node->cap = cap;
	node->last = 0;
	if (cap == 0)
		memset(index_node_children(node), 0, N_DIRECT * sizeof(index_child));
	else
		memset(node->bytes, 0, cap);
	room->ram_bytes += index_node_ram_bytes(node);
	return node;
}

void
index_node_free(struct index_node *node, struct index_room *room)
{
	room->ram_bytes -= index_node_ram_bytes(node);
	slab_give(room->slab, node);
}

unsigned
index_node_seat(const struct index_node *node, uint8_t byte)
{
	unsigned at = 0;

	if (node->cap == 0)
		return byte;
	while (at <= node->last && node->bytes[at] < byte)
		at++;
	return at;
}

uint8_t
index_node_byte(const struct index_node *node, unsigned at)
{
	return node->cap == 0 ? (uint8_t)at : node->bytes[at];
}

int
index_node_fork(index_child *at, const struct index_fork *fork, struct index_room *room)
{
	struct index_node *node = node_new(caps[0], fork->depth, room);
	bool new_is_second = fork->new_byte > fork->old_byte;
	index_child *children;

	assert(fork->new_byte != fork->old_byte);
	if (node == NULL)
		return err_new(-ENOMEM);

	children = index_node_children(node);
	node->last = 1;
	node->bytes[new_is_second] = fork->new_byte;
	node->bytes[!new_is_second] = fork->old_byte;
	children[new_is_second] = fork->new_child;
	children[!new_is_second] = *at;
	*at = (index_child)node;
	return 0;
}

/* resize -- the same children in a node with room for cap of them. */
static struct index_node *
resize(const struct index_node *node, uint8_t cap, struct index_room *room)
{
	struct index_node *other = node_new(cap, node->depth, room);
	index_child child, *children;
	unsigned n = 0;

	if (other == NULL)
		return NULL;

	children = index_node_children(other);
	for (unsigned at = 0; (child = index_node_next(node, &at)) != 0; at++) {
		uint8_t byte = index_node_byte(node, at);

		if (cap == 0) {
			children[byte] = child;
		} else {
			other->bytes[n] = byte;
			children[n] = child;
		}
		n++;
	}
	assert(n == n_children(node));
	other->last = node->last;
	return other;
}

static bool
is_full(const struct index_node *node)
{
	return node->cap != 0 && n_children(node) == node->cap;
}

int
index_node_add(index_child *at, uint8_t byte, index_child child, struct index_room *room)
{
	struct index_node *node = index_child_node(*at);
	index_child *children;
	unsigned seat;

	assert(child != 0 && index_node_find(node, byte) == NULL);
	if (is_full(node)) {
		struct index_node *bigger = resize(node, cap_above(node->cap), room);

		if (bigger == NULL)
			return err_new(-ENOMEM);
		index_node_free(node, room);
		node = bigger;
		*at = (index_child)node;
	}

	children = index_node_children(node);
	seat = index_node_seat(node, byte);
	if (node->cap != 0) {
		size_t n_behind = n_children(node) - seat;

		memmove(node->bytes + seat + 1, node->bytes + seat, n_behind);
		memmove(children + seat + 1, children + seat, n_behind * sizeof(*children));
		node->bytes[seat] = byte;
	}
	children[seat] = child;
	node->last++;
	return 0;
}

/*
 * is_roomy -- would the next smaller size do, with a little to spare?  (So that it does not go to
 * and fro.)
 */
static bool
is_roomy(const struct index_node *node)
{
	uint8_t below = cap_below(node->cap);

	return below != node->cap && n_children(node) <= below - below / 4u;
}

/* make_smaller -- never fails: without memory it stays as it is. */
static void
make_smaller(index_child *at, struct index_room *room)
{
	struct index_node *node = index_child_node(*at);
	struct index_node *smaller = resize(node, cap_below(node->cap), room);

	if (smaller == NULL)
		return;
	index_node_free(node, room);
	*at = (index_child)smaller;
}

void
index_node_remove(index_child *at, uint8_t byte, struct index_room *room)
{
	struct index_node *node = index_child_node(*at);
	index_child *children = index_node_children(node);
	unsigned seat = index_node_seat(node, byte);

	assert(index_node_find(node, byte) == &children[seat]);
	if (node->cap != 0) {
		size_t n_behind = node->last - seat;

		memmove(node->bytes + seat, node->bytes + seat + 1, n_behind);
		memmove(children + seat, children + seat + 1, n_behind * sizeof(*children));
	} else {
		children[seat] = 0;
	}
	node->last--;

	if (node->last == 0) {
		unsigned first = 0;

		*at = index_node_next(node, &first);
		index_node_free(node, room);
	} else if (is_roomy(node)) {
		make_smaller(at, room);
	}
}
