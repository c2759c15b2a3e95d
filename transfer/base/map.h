/* SPDX-License-Identifier: Apache-2.0 */

/*
 * map.h -- from a 64-bit number to a pointer; open addressing, grows by doubling.
 *
 * Keys are ids, or hashes whose collisions the caller tells apart.  Key 0 and
 * NULL values are not allowed.  Robin-hood probing with backward shift, so
 * removal leaves no tombstones and look-up stays short for ever.  Ids that follow
 * one another stand in fours beside each other: a batch of them touches a quarter
 * of the memory.
 * thread:  the owner's.
 */
#ifndef TRANSFER_BASE_MAP_H
#define TRANSFER_BASE_MAP_H

#include "transfer/base/base.h"

struct map {
	struct map_slot *slots;
	size_t n, cap;  /* cap: 0 or a power of two */
	unsigned shift; /* of the product that says where a key is at home */
};

void map_init(struct map *map);
void map_fini(struct map *map);

/* map_get -- the value or NULL. */
void *map_get(const struct map *map, uint64_t key);

/* map_put -- set or replace.  0 or -ENOMEM. */
int map_put(struct map *map, uint64_t key, void *value) MUST_CHECK;

/* map_reserve -- n more keys can come without growth on the way.  0 or -ENOMEM. */
int map_reserve(struct map *map, size_t n) MUST_CHECK;

/* map_foresee -- a hint: this key will be asked for, set or taken soon. */
void map_foresee(const struct map *map, uint64_t key);

/* map_take -- remove; gives the value it had, or NULL. */
void *map_take(struct map *map, uint64_t key);

/* map_next -- walk: *at starts at 0; false at the end.  The map may not change meanwhile. */
bool map_next(const struct map *map, size_t *at, uint64_t *ret_key, void **ret_value);

/* map_hash -- 64-bit hash of bytes, never 0.  Seeded: an outsider can't choose collisions. */
uint64_t map_hash(const void *bytes, size_t len_bytes, uint64_t seed);

#endif
