/* SPDX-License-Identifier: Apache-2.0 */

/* tcp.c -- ops over connections: which peer, which connection, and the waiting (see tcp_conn.h). */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/engine.h"
#include "transfer/tcp_conn.h"
#include "transfer/tcp_rank.h"

/* Connections one waiter drives at a time; with more, the others wait for their turn. */
#define LED_MAX 32

/* Connections open at a time. */
#define CONNS_MAX 256

/* The longest sleep: a fake clock may have moved meanwhile. */
#define NAP_NS       (100 * NS_PER_MS)
#define NAP_SHORT_NS (1 * NS_PER_MS)

/* With so much under way on the first connection the next one is used, too. */
#define BUSY_BYTES (256ull << 10)

/* ---- peers ---- */

static struct tcp_peer *
peer_new(struct tcp *tcp, const struct target *target, uint64_t client_id)
{
	struct tcp_peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL || !tcp_paths_init(&peer->paths, target)) {
		free(peer);
		return NULL;
	}
	tcp_paths_rank_here(&peer->paths, &tcp->topology);
	memcpy(peer->endpoint, target->desc.endpoint, sizeof(peer->endpoint));
	peer->is_same_host = target->is_same_host;
	peer->client_id = client_id;
	for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++)
		tcp_conn_init(&peer->conns[i], peer);
	list_link_init(&peer->at);
	list_push_back(&tcp->peers, &peer->at);
	return peer;
}

static struct tcp_peer *
peer_find(struct tcp *tcp, const struct target *target, uint64_t client_id)
{
	list_each(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		if (peer->client_id == client_id && peer->is_same_host == target->is_same_host &&
		    strcmp(peer->endpoint, target->desc.endpoint) == 0)
			return peer;
	}
	return peer_new(tcp, target, client_id);
}

/* peer_forget -- one slot less. */
static void
peer_forget(struct tcp *tcp, struct tcp_peer *peer)
{
	assert(peer->n_targets > 0);

	peer->n_targets--;
	if (peer->n_targets == 0)
		tcp->n_orphans++;
}

/* peer_of -- the one this op goes to, or NULL. */
static struct tcp_peer *
peer_of(struct tcp *tcp, const struct op *op)
{
	void **slot = &op->target->slot[tcp->base.index];
	struct tcp_peer *peer = *slot;

	if (peer != NULL && peer->client_id == op->token->client_id)
		return peer;

	peer = peer_find(tcp, op->target, op->token->client_id);
	if (peer == NULL)
		return NULL;
	if (*slot != NULL)
		peer_forget(tcp, *slot);
	*slot = peer;
	peer->n_targets++;
	return peer;
}

static void
peer_free(struct tcp *tcp, struct tcp_peer *peer)
{
	list_remove(&peer->at);
	for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++) {
		assert(list_is_empty(&peer->conns[i].to_send));
		assert(list_is_empty(&peer->conns[i].sent));
		tcp->n_open -= peer->conns[i].state != TCP_DOWN;
		sock_abort_at(&peer->conns[i].fd);
		sock_abort_at(&peer->conns[i].probe_fd);
	}
	free(peer);
}

static bool
has_ops(const struct tcp_peer *peer)
{
	for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++)
		if (!list_is_empty(&peer->conns[i].to_send) || !list_is_empty(&peer->conns[i].sent))
			return true;
	return false;
}

/* leave -- out of submit() or progress(); the last one sees to peers that no target knows any more.
 */
static void
leave(struct tcp *tcp)
{
	assert(lock_held(&tcp->lock) && tcp->n_busy > 0);

	tcp->n_busy--;
	if (tcp->n_busy > 0 || tcp->n_orphans == 0)
		return;
	tcp->n_orphans = 0;
	list_each_safe(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		if (peer->n_targets > 0)
			continue;
		if (has_ops(peer))
			tcp->n_orphans++;
		else
			peer_free(tcp, peer);
	}
}

static void
tcp_drop(struct transport *t, struct target *target)
{
	struct tcp *tcp = container_of(t, struct tcp, base);
	struct tcp_peer *peer = take((struct tcp_peer **)&target->slot[t->index]);

	if (peer == NULL)
		return;
	lock_take(&tcp->lock);
	tcp->n_busy++;
	peer_forget(tcp, peer);
	leave(tcp);
	lock_drop(&tcp->lock);
}

/* ---- submit ---- */

