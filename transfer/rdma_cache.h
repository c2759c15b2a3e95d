/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_cache.h -- the memory that callers have told of, and its registrations.
 *
 *      regions  |-- a --|      |---- b ----|  |- c -|      sorted, apart from each other
 *                   \__ registered with a device when it is first used there, until forgotten
 *
 * Nothing enters by itself: memory that was not told of may be unmapped any time, and a
 * registration kept for it would then be of other pages than the program sees.
 *
 * thread:  the transport's lock.
 */
#ifndef TRANSFER_RDMA_CACHE_H
#define TRANSFER_RDMA_CACHE_H

#include "transfer/base/vec.h"
#include "transfer/rdma_nic.h"

#define RDMA_NICS_MAX 8

enum rdma_region_state { RDMA_REGION_NEW, RDMA_REGION_IN, RDMA_REGION_REFUSED };

struct rdma_region {
	struct memory memory;
	enum rdma_region_state states[RDMA_NICS_MAX]; /* by device */
	struct rdma_mr mrs[RDMA_NICS_MAX];
};

struct rdma_cache {
	VEC(struct rdma_region *) regions;
};

void rdma_cache_init(struct rdma_cache *cache);

/* rdma_cache_fini -- gives every registration back. */
void rdma_cache_fini(struct rdma_cache *cache);

/* rdma_cache_add -- needs: it overlaps no other.  0 or -ENOMEM. */
int rdma_cache_add(struct rdma_cache *cache, const struct memory *memory) MUST_CHECK;

/* rdma_cache_remove -- what begins there, if it is in.  needs: no op uses it. */
void rdma_cache_remove(struct rdma_cache *cache, const void *at);

/* rdma_cache_find -- the region that holds all of [at, at + len_bytes), or NULL. */
struct rdma_region *rdma_cache_find(const struct rdma_cache *cache, const void *at,
				    size_t len_bytes);

/* rdma_region_open -- register it with that device, unless it is already.  false: not possible. */
bool rdma_region_open(struct rdma_region *region, const struct rdma_nic *nic, unsigned nic_index);

#endif
