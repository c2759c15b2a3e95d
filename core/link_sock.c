/* SPDX-License-Identifier: Apache-2.0 */

/*
 *      DOWN --connect, greet--> UP --lost, garbage, NOT_JOINED--> DOWN
 *
 *      DOWN   one thread connects (is_connecting), the others sleep.  After a failed attempt
 *             everybody waits until retry_at_ns.
 *      UP     frames go out under the lock without blocking; what the socket does not take
 *             waits in `out`, and one thread (is_flushing, or the reader) sees it through.
 *             One thread (has_reader) reads for all.
 *
 * The descriptor is closed only by the thread that connects, when nobody reads or flushes.
 */
#include "core/link_sock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/list.h"
#include "transfer/base/lock.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define MAGIC          0x6c6e6b73u
#define READ_SLICE_MS  100 /* a blocked reader looks at its deadline so often */
#define READ_BYTES     (16u << 10)
#define CONNECT_MS     1000
#define BACKOFF_MIN_MS 10
#define BACKOFF_MAX_MS 500
#define OUT_BYTES_MAX  (1u << 20) /* posts are dropped when so much waits */

struct sock_call {
	struct list_link at;
	uint64_t id, until_ns;
	struct buf frame;
	bool is_sent, was_sent, is_done, has_cond; /* was_sent: over a former connection */
	pthread_cond_t cond;
	struct link_reply *reply;
};

struct link_sock {
	struct link base;
	unsigned magic;
	char *address;
	struct greet_config config; /* its strings are ours */

	struct lock lock; /* LOCK_core_link: everything below */
	struct link_session session;
	struct list calls;
	uint64_t next_id, retry_at_ns, backoff_ms;
	int fd, fd_greeting; /* -1: none */
	int trouble;         /* outcome of the last attempt to connect */
	bool is_up, is_stopped, is_connecting, is_flushing, has_reader;
	struct buf out;
	struct buf in; /* the reader's while has_reader, without the lock */
};

static struct link_sock *
of(struct link *link)
{
	struct link_sock *ls = container_of(link, struct link_sock, base);

	assert(ls->magic == MAGIC);
	return ls;
}

static uint64_t
now_ns(void)
{
	return clock_ns(clock_real());
}

static void
wake(struct sock_call *call)
{
	if (call->has_cond)
		pthread_cond_signal(&call->cond);
}

static void
wake_all(struct link_sock *ls)
{
	list_each(&ls->calls, at)
		wake(list_of(at, struct sock_call, at));
}

/* wait_for -- sleep until woken, at most until at_ns. */
static void
wait_for(struct link_sock *ls, struct sock_call *call, uint64_t at_ns)
{
	uint64_t now = now_ns();

	assert(lock_held(&ls->lock));
	if (!call->has_cond) {
		lock_cond_init(&call->cond);
		call->has_cond = true;
	}
	if (at_ns > now)
		(void)lock_wait_for(&ls->lock, &call->cond, at_ns - now);
}

/* ---- down ---------------------------------------------------------------------- */

/* break_up -- the connection is of no use any more. */
static void
break_up(struct link_sock *ls, const char *why)
{
	assert(lock_held(&ls->lock));
	if (!ls->is_up)
		return;

	log_event(LOG_INFO, "master_lost", "address=%s why=\"%s\"", ls->address, why);
	ls->is_up = false;
	shutdown(ls->fd, SHUT_RDWR);
	buf_clear(&ls->out);
	list_each(&ls->calls, at) {
		struct sock_call *call = list_of(at, struct sock_call, at);

		call->was_sent |= call->is_sent;
		call->is_sent = false;
	}
	wake_all(ls);
}

