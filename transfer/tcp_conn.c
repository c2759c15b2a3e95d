/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/tcp_conn.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transfer/base/crc.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/engine.h"

/* Small enough that what was just received is still in the cache when it is summed. */
#define SUM_PIECE_BYTES  (512ull << 10)
#define SUM_BEHIND_BYTES (2ull << 20)
#define PIECE_BYTES      (1ull << 20)
#define PIECE_SLICES     256

#define STALE_NS   (200 * NS_PER_MS)
#define CROWDED_NS (10 * NS_PER_S)

/* An op begins anew on another way so many times. */
#define MOVES_MAX 3

/* ---- waiters ---- */

void
tcp_ring(struct tcp_waiter *waiter)
{
	if (waiter->is_asleep && !waiter->is_rung && waiter->event_fd >= 0)
		(void)eventfd_write(waiter->event_fd, 1);
	waiter->is_rung = true;
}

void
tcp_ring_done(struct tcp *tcp)
{
	assert(lock_held(&tcp->lock));

	list_each(&tcp->waiters, link) {
		struct tcp_waiter *waiter = list_of(link, struct tcp_waiter, at);

		if (batch_is_done(waiter->batch))
			tcp_ring(waiter);
	}
}

/* ring_carried -- those with ops on it. */
static void
ring_carried(struct tcp *tcp, const struct tcp_conn *conn)
{
	list_each(&tcp->waiters, link) {
		struct tcp_waiter *waiter = list_of(link, struct tcp_waiter, at);

		if (tcp_conn_carries(conn, waiter->batch))
			tcp_ring(waiter);
	}
}

/* complete -- without the lock, for the engine is the outside. */
static void
complete(struct tcp *tcp, struct op *op, enum op_result result)
{
	assert(!list_link_is_on(&op->at));

	lock_drop(&tcp->lock);
	engine_complete(tcp->base.engine, op, result);
	lock_take(&tcp->lock);
	tcp_ring_done(tcp);
}

static uint64_t
now_of(const struct tcp *tcp)
{
	return clock_ns(engine_clock(tcp->base.engine));
}

/* ---- ops ---- */

void
tcp_conn_init(struct tcp_conn *conn, struct tcp_peer *peer)
{
	*conn = (struct tcp_conn){.peer = peer, .state = TCP_DOWN, .fd = -1, .probe_fd = -1};
	list_init(&conn->to_send);
	list_init(&conn->sent);
}

void
tcp_conn_put(struct tcp *tcp, struct tcp_conn *conn, struct op *op)
{
	op->id = ++tcp->last_id;
	list_push_back(&conn->to_send, &op->at);
	conn->queued_bytes += op->len_bytes;
}

static void
take_off(struct tcp_conn *conn, struct op *op)
{
	list_remove(&op->at);
	conn->queued_bytes -= op->len_bytes;
}

static bool
holds(const struct list *list, const struct batch *batch)
{
	list_each(list, link) {
		if (list_of(link, struct op, at)->batch == batch)
			return true;
	}
	return false;
}

bool
tcp_conn_carries(const struct tcp_conn *conn, const struct batch *batch)
{
	return holds(&conn->sent, batch) || holds(&conn->to_send, batch);
}

/* may_move -- can it begin anew on another way?  What was written may still land on the old one. */
static bool
may_move(const struct tcp *tcp, const struct tcp_conn *conn, const struct op *op, uint64_t now_ns)
{
	return conn->peer->paths.n > 1 && !tcp->is_stopped && op->deadline_ns > now_ns &&
	       op->n_moves < MOVES_MAX && now_ns >= conn->peer->rest_until_ns &&
	       (op->kind == OP_READ || !op->is_begun);
}

/* lose_all -- complete every op that is on the connection now, but for those that may move. */
static void
lose_all(struct tcp *tcp, struct tcp_conn *conn)
{
	uint64_t now_ns = now_of(tcp);
	struct list lost, moved;

	list_init(&lost);
	list_init(&moved);
	for (struct list_link *link; (link = list_first(&conn->sent)) != NULL ||
				     (link = list_first(&conn->to_send)) != NULL;) {
		struct op *op = list_of(link, struct op, at);

		take_off(conn, op);
		list_push_back(may_move(tcp, conn, op, now_ns) ? &moved : &lost, link);
	}
	for (struct list_link *link; (link = list_first(&moved)) != NULL;) {
		struct op *op = list_of(link, struct op, at);

		list_remove(link);
		op->n_moves++;
		op->is_begun = false;
		op->done_bytes = 0;
		op->crc = 0;
		tcp_conn_put(tcp, conn, op);
	}

	lock_drop(&tcp->lock);
	for (struct list_link *link; (link = list_first(&lost)) != NULL;) {
		struct op *op = list_of(link, struct op, at);

		list_remove(link);
		engine_complete(tcp->base.engine, op,
				op->deadline_ns <= now_ns ? OP_E_TIMEOUT : OP_E_LOST);
	}
	lock_take(&tcp->lock);
	tcp_ring_done(tcp);
	ring_carried(tcp, conn);
}

