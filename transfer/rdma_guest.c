/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_guest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define PAGE_BYTES    4096
#define POLL_BATCH    16
#define ANSWER_BIT    (1ull << 32) /* in wr_id: an answer of ours has gone */
#define RNR_RETRY     6
#define READS_AT_ONCE 16
#define HEARD_MAX     1024 /* at a time: who says more than that keeps all others waiting */

/* Of what is asked of a queue pair; older kernels add some of their own, for themselves. */
#define QP_MASK (2 * IBV_QP_DEST_QPN - 1)

static_assert(sizeof(struct rdma_guest_page) <= PAGE_BYTES, "it is one page");

static enum rdma_right
right_of(const struct token *token)
{
	return (token->rights & TOKEN_WRITE) != 0 ? RDMA_WRITING : RDMA_READING;
}

/* admits -- does this token, shown now, open that segment?  needs: the serve's lock. */
static bool
admits(struct serve *serve, const struct lent *lent, const struct token *token,
       enum rdma_right right)
{
	uint32_t rights = right == RDMA_WRITING ? TOKEN_WRITE : TOKEN_READ;

	assert(lock_held(&serve->lock));

	return token_is_genuine(token, lent->secret) &&
	       num_range_fits(token->offset_bytes, token->len_bytes, lent->size_bytes) &&
	       token_allows(token, rights, lent->segment_id, lent->epoch, token->offset_bytes,
			    token->len_bytes, clock_ms(serve->clock)) &&
	       (right == RDMA_READING || !serve_is_fenced(serve, token));
}

/* ---- its queue pair ---- */

static int
hear_again(struct rdma_guest *guest, unsigned slot)
{
	struct ibv_sge sge = {.addr = (uintptr_t)guest->page->asks[slot],
			      .length = WIRE_REQUEST_BYTES,
			      .lkey = guest->page_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1}, *bad;
	int e = ibv_post_recv(guest->id->qp, &wr, &bad);

	return e == 0 ? 0 : err_new(-e);
}

static int
open_page(struct rdma_guest *guest, struct ibv_pd *pd)
{
	guest->page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
	if (guest->page == NULL)
		return err_new(-ENOMEM);
	memset(guest->page, 0, PAGE_BYTES);
	guest->page_mr = ibv_reg_mr(pd, guest->page, PAGE_BYTES, IBV_ACCESS_LOCAL_WRITE);
	return guest->page_mr != NULL ? 0 : err_new(errno > 0 ? -errno : -EIO);
}

