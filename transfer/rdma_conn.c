/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_conn.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/rdma_group.h"

#define PAGE_BYTES    4096
#define RESOLVE_MS    2000
#define SIGNAL_EVERY  8
#define RECV_BIT      (1ull << 63) /* in wr_id: an answer has come, in that slot */
#define READS_AT_ONCE 16
#define RETRY_COUNT   7
#define RNR_RETRY     6
#define POLL_BATCH    16
#define RATE_FIRST    1.0 /* bytes in a nanosecond, until something was seen */

/* An unanswered packet is sent again after 4.096 us << 14 = 67 ms. */
#define ACK_TIMEOUT 14

struct rdma_conn_page {
	uint8_t asks[RDMA_ASKS][WIRE_REQUEST_BYTES];
	uint8_t answers[RDMA_ASKS][WIRE_REPLY_BYTES];
	uint8_t proof; /* bytes that nobody looks at */
};

static_assert(sizeof(struct rdma_conn_page) <= PAGE_BYTES, "it is one page");
static_assert(RDMA_DEPTH % SIGNAL_EVERY == 0, "what is signalled is spread evenly");

void
rdma_conn_init(struct rdma_conn *conn, struct rdma_group *group)
{
	*conn = (struct rdma_conn){.group = group, .state = RDMA_DOWN, .bytes_per_ns = RATE_FIRST};
}

/* ---- opening ---- */

int
rdma_conn_open(struct rdma_conn *conn, struct sockaddr *addr, const struct rdma_hello *hello)
{
	const uint8_t ack_timeout = ACK_TIMEOUT;
	int r = 0;

	assert(conn->state == RDMA_DOWN && conn->id == NULL);

	rdma_conn_init(conn, conn->group);
	rdma_hello_encode(hello, conn->hello);
	conn->state = RDMA_OPENING;
	conn->events = rdma_create_event_channel();
	if (conn->events == NULL)
		r = err_new(errno > 0 ? -errno : -EIO);
	if (r == 0)
		r = sock_set_blocking(conn->events->fd, false);
	if (r == 0 && rdma_create_id(conn->events, &conn->id, conn, RDMA_PS_TCP) != 0)
		r = err_new(errno > 0 ? -errno : -EIO);
	if (r == 0)
		(void)rdma_set_option(conn->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				      (void *)(uintptr_t)&ack_timeout, sizeof(ack_timeout));
	if (r == 0 && rdma_resolve_addr(conn->id, NULL, addr, RESOLVE_MS) != 0)
		r = err_new(errno > 0 ? -errno : -EIO);
	if (r < 0)
		rdma_conn_close(conn);
	return err_up(r);
}

static int
open_page(struct rdma_conn *conn)
{
	conn->ring = calloc(RDMA_DEPTH, sizeof(conn->ring[0]));
	conn->page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
	if (conn->ring == NULL || conn->page == NULL)
		return err_new(-ENOMEM);
	memset(conn->page, 0, PAGE_BYTES);
	conn->page_mr =
		ibv_reg_mr(conn->nic->pd, conn->page, PAGE_BYTES, (unsigned)conn->nic->sink_access);
	return conn->page_mr != NULL ? 0 : err_new(errno > 0 ? -errno : -EIO);
}

static int
listen_for_answer(struct rdma_conn *conn, unsigned slot)
{
	struct ibv_sge sge = {.addr = (uintptr_t)conn->page->answers[slot],
			      .length = WIRE_REPLY_BYTES,
			      .lkey = conn->page_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = RECV_BIT | slot, .sg_list = &sge, .num_sge = 1}, *bad;
	int e = ibv_post_recv(conn->id->qp, &wr, &bad);

	return e == 0 ? 0 : err_new(-e);
}