static struct tcp_conn *
pick_conn(const struct tcp *tcp, struct tcp_peer *peer, uint64_t now_ns)
{
	struct tcp_conn *best = &peer->conns[0];

	if (best->queued_bytes <= BUSY_BYTES || now_ns < peer->crowded_until_ns)
		return best;
	for (size_t i = 1; i < TCP_CONNS_PER_PEER; i++) {
		struct tcp_conn *conn = &peer->conns[i];

		/* When many are open already, each peer makes do with one. */
		if (conn->state == TCP_DOWN && tcp->n_open >= tcp->conns_max / 2)
			continue;
		if (conn->queued_bytes < best->queued_bytes)
			best = conn;
	}
	return best;
}

static void
submit_locked(struct tcp *tcp, struct tcp_peer *peer, struct op *op, uint64_t now_ns)
{
	struct tcp_conn *conn = pick_conn(tcp, peer, now_ns);

	if (tcp_conn_is_stale(tcp, conn) || tcp_conn_may_return(conn, now_ns))
		tcp_conn_break(tcp, conn);
	tcp_conn_put(tcp, conn, op);
	(void)tcp_conn_send(tcp, conn);
	/* What did not go: the reader must wait for room, too, and may not know yet. */
	if (!list_is_empty(&conn->to_send) || conn->out.op != NULL) {
		if (conn->reader != NULL)
			tcp_ring(conn->reader);
	}
}

static int
tcp_submit(struct transport *t, struct op *op)
{
	struct tcp *tcp = container_of(t, struct tcp, base);
	uint64_t now_ns = clock_ns(engine_clock(t->engine));
	struct tcp_peer *peer;
	bool is_resting = false;

	if (op->token == NULL)
		return TRANSPORT_E_CANT;
	if (op->deadline_ns <= now_ns) { /* on the wire it would cost others their connection */
		engine_complete(t->engine, op, OP_E_TIMEOUT);
		return 0;
	}

	lock_take(&tcp->lock);
	tcp->n_busy++;
	peer = peer_of(tcp, op);
	if (peer != NULL && peer->rest_until_ns != 0) {
		is_resting = now_ns < peer->rest_until_ns;
		if (!is_resting)
			peer->rest_until_ns = 0;
	}
	is_resting |= tcp->is_stopped;
	if (peer != NULL && !is_resting)
		submit_locked(tcp, peer, op, now_ns);
	leave(tcp);
	lock_drop(&tcp->lock);

	if (peer == NULL)
		return TRANSPORT_E_CANT;
	if (is_resting)
		engine_complete(t->engine, op, OP_E_LOST);
	return 0;
}

/* ---- waiting ---- */

/* next_deadline -- of the batch's ops that is not over yet. */
static uint64_t
next_deadline(const struct batch *batch, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < batch->n_ops; i++)
		if (batch->ops[i].deadline_ns > now_ns)
			next_ns = num_min(next_ns, batch->ops[i].deadline_ns);
	return next_ns;
}

static void
waiter_enter(struct tcp *tcp, struct tcp_waiter *waiter)
{
	waiter->event_fd = tcp->n_spare_fds > 0 ? tcp->spare_fds[--tcp->n_spare_fds]
						: eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* Also those whose time was over before they came here: the first turn makes an end of
	 * them. */
	waiter->deadline_ns = next_deadline(waiter->batch, 0);
	list_link_init(&waiter->at);
	list_push_back(&tcp->waiters, &waiter->at);
}

/* hand_on -- give up the role; ring one who has ops on the connection. */
static void
hand_on(struct tcp *tcp, struct tcp_conn *conn)
{
	conn->reader = NULL;
	list_each(&tcp->waiters, link) {
		struct tcp_waiter *heir = list_of(link, struct tcp_waiter, at);

		if (tcp_conn_carries(conn, heir->batch)) {
			tcp_ring(heir);
			return;
		}
	}
}

/* let_go -- of every connection that it drives. */
static void
let_go(struct tcp *tcp, const struct tcp_waiter *waiter)
{
	list_each(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++)
			if (peer->conns[i].reader == waiter)
				hand_on(tcp, &peer->conns[i]);
	}
}

static void
waiter_leave(struct tcp *tcp, struct tcp_waiter *waiter)
{
	list_remove(&waiter->at);
	let_go(tcp, waiter);
	if (waiter->event_fd >= 0 && tcp->n_spare_fds < array_len(tcp->spare_fds))
		tcp->spare_fds[tcp->n_spare_fds++] = waiter->event_fd;
	else
		fd_close_at(&waiter->event_fd);
}

/* What a waiter drives in one turn. */
struct led {
	struct tcp_conn *conns[LED_MAX];
	size_t n;
	bool has_changed; /* the lock was put aside: look again */
	bool is_short;    /* a connection must wait until another is free */
};

