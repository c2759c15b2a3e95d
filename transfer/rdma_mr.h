/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_mr.h -- memory that a device may reach: registered, and so pinned, until it is given back.
 *
 *      memory   |------------------------ len ------------------------|
 *      mrs      |--- piece ---|--- piece ---|--- piece ---|-- rest ----|
 *
 * One piece, unless the device takes less at once (max_mr_size).  All pieces or none.
 */
#ifndef TRANSFER_RDMA_MR_H
#define TRANSFER_RDMA_MR_H

#include <infiniband/verbs.h>

#include "transfer/op.h"
#include "transfer/rdma_wire.h"

struct rdma_mr {
	struct ibv_mr *mrs[RDMA_PIECES_MAX];
	uint32_t n;
	uint64_t piece_bytes;
};

enum rdma_mr_outcome {
	RDMA_MR_E_LOCKED = 1, /* this process may not lock so much memory (RLIMIT_MEMLOCK) */
	RDMA_MR_E_TOO_LARGE,  /* more pieces than RDMA_PIECES_MAX */
};

/*
 * rdma_mr_open -- register.
 *
 * access   IBV_ACCESS_*.
 * result:  0, the outcomes above, -errno.
 */
int rdma_mr_open(struct rdma_mr *mr, struct ibv_pd *pd, const struct memory *memory,
		 int access) MUST_CHECK;

/* rdma_mr_close -- needs: no work request names it any more. */
void rdma_mr_close(struct rdma_mr *mr);

/* rdma_mr_why -- one line on a failure of rdma_mr_open(): which limit, its value, what is needed.
 */
const char *rdma_mr_why(char *buf, size_t cap, int r, struct ibv_context *verbs,
			uint64_t len_bytes);

/* rdma_mr_lkey -- the key of byte `at_bytes`, for this side's own requests. */
static inline uint32_t
rdma_mr_lkey(const struct rdma_mr *mr, uint64_t at_bytes)
{
	return mr->mrs[at_bytes / mr->piece_bytes]->lkey;
}

#endif