static int
open_qp(struct rdma_conn *conn)
{
	const struct ibv_device_attr *device = &conn->nic->attr;
	unsigned sges = (unsigned)num_min(num_max(device->max_sge, 1), RDMA_SGES_MAX);
	struct ibv_qp_init_attr attr = {
		.send_cq = conn->cq.cq,
		.recv_cq = conn->cq.cq,
		.cap = {.max_send_wr = RDMA_DEPTH,
			.max_recv_wr = RDMA_ASKS,
			.max_send_sge = sges,
			.max_recv_sge = 1,
			.max_inline_data = WIRE_REQUEST_BYTES},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_init_attr asked = attr;
	int r = 0;

	/* Where it can't be had inline, it goes from the registered page. */
	if (rdma_create_qp(conn->id, conn->nic->pd, &asked) != 0) {
		asked = attr;
		asked.cap.max_inline_data = 0;
		if (rdma_create_qp(conn->id, conn->nic->pd, &asked) != 0)
			return err_new(errno > 0 ? -errno : -EIO);
	}
	conn->is_iwarp = conn->nic->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	/* Devices hold back what is more than the peer answers at once; of iWARP's, not every one
	 * goes on with it. */
	conn->reads_max = RDMA_DEPTH;
	if (conn->is_iwarp)
		conn->reads_max =
			(unsigned)num_max(num_min(device->max_qp_init_rd_atom, READS_AT_ONCE), 1);
	conn->can_inline = asked.cap.max_inline_data >= WIRE_REQUEST_BYTES;
	conn->max_sges = sges;
	conn->max_read_sges =
		device->max_sge_rd > 0 ? (unsigned)num_min((int)sges, device->max_sge_rd) : sges;
	for (unsigned i = 0; i < RDMA_ASKS && r == 0; i++)
		r = listen_for_answer(conn, i);
	return err_up(r);
}

static int
connect_it(struct rdma_conn *conn)
{
	struct rdma_conn_param param = {
		.private_data = conn->hello,
		.private_data_len = sizeof(conn->hello),
		.initiator_depth =
			(uint8_t)num_min(conn->nic->attr.max_qp_init_rd_atom, READS_AT_ONCE),
		.retry_count = RETRY_COUNT,
		.rnr_retry_count = RNR_RETRY,
	};
	int r = rdma_channel_open(conn->id->verbs, &conn->channel);

	if (r == 0)
		r = rdma_cq_open(&conn->cq, conn->channel, RDMA_DEPTH + RDMA_ASKS);
	if (r == 0)
		r = open_page(conn);
	if (r == 0)
		r = open_qp(conn);
	if (r == 0 && rdma_connect(conn->id, &param) != 0)
		r = err_new(errno > 0 ? -errno : -EIO);
	return err_up(r);
}

static enum rdma_news
on_address(struct rdma *rdma, struct rdma_conn *conn)
{
	conn->nic = rdma_nic_of(rdma, conn->id->verbs);
	if (conn->nic == NULL || rdma_resolve_route(conn->id, RESOLVE_MS) != 0)
		return RDMA_NEWS_LOST;
	conn->nic_index = (unsigned)(conn->nic - rdma->nics);
	return RDMA_NEWS_STEP;
}

/* What the peer said with its event: it is gone once the event is acknowledged. */
struct said {
	enum rdma_cm_event_type type;
	int status;
	uint8_t bytes[UINT8_MAX];
	size_t len_bytes;
};

static enum rdma_news
judge_event(struct rdma *rdma, struct rdma_conn *conn, const struct said *said,
	    enum wire_status *ret_status)
{
	switch (said->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return on_address(rdma, conn);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return connect_it(conn) == 0 ? RDMA_NEWS_STEP : RDMA_NEWS_LOST;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (rdma_welcome_decode(said->bytes, said->len_bytes, &conn->welcome) != 0)
			return RDMA_NEWS_LOST;
		conn->state = RDMA_UP;
		return RDMA_NEWS_UP;
	case RDMA_CM_EVENT_REJECTED:
		if (rdma_refusal_decode(said->bytes, said->len_bytes, ret_status) != 0)
			return RDMA_NEWS_LOST; /* nobody listens there, or not to this version */
		return RDMA_NEWS_REFUSED;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return RDMA_NEWS_STEP;
	default:
		return RDMA_NEWS_LOST;
	}
}

enum rdma_news
rdma_conn_hear(struct rdma *rdma, struct rdma_conn *conn, enum wire_status *ret_status)
{
	struct said said = {0};
	struct rdma_cm_event *event;
	enum rdma_news news;

	if (conn->id == NULL || rdma_get_cm_event(conn->events, &event) != 0)
		return RDMA_NEWS_NONE;
	said.type = event->event;
	said.status = event->status;
	if (event->param.conn.private_data != NULL) {
		said.len_bytes = event->param.conn.private_data_len;
		memcpy(said.bytes, event->param.conn.private_data, said.len_bytes);
	}
	rdma_ack_cm_event(event);
	news = judge_event(rdma, conn, &said, ret_status);
	log_event(LOG_DEBUG, "rdma_event", "event=%s status=%d news=%d", rdma_event_str(said.type),
		  said.status, (int)news);
	return news;
}

/* ---- requests ---- */

bool
rdma_conn_has_room(const struct rdma_conn *conn, enum op_kind kind)
{
	if (kind == OP_READ && conn->n_reads >= conn->reads_max)
		return false;
	return conn->n_filled - conn->n_retired < RDMA_DEPTH - RDMA_ASKS;
}

void
rdma_conn_add(struct rdma_conn *conn, struct rdma_doorbell *doorbell, const struct rdma_wr *wr)
{
	uint64_t id = conn->n_filled++;
	unsigned i = doorbell->n++;
	struct ibv_send_wr *request = &doorbell->wrs[i];

	assert(conn->state == RDMA_UP && i < RDMA_BATCH);

	conn->ring[id % RDMA_DEPTH] = *wr;
	conn->out_bytes += wr->len_bytes;
	conn->n_reads += wr->kind == OP_READ;
	*request = (struct ibv_send_wr){
		.wr_id = id,
		.sg_list = doorbell->sges[i],
		.num_sge = wr->n_sges,
		.opcode = wr->kind == OP_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.send_flags = conn->is_iwarp || id % SIGNAL_EVERY == SIGNAL_EVERY - 1
				      ? IBV_SEND_SIGNALED
				      : 0,
	};
	request->wr.rdma.remote_addr = wr->remote_address;
	request->wr.rdma.rkey = wr->rkey;
	if (i > 0)
		doorbell->wrs[i - 1].next = request;
}

void
rdma_conn_add_proof(struct rdma_conn *conn, struct rdma_doorbell *doorbell, struct rdma_move *move,
		    uint64_t at_bytes)
{
	const struct rdma_welcome *there = &conn->welcome;
	const struct rdma_wr wr = {
		.move = move,
		.kind = OP_READ,
		.n_sges = 1,
		.remote_address = there->address + at_bytes,
		.rkey = there->rkeys[at_bytes / there->piece_bytes],
	};

	doorbell->sges[doorbell->n][0] = (struct ibv_sge){
		.addr = (uintptr_t)&conn->page->proof, .length = 1, .lkey = conn->page_mr->lkey};
	rdma_conn_add(conn, doorbell, &wr);
}

bool
rdma_conn_ring(struct rdma_conn *conn, struct rdma_doorbell *doorbell, uint64_t now_ns)
{
	struct ibv_send_wr *bad = NULL;
	unsigned n = doorbell->n;
	int e;

	if (n == 0)
		return true;
	if (conn->n_posted == conn->n_retired)
		conn->busy_ns = now_ns;
	if (conn->moved_ns == 0)
		conn->moved_ns = now_ns;
	doorbell->wrs[n - 1].send_flags |= IBV_SEND_SIGNALED;
	doorbell->n = 0;
	e = ibv_post_send(conn->id->qp, doorbell->wrs, &bad);
	if (e == 0) {
		conn->n_posted += n;
		return true;
	}
	if (bad != NULL)
		conn->n_posted += (uint64_t)(bad - doorbell->wrs);
	log_event(LOG_DEBUG, "rdma_post", "errno=%d", e);
	return false;
}

bool
rdma_conn_show(struct rdma_conn *conn, const struct wire_request *request)
{
	uint8_t *bytes = conn->page->asks[conn->n_shown++ % RDMA_ASKS];
	struct ibv_sge sge = {.addr = (uintptr_t)bytes,
			      .length = WIRE_REQUEST_BYTES,
			      .lkey = conn->page_mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = conn->n_filled,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags =
			(unsigned)(IBV_SEND_SIGNALED | (conn->can_inline ? IBV_SEND_INLINE : 0)),
	};
	struct ibv_send_wr *bad;

	assert(conn->n_asks < RDMA_ASKS && conn->n_filled == conn->n_posted);

	wire_request_encode(request, bytes);
	if (ibv_post_send(conn->id->qp, &wr, &bad) != 0)
		return false;
	conn->ring[conn->n_filled % RDMA_DEPTH] = (struct rdma_wr){0};
	conn->n_filled++;
	conn->n_posted++;
	conn->n_asks++;
	return true;
}

/* ---- completions ---- */

/* retire_first -- the oldest request is done.  Gives its bytes. */
static uint64_t
retire_first(struct rdma *rdma, struct rdma_conn *conn)
{
	struct rdma_wr wr = conn->ring[conn->n_retired++ % RDMA_DEPTH];

	conn->out_bytes -= wr.len_bytes;
	if (wr.move == NULL)
		return 0;
	conn->n_reads -= wr.kind == OP_READ;
	rdma_group_retired(rdma, conn, &wr);
	return wr.len_bytes;
}

/* retire -- that request is done, and with it all before it, but on iWARP. */
static uint64_t
retire(struct rdma *rdma, struct rdma_conn *conn, uint64_t id)
{
	uint64_t len_bytes = 0;

	if (id < conn->n_retired || id >= conn->n_posted)
		return 0;
	conn->ring[id % RDMA_DEPTH].is_back = true;
	while (conn->n_retired < conn->n_posted &&
	       (conn->is_iwarp ? conn->ring[conn->n_retired % RDMA_DEPTH].is_back
			       : conn->n_retired <= id))
		len_bytes += retire_first(rdma, conn);
	return len_bytes;
}

static bool
on_answer(struct rdma *rdma, struct rdma_conn *conn, const struct ibv_wc *wc)
{
	unsigned slot = (unsigned)(wc->wr_id & ~RECV_BIT);
	struct wire_reply reply;

	if (wc->byte_len != WIRE_REPLY_BYTES || conn->n_asks == 0 ||
	    wire_reply_decode(conn->page->answers[slot], &reply) != 0 || reply.kind != WIRE_SHOW ||
	    listen_for_answer(conn, slot) < 0)
		return false;
	conn->n_asks--;
	rdma_group_answered(rdma, conn->group, &reply);
	return true;
}

/* note_rate -- how fast it has been lately: the last eighth counts for an eighth. */
static void
note_rate(struct rdma_conn *conn, uint64_t len_bytes, uint64_t now_ns)
{
	if (len_bytes == 0)
		return;
	if (now_ns > conn->busy_ns)
		conn->bytes_per_ns += ((double)len_bytes / (double)(now_ns - conn->busy_ns) -
				       conn->bytes_per_ns) /
				      8;
	conn->busy_ns = now_ns;
	conn->moved_ns = conn->out_bytes > 0 ? now_ns : 0;
}

/* note_seen -- a request came back, well or not. */
static void
note_seen(struct rdma_conn *conn, const struct ibv_wc *wc)
{
	if ((wc->wr_id & RECV_BIT) == 0)
		conn->n_seen = num_max(conn->n_seen, wc->wr_id + 1);
}

bool
rdma_conn_poll(struct rdma *rdma, struct rdma_conn *conn, uint64_t now_ns, bool *ret_moved)
{
	struct ibv_wc wcs[POLL_BATCH];
	uint64_t len_bytes = 0;
	bool is_good = true;
	int n;

	while (is_good && (n = rdma_cq_poll(&conn->cq, wcs, POLL_BATCH)) != 0) {
		is_good = n > 0;
		*ret_moved = true;
		for (int i = 0; i < n; i++) {
			const struct ibv_wc *wc = &wcs[i];

			note_seen(conn, wc);
			if (is_good && wc->status != IBV_WC_SUCCESS)
				log_event(LOG_DEBUG, "rdma_completion", "status=\"%s\" vendor=%u",
					  ibv_wc_status_str(wc->status), wc->vendor_err);
			is_good = is_good && wc->status == IBV_WC_SUCCESS;
			if (!is_good)
				continue;
			if ((wc->wr_id & RECV_BIT) == 0)
				len_bytes += retire(rdma, conn, wc->wr_id);
			else
				is_good = on_answer(rdma, conn, wc);
		}
	}
	note_rate(conn, len_bytes, now_ns);
	return is_good;
}

bool
rdma_conn_is_sooner(const struct rdma_conn *conn, const struct rdma_conn *than, uint64_t len_bytes)
{
	return (double)(conn->out_bytes + len_bytes) * than->bytes_per_ns <
	       (double)(than->out_bytes + len_bytes) * conn->bytes_per_ns;
}

bool
rdma_conn_is_stalled(const struct rdma_conn *conn, uint64_t stall_ns, uint64_t now_ns)
{
	return conn->moved_ns != 0 && now_ns > num_add_sat(conn->moved_ns, stall_ns);
}

/* ---- the end ---- */

void
rdma_conn_break(struct rdma_conn *conn)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (conn->state == RDMA_OPENING)
		rdma_conn_close(conn); /* nothing was posted on it yet */
	if (conn->state != RDMA_UP)
		return;
	conn->state = RDMA_BREAKING;
	if (rdma_disconnect(conn->id) != 0)
		(void)ibv_modify_qp(conn->id->qp, &attr, IBV_QP_STATE);
}