/* connect_once -- one attempt, without the lock.  0 and *ret_fd, link_outcome, -errno. */
static int
connect_once(struct link_sock *ls, uint64_t until_ns, struct link_session *session, int *ret_fd)
{
	cleanup_with(fd_close_at) int fd = -1;
	uint64_t now = now_ns(), wait_ms, next_id;
	struct sock_addr addr;
	int r;

	if (sock_addr_parse(ls->address, &addr) != 0)
		return LINK_E_LOST;

	wait_ms = until_ns > now ? (until_ns - now) / NS_PER_MS : 0;
	r = sock_connect(&addr, num_min(wait_ms, (uint64_t)CONNECT_MS), &fd);
	if (r != 0)
		return r < 0 ? err_up(r) : LINK_E_LOST;

	lock_take(&ls->lock);
	ls->fd_greeting = fd;
	next_id = ls->next_id;
	ls->next_id += 2;
	if (ls->is_stopped)
		shutdown(fd, SHUT_RDWR);
	lock_drop(&ls->lock);

	r = greet(fd, &ls->config, until_ns, &next_id, session);

	lock_take(&ls->lock);
	ls->fd_greeting = -1;
	lock_drop(&ls->lock);
	if (r != 0)
		return r;

	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* go_up -- the new connection is everybody's. */
static void
go_up(struct link_sock *ls, int fd, const struct link_session *session)
{
	ls->fd = fd;
	ls->session = *session;
	ls->is_up = true;
	buf_clear(&ls->in);
	buf_clear(&ls->out);
	log_event(LOG_INFO, "master_joined", "address=%s epoch=%lu joins=%u", ls->address,
		  session->master_epoch, session->n_joins);
}

/*
 * connect_now -- become the thread that connects.
 *
 * result:  0 (up, or to be tried again at retry_at_ns), LINK_E_DENIED, LINK_E_VERSION,
 *          LINK_E_TENANT, -errno.
 */
static int
connect_now(struct link_sock *ls, uint64_t until_ns)
{
	struct link_session session = ls->session;
	int fd = -1, r;

	assert(!ls->is_up && !ls->has_reader && !ls->is_flushing && !ls->is_connecting);
	fd_close_at(&ls->fd);
	ls->fd = -1;
	ls->is_connecting = true;
	lock_drop(&ls->lock);

	r = connect_once(ls, until_ns, &session, &fd);

	lock_take(&ls->lock);
	ls->is_connecting = false;
	wake_all(ls);
	ls->backoff_ms = num_min(num_max(2 * ls->backoff_ms, (uint64_t)BACKOFF_MIN_MS),
				 (uint64_t)BACKOFF_MAX_MS);
	ls->retry_at_ns = now_ns() + ls->backoff_ms * NS_PER_MS;
	if (r == 0) {
		go_up(ls, fd, &session);
		if (ls->is_stopped)
			break_up(ls, "stopped");
		return 0;
	}
	if (r < 0 || r == LINK_E_DENIED || r == LINK_E_VERSION || r == LINK_E_TENANT)
		return r;
	ls->trouble = r;
	return 0;
}

/* turn_down -- one step of a caller while there is no connection. */
static int
turn_down(struct link_sock *ls, struct sock_call *call)
{
	bool is_free = !ls->is_connecting && !ls->has_reader && !ls->is_flushing;

	if (is_free && now_ns() >= ls->retry_at_ns)
		return connect_now(ls, call->until_ns);

	wait_for(ls, call, is_free ? num_min(ls->retry_at_ns, call->until_ns) : call->until_ns);
	return 0;
}

/* ---- up: sending ----------------------------------------------------------------- */

/* send_some -- as much as the socket takes now.  Count of bytes; the connection may break. */
static size_t
send_some(struct link_sock *ls, const uint8_t *bytes, size_t len_bytes)
{
	ssize_t n = send(ls->fd, bytes, len_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0)
		return (size_t)n;
	if (errno != EAGAIN && errno != EINTR)
		break_up(ls, "send");
	return 0;
}

/* send_frame -- now, or behind what waits already. */
static void
send_frame(struct link_sock *ls, const struct buf *frame)
{
	size_t n = 0;

	assert(lock_held(&ls->lock) && ls->is_up);
	if (buf_len(&ls->out) == 0)
		n = send_some(ls, buf_first(frame), buf_len(frame));
	if (!ls->is_up || n == buf_len(frame))
		return;
	if (buf_append(&ls->out, buf_first(frame) + n, buf_len(frame) - n) < 0)
		break_up(ls, "no memory to send");
}

static void
flush_some(struct link_sock *ls)
{
	if (ls->is_up && buf_len(&ls->out) > 0)
		buf_consume(&ls->out, send_some(ls, buf_first(&ls->out), buf_len(&ls->out)));
}

/* poll_for -- wait without the lock, for a slice at most.  Events, 0 for none. */
static short
poll_for(struct link_sock *ls, short events, uint64_t until_ns)
{
	struct pollfd p = {.fd = ls->fd, .events = events};
	uint64_t now, wait_ms = 0;

	lock_drop(&ls->lock);
	now = now_ns();
	if (until_ns > now)
		wait_ms = num_min((until_ns - now) / NS_PER_MS + 1, (uint64_t)READ_SLICE_MS);
	if (poll(&p, 1, (int)wait_ms) <= 0)
		p.revents = 0;
	lock_take(&ls->lock);
	return p.revents;
}

/* flush_turn -- somebody else reads; see to it that `out` goes out. */
static void
flush_turn(struct link_sock *ls, uint64_t until_ns)
{
	ls->is_flushing = true;
	(void)poll_for(ls, POLLOUT, until_ns);
	ls->is_flushing = false;
	flush_some(ls);
	if (!ls->is_up)
		wake_all(ls); /* whoever wants to connect waited for us */
}

/* ---- up: reading ------------------------------------------------------------------- */

/* read_some -- without the lock, after it was seen that something is there. */
static ssize_t
read_some(struct link_sock *ls)
{
	ssize_t n;

	if (buf_reserve(&ls->in, READ_BYTES) < 0)
		return 0;
	n = recv(ls->fd, ls->in.at + ls->in.end, ls->in.cap - ls->in.end, MSG_DONTWAIT);
	if (n > 0)
		ls->in.end += (size_t)n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	return n < 0 ? 0 : n;
}

static struct sock_call *
find_call(struct link_sock *ls, uint64_t id)
{
	list_each(&ls->calls, at) {
		struct sock_call *call = list_of(at, struct sock_call, at);

		if (call->id == id && call->is_sent && !call->is_done)
			return call;
	}
	return NULL;
}

/* deliver -- one frame to whoever asked; an answer that nobody waits for is dropped. */
static void
deliver(struct link_sock *ls, const struct frame *frame)
{
	struct sock_call *call = find_call(ls, frame->request_id);
	size_t len = cursor_left(&frame->payload);

	if ((frame->flags & FRAME_REPLY) == 0) {
		break_up(ls, "not a reply");
		return;
	}
	if (frame->status == STATUS_NOT_JOINED) {
		break_up(ls, "not joined");
		return;
	}
	ls->backoff_ms = 0;
	if (call == NULL)
		return;

	link_reply_init(call->reply);
	if (buf_append(&call->reply->bytes, frame->payload.at, len) < 0) {
		link_reply_fini(call->reply);
		break_up(ls, "no memory to receive");
		return;
	}
	call->reply->status = frame->status;
	call->reply->is_repeat = call->was_sent;
	call->reply->cluster_id = ls->session.cluster_id;
	call->reply->payload.at = buf_first(&call->reply->bytes);
	call->reply->payload.end =
		len > 0 ? call->reply->payload.at + len : call->reply->payload.at;
	call->is_done = true;
	wake(call);
}

/* take_frames -- every whole frame that has come. */
static void
take_frames(struct link_sock *ls)
{
	while (ls->is_up && buf_len(&ls->in) > 0) {
		struct frame frame;
		size_t len;
		int r = frame_peek(buf_first(&ls->in), buf_len(&ls->in), &frame, &len);

		if (r == FRAME_E_SHORT)
			return;
		if (r == FRAME_E_BAD) {
			break_up(ls, "garbage");
			return;
		}
		deliver(ls, &frame);
		buf_consume(&ls->in, len);
	}
}

/*
 * read_turn -- read for everybody, once.
 *
 * A blocking recv() on a Unix socket would be a call less, but dearer: the kernel wakes
 * whoever sleeps in one also when the master takes in the request, only to sleep on.
 */
static void
read_turn(struct link_sock *ls, uint64_t until_ns)
{
	ssize_t n = -1;
	short events;

	ls->has_reader = true;
	events = poll_for(ls, buf_len(&ls->out) > 0 ? POLLIN | POLLOUT : POLLIN, until_ns);
	if ((events & POLLOUT) != 0)
		flush_some(ls);
	if (events & (POLLIN | POLLHUP | POLLERR)) {
		lock_drop(&ls->lock);
		n = read_some(ls);
		lock_take(&ls->lock);
	}
	ls->has_reader = false;

	if (!ls->is_up) {
		wake_all(ls);
		return;
	}
	if (n == 0)
		break_up(ls, "closed by the master");
	else if (n > 0)
		take_frames(ls);
}

/* turn_up -- one step of a caller while connected. */
static void
turn_up(struct link_sock *ls, struct sock_call *call)
{
	if (!call->is_sent) {
		call->is_sent = true;
		send_frame(ls, &call->frame);
		return;
	}
	if (!ls->has_reader)
		read_turn(ls, call->until_ns);
	else if (buf_len(&ls->out) > 0 && !ls->is_flushing)
		flush_turn(ls, call->until_ns);
	else
		wait_for(ls, call, call->until_ns);
}

/* ---- the link ---------------------------------------------------------------------- */

/* run -- until the call is done or fails. */
static int
run(struct link_sock *ls, struct sock_call *call)
{
	int r = 0;

	while (r == 0 && !call->is_done) {
		if (ls->is_stopped)
			return LINK_E_CLOSED;
		if (now_ns() >= call->until_ns)
			return ls->is_up || ls->fd_greeting >= 0 ? LINK_E_TIMEOUT : ls->trouble;
		if (ls->is_up)
			turn_up(ls, call);
		else
			r = turn_down(ls, call);
	}
	return r;
}

/* hand_over -- whoever leaves sees to it that somebody reads, flushes or connects. */
static void
hand_over(struct link_sock *ls)
{
	struct list_link *next = list_first(&ls->calls);

	if (!ls->has_reader && next != NULL) {
		list_each(&ls->calls, at) {
			struct sock_call *call = list_of(at, struct sock_call, at);

			if (!call->is_done) {
				wake(call);
				return;
			}
		}
	}
}

static int
sock_call(struct link *link, uint16_t type, const struct buf *payload, uint64_t until_ns,
	  struct link_reply *ret_reply)
{
	struct link_sock *ls = of(link);
	struct sock_call call = {.until_ns = until_ns, .reply = ret_reply};
	int r;

	list_link_init(&call.at);
	buf_init(&call.frame);
	lock_take(&ls->lock);
	call.id = ls->next_id++;
	r = greet_frame(&call.frame, type, call.id, payload);
	if (r == 0) {
		list_push_back(&ls->calls, &call.at);
		r = run(ls, &call);
		list_remove(&call.at);
		hand_over(ls);
	}
	lock_drop(&ls->lock);

	if (call.has_cond)
		pthread_cond_destroy(&call.cond);
	buf_fini(&call.frame);
	if (r != 0 && call.is_done)
		link_reply_fini(ret_reply);
	return r < 0 ? err_up(r) : r;
}

static void
sock_post(struct link *link, uint16_t type, const struct buf *payload)
{
	struct link_sock *ls = of(link);
	struct buf frame;

	buf_init(&frame);
	lock_take(&ls->lock);
	if (ls->is_up && buf_len(&ls->out) < OUT_BYTES_MAX &&
	    greet_frame(&frame, type, ls->next_id++, payload) == 0)
		send_frame(ls, &frame);
	lock_drop(&ls->lock);
	buf_fini(&frame);
}

static void
sock_session(struct link *link, struct link_session *ret_session)
{
	struct link_sock *ls = of(link);

	lock_take(&ls->lock);
	*ret_session = ls->session;
	lock_drop(&ls->lock);
}

static void
sock_stop(struct link *link)
{
	struct link_sock *ls = of(link);

	lock_take(&ls->lock);
	ls->is_stopped = true;
	break_up(ls, "stopped");
	if (ls->fd_greeting >= 0)
		shutdown(ls->fd_greeting, SHUT_RDWR);
	wake_all(ls);
	lock_drop(&ls->lock);
}

static void
sock_free(struct link *link)
{
	struct link_sock *ls;

	if (link == NULL)
		return;
	ls = of(link);
	assert(list_is_empty(&ls->calls));
	fd_close_at(&ls->fd);
	buf_fini(&ls->in);
	buf_fini(&ls->out);
	lock_fini(&ls->lock);
	free(ls->address);
	free((char *)ls->config.name);
	free((char *)ls->config.tenant);
	free(ls);
}

static const struct link_ops sock_ops = {
	.call = sock_call,
	.post = sock_post,
	.session = sock_session,
	.stop = sock_stop,
	.free = sock_free,
};

int
link_sock_new(const char *address, const struct greet_config *config, struct link **ret_link)
{
	struct link_sock *ls = calloc(1, sizeof(*ls));

	if (ls == NULL)
		return err_new(-ENOMEM);

	ls->base.ops = &sock_ops;
	ls->magic = MAGIC;
	lock_init(&ls->lock, LOCK_core_link);
	list_init(&ls->calls);
	buf_init(&ls->in);
	buf_init(&ls->out);
	ls->fd = ls->fd_greeting = -1;
	ls->trouble = LINK_E_LOST;
	ls->next_id = 1 + config->client_id % 4096;
	ls->config = *config;
	ls->address = strdup(address);
	ls->config.name = strdup(config->name);
	ls->config.tenant = strdup(config->tenant);
	if (ls->address == NULL || ls->config.name == NULL || ls->config.tenant == NULL) {
		sock_free(&ls->base);
		return err_new(-ENOMEM);
	}
	*ret_link = &ls->base;
	return 0;
}
