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

/* Connections one waiter drives at a time; with more, the others wait for their turn. */
#define LED_MAX 32

/* The longest sleep: a fake clock may have moved meanwhile. */
#define NAP_NS       (100 * NS_PER_MS)
#define NAP_SHORT_NS (1 * NS_PER_MS)

/* With so much under way on the first connection the next one is used, too. */
#define BUSY_BYTES (256ull << 10)

/* ---- peers ---- */

static bool
has_usable_address(const struct target *target)
{
	char text[SOCK_ADDR_TEXT_MAX];

	for (size_t i = 0; target_address(&target->desc, i, text, sizeof(text)); i++)
		if (target_can_use(target, text))
			return true;
	return false;
}

static struct tcp_peer *
peer_new(struct tcp *tcp, const struct target *target, uint64_t client_id)
{
	struct tcp_peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return NULL;
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
	if (!has_usable_address(target))
		return NULL;
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
peer_free(struct tcp_peer *peer)
{
	list_remove(&peer->at);
	for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++) {
		assert(list_is_empty(&peer->conns[i].to_send));
		assert(list_is_empty(&peer->conns[i].sent));
		fd_close_at(&peer->conns[i].fd);
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
			peer_free(peer);
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
pick_conn(struct tcp_peer *peer, uint64_t now_ns)
{
	struct tcp_conn *best = &peer->conns[0];

	if (best->queued_bytes <= BUSY_BYTES || now_ns < peer->crowded_until_ns)
		return best;
	for (size_t i = 1; i < TCP_CONNS_PER_PEER; i++)
		if (peer->conns[i].queued_bytes < best->queued_bytes)
			best = &peer->conns[i];
	return best;
}

static void
submit_locked(struct tcp *tcp, struct tcp_peer *peer, struct op *op, uint64_t now_ns)
{
	struct tcp_conn *conn = pick_conn(peer, now_ns);

	if (tcp_conn_is_stale(tcp, conn))
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

static void
waiter_leave(struct tcp *tcp, struct tcp_waiter *waiter)
{
	list_remove(&waiter->at);
	list_each(&tcp->peers, link) {
		struct tcp_peer *peer = list_of(link, struct tcp_peer, at);

		for (size_t i = 0; i < TCP_CONNS_PER_PEER; i++)
			if (peer->conns[i].reader == waiter)
				hand_on(tcp, &peer->conns[i]);
	}
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
};

static void
look_at(struct tcp *tcp, struct tcp_waiter *waiter, struct tcp_conn *conn, struct led *led)
{
	if (!tcp_conn_carries(conn, waiter->batch)) {
		if (conn->reader == waiter)
			hand_on(tcp, conn);
		return;
	}
	if (conn->state == TCP_DOWN) {
		tcp_conn_open(tcp, conn, waiter->deadline_ns);
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

static bool
drive(struct tcp *tcp, struct tcp_waiter *waiter, struct led *led)
{
	bool has_moved = false;

	for (size_t i = 0; i < led->n && !batch_is_done(waiter->batch); i++) {
		struct tcp_conn *conn = led->conns[i];

		if (conn->reader != waiter)
			continue;
		has_moved |= tcp_conn_send(tcp, conn);
		has_moved |= tcp_conn_recv(tcp, conn, /* may_wait= */ led->n == 1);
	}
	return has_moved;
}

static bool
wants_to_send(const struct tcp_conn *conn)
{
	return !conn->is_sending && (conn->out.op != NULL || !list_is_empty(&conn->to_send));
}

/* sleep_on -- until a socket is ready, somebody rings, or it is time. */
static void
sleep_on(struct tcp *tcp, struct tcp_waiter *waiter, struct led *led, uint64_t now_ns)
{
	uint64_t until_ns = num_min(waiter->until_ns, waiter->deadline_ns);
	uint64_t nap_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct pollfd pollfds[LED_MAX + 1];
	struct timespec nap;
	eventfd_t rung;

	nap_ns = num_min(nap_ns, waiter->event_fd >= 0 ? NAP_NS : NAP_SHORT_NS);
	nap = (struct timespec){.tv_nsec = (long)nap_ns};
	for (size_t i = 0; i < led->n; i++) {
		struct tcp_conn *conn = led->conns[i];

		pollfds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
		if (conn->state != TCP_UP)
			continue;
		pollfds[i].fd = conn->fd;
		if (wants_to_send(conn))
			pollfds[i].events |= POLLOUT;
		tcp_conn_enter(conn);
	}
	pollfds[led->n] = (struct pollfd){.fd = waiter->event_fd, .events = POLLIN};

	waiter->is_asleep = true;
	lock_drop(&tcp->lock);
	(void)ppoll(pollfds, led->n + 1, &nap, NULL);
	lock_take(&tcp->lock);
	waiter->is_asleep = false;

	if (waiter->is_rung && waiter->event_fd >= 0)
		(void)eventfd_read(waiter->event_fd, &rung);
	for (size_t i = 0; i < led->n; i++)
		if (pollfds[i].fd >= 0)
			tcp_conn_leave(tcp, led->conns[i]);
}

static void
turn(struct tcp *tcp, struct tcp_waiter *waiter)
{
	uint64_t now_ns = clock_ns(engine_clock(tcp->base.engine));
	struct led led;

	led.n = 0;
	led.has_changed = false;
	waiter->is_rung = false;
	if (now_ns >= waiter->deadline_ns) {
		expire(tcp, waiter, now_ns);
		return;
	}
	lead(tcp, waiter, &led);
	if (led.has_changed || drive(tcp, waiter, &led) || waiter->is_rung)
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

/* Who is in the middle of connecting learns of it when that is over (OPEN_MS_MAX). */
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

			if (conn->fd >= 0)
				shutdown(conn->fd, SHUT_RDWR);
			cancel_all(tcp, &conn->sent);
			cancel_all(tcp, &conn->to_send);
		}
		peer_free(peer);
	}
	while (tcp->n_spare_fds > 0)
		close(tcp->spare_fds[--tcp->n_spare_fds]);
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
	*ret_t = &tcp->base;
	return 0;
}
