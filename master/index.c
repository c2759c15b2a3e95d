/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A fork says only which byte parts its children, not the bytes before:
 *
 *      keys      car  cart  cat  dog
 *
 *                        byte 0
 *                      c /    \ d
 *                   byte 2     dog
 *                  r /  \ t
 *              byte 3    cat
 *          end /  \ t
 *           car    cart
 *
 * So a descent looks at one byte a fork and skips what all keys below have in
 * common; the one key at its end is compared as a whole and has the last word.
 * Where a new key parts from the tree is told by that comparison too: no fork
 * above the first byte that differs can be in its way.
 */
#include "master/index.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "master/index_node.h"
#include "master/index_tree.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

/* Descents at a time; more than a processor fetches at once is in vain. */
#define N_TOGETHER 16
#define N_AT_ONCE  64 /* their keys stay in the nearest memory until they are compared */

int
index_new(struct slab *slab, struct index **ret_index)
{
	struct index *index = calloc(1, sizeof(*index));

	if (index == NULL)
		return err_new(-ENOMEM);
	index->room.slab = slab;
	*ret_index = index;
	return 0;
}

/* free_forks -- each fork after all that hang below it. */
static void
free_forks(struct index *index)
{
	struct index_walk_step path[INDEX_DEPTH_MAX];
	size_t n = 0;

	if (index->root == 0 || index_child_is_key(index->root))
		return;
	path[n++] = (struct index_walk_step){index_child_node(index->root), 0};
	while (n > 0) {
		struct index_walk_step *step = &path[n - 1];
		index_child child = index_node_next(step->node, &step->next);

		step->next++;
		if (child == 0)
			index_node_free(path[--n].node, &index->room);
		else if (!index_child_is_key(child))
			path[n++] = (struct index_walk_step){index_child_node(child), 0};
	}
}

void
index_free(struct index *index)
{
	if (index == NULL)
		return;
	free_forks(index);
	assert(index->room.ram_bytes == 0);
	free(index);
}

size_t
index_count(const struct index *index)
{
	return index->n_keys;
}

uint64_t
index_n_changes(const struct index *index)
{
	return index->n_changes;
}

size_t
index_ram_bytes(const struct index *index)
{
	return sizeof(*index) + index->room.ram_bytes;
}

struct key *
index_get(const struct index *index, const uint8_t *bytes, size_t len_bytes)
{
	index_child child = index->root;
	struct key *key;

	while (child != 0 && !index_child_is_key(child)) {
		const struct index_node *node = index_child_node(child);
		const index_child *at;

		if (node->depth > len_bytes)
			return NULL;
		at = index_node_find(node, index_byte_at(bytes, len_bytes, node->depth));
		if (at == NULL)
			return NULL;
		child = *at;
	}
	if (child == 0)
		return NULL;
	key = index_child_key(child);
	return key_is(key, bytes, len_bytes) ? key : NULL;
}

/* fetch -- the first lines of what hangs there; most forks and keys have no more. */
static void
fetch(index_child child)
{
	uintptr_t lines = (uintptr_t)(child & ~(index_child)1); /* 0: there is nothing */

	__builtin_prefetch((const void *)lines);
	__builtin_prefetch((const void *)(lines + 64));
}

/* any_child -- of a fork, when the bytes do not say which. */
static index_child
any_child(const struct index_node *node)
{
	unsigned first = 0;

	return index_node_next(node, &first);
}

/* step -- where a descent goes on from a fork; where nothing hangs for its byte: 0, or to any key.
 */
static index_child
step(const struct index_node *node, const struct index_probe *probe, bool to_nearest)
{
	const index_child *at =
		index_node_find(node, index_byte_at(probe->bytes, probe->len_bytes, node->depth));

	if (at != NULL)
		return *at;
	return to_nearest ? any_child(node) : 0;
}

/*
 * descend_together -- n descents, N_TOGETHER of them under way, a fork of each in turn.
 *
 * What a descent needs next comes from memory while the others take their steps.  Whose descent is
 * over makes room for the next one at once: else the last ones of each few would wait alone.
 * gives:   ends[0..n): the one key that each can be, or 0; to_nearest: a key that shares most with
 * it.
 */
