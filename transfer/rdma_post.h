/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_post.h -- ops become requests.
 *
 *      op       |------------------------ len ------------------------|
 *      chunks   |-- 256 KiB --|-- 256 KiB --|   ended by a piece's end, by too many slices,
 *                                               and when staged by a slot's end
 *      doorbell | chunk | chunk | ... at most RDMA_BATCH | posted at once, the last one signalled
 *
 * thread:  the transport's lock.
 */
#ifndef TRANSFER_RDMA_POST_H
#define TRANSFER_RDMA_POST_H

#include "transfer/rdma_group.h"

/*
 * rdma_post -- post as much of the queue as there is room for; puts the lock aside where memory
 * must be registered first.
 *
 * needs:   the group is UP.
 * gives:   *ret_moved set when anything was posted.
 * result:  false: the life is over.
 */
bool rdma_post(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns,
	       bool *ret_moved) MUST_CHECK;

/* rdma_post_copy -- len_bytes between the slices at the cursor and bytes; the cursor moves on. */
void rdma_post_copy(struct op_cursor *cursor, uint8_t *bytes, uint64_t len_bytes, bool to_slices);

/* rdma_group_show_tokens -- SHOW those of the queue that were not shown yet.  false: as above. */
bool rdma_group_show_tokens(struct rdma_group *group) MUST_CHECK;

#endif
