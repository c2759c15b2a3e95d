/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma.c -- one-sided READs and WRITEs: which peer, and the waiting (see rdma_group.h).
 *
 * There is no thread of our own.  Who submits posts what there is room for; who waits looks for
 * completions of the groups that carry its batch, posts what has room then, and sleeps on their
 * channels when nothing has come for a while.  Several who wait for the same group are all woken
 * by its channels, and one is rung by whoever leaves, for that one had perhaps taken the ring.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transfer/base/crc.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/engine.h"
#include "transfer/rdma_peer.h"

/* Groups that one waiter sleeps on; with more, naps are short. */
#define LED_MAX 16
#define FDS_MAX (LED_MAX * RDMA_CONNS_MAX * 2 + 1)

/* The longest sleep: a fake clock may have moved meanwhile, or a connection be late. */
#define NAP_MS       20
#define NAP_SHORT_MS 1

/* So long after something came it is looked for without sleeping, where a processor is to spare:
 * to be woken costs 30 us and more. */
#define SPIN_NS    (30 * NS_PER_MS / 1000)
#define SPIN_CORES 4

/* A queue pair that is cut off tells so within a second (rdma_conn.c). */
#define STALL_NS (3 * NS_PER_S)

#define RDMA_E_NOT_ALLOWED (TRANSPORT_E_CANT + 1)

struct waiter {
	struct list_link at;
	struct batch *batch;
	uint64_t until_ns;
	uint64_t deadline_ns; /* the next one of the batch's ops */
	uint64_t moved_ns;    /* when something came last */
	int event_fd;
	bool is_asleep, is_rung;
};

/* ---- waiters ---- */

static void
ring(struct waiter *waiter)
{
	if (waiter->is_asleep && !waiter->is_rung && waiter->event_fd >= 0)
		(void)eventfd_write(waiter->event_fd, 1);
	waiter->is_rung = true;
}

static void
ring_all(struct rdma *rdma)
{
	list_each(&rdma->waiters, link)
		ring(list_of(link, struct waiter, at));
}

static void
ring_done(struct rdma *rdma)
{
	list_each(&rdma->waiters, link) {
		struct waiter *waiter = list_of(link, struct waiter, at);

		if (batch_is_done(waiter->batch))
			ring(waiter);
	}
}

/* ---- ends ---- */

static uint32_t
sum_of(const struct op *op)
{
	struct op_cursor cursor;
	uint32_t crc = 0;
	uint64_t len;

	op_cursor_init(&cursor, op, 0);
	for (uint64_t left = op->len_bytes; left > 0; left -= len) {
		struct iovec slice;

		(void)op_cursor_look(&cursor, left, &slice, 1, &len);
		crc = crc_of(crc, slice.iov_base, slice.iov_len);
		op_cursor_move(&cursor, len);
	}
	return crc;
}

/* end -- no lock is held; the op is its owner's afterwards, or another transport's. */
static void
end(struct rdma *rdma, struct rdma_move *move)
{
	struct op *op = move->op;

	rdma_move_close(move);
	if (move->result == OP_E_PENDING) {
		op->must_cut = op->kind == OP_WRITE && move->was_posted;
		engine_pass(rdma->base.engine, op);
		return;
	}
	if (move->result == OP_DONE && op->want_crc) {
		/* What a WRITE carries has no other who could sum it. */
		op->skipped_crc = op->is_device || (op->may_skip_crc && op->kind == OP_READ);
		op->crc = op->skipped_crc ? 0 : sum_of(op);
	}
	engine_complete(rdma->base.engine, op, move->result);
}

/* tell_ends -- puts the lock aside. */
static void
tell_ends(struct rdma *rdma)
{
	while (!list_is_empty(&rdma->done)) {
		struct list_link *link = list_first(&rdma->done);
		struct rdma_move *move = list_of(link, struct rdma_move, at);

		list_remove(link);
		rdma->n_closing++;
		lock_drop(&rdma->lock);
		end(rdma, move);
		lock_take(&rdma->lock);
		slab_give(&rdma->moves, move);
		if (--rdma->n_closing == 0)
			ring_all(rdma); /* one may have waited for nothing else */
		else
			ring_done(rdma);
	}
}

/* ---- peers ---- */

static void
rdma_drop(struct transport *t, struct target *target)
{
	struct rdma *rdma = container_of(t, struct rdma, base);
	struct rdma_peer *peer = take((struct rdma_peer **)&target->slot[t->index]);

	if (peer == NULL || peer == &rdma_no_way)
		return;
	lock_take(&rdma->lock);
	rdma->n_busy++;
	rdma_peer_forget(rdma, peer);
	rdma_leave(rdma);
	lock_drop(&rdma->lock);
}

