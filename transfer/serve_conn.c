/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve_conn.c -- one connection: requests in, answers out, in the same order.
 *
 * Everything the peer says is judged in judge(), against our own table; what
 * comes after moves bytes.  The bytes of a WRITE that is not accepted are taken
 * in and thrown away, so that the answer finds its place.
 */
#include "transfer/serve_conn.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define RECV_PIECE_BYTES (1ull << 20)
#define SEND_PIECE_BYTES (8ull << 20)
#define WASTE_BYTES      (64u << 10)

/* How long one call may wait; idle_ms is counted in these. */
#define STEP_MS_MAX 1000

/* A request may take idle_ms, and 1 ms more for each so many bytes: nobody lives on a drip. */
#define SLOWEST_BYTES_MS (1u << 10)

static uint64_t
step_ms(const struct serve *serve)
{
	return num_max(num_min(serve->idle_ms, (uint64_t)STEP_MS_MAX), 1);
}

/* waited -- nothing came or went in one step: may the peer go on standing still? */
static bool
waited(const struct serve_conn *conn, uint64_t *stood_ms)
{
	*stood_ms += step_ms(conn->serve);
	return *stood_ms < conn->serve->idle_ms;
}

/* must_move -- so many bytes, from now on. */
static void
must_move(struct serve_conn *conn, uint64_t len_bytes)
{
	conn->late_ms = num_add_sat(clock_ms(conn->serve->clock),
				    conn->serve->idle_ms + len_bytes / SLOWEST_BYTES_MS);
}

static bool
is_late(const struct serve_conn *conn)
{
	return clock_ms(conn->serve->clock) >= conn->late_ms;
}

static bool
is_transient(int e)
{
	return e == EINTR || e == EAGAIN || e == EWOULDBLOCK;
}

/* ---- moving bytes; false: hang up ---- */

/* recv_some -- at least one byte, as many as come in one step. */
static bool
recv_some(struct serve_conn *conn, void *bytes, size_t len_bytes, bool for_ever, size_t *ret_n)
{
	uint64_t stood_ms = 0;

	for (;;) {
		ssize_t n = recv(conn->fd, bytes, len_bytes, MSG_WAITALL);

		if (n > 0) {
			*ret_n = (size_t)n;
			return for_ever || (size_t)n == len_bytes || !is_late(conn);
		}
		if (n == 0 || !is_transient(errno))
			return false;
		if (errno != EINTR && !waited(conn, &stood_ms) && !for_ever)
			return false;
	}
}

bool
serve_recv(struct serve_conn *conn, void *bytes, size_t len_bytes, size_t *ret_n)
{
	return recv_some(conn, bytes, len_bytes, /* for_ever= */ false, ret_n);
}

/* serve_send -- the head, if there is one, and these bytes behind it. */
bool
serve_send(struct serve_conn *conn, const struct wire_reply *reply, const void *bytes,
	   uint64_t len_bytes)
{
	uint8_t head[WIRE_REPLY_BYTES];
	uint64_t n_head = reply != NULL ? sizeof(head) : 0;
	uint64_t sent = 0, all = n_head + len_bytes;
	uint64_t stood_ms = 0;

	if (reply != NULL)
		wire_reply_encode(reply, head);
	while (sent < all) {
		struct iovec iov[2];
		struct msghdr msg = {.msg_iov = iov};
		uint64_t of_bytes = num_max(sent, n_head) - n_head;
		ssize_t n;

		if (sent < n_head)
			iov[msg.msg_iovlen++] = (struct iovec){head + sent, n_head - sent};
		if (len_bytes > of_bytes)
			iov[msg.msg_iovlen++] =
				(struct iovec){(uint8_t *)(uintptr_t)bytes + of_bytes,
					       num_min(len_bytes - of_bytes, SEND_PIECE_BYTES)};
		n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL);
		if (n > 0) {
			sent += (uint64_t)n;
			stood_ms = 0;
			if (sent < all && is_late(conn))
				return false;
			continue;
		}
		if (n == 0 || !is_transient(errno))
			return false;
		if (errno != EINTR && !waited(conn, &stood_ms))
			return false;
	}
	return true;
}

