/* SPDX-License-Identifier: Apache-2.0 */

/* fake_act.c -- what a request does when its time has come: keys and bounds first, then bytes. */
#include <string.h>

#include "tests/mock/verbs/fake_inner.h"
#include "transfer/base/num.h"

#define RNR_NS       (100ull * 1000)
#define RNR_FOR_EVER 7

enum way { FROM_SGES, TO_SGES };

/* move_sges -- up to len bytes between a list and bytes that lie in one run. */
static void
move_sges(const struct ibv_sge *sges, int n_sges, uint8_t *bytes, uint64_t len, enum way way)
{
	for (int i = 0; i < n_sges && len > 0; i++) {
		struct fake_mr *mr;
		uint64_t part = num_min(len, (uint64_t)sges[i].length);
		uint8_t *at = NULL;

		list_each(&world.mrs, link) {
			mr = list_of(link, struct fake_mr, at);
			if (mr->mr.lkey == sges[i].lkey)
				at = fake_mr_at(mr, sges[i].addr);
		}
		assert(at != NULL || part == 0); /* may_use() has looked */
		if (part > 0)
			memcpy(way == TO_SGES ? at : bytes, way == TO_SGES ? bytes : at, part);
		bytes += part;
		len -= part;
	}
}

/* may_use -- does this side's own memory allow it? */
static bool
may_use(const struct ibv_pd *pd, const struct ibv_sge *sges, int n_sges, unsigned access)
{
	for (int i = 0; i < n_sges; i++)
		if (sges[i].length > 0 &&
		    fake_mr_find(sges[i].lkey, pd, sges[i].addr, sges[i].length, access) == NULL)
			return false;
	return true;
}

bool
fake_gather(const struct fake_qp *qp, const struct fake_send *send, uint8_t *to)
{
	if (send->is_inline) {
		memcpy(to, send->inlined, send->len_bytes);
		return true;
	}
	if (!may_use(qp->qp.pd, send->sges, send->n_sges, 0))
		return false;
	move_sges(send->sges, send->n_sges, to, send->len_bytes, FROM_SGES);
	return true;
}

/* refuse -- by key, bounds or access: the responder says so, and is in ERR itself. */
static enum ibv_wc_status
refuse(struct fake_qp *peer, enum ibv_wc_status status)
{
	world.counts.n_refused++;
	fake_qp_error(peer);
	return status;
}

/* answers -- does the queue pair that?  On iWARP nobody looks. */
static bool
answers(const struct fake_qp *peer, unsigned access)
{
	return world.config.is_iwarp || (peer->access & access) != 0;
}

