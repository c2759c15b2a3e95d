/* SPDX-License-Identifier: Apache-2.0 */

/*
 * index_node.h -- one fork of the tree of keys.  For index*.c only.
 *
 * A child is a word: 0 none, bit 0 set a key, else another fork.  All keys below
 * a fork agree in their bytes before `depth`; the byte there says which child.
 * A key that ends there has the byte 0: no key contains it, and it sorts first.
 *
 *      sorted, cap 4     depth cap last | 'a' 'c' 'x'  .  | child child child   .   |
 *      direct, cap 0     depth  0  last |     unused      | child of byte 0 ... 255 |
 *
 * Sorted ones have room for 2, 4, 7, 11, 16, 24, 32, 48 or 64: sizes that leave
 * little over in the slab's steps of 8 bytes.  Whoever has more is direct.
 */
#ifndef MASTER_INDEX_NODE_H
#define MASTER_INDEX_NODE_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <string.h>

#include "master/key.h"
#include "transfer/base/slab.h"

typedef uintptr_t index_child;

struct index_node {
	uint16_t depth;
	uint8_t cap;     /* 0: direct */
	uint8_t last;    /* number of children - 1; there are at least two */
	uint8_t bytes[]; /* of the children, ascending */
};

#define INDEX_BYTES_AT_ONCE 16

static inline bool
index_child_is_key(index_child child)
{
	return (child & 1) != 0;
}

static inline struct key *
index_child_key(index_child child)
{
	return (struct key *)(child - 1);
}

static inline struct index_node *
index_child_node(index_child child)
{
	return (struct index_node *)child;
}

static inline index_child
index_child_of_key(const struct key *key)
{
	return (uintptr_t)key + 1;
}

/* index_byte_at -- of a key; 0 where it ends and behind. */
static inline uint8_t
index_byte_at(const uint8_t *bytes, size_t len_bytes, size_t depth)
{
	return depth < len_bytes ? bytes[depth] : 0;
}

/* index_node_children -- where they begin: behind the bytes, aligned to a word. */
static inline index_child *
index_node_children(const struct index_node *node)
{
	size_t head_bytes = (sizeof(*node) + node->cap + 7) & ~(size_t)7;

	return (index_child *)(void *)((char *)(uintptr_t)node + head_bytes);
}

/* index_node_match -- a bit for each of INDEX_BYTES_AT_ONCE that is this byte. */
#ifdef __SSE2__
static inline unsigned
index_node_match(const uint8_t *bytes, uint8_t byte)
{
	__m128i all = _mm_loadu_si128((const __m128i *)(const void *)bytes);

	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8((char)byte)));
}
#else
static inline unsigned
index_node_match(const uint8_t *bytes, uint8_t byte)
{
	unsigned match = 0;

	for (unsigned i = 0; i < INDEX_BYTES_AT_ONCE; i++)
		match |= (unsigned)(bytes[i] == byte) << i;
	return match;
}
#endif

/*
 * index_node_find -- where the child of byte hangs, or NULL.
 *
 * What lies behind the last byte may be anything: even the smallest node is long enough to be
 * looked at.
 */
static inline index_child *
index_node_find(const struct index_node *node, uint8_t byte)
{
	index_child *children = index_node_children(node);

	if (node->cap == 0)
		return children[byte] != 0 ? &children[byte] : NULL;

	for (unsigned at = 0; at <= node->last; at += INDEX_BYTES_AT_ONCE) {
		unsigned match = index_node_match(node->bytes + at, byte);

		if (match != 0) {
			at += (unsigned)__builtin_ctz(match);
			return at <= node->last ? &children[at] : NULL;
		}
	}
	return NULL;
}

/*
 * index_node_next -- the first child at or behind a place; places go up with the bytes.
 *
 * gives:   *at: its place.
 * result:  0 at the end.
 */
static inline index_child
index_node_next(const struct index_node *node, unsigned *at)
{
	const index_child *children = index_node_children(node);

	if (node->cap != 0)
		return *at <= node->last ? children[*at] : 0;
	while (*at < 256 && children[*at] == 0)
		(*at)++;
	return *at < 256 ? children[*at] : 0;
}

/* index_node_seat -- the place of the first child whose byte is not smaller. */
unsigned index_node_seat(const struct index_node *node, uint8_t byte);

/* index_node_byte -- of the child at a place. */
uint8_t index_node_byte(const struct index_node *node, unsigned at);

size_t index_node_ram_bytes(const struct index_node *node);

/* Where forks come from, and how much of it they take. */
struct index_room {
	struct slab *slab;
	size_t ram_bytes;
};

/*
 * index_node_fork -- put a fork of two into *at: what hangs there now, and the new child.
 *
 * result:  0 or -ENOMEM, then nothing has changed.
 */
struct index_fork {
	uint16_t depth;
	uint8_t old_byte, new_byte;
	index_child new_child;
};
int index_node_fork(index_child *at, const struct index_fork *fork,
		    struct index_room *room) MUST_CHECK;

/*
 * index_node_add -- one more child; the node in *at may become another.
 *
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int index_node_add(index_child *at, uint8_t byte, index_child child,
		   struct index_room *room) MUST_CHECK;

/* index_node_remove -- the child of byte; the node in *at may become another, or its only child. */
void index_node_remove(index_child *at, uint8_t byte, struct index_room *room);

void index_node_free(struct index_node *node, struct index_room *room);

#endif