static void
descend_together(const struct index *index, const struct index_probe *probes, size_t n,
		 bool to_nearest, index_child *ends)
{
	size_t under_way[N_TOGETHER], n_under_way = 0, next = 0;

	for (size_t i = 0; i < n; i++)
		ends[i] = index->root;
	if (index->root == 0 || index_child_is_key(index->root))
		return;
	while (next < n && n_under_way < N_TOGETHER)
		under_way[n_under_way++] = next++;
	while (n_under_way > 0) {
		for (size_t i = 0; i < n_under_way;) {
			index_child *end = &ends[under_way[i]];

			*end = step(index_child_node(*end), &probes[under_way[i]], to_nearest);
			fetch(*end);
			if (*end != 0 && !index_child_is_key(*end))
				i++;
			else if (next < n)
				under_way[i++] = next++;
			else
				under_way[i] = under_way[--n_under_way];
		}
	}
}

void
index_get_all(const struct index *index, const struct index_probe *probes, size_t n,
	      struct key **ret_keys)
{
	for (size_t i = 0; i < n; i += N_AT_ONCE) {
		size_t n_now = num_min(n - i, (size_t)N_AT_ONCE);
		index_child ends[N_AT_ONCE];

		descend_together(index, &probes[i], n_now, /* to_nearest= */ false, ends);
		for (size_t j = 0; j < n_now; j++) {
			const struct index_probe *probe = &probes[i + j];
			struct key *key = ends[j] != 0 ? index_child_key(ends[j]) : NULL;

			ret_keys[i + j] = key != NULL && key_is(key, probe->bytes, probe->len_bytes)
						  ? key
						  : NULL;
		}
	}
}

void
index_foresee_puts(const struct index *index, const struct index_probe *probes, size_t n)
{
	for (size_t i = 0; i < n; i += N_AT_ONCE) {
		index_child ends[N_AT_ONCE];

		descend_together(index, &probes[i], num_min(n - i, (size_t)N_AT_ONCE),
				 /* to_nearest= */ true, ends);
	}
}

size_t
index_part_at(const struct key *key, const uint8_t *bytes, size_t len_bytes)
{
	size_t len_both = num_min(key->len_bytes, len_bytes), at = 0;

	for (; at + sizeof(uint64_t) <= len_both; at += sizeof(uint64_t)) {
		uint64_t one, other;

		memcpy(&one, key->bytes + at, sizeof(one));
		memcpy(&other, bytes + at, sizeof(other));
		if (one != other)
			return at + (size_t)__builtin_ctzll(le64toh(one ^ other)) / 8;
	}
	while (at < len_both && key->bytes[at] == bytes[at])
		at++;
	return at == key->len_bytes && at == len_bytes ? SIZE_MAX : at;
}

struct key *
index_nearest(index_child top, const uint8_t *bytes, size_t len_bytes)
{
	while (!index_child_is_key(top)) {
		const struct index_node *node = index_child_node(top);
		const index_child *at = NULL;

		if (node->depth <= len_bytes)
			at = index_node_find(node, index_byte_at(bytes, len_bytes, node->depth));
		top = at != NULL ? *at : any_child(node);
	}
	return index_child_key(top);
}

index_child
index_below(const struct index *index, const uint8_t *bytes, size_t len_bytes)
{
	index_child child = index->root;
	const struct key *key;

	while (child != 0 && !index_child_is_key(child)) {
		const struct index_node *node = index_child_node(child);
		const index_child *at;

		if (node->depth >= len_bytes)
			break;
		at = index_node_find(node, bytes[node->depth]);
		child = at != NULL ? *at : 0;
	}
	if (child == 0 || len_bytes == 0)
		return child;
	key = index_nearest(child, bytes, len_bytes);
	return key->len_bytes >= len_bytes && memcmp(key->bytes, bytes, len_bytes) == 0 ? child : 0;
}

bool
index_has_below(const struct index *index, const uint8_t *bytes, size_t len_bytes)
{
	index_child child = index_below(index, bytes, len_bytes);

	/* A fork holds two keys at least, and no two have the same bytes. */
	if (child == 0 || !index_child_is_key(child))
		return child != 0;
	return index_child_key(child)->len_bytes > len_bytes;
}

/* put_new -- hang key where it parts from the nearest one. */
static int
put_new(struct index *index, struct key *key, const struct key *nearest, size_t part_at)
{
	uint8_t byte = index_byte_at(key->bytes, key->len_bytes, part_at);
	index_child *at = &index->root;
	const struct index_fork fork = {
		.depth = (uint16_t)part_at,
		.old_byte = index_byte_at(nearest->bytes, nearest->len_bytes, part_at),
		.new_byte = byte,
		.new_child = index_child_of_key(key),
	};

	while (!index_child_is_key(*at)) {
		const struct index_node *node = index_child_node(*at);

		if (node->depth == part_at)
			return index_node_add(at, byte, index_child_of_key(key), &index->room);
		if (node->depth > part_at)
			break;
		at = index_node_find(node, index_byte_at(key->bytes, key->len_bytes, node->depth));
	}
	return index_node_fork(at, &fork, &index->room);
}