/* ---- breaking ---- */

void
tcp_conn_close(struct tcp *tcp, struct tcp_conn *conn)
{
	assert(lock_held(&tcp->lock) && conn->state != TCP_DOWN);
	assert(conn->n_inside == 0 && !conn->is_sending && !conn->is_looking);

	sock_abort_at(&conn->fd);
	sock_abort_at(&conn->probe_fd);
	conn->state = TCP_DOWN;
	tcp->n_open--;
	conn->out.op = NULL;
	conn->in.op = NULL;
	conn->in.n_head = 0;
	lose_all(tcp, conn);
}

void
tcp_conn_enter(struct tcp_conn *conn)
{
	conn->n_inside++;
}

void
tcp_conn_leave(struct tcp *tcp, struct tcp_conn *conn)
{
	assert(lock_held(&tcp->lock) && conn->n_inside > 0);

	conn->n_inside--;
	if (conn->n_inside == 0 && conn->state == TCP_BREAKING)
		tcp_conn_close(tcp, conn);
}

void
tcp_conn_break(struct tcp *tcp, struct tcp_conn *conn)
{
	assert(lock_held(&tcp->lock));

	if (conn->state != TCP_UP && (conn->state != TCP_OPENING || conn->is_looking))
		return;
	conn->state = TCP_BREAKING;
	if (conn->n_inside > 0)
		shutdown(conn->fd, SHUT_RDWR); /* who is inside comes out now */
	else
		tcp_conn_close(tcp, conn);
}