static int
open_qp(struct rdma_guest *guest, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = guest->cq.cq,
		.recv_cq = guest->cq.cq,
		.cap = {.max_send_wr = RDMA_GUEST_ASKS,
			.max_recv_wr = RDMA_GUEST_ASKS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	int r = 0;

	if (rdma_create_qp(guest->id, pd, &attr) != 0)
		return err_new(errno > 0 ? -errno : -EIO);
	for (unsigned i = 0; i < RDMA_GUEST_ASKS && r == 0; i++)
		r = hear_again(guest, i);
	return r == 0 ? rdma_cq_arm(&guest->cq) : err_up(r);
}

static int
open_all(struct rdma_guest *guest, const struct rdma_hca *hca, struct ibv_pd *pd)
{
	int r = rdma_cq_open(&guest->cq, hca->channel, 2 * RDMA_GUEST_ASKS);

	if (r == 0)
		r = open_page(guest, pd);
	if (r == 0)
		r = open_qp(guest, pd);
	return err_up(r);
}

/* close_all -- the queue pair before all else, and before anybody hears that it is gone. */
static void
close_all(struct rdma_guest *guest)
{
	if (guest->id->qp != NULL) {
		(void)rdma_disconnect(guest->id); /* to ERR, and the peer hears of it */
		rdma_destroy_qp(guest->id);
	}
	rdma_cq_close(&guest->cq);
	if (guest->page_mr != NULL)
		ibv_dereg_mr(guest->page_mr);
	free(guest->page);
	rdma_destroy_id(guest->id);
}

void
rdma_guest_destroy(struct rdma_guest *guest)
{
	struct serve *serve = guest->rdma->serve;
	struct lends_row *row = guest->base.row;

	log_event(LOG_DEBUG, "rdma_guest_gone", "client=%lu segment=%lu life=%u",
		  guest->base.client_id, row->lent->segment_id, guest->life);
	close_all(guest);
	lock_take(&serve->lock);
	list_remove(&guest->base.at);
	serve->n_rdma_conns--;
	pthread_cond_broadcast(&serve->changed);
	lock_drop(&serve->lock);
	lends_drop(&serve->lends, row);
	free(guest);
}

/* ---- coming in ---- */

/* judge -- may it come in, as things stand?  needs: the serve's lock. */
static enum wire_status
judge(struct rdma_serve *rdma, const struct lent *lent, struct rdma_hello *hello)
{
	struct serve *serve = rdma->serve;

	if (serve->is_stopping || serve->is_renewing ||
	    serve->n_rdma_conns >= serve->connections_max)
		return WIRE_BUSY;
	hello->token.segment_epoch = lent->epoch;
	if (hello->epoch_low != (uint16_t)lent->epoch ||
	    !admits(serve, lent, &hello->token, right_of(&hello->token)))
		return WIRE_REFUSED;
	return WIRE_DONE;
}

static struct rdma_guest *
find_other_life(struct serve *serve, const struct rdma_guest *of)
{
	list_each(&serve->rdma_conns, link) {
		struct rdma_serve_conn *base = list_of(link, struct rdma_serve_conn, at);
		struct rdma_guest *guest = container_of(base, struct rdma_guest, base);

		if (base->client_id == of->base.client_id && guest->lend == of->lend &&
		    guest->right == of->right && guest->life != of->life)
			return guest;
	}
	return NULL;
}

/* cut_other_lives -- who comes back says that it uses its former connections no more. */
static void
cut_other_lives(const struct rdma_guest *of)
{
	struct serve *serve = of->rdma->serve;

	for (;;) {
		struct rdma_guest *guest;

		lock_take(&serve->lock);
		guest = find_other_life(serve, of);
		lock_drop(&serve->lock);
		if (guest == NULL)
			return;
		rdma_guest_destroy(guest);
	}
}

static const struct rdma_hca *
hca_of(const struct rdma_serve *rdma, const struct ibv_context *verbs)
{
	for (unsigned i = 0; i < rdma->n_hcas; i++)
		if (rdma->hcas[i].verbs == verbs)
			return &rdma->hcas[i];
	return NULL;
}

/* enlist -- from now on a fence finds it; unless one has been there in the meantime. */
static enum wire_status
enlist(struct rdma_guest *guest, struct rdma_hello *hello)
{
	struct serve *serve = guest->rdma->serve;
	enum wire_status status;

	lock_take(&serve->lock);
	status = judge(guest->rdma, guest->lend->lent, hello);
	if (status == WIRE_DONE && guest->lend->is_leaving)
		status = WIRE_REFUSED;
	if (status == WIRE_DONE) {
		list_push_back(&serve->rdma_conns, &guest->base.at);
		serve->n_rdma_conns++;
	}
	lock_drop(&serve->lock);
	return status;
}

/*
 * step_qp -- to that state, as the connection manager has it, but for what it answers: librdmacm's
 * own way there (rdma_accept) would have it answer whatever the memory allows.
 */
static int
step_qp(struct rdma_guest *guest, enum ibv_qp_state state, const struct rdma_conn_param *param)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask = 0, e;

	if (rdma_init_qp_attr(guest->id, &attr, &mask) != 0)
		return err_new(errno > 0 ? -errno : -EIO);
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	if (guest->right == RDMA_WRITING)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_WRITE;
	attr.max_dest_rd_atomic = param->responder_resources;
	attr.max_rd_atomic = param->initiator_depth;
	e = ibv_modify_qp(guest->id->qp, &attr, mask & QP_MASK);
	return e == 0 ? 0 : err_new(-e);
}