bool
serve_status(struct serve_conn *conn, const struct wire_request *request, enum wire_status status)
{
	struct wire_reply reply = {.kind = request->kind, .status = status, .id = request->id};

	if (status == WIRE_REFUSED || status == WIRE_OUTSIDE)
		atomic_fetch_add_explicit(&conn->serve->n_refused, 1, memory_order_relaxed);
	return serve_send(conn, &reply, NULL, 0);
}

bool
serve_waste(struct serve_conn *conn, uint64_t len_bytes)
{
	uint8_t away[WASTE_BYTES];
	size_t n;

	for (; len_bytes > 0; len_bytes -= n)
		if (!recv_some(conn, away, num_min(len_bytes, sizeof(away)), false, &n))
			return false;
	return true;
}

/* ---- requests ---- */

void
serve_count(struct serve *serve, const struct wire_request *request)
{
	bool is_read = request->kind == WIRE_READ;

	atomic_fetch_add_explicit(is_read ? &serve->ops_read : &serve->ops_write, 1,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(is_read ? &serve->bytes_read : &serve->bytes_written,
				  request->len_bytes, memory_order_relaxed);
}

/* touch, serve_leave -- while a segment is touched, serve_remove() and serve_fence() know of it. */
static struct lent *
touch(struct serve_conn *conn, uint64_t segment_id)
{
	struct serve *serve = conn->serve;

	lock_take(&serve->lock);
	conn->touching = lends_hold(&serve->lends, segment_id);
	lock_drop(&serve->lock);
	return conn->touching == NULL ? NULL : conn->touching->lent;
}

void
serve_leave(struct serve_conn *conn)
{
	struct serve *serve = conn->serve;
	struct lends_row *row;

	lock_take(&serve->lock);
	row = take(&conn->touching);
	lock_drop(&serve->lock);
	if (row != NULL)
		lends_drop(&serve->lends, row);
}

static uint32_t
rights_for(const struct wire_request *request)
{
	if (request->kind == WIRE_MAP && (request->flags & WIRE_WRITABLE) == 0)
		return TOKEN_READ | TOKEN_MAP;
	return request->kind == WIRE_READ ? TOKEN_READ : TOKEN_WRITE;
}

enum verdict { VERDICT_STATUS, VERDICT_HANG_UP };

/* bind_client -- a connection speaks for one client, whose genuine token it has shown. */
static enum verdict
bind_client(struct serve_conn *conn, const struct wire_request *request,
	    enum wire_status *ret_status)
{
	struct serve *serve = conn->serve;
	enum verdict verdict = VERDICT_STATUS;

	lock_take(&serve->lock);
	if (conn->client_id == 0)
		conn->client_id = request->token.client_id;
	if (conn->client_id != request->token.client_id || conn->client_id == 0)
		verdict = VERDICT_HANG_UP;
	else if (rights_for(request) == TOKEN_WRITE && serve_is_fenced(serve, &request->token))
		*ret_status = WIRE_REFUSED;
	lock_drop(&serve->lock);
	return verdict;
}

/* judge -- the door: what a peer may ask for is decided here.  lent: the segment, or NULL. */
static enum verdict
judge(struct serve_conn *conn, const struct wire_request *request, const struct lent *lent,
      enum wire_status *ret_status)
{
	const struct token *token = &request->token;

	*ret_status = WIRE_REFUSED;
	if (lent == NULL || !token_is_genuine(token, lent->secret))
		return VERDICT_STATUS;
	if (request->segment_epoch != lent->epoch)
		return VERDICT_STATUS;
	if (!num_range_fits(request->offset_bytes, request->len_bytes, lent->size_bytes)) {
		*ret_status = WIRE_OUTSIDE;
		return VERDICT_STATUS;
	}
	if (!token_allows(token, rights_for(request), request->segment_id, lent->epoch,
			  request->offset_bytes, request->len_bytes, clock_ms(conn->serve->clock)))
		return VERDICT_STATUS;
	*ret_status = WIRE_DONE;
	return bind_client(conn, request, ret_status);
}

static bool
answer_read(struct serve_conn *conn, const struct wire_request *request, const struct lent *lent)
{
	struct wire_reply reply = {
		.kind = WIRE_READ,
		.id = request->id,
		.len_bytes = request->len_bytes,
	};

	if (!serve_send(conn, &reply, lent->bytes + request->offset_bytes, request->len_bytes))
		return false;
	serve_count(conn->serve, request);
	return true;
}

/* The token must hold for every piece: when it ends in the middle, so does the connection. */
static bool
answer_write(struct serve_conn *conn, const struct wire_request *request, struct lent *lent)
{
	uint8_t *to = lent->bytes + request->offset_bytes;
	uint64_t left = request->len_bytes;
	size_t n;

	if ((request->flags & WIRE_CUT) != 0) /* before ours, or they may come after it */
		serve_cut_writers(conn->serve, conn->client_id);
	for (; left > 0; left -= n, to += n) {
		if (clock_ms(conn->serve->clock) >= request->token.until_ms)
			return false;
		if (!recv_some(conn, to, num_min(left, RECV_PIECE_BYTES), false, &n))
			return false;
	}
	serve_leave(conn); /* once it is answered nothing of it is under way */
	if (!serve_status(conn, request, WIRE_DONE))
		return false;
	serve_count(conn->serve, request);
	return true;
}

static bool
answer(struct serve_conn *conn, const struct wire_request *request)
{
	struct lent *lent = touch(conn, request->segment_id);
	enum wire_status status;

	must_move(conn, request->len_bytes);
	if (request->kind == WIRE_SHOW)
		return serve_status(conn, request, WIRE_CANT); /* for RDMA connections alone */
	if (judge(conn, request, lent, &status) == VERDICT_HANG_UP)
		return false;
	if (status != WIRE_DONE) {
		serve_leave(conn);
		if (request->kind == WIRE_WRITE && !serve_waste(conn, request->len_bytes))
			return false;
		return serve_status(conn, request, status);
	}
	if (request->kind != WIRE_MAP && lent->disk != NULL)
		return request->kind == WIRE_READ ? serve_disk_read(conn, request, lent)
						  : serve_disk_write(conn, request, lent);
	if (request->kind == WIRE_READ)
		return answer_read(conn, request, lent);
	if (request->kind == WIRE_WRITE)
		return answer_write(conn, request, lent);
	return serve_map(conn, request);
}

/* next_request -- wait for it as long as it takes, once the peer is known; then it must come
 * swiftly. */
static bool
next_request(struct serve_conn *conn, struct wire_request *ret_request)
{
	uint8_t head[WIRE_REQUEST_BYTES];
	bool is_known = conn->client_id != 0; /* written by this thread alone */
	size_t got, n;

	must_move(conn, 0);
	if (!recv_some(conn, head, sizeof(head), is_known, &got))
		return false;
	if (is_known)
		must_move(conn, 0);
	for (; got < sizeof(head); got += n)
		if (!recv_some(conn, head + got, sizeof(head) - got, false, &n))
			return false;
	return wire_request_decode(head, ret_request) == 0;
}

static void
set_timeouts(struct serve_conn *conn)
{
	uint64_t ms = step_ms(conn->serve);
	struct timeval step = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000),
	};

	(void)setsockopt(conn->fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof(step));
	(void)setsockopt(conn->fd, SOL_SOCKET, SO_SNDTIMEO, &step, sizeof(step));
}

void *
serve_conn_main(void *arg)
{
	struct serve_conn *conn = arg;
	struct serve *serve = conn->serve;
	struct wire_request request;
	bool goes_on = true;

	set_timeouts(conn);
	while (goes_on && next_request(conn, &request)) {
		goes_on = answer(conn, &request);
		serve_leave(conn);
	}

	shutdown(conn->fd, SHUT_RDWR);
	lock_take(&serve->lock);
	list_remove(&conn->at);
	list_push_back(&serve->finished, &conn->at);
	serve->n_conns--;
	pthread_cond_broadcast(&serve->changed);
	lock_drop(&serve->lock);
	(void)eventfd_write(serve->wake_fd, 1);
	return NULL;
}
