/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hot_cache.h -- objects that are read often from afar, kept in this host's memory.
 *
 *      get --look--> master: id, sum, lease        always: a hit saves the transfer, never the
 * lease
 *       |
 *       +--> here?  copy, sum        right: done        wrong or overwritten: as if it were not
 * here
 *       +--> else transfer from afar ---> seen often enough?  keep a copy
 *
 * Bytes are kept under the object's id, which never means other bytes: nothing here grows stale.
 * They are kept only when they have the sum that the master told, and only objects that have one.
 *
 * shared:  one file in /dev/shm for all processes of a user that ask for it; the first one decides
 *          on its size, the last one removes it.
 * thread:  any, but open and close.
 */
#ifndef CORE_HOT_CACHE_H
#define CORE_HOT_CACHE_H

#include "core/hot_ring.h"
#include "transfer/base/sketch.h"

struct hot_cache_config {
	uint64_t len_bytes; /* at least HOT_RING_BYTES_MIN */
	bool is_shared;
	unsigned min_seen; /* so often must an object have been read; at least 1 */
	const char *dir;   /* of the shared file; NULL: /dev/shm */
};

struct hot_cache {
	struct hot_ring ring;
	struct sketch *sketch; /* this process's */
	unsigned min_seen;
	void *bytes;
	uint64_t len_bytes;
	struct mapping mapping; /* of the shared file */
	int fd;                 /* of the shared file, locked as long as it is used; -1: private */
	char path[96];          /* of it */
	atomic_uint_fast64_t n_hits, hit_bytes, n_misses, n_kept, n_draws;
};

enum hot_cache_outcome {
	HOT_CACHE_E_OTHERS = 1, /* the shared file is another user's, or others may write it */
};

/* hot_cache_open -- 0, hot_cache_outcome, -errno. */
int hot_cache_open(const struct hot_cache_config *config, struct hot_cache **ret_cache) MUST_CHECK;
void hot_cache_close(struct hot_cache *cache); /* NULL is fine */

/*
 * hot_cache_get -- a part of an object, if it is here.
 *
 * result:  false: not here; the slices may have been written to.
 */
bool hot_cache_get(struct hot_cache *cache, const struct hot_object *object,
		   const struct hot_part *part);

/*
 * hot_cache_wants -- a part has come from afar: should the whole be fetched, and offered?
 *
 * All the bytes of an object, in whatever parts, count as one reading of it.  What is longer than
 * HOT_CACHE_WHOLE_MAX is never fetched for a part's sake.
 */
#define HOT_CACHE_WHOLE_MAX (16ull << 20)
bool hot_cache_wants(struct hot_cache *cache, const struct hot_object *object, uint64_t part_bytes);

/* hot_cache_offer -- a whole object has come from afar: keep it?  Its bytes are in the slices. */
void hot_cache_offer(struct hot_cache *cache, const struct hot_object *object,
		     const struct iovec *slices, size_t n_slices);

DEFINE_CLEANUP(struct hot_cache, hot_cache_close);

#endif