bool
tcp_conn_is_stale(struct tcp *tcp, struct tcp_conn *conn)
{
	char byte;

	if (conn->state != TCP_UP || conn->n_inside > 0 || !list_is_empty(&conn->sent) ||
	    now_of(tcp) - conn->used_ns < STALE_NS)
		return false;
	/* Nothing is owed to us: anything but "nothing there" means the end. */
	return recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
	       (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void
tcp_conn_expire(struct tcp *tcp, struct tcp_conn *conn, const struct batch *batch, uint64_t now_ns)
{
	list_each(&conn->sent, link) {
		struct op *op = list_of(link, struct op, at);

		if (op->batch == batch && op->deadline_ns <= now_ns) {
			tcp_conn_break(tcp, conn);
			return;
		}
	}
	for (;;) {
		struct op *late = NULL;

		list_each(&conn->to_send, link) {
			struct op *op = list_of(link, struct op, at);

			if (op->batch == batch && op->deadline_ns <= now_ns)
				late = op;
		}
		if (late == NULL)
			return;
		take_off(conn, late); /* nobody has begun with it */
		complete(tcp, late, OP_E_TIMEOUT);
	}
}

/* ---- sending ---- */

/* begin_out -- the next request; false: there is none. */
static bool
begin_out(struct tcp_conn *conn)
{
	struct list_link *link = list_first(&conn->to_send);
	struct tcp_out *out = &conn->out;
	struct wire_request request;
	struct op *op;

	if (link == NULL)
		return false;
	op = list_of(link, struct op, at);
	list_remove(link);
	list_push_back(&conn->sent, link);
	op->is_begun = true;
	op->address = conn->peer->paths.all[conn->at_path].text;

	request = (struct wire_request){
		.kind = op->kind == OP_READ ? WIRE_READ : WIRE_WRITE,
		.flags = op->must_cut ? WIRE_CUT : 0,
		.id = op->id,
		.segment_id = op->target->desc.segment_id,
		.segment_epoch = op->target->desc.segment_epoch,
		.offset_bytes = op->offset_bytes,
		.len_bytes = op->len_bytes,
		.token = *op->token,
	};
	wire_request_encode(&request, out->head);
	out->op = op;
	out->sent_bytes = 0;
	out->all_bytes = sizeof(out->head) + (op->kind == OP_WRITE ? op->len_bytes : 0);
	out->summed_bytes = 0;
	op_cursor_init(&out->cursor, op, 0);
	out->sum_cursor = out->cursor;
	return true;
}

/*
 * sum_behind -- the sum of what has gone.
 *
 * It is put off until the socket is full or the last byte is out: then the peer is busy taking
 * bytes in, and the sum costs no time.  Not for ever, for old bytes are no longer in the cache.
 */
static void
sum_behind(struct tcp_out *out, uint64_t until_bytes)
{
	while (out->summed_bytes < until_bytes) {
		struct iovec slice;
		uint64_t len;

		op_cursor_look(&out->sum_cursor, until_bytes - out->summed_bytes, &slice, 1, &len);
		out->op->crc = crc_of(out->op->crc, slice.iov_base, slice.iov_len);
		op_cursor_move(&out->sum_cursor, len);
		out->summed_bytes += len;
	}
}

/* send_piece -- one call; n bytes have gone, or -1 with errno.  No lock held. */
static ssize_t
send_piece(struct tcp_conn *conn)
{
	struct tcp_out *out = &conn->out;
	struct iovec iov[PIECE_SLICES + 1];
	struct msghdr msg = {.msg_iov = iov};
	uint64_t gone_bytes = num_max(out->sent_bytes, sizeof(out->head)) - sizeof(out->head);
	uint64_t left = out->all_bytes - sizeof(out->head) - gone_bytes, len;
	ssize_t n;
	int e;

	if (out->sent_bytes < sizeof(out->head))
		iov[msg.msg_iovlen++] = (struct iovec){out->head + out->sent_bytes,
						       sizeof(out->head) - out->sent_bytes};
	if (left > 0)
		msg.msg_iovlen += op_cursor_look(&out->cursor, num_min(left, PIECE_BYTES),
						 iov + msg.msg_iovlen, PIECE_SLICES, &len);
	n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	e = errno;
	if (n > 0) {
		out->sent_bytes += (uint64_t)n;
		len = num_max(out->sent_bytes, sizeof(out->head)) - sizeof(out->head);
		op_cursor_move(&out->cursor, len - gone_bytes);
		gone_bytes = len;
	}
	if (out->op->kind == OP_WRITE && out->op->want_crc &&
	    (n < 0 || out->sent_bytes == out->all_bytes ||
	     gone_bytes - out->summed_bytes >= SUM_BEHIND_BYTES))
		sum_behind(out, gone_bytes);
	errno = e;
	return n;
}

bool
tcp_conn_send(struct tcp *tcp, struct tcp_conn *conn)
{
	struct tcp_out *out = &conn->out;
	bool has_moved = false;

	assert(lock_held(&tcp->lock));

	while (conn->state == TCP_UP && !conn->is_sending && (out->op != NULL || begin_out(conn))) {
		ssize_t n;
		int e;

		conn->is_sending = true;
		tcp_conn_enter(conn);
		lock_drop(&tcp->lock);
		n = send_piece(conn);
		e = errno;
		lock_take(&tcp->lock);
		conn->is_sending = false;
		if (n > 0) {
			has_moved = true;
			conn->heard_ns = now_of(tcp);
			if (out->sent_bytes == out->all_bytes)
				out->op = NULL; /* may be answered, and gone, any time now */
		}
		pthread_cond_broadcast(&tcp->left);
		if (n < 0 && e != EAGAIN && e != EWOULDBLOCK && e != EINTR)
			tcp_conn_break(tcp, conn);
		tcp_conn_leave(tcp, conn);
		if (n < 0)
			break;
	}
	return has_moved;
}

/* ---- receiving ---- */

static enum op_result
result_of(enum wire_status status)
{
	switch (status) {
	case WIRE_DONE:
		return OP_DONE;
	case WIRE_REFUSED:
		return OP_E_REFUSED;
	case WIRE_OUTSIDE:
		return OP_E_INVALID;
	case WIRE_IO:
		return OP_E_IO;
	case WIRE_BUSY:
	case WIRE_CANT:
	case WIRE_N_STATUS:
		break;
	}
	return OP_E_LOST;
}

/*
 * A peer at work answers within microseconds, but to be woken on another processor costs 30 to
 * 100: so it is worth looking a few times more, some 5 us in all.
 */
#define LOOKS 10

/* recv_head -- 1: all there; 0: not yet, in so many looks; -1: the end.  No lock held. */
static int
recv_head(struct tcp_conn *conn, unsigned looks, bool *ret_has_moved)
{
	struct tcp_in *in = &conn->in;
	unsigned n_looks = 0;

	while (in->n_head < sizeof(in->head)) {
		ssize_t n = recv(conn->fd, in->head + in->n_head, sizeof(in->head) - in->n_head,
				 MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (++n_looks == looks)
				return 0;
			continue;
		}
		if (n <= 0)
			return -1;
		in->n_head += (size_t)n;
		*ret_has_moved = true;
	}
	return 1;
}

/* recv_bytes -- of the op `in`; result as above.  No lock held. */
static int
recv_bytes(struct tcp *tcp, struct tcp_conn *conn, bool may_wait, bool *ret_has_moved)
{
	struct tcp_in *in = &conn->in;
	struct op *op = in->op;

	while (op->done_bytes < op->len_bytes) {
		struct iovec iov[PIECE_SLICES];
		struct msghdr msg = {.msg_iov = iov};
		uint64_t piece = op->want_crc ? SUM_PIECE_BYTES : PIECE_BYTES;
		uint64_t len;
		ssize_t n;

		msg.msg_iovlen =
			op_cursor_look(&in->cursor, num_min(op->len_bytes - op->done_bytes, piece),
				       iov, PIECE_SLICES, &len);
		n = recvmsg(conn->fd, &msg, may_wait ? MSG_WAITALL : MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n <= 0)
			return -1;
		*ret_has_moved = true;
		op->done_bytes += (uint64_t)n;
		op_cursor_move(&in->cursor, (uint64_t)n);
		for (size_t i = 0, left = (size_t)n; op->want_crc && left > 0; i++) {
			size_t len_i = num_min(iov[i].iov_len, left);

			op->crc = crc_of(op->crc, iov[i].iov_base, len_i);
			left -= len_i;
		}
		/* A peer that lets its bytes drip keeps nobody here: there are deadlines. */
		if (op->done_bytes < op->len_bytes &&
		    ((uint64_t)n < len || now_of(tcp) >= op->deadline_ns))
			return 0;
	}
	return 1;
}

/*
 * take_reply -- a whole head is there: whose is it?
 *
 * gives:   *ret_op, off the list, with its result: completed by this head alone.
 * result:  false: the peer does not keep to the protocol.
 */
static bool
take_reply(struct tcp *tcp, struct tcp_conn *conn, struct op **ret_op, enum op_result *ret_result)
{
	struct list_link *link = list_first(&conn->sent);
	struct op *op = link == NULL ? NULL : list_of(link, struct op, at);
	struct wire_reply reply;

	conn->in.n_head = 0;
	*ret_op = NULL;
	if (wire_reply_decode(conn->in.head, &reply) != 0)
		return false;
	if (reply.status == WIRE_BUSY)
		conn->peer->crowded_until_ns = num_add_sat(now_of(tcp), CROWDED_NS);
	if (op == NULL || reply.id != op->id ||
	    reply.kind != (op->kind == OP_READ ? WIRE_READ : WIRE_WRITE))
		return false;

	/* The sender may have sent the last byte, and not yet said so. */
	while (conn->is_sending && conn->out.op == op)
		lock_wait(&tcp->lock, &tcp->left);
	if (conn->state != TCP_UP || conn->out.op == op)
		return false; /* answered before it was asked */

	if (reply.kind == WIRE_READ && reply.status == WIRE_DONE) {
		if (reply.len_bytes != op->len_bytes)
			return false;
		conn->in.op = op;
		op_cursor_init(&conn->in.cursor, op, 0);
		return true;
	}
	take_off(conn, op);
	*ret_op = op;
	*ret_result = result_of(reply.status);
	return true;
}

/* recv_step -- one head, or bytes of one op, without the lock; then what it means. */
static int
recv_step(struct tcp *tcp, struct tcp_conn *conn, bool may_wait, bool *ret_has_moved)
{
	struct op *op = conn->in.op;
	enum op_result result = OP_DONE;
	/* While there is more to send the peer is busy with that, and will not answer. */
	unsigned looks = conn->out.op != NULL ? 1 : LOOKS;
	int r;

	lock_drop(&tcp->lock);
	r = op == NULL ? recv_head(conn, looks, ret_has_moved)
		       : recv_bytes(tcp, conn, may_wait, ret_has_moved);
	lock_take(&tcp->lock);
	if (r <= 0)
		return r;

	if (op == NULL) {
		if (!take_reply(tcp, conn, &op, &result))
			return -1;
	} else {
		take_off(conn, op);
		conn->in.op = NULL;
	}
	if (op == NULL)
		return 1;
	conn->used_ns = now_of(tcp);
	complete(tcp, op, result);
	return 2;
}

bool
tcp_conn_recv(struct tcp *tcp, struct tcp_conn *conn, bool may_wait)
{
	bool has_moved = false;
	int r = 1;

	assert(lock_held(&tcp->lock) && conn->reader != NULL);

	if (conn->state != TCP_UP)
		return false;
	tcp_conn_enter(conn);
	while (r == 1 && conn->state == TCP_UP)
		r = recv_step(tcp, conn, may_wait, &has_moved);
	if (has_moved)
		conn->heard_ns = now_of(tcp);
	if (r < 0) {
		log_event(LOG_DEBUG, "tcp_broken", "endpoint=\"%s\"", conn->peer->endpoint);
		tcp_conn_break(tcp, conn);
	}
	tcp_conn_leave(tcp, conn);
	return has_moved || r < 0;
}