/* ---- devices and memory ---- */

struct rdma_nic *
rdma_nic_of(struct rdma *rdma, struct ibv_context *verbs)
{
	struct rdma_nic *spare = NULL;
	char why[256];
	int r;

	for (unsigned i = 0; i < RDMA_NICS_MAX; i++) {
		if (rdma->nics[i].verbs == verbs)
			return &rdma->nics[i];
		if (rdma->nics[i].verbs == NULL && spare == NULL)
			spare = &rdma->nics[i];
	}
	if (spare == NULL)
		return NULL;
	r = rdma_nic_open(spare, verbs);
	if (r == 0)
		return spare;
	log_event(LOG_WARN, "rdma_device_unused", "device=%s why=\"%s\"",
		  ibv_get_device_name(verbs->device),
		  rdma_mr_why(why, sizeof(why), r, verbs, RDMA_STAGE_BYTES));
	return NULL;
}

static int
rdma_learn(struct transport *t, const struct memory *memory)
{
	struct rdma *rdma = container_of(t, struct rdma, base);
	int r;

	lock_take(&rdma->lock);
	r = rdma_cache_add(&rdma->cache, memory);
	lock_drop(&rdma->lock);
	return err_up(r);
}

static void
rdma_unlearn(struct transport *t, const void *at)
{
	struct rdma *rdma = container_of(t, struct rdma, base);

	lock_take(&rdma->lock);
	rdma_cache_remove(&rdma->cache, at);
	lock_drop(&rdma->lock);
}

/* ---- submit ---- */

static struct rdma_move *
move_new(struct rdma *rdma, struct op *op)
{
	struct rdma_move *move = slab_alloc(&rdma->moves, sizeof(*move));

	if (move == NULL)
		return NULL;
	*move = (struct rdma_move){.op = op, .result = OP_E_PENDING};
	list_link_init(&move->at);
	return move;
}

/* is_allowed -- the client keeps to its tokens, where no provider looks at each op. */
static bool
is_allowed(const struct op *op)
{
	const struct token *token = op->token;

	if (op->kind == OP_WRITE && (token->rights & TOKEN_WRITE) == 0)
		return false;
	return token->len_bytes == 0 || (op->offset_bytes >= token->offset_bytes &&
					 num_range_fits(op->offset_bytes - token->offset_bytes,
							op->len_bytes, token->len_bytes));
}

/* take_on -- into the group of its token's rights.  0, or TRANSPORT_E_CANT. */
static int
take_on(struct rdma *rdma, struct rdma_peer *peer, struct op *op, uint64_t now_ns)
{
	struct rdma_group *group = &peer->groups[(op->token->rights & TOKEN_WRITE) != 0];
	struct rdma_move *move;

	if (rdma_group_is_resting(group, now_ns) || rdma->is_stopped)
		return TRANSPORT_E_CANT;
	move = move_new(rdma, op);
	if (move == NULL)
		return TRANSPORT_E_CANT;
	rdma_group_put(rdma, group, move);
	(void)rdma_group_turn(rdma, group, now_ns);
	return 0;
}

static int
rdma_submit(struct transport *t, struct op *op)
{
	struct rdma *rdma = container_of(t, struct rdma, base);
	uint64_t now_ns = clock_ns(engine_clock(t->engine));
	struct rdma_peer *peer;
	int r = TRANSPORT_E_CANT;

	if (op->token == NULL)
		return TRANSPORT_E_CANT;
	if (op->deadline_ns <= now_ns) {
		engine_complete(t->engine, op, OP_E_TIMEOUT);
		return 0;
	}
	lock_take(&rdma->lock);
	rdma->n_busy++;
	peer = rdma_peer_of(rdma, op);
	if (peer != NULL && peer != &rdma_no_way)
		r = is_allowed(op) ? take_on(rdma, peer, op, now_ns) : RDMA_E_NOT_ALLOWED;
	tell_ends(rdma);
	rdma_leave(rdma);
	lock_drop(&rdma->lock);
	if (r != RDMA_E_NOT_ALLOWED)
		return r;
	engine_complete(t->engine, op, OP_E_REFUSED);
	return 0;
}

/* ---- waiting ---- */

static uint64_t
next_deadline(const struct batch *batch, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < batch->n_ops; i++)
		if (batch->ops[i].deadline_ns > now_ns)
			next_ns = num_min(next_ns, batch->ops[i].deadline_ns);
	return next_ns;
}

