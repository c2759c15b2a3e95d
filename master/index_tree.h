/* SPDX-License-Identifier: Apache-2.0 */

/* index_tree.h -- what the files of the index share.  For index*.c only. */
#ifndef MASTER_INDEX_TREE_H
#define MASTER_INDEX_TREE_H

#include "master/index.h"
#include "master/index_node.h"

struct index {
	index_child root;
	size_t n_keys;
	uint64_t n_changes;
	struct index_room room;
};

/*
 * index_below -- the smallest part of the tree that holds all keys beginning with these bytes.
 *
 * result:  0 when there are none.
 */
index_child index_below(const struct index *index, const uint8_t *bytes, size_t len_bytes);

/*
 * index_nearest -- the key at the end of the descent by these bytes: none shares more of them.
 *
 * needs:   top != 0.
 */
struct key *index_nearest(index_child top, const uint8_t *bytes, size_t len_bytes);

/*
 * index_part_at -- the first byte in which key and bytes differ; each ends with a byte 0.
 *
 * result:  SIZE_MAX when they are the same.
 */
size_t index_part_at(const struct key *key, const uint8_t *bytes, size_t len_bytes);

#endif
