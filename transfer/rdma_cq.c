/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_cq.h"

#include <errno.h>
#include <fcntl.h>

#include "transfer/base/err.h"
#include "transfer/base/sock.h"

#define ACK_BATCH 16

int
rdma_channel_open(struct ibv_context *verbs, struct ibv_comp_channel **ret_channel)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(verbs);
	int r;

	if (channel == NULL)
		return err_new(errno > 0 ? -errno : -EIO);
	r = sock_set_blocking(channel->fd, false);
	if (r < 0) {
		ibv_destroy_comp_channel(channel);
		return err_up(r);
	}
	*ret_channel = channel;
	return 0;
}

int
rdma_cq_open(struct rdma_cq *cq, struct ibv_comp_channel *channel, unsigned depth)
{
	*cq = (struct rdma_cq){0};
	cq->cq = ibv_create_cq(channel->context, (int)depth, cq, channel, 0);
	return cq->cq != NULL ? 0 : err_new(errno > 0 ? -errno : -EIO);
}

void
rdma_cq_close(struct rdma_cq *cq)
{
	if (cq->cq == NULL)
		return;
	if (cq->n_unacked > 0)
		ibv_ack_cq_events(cq->cq, cq->n_unacked);
	ibv_destroy_cq(cq->cq);
	*cq = (struct rdma_cq){0};
}

int
rdma_cq_poll(struct rdma_cq *cq, struct ibv_wc *ret, int cap)
{
	return ibv_poll_cq(cq->cq, cap, ret);
}

int
rdma_cq_arm(struct rdma_cq *cq)
{
	int e;

	if (cq->is_armed)
		return 0;
	e = ibv_req_notify_cq(cq->cq, 0);
	if (e != 0)
		return err_new(-e);
	cq->is_armed = true;
	return 0;
}

struct rdma_cq *
rdma_cq_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *rang;
	struct rdma_cq *cq;
	void *context;

	if (ibv_get_cq_event(channel, &rang, &context) != 0)
		return NULL;
	cq = context;
	cq->is_armed = false;
	cq->n_unacked++;
	if (cq->n_unacked == ACK_BATCH) {
		ibv_ack_cq_events(cq->cq, cq->n_unacked);
		cq->n_unacked = 0;
	}
	return cq;
}