static enum ibv_wc_status
act_write(const struct fake_qp *qp, struct fake_qp *peer, const struct fake_send *send,
	  uint64_t len)
{
	struct fake_mr *mr;
	uint8_t *to;

	if (!send->is_inline && !may_use(qp->qp.pd, send->sges, send->n_sges, 0))
		return IBV_WC_LOC_PROT_ERR;
	if (send->len_bytes == 0)
		return IBV_WC_SUCCESS;
	if (!answers(peer, IBV_ACCESS_REMOTE_WRITE))
		return refuse(peer, IBV_WC_REM_INV_REQ_ERR);
	mr = fake_mr_find(send->rkey, peer->qp.pd, send->remote_addr, send->len_bytes,
			  IBV_ACCESS_REMOTE_WRITE);
	if (mr == NULL)
		return refuse(peer, IBV_WC_REM_ACCESS_ERR);
	to = fake_mr_at(mr, send->remote_addr);
	if (send->is_inline)
		memcpy(to, send->inlined, len);
	else
		move_sges(send->sges, send->n_sges, to, len, FROM_SGES);
	world.counts.n_writes++;
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status
act_read(const struct fake_qp *qp, struct fake_qp *peer, const struct fake_send *send, uint64_t len)
{
	/* On iWARP the answer comes as a write from afar. */
	unsigned sink = IBV_ACCESS_LOCAL_WRITE |
			(world.config.is_iwarp ? (unsigned)IBV_ACCESS_REMOTE_WRITE : 0u);
	struct fake_mr *mr;

	if (!may_use(qp->qp.pd, send->sges, send->n_sges, sink))
		return IBV_WC_LOC_PROT_ERR;
	if (qp->initiator_depth == 0 || !answers(peer, IBV_ACCESS_REMOTE_READ))
		return refuse(peer, IBV_WC_REM_INV_REQ_ERR);
	if (send->len_bytes == 0)
		return IBV_WC_SUCCESS;
	mr = fake_mr_find(send->rkey, peer->qp.pd, send->remote_addr, send->len_bytes,
			  IBV_ACCESS_REMOTE_READ);
	if (mr == NULL)
		return refuse(peer, IBV_WC_REM_ACCESS_ERR);
	move_sges(send->sges, send->n_sges, fake_mr_at(mr, send->remote_addr), len, TO_SGES);
	world.counts.n_reads++;
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status
act_send(const struct fake_qp *qp, struct fake_qp *peer, const struct fake_send *send)
{
	struct fake_recv *recv = list_of(list_first(&peer->recvs), struct fake_recv, at);
	uint64_t room = 0;
	uint8_t *bytes;

	for (int i = 0; i < recv->n_sges; i++)
		room += recv->sges[i].length;
	if (room < send->len_bytes ||
	    !may_use(peer->qp.pd, recv->sges, recv->n_sges, IBV_ACCESS_LOCAL_WRITE)) {
		fake_tell_recv(peer, recv, IBV_WC_LOC_LEN_ERR, 0);
		return refuse(peer, IBV_WC_REM_INV_REQ_ERR);
	}
	bytes = malloc(send->len_bytes + 1);
	assert(bytes != NULL);
	if (!fake_gather(qp, send, bytes)) {
		free(bytes);
		return IBV_WC_LOC_PROT_ERR;
	}
	move_sges(recv->sges, recv->n_sges, bytes, send->len_bytes, TO_SGES);
	free(bytes);
	world.counts.n_sends++;
	fake_tell_recv(peer, recv, IBV_WC_SUCCESS, send->len_bytes);
	return IBV_WC_SUCCESS;
}

static bool
is_way_open(const struct fake_qp *qp, const struct fake_qp *peer)
{
	return peer != NULL && fake_qp_can_respond(peer) &&
	       !fake_device_of(qp->qp.context)->is_cut && !fake_device_of(peer->qp.context)->is_cut;
}

void
fake_act(struct fake_qp *qp, struct fake_send *send)
{
	struct fake_qp *peer = fake_qp_find(qp->peer_num);
	bool fails = fake_chance(&qp->rand, world.config.luck.fail);
	uint64_t len = send->len_bytes;

	send->step = FAKE_ACTED;
	send->done_ns = fake_delay(&qp->rand);
	if (fails)
		len = rand_below(&qp->rand, len + 1);
	if (!is_way_open(qp, peer) || (fails && send->opcode == IBV_WR_SEND))
		send->status = IBV_WC_RETRY_EXC_ERR;
	else if (send->opcode == IBV_WR_RDMA_WRITE)
		send->status = act_write(qp, peer, send, len);
	else if (send->opcode == IBV_WR_RDMA_READ)
		send->status = act_read(qp, peer, send, len);
	else
		send->status = act_send(qp, peer, send);
	if (fails && send->status == IBV_WC_SUCCESS)
		send->status = IBV_WC_RETRY_EXC_ERR;
	if (send->status == IBV_WC_RETRY_EXC_ERR) {
		world.counts.n_failed++;
		send->done_ns = fake_now() + world.config.lost_ns;
	}
}

bool
fake_waits_for_recv(struct fake_qp *qp, struct fake_send *send)
{
	struct fake_qp *peer = fake_qp_find(qp->peer_num);

	if (send->opcode != IBV_WR_SEND || !is_way_open(qp, peer) || !list_is_empty(&peer->recvs))
		return false;
	if (qp->rnr_retry == RNR_FOR_EVER || send->n_rnr < qp->rnr_retry) {
		send->n_rnr++;
		send->act_ns = fake_now() + RNR_NS;
		return true;
	}
	send->step = FAKE_ACTED;
	send->done_ns = fake_now();
	send->status = IBV_WC_RNR_RETRY_EXC_ERR;
	return false;
}

void
fake_scatter_late(struct fake_qp *qp, const struct fake_send *send)
{
	struct fake_qp *peer = fake_qp_find(qp->peer_num);

	if (send->opcode != IBV_WR_RDMA_READ || send->step != FAKE_QUEUED ||
	    !is_way_open(qp, peer) || !fake_chance(&qp->rand, 5000))
		return;
	(void)act_read(qp, peer, send, rand_below(&qp->rand, send->len_bytes + 1));
}
