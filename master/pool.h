/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pool.h -- the segments that take new data, so that one of them is found without a walk over all.
 *
 *      memory   DRAM     where copies go
 *      disk     FILE     what leaves memory (offload.h); all, while there is no memory
 *      nof      NOF      where nof copies go, and nothing else
 *
 *      | a/1 a/7 | b/2 | c/3 c/4 c/9 |      by host, then id: those of a host lie side by side
 *
 * Made anew when a segment comes, goes or changes its state, which is rare.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_POOL_H
#define MASTER_POOL_H

#include "master/proto/status.h"
#include "master/segment.h"

enum pool_kind { POOL_MEMORY, POOL_DISK, POOL_NOF, POOLS };

struct pool {
	VEC(struct segment *) segments;
};

/* Some of a pool's, side by side; until the pool is made anew. */
struct pool_part {
	struct segment *const *at;
	size_t n;
};

static inline enum pool_kind
pool_kind_of(const struct segment *segment)
{
	return segment->medium == MEDIUM_NOF    ? POOL_NOF
	       : segment->medium == MEDIUM_FILE ? POOL_DISK
						: POOL_MEMORY;
}

/* pool_sort -- what was pushed to pool->segments comes in its order. */
void pool_sort(struct pool *pool);

static inline struct pool_part
pool_all(const struct pool *pool)
{
	return (struct pool_part){pool->segments.at, pool->segments.n};
}

/* pool_of_host -- those that lie on that host; n 0: none.  Some log2(n) comparisons. */
struct pool_part pool_of_host(const struct pool *pool, const char *host);

#endif
