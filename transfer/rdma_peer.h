/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_peer.h -- which peer an op goes to, and how long a peer is kept.
 *
 *      target's slot --> peer, shared by all targets of that segment and client
 *      the last slot is emptied --> an orphan --> freed when nobody is at work and it has no ops
 *
 * thread:  the transport's lock.
 */
#ifndef TRANSFER_RDMA_PEER_H
#define TRANSFER_RDMA_PEER_H

#include "transfer/rdma_group.h"

/* Stands in the slot of a target that has no address for RDMA. */
extern struct rdma_peer rdma_no_way;

/* rdma_peer_of -- the one this op goes to, &rdma_no_way, or NULL: no memory. */
struct rdma_peer *rdma_peer_of(struct rdma *rdma, const struct op *op);

/* rdma_peer_forget -- one slot less. */
void rdma_peer_forget(struct rdma *rdma, struct rdma_peer *peer);

/* rdma_peer_free -- needs: it has no ops, or the transport is stopped. */
void rdma_peer_free(struct rdma *rdma, struct rdma_peer *peer);

/* rdma_leave -- out of submit() or progress(): the last one sees to orphans. */
void rdma_leave(struct rdma *rdma);

#endif
