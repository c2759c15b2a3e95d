/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tcp_open.c -- how connections come to be, and how one finds out that its way has ended.
 *
 * Nothing here waits for a peer: who opens a connection drives others meanwhile.
 *
 * A way that has ended says nothing.  So when bytes are owed to us, none has come for a while and
 * there is another way, a second connection is begun on the same way: whoever lives answers that
 * at once, were its programs stopped ten times.  If nobody does, the way is given up.
 */
#include "transfer/tcp_conn.h"

#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/engine.h"

#include <sys/socket.h>

#define OPEN_NS    (5 * NS_PER_S)
#define TRY_NS     (200 * NS_PER_MS) /* of one way, while there are others to be tried */
#define SPARE_NS   (60 * NS_PER_S)   /* so long unused, a connection makes room for others */
#define SILENT_NS  (12 * NS_PER_MS)
#define SILENT_MAX (24 * NS_PER_MS)
#define PROBE_NS   (12 * NS_PER_MS)

/* Within the bytes of one op the reader waits so long for more, then looks at the time. */
#define STEP_US 20000

static uint64_t
now_of(const struct tcp *tcp)
{
	return clock_ns(engine_clock(tcp->base.engine));
}

static struct tcp_path *
path_of(const struct tcp_conn *conn)
{
	return &conn->peer->paths.all[conn->at_path];
}

/* ---- the pool -------------------------------------------------------------------- */

static bool
is_idle(const struct tcp_conn *conn)
{
	return conn->state == TCP_UP && conn->n_inside == 0 && list_is_empty(&conn->sent) &&
	       list_is_empty(&conn->to_send);
}

/* most_idle -- unused for the longest time; NULL: none is. */
static struct tcp_conn *
most_idle(struct tcp *tcp)
{
	struct tcp_conn *best = NULL;

	list_each(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++) {
			struct tcp_conn *conn = &peer->conns[i];

			if (is_idle(conn) && (best == NULL || conn->used_ns < best->used_ns))
				best = conn;
		}
	}
	return best;
}

bool
tcp_pool_admits(struct tcp *tcp)
{
	struct tcp_conn *idle = most_idle(tcp);

	assert(lock_held(&tcp->lock));

	if (idle != NULL &&
	    (tcp->n_open >= tcp->conns_max || now_of(tcp) - idle->used_ns >= SPARE_NS))
		tcp_conn_break(tcp, idle);
	return tcp->n_open < tcp->conns_max;
}

/* ---- opening --------------------------------------------------------------------- */

static void
ring_all(struct tcp *tcp)
{
	list_each(&tcp->waiters, link)
		tcp_ring(list_of(link, struct tcp_waiter, at));
}

/* give_up -- no way leads to the peer. */
static void
give_up(struct tcp *tcp, struct tcp_conn *conn)
{
	struct tcp_peer *peer = conn->peer;
	uint64_t until_ns = UINT64_MAX;

	for (unsigned i = 0; i < peer->paths.n; i++)
		until_ns = num_min(until_ns, peer->paths.all[i].rest_until_ns);
	peer->rest_until_ns = until_ns;
	ring_all(tcp);
	tcp_conn_close(tcp, conn);
}

/* open_next -- begin on the best way that was not tried yet. */
static void
open_next(struct tcp *tcp, struct tcp_conn *conn)
{
	struct tcp_paths *paths = &conn->peer->paths;

	for (;;) {
		unsigned at = tcp_paths_best(paths, conn->tried, now_of(tcp));
		int fd = -1;
		int r;

		if (at == paths->n)
			break;
		conn->tried |= 1u << at;
		conn->at_path = at;
		conn->is_looking = true;
		lock_drop(&tcp->lock);
		r = tcp_path_reach(paths->all[at].text, &conn->addr, &fd);
		lock_take(&tcp->lock);
		conn->is_looking = false;
		if (tcp->is_stopped) {
			sock_abort_at(&fd);
			break;
		}
		if (r == 0) {
			bool is_last = tcp_paths_best(paths, conn->tried, 0) == paths->n;

			conn->fd = fd;
			conn->late_ns = num_add_sat(now_of(tcp), is_last ? OPEN_NS : TRY_NS);
			ring_all(tcp);
			return;
		}
		tcp_path_failed(&paths->all[at], now_of(tcp));
	}
	give_up(tcp, conn);
}

void
tcp_conn_open(struct tcp *tcp, struct tcp_conn *conn)
{
	assert(lock_held(&tcp->lock) && conn->state == TCP_DOWN);

	conn->state = TCP_OPENING;
	conn->tried = 0;
	tcp->n_open++;
	open_next(tcp, conn);
}

static void
is_up(struct tcp *tcp, struct tcp_conn *conn)
{
	struct timeval step = {.tv_usec = STEP_US};

	(void)setsockopt(conn->fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof(step));
	tcp_path_works(path_of(conn));
	conn->state = TCP_UP;
	conn->used_ns = conn->heard_ns = now_of(tcp);
	conn->silent_ns = SILENT_NS;
	ring_all(tcp);
}

