/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fake_qp.c -- queue pairs of the reliable kind, their requests, and how they end.
 *
 *      RTS   sends act one behind the other, and complete one behind the other
 *      ERR   what waits is flushed, one after the other; a READ that had begun may still scatter
 *            into its slices until its flush is told
 *
 * A bad completion moves its queue pair to ERR.  What was refused at the other end moves that one
 * as well.  A request's slots are free again when a completion at or behind it has been polled.
 */
#include <errno.h>
#include <string.h>

#include "tests/mock/verbs/fake_inner.h"
#include "transfer/base/num.h"

struct fake_qp *
fake_qp_of(struct ibv_qp *qp)
{
	return container_of(qp, struct fake_qp, qp);
}

struct fake_qp *
fake_qp_find(uint32_t qp_num)
{
	list_each(&world.qps, link) {
		struct fake_qp *qp = list_of(link, struct fake_qp, at);

		if (qp->qp.qp_num == qp_num)
			return qp;
	}
	return NULL;
}

bool
fake_qp_can_respond(const struct fake_qp *qp)
{
	return qp->is_ghost || world.do_forget_fences || qp->qp.state == IBV_QPS_RTR ||
	       qp->qp.state == IBV_QPS_RTS;
}

/* ---- life ------------------------------------------------------------------------ */

struct fake_qp *
fake_qp_new(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp;

	if (attr->qp_type != IBV_QPT_RC || attr->cap.max_send_sge > FAKE_SGES_MAX ||
	    attr->cap.max_recv_sge > FAKE_SGES_MAX || attr->cap.max_inline_data > FAKE_INLINE_MAX ||
	    attr->cap.max_send_wr > 4096 || attr->cap.max_recv_wr > 4096) {
		errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	assert(qp != NULL);
	qp->qp = (struct ibv_qp){
		.context = pd->context,
		.qp_context = attr->qp_context,
		.pd = pd,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.qp_num = world.next_qp_num++,
		.state = IBV_QPS_INIT,
		.qp_type = IBV_QPT_RC,
	};
	qp->cap = attr->cap;
	qp->sq_sig_all = attr->sq_sig_all != 0;
	qp->access = FAKE_ACCESS_ALL;
	/* By number, not by the order in which threads come: its luck is its own. */
	rand_init(&qp->rand, world.config.seed * 1000003 + qp->qp.qp_num);
	list_init(&qp->sends);
	list_init(&qp->recvs);
	list_link_init(&qp->at);
	list_push_back(&world.qps, &qp->at);
	container_of(pd, struct fake_pd, pd)->n_uses++;
	fake_cq_use(attr->send_cq, 1);
	fake_cq_use(attr->recv_cq, 1);
	world.n_objects++;
	return qp;
}

/* abandon_all -- WRITEs under way go on without their requester; or they never left. */
static void
abandon_all(struct fake_qp *qp)
{
	list_each(&qp->sends, link) {
		struct fake_send *send = list_of(link, struct fake_send, at);

		if (send->opcode == IBV_WR_RDMA_WRITE && send->step == FAKE_QUEUED &&
		    (world.do_hold || fake_chance(&qp->rand, 5000)))
			fake_abandon(qp, send);
	}
}

static void
free_requests(struct fake_qp *qp)
{
	list_each_safe(&qp->sends, link) {
		list_remove(link);
		free(list_of(link, struct fake_send, at));
	}
	list_each_safe(&qp->recvs, link) {
		list_remove(link);
		free(list_of(link, struct fake_recv, at));
	}
}

void
fake_qp_free(struct fake_qp *qp)
{
	if (qp->qp.state == IBV_QPS_RTS)
		abandon_all(qp);
	free_requests(qp);
	/* Some drivers clean the queue, some leave it. */
	if (fake_chance(&qp->rand, 5000))
		fake_cq_forget(qp);
	container_of(qp->qp.pd, struct fake_pd, pd)->n_uses--;
	fake_cq_use(qp->qp.send_cq, -1);
	fake_cq_use(qp->qp.recv_cq, -1);
	world.n_objects--;
	if (world.do_forget_fences) {
		qp->is_ghost = true;
		return;
	}
	list_remove(&qp->at);
	free(qp);
}

void
fake_qp_error(struct fake_qp *qp)
{
	if (qp->qp.state == IBV_QPS_ERR || qp->is_ghost)
		return;
	if (qp->qp.state == IBV_QPS_RTS)
		abandon_all(qp);
	qp->qp.state = IBV_QPS_ERR;
	qp->flush_ns = fake_delay(&qp->rand);
	fake_moved();
}

/* may_step -- is that a way from one state to the next, with all that belongs to it? */
static bool
may_step(enum ibv_qp_state from, const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_STATE) == 0)
		return false;
	switch (attr->qp_state) {
	case IBV_QPS_ERR:
		return mask == IBV_QP_STATE;
	case IBV_QPS_INIT:
		return from == IBV_QPS_INIT && (mask & IBV_QP_ACCESS_FLAGS) != 0;
	case IBV_QPS_RTR:
		return from == IBV_QPS_INIT && (mask & IBV_QP_DEST_QPN) != 0;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTR && (mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0;
	default:
		return false;
	}
}