bool
rdma_conn_is_drained(struct rdma_conn *conn)
{
	struct ibv_wc wcs[POLL_BATCH];
	int n;

	if (conn->state != RDMA_BREAKING)
		return true;
	while ((n = rdma_cq_poll(&conn->cq, wcs, POLL_BATCH)) > 0)
		for (int i = 0; i < n; i++)
			note_seen(conn, &wcs[i]);
	return conn->n_seen == conn->n_posted || n < 0;
}

void
rdma_conn_close(struct rdma_conn *conn)
{
	if (conn->id != NULL && conn->id->qp != NULL)
		rdma_destroy_qp(conn->id); /* from here on nobody writes into anybody's slices */
	for (; conn->n_retired < conn->n_filled; conn->n_retired++)
		rdma_group_dropped(conn, &conn->ring[conn->n_retired % RDMA_DEPTH]);
	rdma_cq_close(&conn->cq);
	if (conn->page_mr != NULL)
		ibv_dereg_mr(conn->page_mr);
	free(conn->page);
	free(conn->ring);
	if (conn->channel != NULL)
		ibv_destroy_comp_channel(conn->channel);
	if (conn->id != NULL)
		rdma_destroy_id(conn->id);
	if (conn->events != NULL)
		rdma_destroy_event_channel(conn->events);
	rdma_conn_init(conn, conn->group);
}