/* What a waiter looks after in one turn. */
struct led {
	struct rdma_group *groups[LED_MAX];
	size_t n;
	bool are_all; /* none was left out */
};

static struct led
lead(struct rdma *rdma, const struct batch *batch)
{
	struct led led = {.are_all = true};

	list_each(&rdma->peers, link) {
		struct rdma_peer *peer = list_of(link, struct rdma_peer, at);

		for (size_t i = 0; i < array_len(peer->groups); i++) {
			if (!rdma_group_carries(&peer->groups[i], batch))
				continue;
			if (led.n == LED_MAX)
				led.are_all = false;
			else
				led.groups[led.n++] = &peer->groups[i];
		}
	}
	return led;
}

/* hand_on -- somebody else who has ops there must look: the ring for it may be ours. */
static void
hand_on(struct rdma *rdma, const struct waiter *from, const struct led *led)
{
	for (size_t i = 0; i < led->n; i++) {
		if (rdma_group_is_armed(led->groups[i]))
			continue;
		list_each(&rdma->waiters, link) {
			struct waiter *heir = list_of(link, struct waiter, at);

			if (heir != from && rdma_group_carries(led->groups[i], heir->batch)) {
				ring(heir);
				break;
			}
		}
	}
}

static bool
arm_all(const struct led *led)
{
	bool is_quiet = true;

	for (size_t i = 0; i < led->n; i++)
		is_quiet &= rdma_group_arm(led->groups[i]);
	return is_quiet;
}

static nfds_t
gather_fds(const struct led *led, const struct waiter *waiter, struct pollfd *ret)
{
	nfds_t n = 0;

	ret[n++] = (struct pollfd){.fd = waiter->event_fd, .events = POLLIN};
	for (size_t i = 0; i < led->n * RDMA_CONNS_MAX; i++) {
		const struct rdma_conn *conn =
			&led->groups[i / RDMA_CONNS_MAX]->conns[i % RDMA_CONNS_MAX];

		if (conn->events != NULL)
			ret[n++] = (struct pollfd){.fd = conn->events->fd, .events = POLLIN};
		if (conn->channel != NULL)
			ret[n++] = (struct pollfd){.fd = conn->channel->fd, .events = POLLIN};
	}
	return n;
}

static void
sleep_on(struct rdma *rdma, struct waiter *waiter, const struct led *led, uint64_t now_ns)
{
	uint64_t until_ns = num_min(waiter->until_ns, waiter->deadline_ns);
	uint64_t nap_ms = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;
	struct pollfd fds[FDS_MAX];
	eventfd_t rung;
	bool is_short;
	nfds_t n;

	if (waiter->event_fd < 0)
		waiter->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	is_short = waiter->event_fd < 0 || !led->are_all;
	n = gather_fds(led, waiter, fds);
	nap_ms = num_min(nap_ms, (uint64_t)(is_short ? NAP_SHORT_MS : NAP_MS));
	waiter->is_asleep = true;
	lock_drop(&rdma->lock);
	(void)poll(fds, n, (int)nap_ms);
	lock_take(&rdma->lock);
	waiter->is_asleep = false;
	if (waiter->is_rung && waiter->event_fd >= 0)
		(void)eventfd_read(waiter->event_fd, &rung);
	for (size_t i = 0; i < led->n; i++)
		rdma_group_quiet(led->groups[i]); /* they stay: we are counted in n_busy */
}

/* rest_a_little -- nothing has come: look again soon, or sleep. */
static void
rest_a_little(struct rdma *rdma, struct waiter *waiter, const struct led *led, uint64_t now_ns)
{
	if (rdma->may_spin && now_ns - waiter->moved_ns < SPIN_NS) {
		lock_drop(&rdma->lock);
		lock_take(&rdma->lock);
		return;
	}
	if (arm_all(led))
		sleep_on(rdma, waiter, led, now_ns);
}

static void
turn(struct rdma *rdma, struct waiter *waiter, const struct led *led)
{
	uint64_t now_ns = clock_ns(engine_clock(rdma->base.engine));
	bool has_moved = false;

	waiter->is_rung = false;
	if (now_ns >= waiter->deadline_ns) {
		for (size_t i = 0; i < led->n; i++)
			rdma_group_expire(rdma, led->groups[i], waiter->batch, now_ns);
		waiter->deadline_ns = next_deadline(waiter->batch, now_ns);
	}
	for (size_t i = 0; i < led->n; i++)
		has_moved |= rdma_group_turn(rdma, led->groups[i], now_ns);
	has_moved |= !list_is_empty(&rdma->done);
	tell_ends(rdma);
	if (has_moved)
		waiter->moved_ns = now_ns;
	else if (!waiter->is_rung)
		rest_a_little(rdma, waiter, led, now_ns);
}