static void
take_step(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (attr->qp_state == IBV_QPS_ERR) {
		fake_qp_error(qp);
		return;
	}
	if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
		qp->access = (unsigned)attr->qp_access_flags;
	if ((mask & IBV_QP_DEST_QPN) != 0)
		qp->peer_num = attr->dest_qp_num;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		qp->initiator_depth = attr->max_rd_atomic;
	if ((mask & IBV_QP_RNR_RETRY) != 0)
		qp->rnr_retry = attr->rnr_retry;
	qp->qp.state = attr->qp_state;
}

int
ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int e;

	fake_lock();
	e = fake_call(__func__);
	if (e == 0 && !may_step(qp->state, attr, mask))
		e = EINVAL;
	if (e == 0)
		take_step(fake_qp_of(qp), attr, mask);
	fake_unlock();
	return e;
}

int
ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *ret, int mask,
	     struct ibv_qp_init_attr *ret_init)
{
	(void)mask;
	fake_lock();
	*ret = (struct ibv_qp_attr){.qp_state = qp->state,
				    .cap = fake_qp_of(qp)->cap,
				    .dest_qp_num = fake_qp_of(qp)->peer_num};
	*ret_init = (struct ibv_qp_init_attr){.cap = ret->cap};
	fake_unlock();
	return 0;
}

/* ---- posting --------------------------------------------------------------------- */

static int
copy_inline(const struct fake_qp *qp, const struct ibv_send_wr *wr, struct fake_send *send)
{
	size_t len = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		if (len + wr->sg_list[i].length > qp->cap.max_inline_data)
			return EINVAL;
		memcpy(send->inlined + len, (const void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		len += wr->sg_list[i].length;
	}
	return 0;
}

static int
fill(const struct fake_qp *qp, const struct ibv_send_wr *wr, struct fake_send *send)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge)
		return EINVAL;
	if (wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_READ &&
	    wr->opcode != IBV_WR_SEND)
		return EINVAL;
	*send = (struct fake_send){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.is_signaled = qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED) != 0,
		.is_inline = (wr->send_flags & IBV_SEND_INLINE) != 0,
		.n_sges = wr->num_sge,
		.remote_addr = wr->wr.rdma.remote_addr,
		.rkey = wr->wr.rdma.rkey,
	};
	if (wr->num_sge > 0)
		memcpy(send->sges, wr->sg_list, (size_t)wr->num_sge * sizeof(send->sges[0]));
	for (int i = 0; i < wr->num_sge; i++)
		send->len_bytes += wr->sg_list[i].length;
	if (send->is_inline)
		return wr->opcode == IBV_WR_RDMA_READ ? EINVAL : copy_inline(qp, wr, send);
	return 0;
}

static int
post_one(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	struct list_link *last = list_last(&qp->sends);
	struct fake_send *send;
	int e = fake_call("ibv_post_send");

	if (e != 0)
		return e;
	if (qp->qp.state != IBV_QPS_RTS && qp->qp.state != IBV_QPS_ERR)
		return EINVAL;
	if (qp->n_sends >= qp->cap.max_send_wr)
		return ENOMEM;
	send = malloc(sizeof(*send));
	assert(send != NULL);
	e = fill(qp, wr, send);
	if (e != 0) {
		free(send);
		return e;
	}
	send->act_ns = fake_delay(&qp->rand);
	if (last != NULL)
		send->act_ns = num_max(send->act_ns, list_of(last, struct fake_send, at)->act_ns);
	list_link_init(&send->at);
	list_push_back(&qp->sends, &send->at);
	qp->n_sends++;
	return 0;
}

int
fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int e = 0;

	fake_lock();
	for (; wr != NULL && e == 0; wr = e == 0 ? wr->next : wr) {
		e = post_one(fake_qp_of(qp), wr);
		if (e != 0)
			*bad = wr;
	}
	fake_moved();
	fake_unlock();
	return e;
}

static int
post_recv_one(struct fake_qp *qp, const struct ibv_recv_wr *wr)
{
	struct fake_recv *recv;
	int e = fake_call("ibv_post_recv");

	if (e != 0)
		return e;
	if (qp->n_recvs >= qp->cap.max_recv_wr)
		return ENOMEM;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_recv_sge)
		return EINVAL;
	recv = calloc(1, sizeof(*recv));
	assert(recv != NULL);
	recv->wr_id = wr->wr_id;
	recv->n_sges = wr->num_sge;
	if (wr->num_sge > 0)
		memcpy(recv->sges, wr->sg_list, (size_t)wr->num_sge * sizeof(recv->sges[0]));
	list_link_init(&recv->at);
	list_push_back(&qp->recvs, &recv->at);
	qp->n_recvs++;
	return 0;
}

