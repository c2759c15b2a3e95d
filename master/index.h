/* SPDX-License-Identifier: Apache-2.0 */

/*
 * index.h -- all keys of one tenant in the order of their bytes: an adaptive radix tree.
 *
 * After Leis, Kemper, Neumann, "The Adaptive Radix Tree" (ICDE 2013): nodes as large
 * as their children need, and none where keys do not part.  What a path leaves out is
 * not stored either (as in a Patricia tree): the key at its end tells.  A key is held
 * by its owner (at the end of struct object); the tree holds pointers to it.
 *
 *      look-up          one descent, one comparison of the whole key
 *      walk             keys in order, 5 million a second and more
 *      roll-up          index_walk_skip() leaves a whole subtree out by one descent
 *
 * thread:  the loop's.
 */
#ifndef MASTER_INDEX_H
#define MASTER_INDEX_H

#include "master/key.h"
#include "transfer/base/slab.h"

struct index;
struct index_node;

/* index_new -- its forks come from slab, which must outlive it.  0 or -ENOMEM. */
int index_new(struct slab *slab, struct index **ret_index) MUST_CHECK;
void index_free(struct index *index); /* the keys are their owners' */

size_t index_count(const struct index *index);
size_t index_ram_bytes(const struct index *index);

/* index_n_changes -- as long as it is the same, every key that was found is held still. */
uint64_t index_n_changes(const struct index *index);

/* index_get -- the key that has these bytes, or NULL. */
struct key *index_get(const struct index *index, const uint8_t *bytes, size_t len_bytes);

/*
 * index_get_all -- many at once.
 *
 * Their descents are made together, so that each waits for its memory while the others go on:
 * a look-up in a large index costs about half of one by itself.
 * gives:   ret_keys[0..n): each the key that has the bytes of its probe, or NULL.
 */
struct index_probe {
	const uint8_t *bytes;
	size_t len_bytes;
};
void index_get_all(const struct index *index, const struct index_probe *probes, size_t n,
		   struct key **ret_keys);

/* index_foresee_puts -- a hint: these keys are about to be put.  What that will look at is called
 * for, of all of them together. */
void index_foresee_puts(const struct index *index, const struct index_probe *probes, size_t n);

/*
 * index_put -- hold key.
 *
 * gives:   *ret_old: the key with the same bytes that it took the place of, or NULL.
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int index_put(struct index *index, struct key *key, struct key **ret_old) MUST_CHECK;

/* index_take -- hold it no longer.  Gives the key that was held, or NULL. */
struct key *index_take(struct index *index, const uint8_t *bytes, size_t len_bytes);

/* index_has_below -- is there a key that begins with these bytes and is longer? */
bool index_has_below(const struct index *index, const uint8_t *bytes, size_t len_bytes);

/*
 * A walk over all keys that begin with a prefix, in order.  It holds no memory of its own, and is
 * valid as long as the index does not change; a later one goes on behind a key by `after`.
 * Its fields are the index's own.
 */
#define INDEX_DEPTH_MAX 1024 /* as many forks as a key has bytes */

struct index_walk_step {
	struct index_node *node;
	unsigned next; /* where to look for its next child */
};

struct index_walk {
	const struct key *last; /* the last one given, NULL when the walk has moved since */
	uintptr_t top;          /* holds every key with the prefix and no other */
	uintptr_t ahead;        /* where to go next; 0: on from the end of the path */
	size_t n;
	struct index_walk_step path[INDEX_DEPTH_MAX]; /* from the top to where the walk stands */
};

/*
 * index_walk_start -- stand before the first key that begins with prefix and is greater than after.
 *
 * after    0 bytes: from the first.
 */
void index_walk_start(struct index_walk *walk, const struct index *index, const uint8_t *prefix,
		      size_t prefix_len, const uint8_t *after, size_t after_len);

/* index_walk_next -- the next key, or NULL at the end. */
struct key *index_walk_next(struct index_walk *walk);

/*
 * index_walk_skip -- go on behind all keys that begin with these bytes.
 *
 * What lies before them is left out too.  A walk never goes back.
 */
void index_walk_skip(struct index_walk *walk, const uint8_t *bytes, size_t len_bytes);

/* index_check -- walk the whole tree and assert its order, counts and compression (tests). */
void index_check(const struct index *index);

DEFINE_CLEANUP(struct index, index_free);

#endif