/* accept_as -- with its queue pair as it is. */
static int
accept_as(struct rdma_guest *guest, struct rdma_conn_param *param)
{
	struct ibv_qp *qp = take(&guest->id->qp); /* else librdmacm would change it */
	int r;

	param->qp_num = qp->qp_num;
	r = rdma_accept(guest->id, param) == 0 ? 0 : err_new(errno > 0 ? -errno : -EIO);
	guest->id->qp = qp;
	return r;
}

static int
accept_it(struct rdma_guest *guest, const struct rdma_domain *domain,
	  const struct rdma_conn_param *asked, int reads_max)
{
	struct rdma_welcome welcome = rdma_lend_welcome(guest->lend, domain);
	uint8_t bytes[RDMA_WELCOME_BYTES];
	int reads = num_min(num_min((int)asked->responder_resources, reads_max), READS_AT_ONCE);
	struct rdma_conn_param param = {
		.private_data = bytes,
		.private_data_len = sizeof(bytes),
		.responder_resources = (uint8_t)num_max(reads, 1),
		.rnr_retry_count = RNR_RETRY,
	};

	int r;

	rdma_welcome_encode(&welcome, bytes);
	r = step_qp(guest, IBV_QPS_INIT, &param);
	if (r == 0)
		r = step_qp(guest, IBV_QPS_RTR, &param);
	if (r == 0)
		r = step_qp(guest, IBV_QPS_RTS, &param);
	return r == 0 ? accept_as(guest, &param) : err_up(r);
}

static void
refuse(struct rdma_serve *rdma, struct rdma_cm_id *id, enum wire_status status)
{
	uint8_t bytes[RDMA_REFUSAL_BYTES];

	atomic_fetch_add_explicit(&rdma->serve->n_refused, 1, memory_order_relaxed);
	log_event(LOG_DEBUG, "rdma_guest_refused", "status=%d", (int)status);
	rdma_refusal_encode(status, bytes);
	(void)rdma_reject(id, bytes, sizeof(bytes));
	rdma_destroy_id(id);
}

/* let_in -- the segment is held.  WIRE_DONE: the guest has id and row. */
static enum wire_status
let_in(struct rdma_serve *rdma, struct rdma_cm_id *id, const struct rdma_conn_param *param,
       struct rdma_hello *hello, struct lends_row *row)
{
	const struct rdma_hca *hca = hca_of(rdma, id->verbs);
	struct rdma_guest *guest = calloc(1, sizeof(*guest));
	struct serve *serve = rdma->serve;
	const struct rdma_domain *domain;
	enum wire_status status;

	if (guest == NULL)
		return WIRE_BUSY;
	list_link_init(&guest->base.at);
	lock_take(&serve->lock);
	status = judge(rdma, row->lent, hello);
	guest->lend = rdma_serve_find_lend(rdma, row->lent);
	lock_drop(&serve->lock);
	if (status == WIRE_DONE && (guest->lend == NULL || hca == NULL))
		status = WIRE_CANT;
	if (status != WIRE_DONE) {
		free(guest);
		return status;
	}
	guest->base.client_id = hello->token.client_id;
	guest->base.row = row;
	guest->rdma = rdma;
	guest->id = id;
	guest->right = right_of(&hello->token);
	guest->base.may_write = guest->right == RDMA_WRITING;
	guest->life = hello->life;
	guest->since_ms = clock_ms(serve->clock);
	guest->until_ms = hello->token.until_ms;
	domain = rdma_lend_domain(guest->lend, (unsigned)(hca - rdma->hcas), guest->right);
	cut_other_lives(guest);
	if (open_all(guest, hca, domain->pd) < 0)
		status = WIRE_BUSY;
	if (status == WIRE_DONE)
		status = enlist(guest, hello);
	if (status != WIRE_DONE) {
		/* refuse() has the last word, and with it the id */
		if (id->qp != NULL)
			rdma_destroy_qp(id);
		rdma_cq_close(&guest->cq);
		if (guest->page_mr != NULL)
			ibv_dereg_mr(guest->page_mr);
		free(guest->page);
		free(guest);
		return status;
	}
	id->context = guest;
	if (accept_it(guest, domain, param, hca->attr.max_qp_rd_atom) < 0)
		rdma_guest_destroy(guest);
	return WIRE_DONE;
}