/* slot_of -- where a key that is held hangs. */
static index_child *
slot_of(struct index *index, const struct key *key)
{
	index_child *at = &index->root;

	while (!index_child_is_key(*at)) {
		const struct index_node *node = index_child_node(*at);

		at = index_node_find(node, index_byte_at(key->bytes, key->len_bytes, node->depth));
	}
	assert(index_child_key(*at) == key);
	return at;
}

int
index_put(struct index *index, struct key *key, struct key **ret_old)
{
	struct key *nearest = NULL;
	size_t part_at = 0;
	int r;

	assert(key->len_bytes > 0 && key->len_bytes <= INDEX_DEPTH_MAX);
	assert(memchr(key->bytes, 0, key->len_bytes) == NULL);
	assert(((uintptr_t)key & 1) == 0);

	index->n_changes++;
	if (index->root == 0) {
		index->root = index_child_of_key(key);
	} else {
		nearest = index_nearest(index->root, key->bytes, key->len_bytes);
		part_at = index_part_at(nearest, key->bytes, key->len_bytes);
		if (part_at == SIZE_MAX) {
			*slot_of(index, nearest) = index_child_of_key(key);
			*ret_old = nearest;
			return 0;
		}
		r = put_new(index, key, nearest, part_at);
		if (r < 0)
			return err_up(r);
	}
	index->n_keys++;
	*ret_old = NULL;
	return 0;
}

struct key *
index_take(struct index *index, const uint8_t *bytes, size_t len_bytes)
{
	index_child *at = &index->root, *fork = NULL;
	struct key *key;
	uint8_t byte = 0;

	if (index->root == 0)
		return NULL;
	while (!index_child_is_key(*at)) {
		const struct index_node *node = index_child_node(*at);

		if (node->depth > len_bytes)
			return NULL;
		fork = at;
		byte = index_byte_at(bytes, len_bytes, node->depth);
		at = index_node_find(node, byte);
		if (at == NULL)
			return NULL;
	}
	key = index_child_key(*at);
	if (!key_is(key, bytes, len_bytes))
		return NULL;

	index->n_changes++;
	if (fork == NULL)
		index->root = 0;
	else
		index_node_remove(fork, byte, &index->room);
	index->n_keys--;
	return key;
}

/*
 * check_pair -- two keys that follow one another: in order, and parted just where their last common
 * fork says.
 */
static void
check_pair(const struct key *left, const struct key *right, size_t depth)
{
	size_t part_at = index_part_at(left, right->bytes, right->len_bytes);

	assert(part_at == depth);
	assert(index_byte_at(left->bytes, left->len_bytes, depth) <
	       index_byte_at(right->bytes, right->len_bytes, depth));
}

/* check_node -- the laws of one fork that hangs below one of depth `above`. */
static void
check_node(const struct index_node *node, unsigned above)
{
	index_child child;
	unsigned n = 0;

	assert(node->depth >= above && node->depth < INDEX_DEPTH_MAX);
	assert(node->last >= 1);
	for (unsigned at = 0; (child = index_node_next(node, &at)) != 0; at++) {
		uint8_t byte = index_node_byte(node, at);

		assert(*index_node_find(node, byte) == child);
		assert(index_node_seat(node, byte) == at);
		n++;
	}
	assert(n == node->last + 1u);
}

void
index_check(const struct index *index)
{
	struct index_walk walk;
	const struct key *key, *before = NULL;
	size_t n = 0, ram_bytes = 0;

	index_walk_start(&walk, index, NULL, 0, NULL, 0);
	for (; (key = index_walk_next(&walk)) != NULL; before = key) {
		size_t parts = walk.n; /* of the forks on the path, those that this key is the first
					  of are above it */

		for (; parts > 0; parts--) {
			const struct index_walk_step *step = &walk.path[parts - 1];
			unsigned at = 0;

			index_node_next(step->node, &at);
			if (step->next != at + 1)
				break; /* the last common fork with the key before */
			check_node(step->node,
				   parts > 1 ? walk.path[parts - 2].node->depth + 1u : 0);
			ram_bytes += index_node_ram_bytes(step->node);
		}
		assert((before == NULL) == (parts == 0));
		if (before != NULL)
			check_pair(before, key, walk.path[parts - 1].node->depth);
		assert(index_get(index, key->bytes, key->len_bytes) == key);
		n++;
	}
	assert(n == index->n_keys);
	assert(ram_bytes == index->room.ram_bytes);
}