static void
look_at(struct tcp *tcp, struct tcp_waiter *waiter, struct tcp_conn *conn, struct led *led)
{
	if (!tcp_conn_carries(conn, waiter->batch)) {
		if (conn->reader == waiter)
			hand_on(tcp, conn);
		return;
	}
	if (conn->state == TCP_DOWN && !tcp_pool_admits(tcp)) {
		led->is_short = true;
		return;
	}
	if (conn->state == TCP_DOWN) {
		let_go(tcp, waiter); /* looking a name up may take long */
		tcp_conn_open(tcp, conn);
		led->has_changed = true;
		return;
	}
	if (conn->reader == NULL)
		conn->reader = waiter;
	if (conn->reader == waiter && led->n < LED_MAX)
		led->conns[led->n++] = conn;
}

/* lead -- the connections that carry our batch and that nobody else drives. */
static void
lead(struct tcp *tcp, struct tcp_waiter *waiter, struct led *led)
{
	list_each(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		for (size_t i = 0; i < TCP_CONNS_PER_PEER && !led->has_changed; i++)
			look_at(tcp, waiter, &peer->conns[i], led);
	}
}

static void
expire(struct tcp *tcp, struct tcp_waiter *waiter, uint64_t now_ns)
{
	list_each(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++)
			tcp_conn_expire(tcp, &peer->conns[i], waiter->batch, now_ns);
	}
	/* The batch may be done; its ops are still there, for we have not returned. */
	waiter->deadline_ns = next_deadline(waiter->batch, now_ns);
}

/* is_of_one_peer -- then one may be waited for a little while bytes of the other pile up: few large
 * receives cost half of what many small ones do.  Peers never wait for each other. */
static bool
is_of_one_peer(const struct led *led)
{
	for (size_t i = 1; i < led->n; i++)
		if (led->conns[i]->peer != led->conns[0]->peer)
			return false;
	return true;
}

static bool
drive(struct tcp *tcp, struct tcp_waiter *waiter, struct led *led)
{
	bool has_moved = false, may_wait = is_of_one_peer(led);

	for (size_t i = 0; i < led->n && !batch_is_done(waiter->batch); i++) {
		struct tcp_conn *conn = led->conns[i];

		if (conn->reader != waiter)
			continue;
		has_moved |= tcp_conn_open_step(tcp, conn);
		has_moved |= tcp_conn_send(tcp, conn);
		has_moved |= tcp_conn_recv(tcp, conn, may_wait);
	}
	return has_moved;
}

/* watch -- the ways of those that are silent. */
static bool
watch(struct tcp *tcp, struct led *led, uint64_t now_ns)
{
	bool has_ended = false;

	for (size_t i = 0; i < led->n; i++)
		has_ended |= tcp_conn_watch(tcp, led->conns[i], now_ns);
	return has_ended;
}

static bool
wants_to_send(const struct tcp_conn *conn)
{
	return !conn->is_sending && (conn->out.op != NULL || !list_is_empty(&conn->to_send));
}

/* What one connection is waited for with. */
static void
fill_pollfds(struct tcp_conn *conn, struct pollfd *pollfd, struct pollfd *probe)
{
	*pollfd = (struct pollfd){.fd = -1, .events = POLLIN};
	*probe = (struct pollfd){.fd = conn->probe_fd, .events = POLLOUT};
	if (conn->state == TCP_OPENING && !conn->is_looking)
		*pollfd = (struct pollfd){.fd = conn->fd, .events = POLLOUT};
	if (conn->state == TCP_UP)
		pollfd->fd = conn->fd;
	if (conn->state == TCP_UP && wants_to_send(conn))
		pollfd->events |= POLLOUT;
	if (pollfd->fd >= 0)
		tcp_conn_enter(conn);
}

/* nap_ns -- the longest to sleep for. */
static uint64_t
nap_ns(const struct tcp_waiter *waiter, const struct led *led, uint64_t now_ns)
{
	uint64_t until_ns = num_min(waiter->until_ns, waiter->deadline_ns);
	uint64_t most_ns = waiter->event_fd >= 0 && !led->is_short ? NAP_NS : NAP_SHORT_NS;

	for (size_t i = 0; i < led->n; i++)
		until_ns = num_min(until_ns, tcp_conn_wakes_ns(led->conns[i]));
	return num_min(until_ns > now_ns ? until_ns - now_ns : 0, most_ns);
}