void
rdma_guest_let_in(struct rdma_serve *rdma, struct rdma_cm_id *id,
		  const struct rdma_conn_param *param)
{
	struct lends_row *row = NULL;
	struct rdma_hello hello;
	enum wire_status status = WIRE_REFUSED;

	id->context = NULL;
	if (rdma_hello_decode(param->private_data, param->private_data_len, &hello) == 0)
		row = lends_hold(&rdma->serve->lends, hello.token.segment_id);
	if (row != NULL)
		status = let_in(rdma, id, param, &hello, row);
	if (status == WIRE_DONE)
		return;
	if (row != NULL)
		lends_drop(&rdma->serve->lends, row);
	refuse(rdma, id, status);
}

/* ---- one more token ---- */

static enum wire_status
judge_show(struct rdma_guest *guest, const struct wire_request *request)
{
	struct serve *serve = guest->rdma->serve;
	const struct lent *lent = guest->base.row->lent;
	enum wire_status status = WIRE_REFUSED;

	lock_take(&serve->lock);
	if (request->token.client_id == guest->base.client_id && !guest->base.is_dying &&
	    request->segment_epoch == lent->epoch && right_of(&request->token) == guest->right &&
	    admits(serve, lent, &request->token, guest->right))
		status = WIRE_DONE;
	lock_drop(&serve->lock);
	return status;
}

static int
answer(struct rdma_guest *guest, const struct wire_request *request, enum wire_status status)
{
	const struct wire_reply reply = {.kind = WIRE_SHOW, .status = status, .id = request->id};
	uint8_t *bytes = guest->page->answers[guest->n_answers++ % RDMA_GUEST_ASKS];
	struct ibv_sge sge = {
		.addr = (uintptr_t)bytes, .length = WIRE_REPLY_BYTES, .lkey = guest->page_mr->lkey};
	struct ibv_send_wr wr = {.wr_id = ANSWER_BIT,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	int e;

	wire_reply_encode(&reply, bytes);
	e = ibv_post_send(guest->id->qp, &wr, &bad);
	return e == 0 ? 0 : err_new(-e);
}

/* hear_one -- false: not of this protocol, or the connection is at its end. */
static bool
hear_one(struct rdma_guest *guest, const struct ibv_wc *wc)
{
	struct wire_request request;
	unsigned slot = (unsigned)wc->wr_id;
	enum wire_status status;

	if (wc->byte_len != WIRE_REQUEST_BYTES ||
	    wire_request_decode(guest->page->asks[slot], &request) != 0 ||
	    request.kind != WIRE_SHOW)
		return false;
	status = judge_show(guest, &request);
	if (status == WIRE_DONE)
		guest->until_ms = num_max(guest->until_ms, request.token.until_ms);
	else
		atomic_fetch_add_explicit(&guest->rdma->serve->n_refused, 1, memory_order_relaxed);
	return hear_again(guest, slot) == 0 && answer(guest, &request, status) == 0;
}

/* poll -- what is there now.  Gives how much that was, or -1. */
static int
poll_some(struct rdma_guest *guest)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = rdma_cq_poll(&guest->cq, wc, POLL_BATCH);

	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			return -1;
		if ((wc[i].wr_id & ANSWER_BIT) == 0 && !hear_one(guest, &wc[i]))
			return -1;
	}
	return n;
}

bool
rdma_guest_hear(struct rdma_guest *guest)
{
	int heard = 0;

	while (heard < HEARD_MAX) {
		int n = poll_some(guest);

		if (n < 0 || (n == 0 && guest->cq.is_armed))
			return n == 0;
		heard += n;
		if (n == 0 && rdma_cq_arm(&guest->cq) < 0)
			return false;
	}
	return false;
}