bool
tcp_conn_open_step(struct tcp *tcp, struct tcp_conn *conn)
{
	int r;

	assert(lock_held(&tcp->lock));

	if (conn->state != TCP_OPENING || conn->is_looking || conn->n_inside > 0)
		return false;
	r = sock_connect_end(conn->fd);
	if (r == SOCK_E_TIMEOUT && now_of(tcp) < conn->late_ns)
		return false;
	if (r == 0) {
		is_up(tcp, conn);
		return true;
	}
	sock_abort_at(&conn->fd);
	tcp_path_failed(path_of(conn), now_of(tcp));
	open_next(tcp, conn);
	return true;
}

/* ---- is the way still there? ------------------------------------------------------ */

static bool
is_watched(const struct tcp_conn *conn)
{
	return conn->state == TCP_UP && conn->peer->paths.n > 1 && !path_of(conn)->is_unix &&
	       !list_is_empty(&conn->sent);
}

uint64_t
tcp_conn_wakes_ns(const struct tcp_conn *conn)
{
	if (conn->state == TCP_OPENING)
		return conn->is_looking ? UINT64_MAX : conn->late_ns;
	if (!is_watched(conn))
		return UINT64_MAX;
	return conn->probe_fd >= 0 && conn->probe_path == conn->at_path
		       ? conn->probe_until_ns
		       : conn->heard_ns + conn->silent_ns;
}

static void
path_has_ended(struct tcp *tcp, struct tcp_conn *conn, uint64_t now_ns)
{
	struct tcp_path *path = path_of(conn);

	log_event(LOG_WARN, "tcp_path_lost", "address=\"%s\"", path->text);
	tcp_path_failed(path, now_ns);
	tcp_conn_break(tcp, conn);
}

/* better_than -- the way that the connection would take if it were made now. */
static unsigned
better_than(const struct tcp_conn *conn, uint64_t now_ns)
{
	unsigned best = tcp_paths_best(&conn->peer->paths, 0, now_ns);

	return best < conn->at_path ? best : conn->at_path;
}

bool
tcp_conn_may_return(const struct tcp_conn *conn, uint64_t now_ns)
{
	const struct tcp_paths *paths = &conn->peer->paths;

	return conn->peer->paths.n > 1 && is_idle(conn) &&
	       paths->all[better_than(conn, now_ns)].rest_ns == 0 &&
	       better_than(conn, now_ns) != conn->at_path;
}

/* probe_begin -- 0: it is under way. */
static int
probe_begin(struct tcp_conn *conn, unsigned at, uint64_t now_ns)
{
	struct sock_addr addr;

	conn->probe_path = at;
	conn->probe_until_ns = num_add_sat(now_ns, PROBE_NS);
	if (at == conn->at_path)
		return sock_connect_begin(&conn->addr, &conn->probe_fd);
	return tcp_path_reach(conn->peer->paths.all[at].text, &addr, &conn->probe_fd);
}

/* probe_ask -- one that is under way, or is begun: what is known of that way?  SOCK_E_TIMEOUT:
 * nothing yet. */
static int
probe_ask(struct tcp_conn *conn, unsigned at, uint64_t now_ns)
{
	int r;

	if (conn->probe_fd >= 0 && conn->probe_path != at)
		sock_abort_at(&conn->probe_fd);
	if (conn->probe_fd < 0) {
		r = probe_begin(conn, at, now_ns);
		return r == 0 ? SOCK_E_TIMEOUT : r;
	}
	r = sock_connect_end(conn->probe_fd);
	if (r == SOCK_E_TIMEOUT && now_ns < conn->probe_until_ns)
		return r;
	sock_abort_at(&conn->probe_fd);
	return r == SOCK_E_TIMEOUT ? SOCK_E_LOST : r;
}

/* watch_better -- one that had failed and has rested: the next connection may be made there. */
static void
watch_better(struct tcp_conn *conn, uint64_t now_ns)
{
	unsigned at = better_than(conn, now_ns);
	struct tcp_path *path = &conn->peer->paths.all[at];
	int r;

	if (conn->state != TCP_UP || at == conn->at_path || path->rest_ns == 0 ||
	    path->rest_until_ns > now_ns || !tcp_path_is_numeric(path)) {
		sock_abort_at(&conn->probe_fd);
		return;
	}
	r = probe_ask(conn, at, now_ns);
	if (r == 0)
		tcp_path_works(path);
	else if (r != SOCK_E_TIMEOUT)
		tcp_path_failed(path, now_ns);
}

bool
tcp_conn_watch(struct tcp *tcp, struct tcp_conn *conn, uint64_t now_ns)
{
	int r;

	assert(lock_held(&tcp->lock));

	if (!is_watched(conn) || now_ns < conn->heard_ns + conn->silent_ns) {
		watch_better(conn, now_ns);
		return false;
	}
	r = probe_ask(conn, conn->at_path, now_ns);
	if (r == SOCK_E_TIMEOUT)
		return false;
	if (r == 0) { /* it lives, and is slow */
		conn->heard_ns = now_ns;
		conn->silent_ns = num_min(2 * conn->silent_ns, SILENT_MAX);
		return false;
	}
	path_has_ended(tcp, conn, now_ns);
	return true;
}