static void
rdma_progress(struct transport *t, struct batch *batch, uint64_t until_ns)
{
	struct rdma *rdma = container_of(t, struct rdma, base);
	const struct clock *clock = engine_clock(t->engine);
	struct waiter waiter = {.batch = batch, .until_ns = until_ns, .event_fd = -1};
	struct led led;

	lock_take(&rdma->lock);
	rdma->n_busy++;
	waiter.deadline_ns = next_deadline(batch, 0);
	list_link_init(&waiter.at);
	list_push_back(&rdma->waiters, &waiter.at);
	for (;;) {
		led = lead(rdma, batch);
		if (batch_is_done(batch) || (led.n == 0 && rdma->n_closing == 0))
			break;
		turn(rdma, &waiter, &led);
		if (until_ns != UINT64_MAX && clock_ns(clock) >= until_ns)
			break;
	}
	list_remove(&waiter.at);
	led = lead(rdma, NULL);
	hand_on(rdma, &waiter, &led);
	fd_close_at(&waiter.event_fd);
	rdma_leave(rdma);
	lock_drop(&rdma->lock);
}

/* ---- life ---- */

static void
rdma_stop(struct transport *t)
{
	struct rdma *rdma = container_of(t, struct rdma, base);
	uint64_t now_ns = clock_ns(engine_clock(t->engine));

	lock_take(&rdma->lock);
	rdma->is_stopped = true;
	list_each(&rdma->peers, link) {
		struct rdma_peer *peer = list_of(link, struct rdma_peer, at);

		for (size_t i = 0; i < array_len(peer->groups); i++)
			rdma_group_break(rdma, &peer->groups[i], "stopped", now_ns);
	}
	ring_all(rdma);
	lock_drop(&rdma->lock);
}

static void
rdma_free(struct transport *t)
{
	struct rdma *rdma = container_of(t, struct rdma, base);

	assert(rdma->n_busy == 0);

	lock_take(&rdma->lock);
	rdma->is_stopped = true;
	list_each_safe(&rdma->peers, link)
		rdma_peer_free(rdma, list_of(link, struct rdma_peer, at));
	tell_ends(rdma);
	lock_drop(&rdma->lock);
	rdma_cache_fini(&rdma->cache);
	for (unsigned i = 0; i < RDMA_NICS_MAX; i++)
		rdma_nic_close(&rdma->nics[i]);
	slab_fini(&rdma->moves);
	lock_fini(&rdma->lock);
	free(rdma);
}

static void
rdma_counts(struct transport *t, struct transport_counts *ret_counts)
{
	struct rdma *rdma = container_of(t, struct rdma, base);

	lock_take(&rdma->lock);
	*ret_counts = rdma->counts;
	lock_drop(&rdma->lock);
}

void
transport_rdma_set(struct transport *t, unsigned conns_per_peer)
{
	struct rdma *rdma = container_of(t, struct rdma, base);

	assert(conns_per_peer >= 1 && conns_per_peer <= TRANSPORT_RDMA_CONNS_MAX);
	rdma->conns_per_peer = conns_per_peer;
}

static const struct transport_ops rdma_ops = {
	.name = "rdma",
	.reaches_devices = true,
	.submit = rdma_submit,
	.progress = rdma_progress,
	.learn = rdma_learn,
	.unlearn = rdma_unlearn,
	.counts = rdma_counts,
	.drop = rdma_drop,
	.stop = rdma_stop,
	.free = rdma_free,
};

int
transport_rdma_new(struct transport **ret_t)
{
	struct rdma *rdma = calloc(1, sizeof(*rdma));

	if (rdma == NULL)
		return err_new(-ENOMEM);
	rdma->base.ops = &rdma_ops;
	rdma->conns_per_peer = 1;
	rdma->stall_ns = STALL_NS;
	rdma->may_spin = sysconf(_SC_NPROCESSORS_ONLN) >= SPIN_CORES;
	lock_init(&rdma->lock, LOCK_xfer_path);
	list_init(&rdma->peers);
	list_init(&rdma->waiters);
	list_init(&rdma->done);
	slab_init(&rdma->moves);
	rdma_cache_init(&rdma->cache);
	*ret_t = &rdma->base;
	return 0;
}