/* sleep_on -- until a socket is ready, somebody rings, or it is time. */
static void
sleep_on(struct tcp *tcp, struct tcp_waiter *waiter, struct led *led, uint64_t now_ns)
{
	struct timespec nap = {.tv_nsec = (long)nap_ns(waiter, led, now_ns)};
	struct pollfd pollfds[2 * LED_MAX + 1];
	eventfd_t rung;

	for (size_t i = 0; i < led->n; i++)
		fill_pollfds(led->conns[i], &pollfds[2 * i], &pollfds[2 * i + 1]);
	pollfds[2 * led->n] = (struct pollfd){.fd = waiter->event_fd, .events = POLLIN};

	waiter->is_asleep = true;
	lock_drop(&tcp->lock);
	(void)ppoll(pollfds, 2 * led->n + 1, &nap, NULL);
	lock_take(&tcp->lock);
	waiter->is_asleep = false;

	if (waiter->is_rung && waiter->event_fd >= 0)
		(void)eventfd_read(waiter->event_fd, &rung);
	for (size_t i = 0; i < led->n; i++)
		if (pollfds[2 * i].fd >= 0)
			tcp_conn_leave(tcp, led->conns[i]);
}

static void
turn(struct tcp *tcp, struct tcp_waiter *waiter)
{
	uint64_t now_ns = clock_ns(engine_clock(tcp->base.engine));
	bool has_moved, has_ended;
	struct led led;

	led.n = 0;
	led.has_changed = led.is_short = false;
	waiter->is_rung = false;
	if (now_ns >= waiter->deadline_ns) {
		expire(tcp, waiter, now_ns);
		return;
	}
	lead(tcp, waiter, &led);
	if (led.has_changed)
		return;
	has_moved = drive(tcp, waiter, &led);
	has_ended = watch(tcp, &led, now_ns);
	if (has_moved || has_ended || waiter->is_rung)
		return;
	sleep_on(tcp, waiter, &led, now_ns);
}

static void
tcp_progress(struct transport *t, struct batch *batch, uint64_t until_ns)
{
	struct tcp *tcp = container_of(t, struct tcp, base);
	const struct clock *clock = engine_clock(t->engine);
	struct tcp_waiter waiter = {.batch = batch, .until_ns = until_ns};

	lock_take(&tcp->lock);
	tcp->n_busy++;
	waiter_enter(tcp, &waiter);
	while (!batch_is_done(batch)) {
		turn(tcp, &waiter);
		if (until_ns != UINT64_MAX && clock_ns(clock) >= until_ns)
			break;
	}
	waiter_leave(tcp, &waiter);
	leave(tcp);
	lock_drop(&tcp->lock);
}

/* ---- life ---- */

/* Who is in the middle of looking a name up learns of it when that is over. */
static void
tcp_stop(struct transport *t)
{
	struct tcp *tcp = container_of(t, struct tcp, base);

	lock_take(&tcp->lock);
	tcp->is_stopped = true;
	list_each(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++)
			tcp_conn_break(tcp, &peer->conns[i]);
	}
	list_each(&tcp->waiters, link)
		tcp_ring(list_of(link, struct tcp_waiter, at));
	lock_drop(&tcp->lock);
}

static void
cancel_all(struct tcp *tcp, struct list *ops)
{
	for (struct list_link *link; (link = list_first(ops)) != NULL;) {
		list_remove(link);
		engine_complete(tcp->base.engine, list_of(link, struct op, at), OP_E_CANCELLED);
	}
}

static void
tcp_free(struct transport *t)
{
	struct tcp *tcp = container_of(t, struct tcp, base);

	assert(tcp->n_busy == 0);

	list_each_safe(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++) {
			struct tcp_conn *conn = &peer->conns[i];

			sock_abort_at(&conn->fd);
			cancel_all(tcp, &conn->sent);
			cancel_all(tcp, &conn->to_send);
		}
		peer_free(tcp, peer);
	}
	while (tcp->n_spare_fds > 0)
		close(tcp->spare_fds[--tcp->n_spare_fds]);
	topology_free(tcp->topology);
	pthread_cond_destroy(&tcp->left);
	lock_fini(&tcp->lock);
	free(tcp);
}

static const struct transport_ops tcp_ops = {
	.name = "tcp",
	.cuts = true,
	.submit = tcp_submit,
	.progress = tcp_progress,
	.drop = tcp_drop,
	.stop = tcp_stop,
	.free = tcp_free,
};

int
transport_tcp_new(struct transport **ret_t)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));

	if (tcp == NULL)
		return err_new(-ENOMEM);
	tcp->base.ops = &tcp_ops;
	lock_init(&tcp->lock, LOCK_xfer_path);
	lock_cond_init(&tcp->left);
	list_init(&tcp->peers);
	list_init(&tcp->waiters);
	tcp->conns_max = CONNS_MAX;
	*ret_t = &tcp->base;
	return 0;
}

void
transport_tcp_set(struct transport *t, unsigned conns_max)
{
	struct tcp *tcp = container_of(t, struct tcp, base);

	assert(t->ops == &tcp_ops && conns_max > 0);
	tcp->conns_max = conns_max;
}