int
fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int e = 0;

	fake_lock();
	for (; wr != NULL && e == 0; wr = e == 0 ? wr->next : wr) {
		e = post_recv_one(fake_qp_of(qp), wr);
		if (e != 0)
			*bad = wr;
	}
	fake_moved();
	fake_unlock();
	return e;
}

/* ---- completing ------------------------------------------------------------------ */

static void
tell(struct fake_qp *qp, struct fake_send *send, enum ibv_wc_status status)
{
	static const enum ibv_wc_opcode opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_SEND] = IBV_WC_SEND,
	};
	struct ibv_wc wc = {.wr_id = send->wr_id,
			    .status = status,
			    .opcode = opcodes[send->opcode],
			    .byte_len = (uint32_t)send->len_bytes,
			    .qp_num = qp->qp.qp_num};

	list_remove(&send->at);
	qp->n_unsignaled++;
	if (send->is_signaled || status != IBV_WC_SUCCESS) {
		fake_cq_push(qp, qp->qp.send_cq, &wc, qp->n_unsignaled);
		qp->n_unsignaled = 0;
	}
	free(send);
}

void
fake_tell_recv(struct fake_qp *qp, struct fake_recv *recv, enum ibv_wc_status status, uint64_t len)
{
	struct ibv_wc wc = {.wr_id = recv->wr_id,
			    .status = status,
			    .opcode = IBV_WC_RECV,
			    .byte_len = (uint32_t)len,
			    .qp_num = qp->qp.qp_num};

	list_remove(&recv->at);
	qp->n_recvs--;
	fake_cq_push(qp, qp->qp.recv_cq, &wc, 0);
	free(recv);
}

/* act_due -- one behind the other, and nothing behind one that failed.  When the next is due. */
static uint64_t
act_due(struct fake_qp *qp, uint64_t now_ns)
{
	list_each(&qp->sends, link) {
		struct fake_send *send = list_of(link, struct fake_send, at);

		if (send->step == FAKE_QUEUED) {
			if (send->opcode == IBV_WR_RDMA_WRITE && world.do_hold)
				return FAKE_NEVER;
			if (send->act_ns > now_ns || fake_waits_for_recv(qp, send))
				return send->act_ns;
			if (send->step == FAKE_QUEUED)
				fake_act(qp, send);
		}
		if (send->status != IBV_WC_SUCCESS)
			return FAKE_NEVER;
	}
	return FAKE_NEVER;
}

/* tell_due -- the completions, in the order of the requests.  When the next is due. */
static uint64_t
tell_due(struct fake_qp *qp, uint64_t now_ns)
{
	list_each_safe(&qp->sends, link) {
		struct fake_send *send = list_of(link, struct fake_send, at);
		enum ibv_wc_status status = send->status;

		if (send->step == FAKE_QUEUED)
			return FAKE_NEVER;
		if (send->done_ns > now_ns)
			return send->done_ns;
		tell(qp, send, status);
		if (status != IBV_WC_SUCCESS) {
			fake_qp_error(qp);
			return now_ns;
		}
	}
	return FAKE_NEVER;
}

static uint64_t
tick_rts(struct fake_qp *qp, uint64_t now_ns)
{
	uint64_t act_ns = act_due(qp, now_ns), tell_ns = tell_due(qp, now_ns);

	return num_min(act_ns, tell_ns);
}

static uint64_t
tick_err(struct fake_qp *qp, uint64_t now_ns)
{
	while (qp->flush_ns <= now_ns) {
		struct list_link *first = list_first(&qp->sends);

		if (first != NULL) {
			struct fake_send *send = list_of(first, struct fake_send, at);

			fake_scatter_late(qp, send);
			tell(qp, send, IBV_WC_WR_FLUSH_ERR);
		} else if (!list_is_empty(&qp->recvs)) {
			fake_tell_recv(qp, list_of(list_first(&qp->recvs), struct fake_recv, at),
				       IBV_WC_WR_FLUSH_ERR, 0);
		} else {
			return FAKE_NEVER;
		}
		world.counts.n_flushed++;
		qp->flush_ns = fake_delay(&qp->rand);
	}
	return list_is_empty(&qp->sends) && list_is_empty(&qp->recvs) ? FAKE_NEVER : qp->flush_ns;
}

uint64_t
fake_qp_tick(uint64_t now_ns)
{
	uint64_t next_ns = FAKE_NEVER;

	list_each(&world.qps, link) {
		struct fake_qp *qp = list_of(link, struct fake_qp, at);
		uint64_t due_ns = FAKE_NEVER;

		if (qp->is_ghost)
			continue;
		if (qp->qp.state == IBV_QPS_RTS)
			due_ns = tick_rts(qp, now_ns);
		else if (qp->qp.state == IBV_QPS_ERR)
			due_ns = tick_err(qp, now_ns);
		next_ns = num_min(next_ns, due_ns);
	}
	return next_ns;
}
