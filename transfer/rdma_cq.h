/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_cq.h -- one completion queue, looked at again and again, or slept on.
 *
 *      poll ... poll, nothing --> arm --> poll once more --> sleep on the channel's descriptor
 *        ^                                                              |
 *        +------------------ take the event: not armed any more <------+
 *
 * What came between the last look and the arming rings no bell: hence the look after it.  Events
 * are acknowledged 16 at a time, for each acknowledgement takes a lock.
 *
 * thread:  the owner's lock.
 */
#ifndef TRANSFER_RDMA_CQ_H
#define TRANSFER_RDMA_CQ_H

#include <infiniband/verbs.h>

#include "transfer/base/base.h"

struct rdma_cq {
	struct ibv_cq *cq; /* NULL: not open */
	bool is_armed;
	unsigned n_unacked;
};

/* rdma_channel_open -- a completion channel that does not block.  0 or -errno. */
int rdma_channel_open(struct ibv_context *verbs, struct ibv_comp_channel **ret_channel) MUST_CHECK;

/* rdma_cq_open -- room for depth completions, not armed.  0 or -errno. */
int rdma_cq_open(struct rdma_cq *cq, struct ibv_comp_channel *channel, unsigned depth) MUST_CHECK;

/* rdma_cq_close -- needs: its queue pairs are gone.  A closed one is fine. */
void rdma_cq_close(struct rdma_cq *cq);

/* rdma_cq_poll -- how many of ret[0..cap) were filled in; negative: the queue is broken. */
int rdma_cq_poll(struct rdma_cq *cq, struct ibv_wc *ret, int cap);

/* rdma_cq_arm -- the next completion makes the channel readable.  Look once more afterwards.
 * 0 or -errno. */
int rdma_cq_arm(struct rdma_cq *cq) MUST_CHECK;

/* rdma_cq_event -- the next queue of this channel that rang, not armed any more; NULL: none. */
struct rdma_cq *rdma_cq_event(struct ibv_comp_channel *channel);

#endif
