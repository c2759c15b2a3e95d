/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fake_cq.c -- completions, and the bell that rings for the first one after it was armed.
 *
 *      push --> [held: comes after the next] --> wcs --> poll
 *                                                 |
 *                                                 +-- armed? --> the channel rings, disarmed
 *
 * What lay there before the arming rings no bell, as on a real device.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "tests/mock/verbs/fake_inner.h"
#include "transfer/base/num.h"

#define HELD_NS_MAX (2 * NS_PER_MS)

static struct fake_cq *
cq_of(struct ibv_cq *cq)
{
	return container_of(cq, struct fake_cq, cq);
}

static struct fake_channel *
channel_of(struct ibv_comp_channel *channel)
{
	return container_of(channel, struct fake_channel, channel);
}

struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	struct fake_channel *channel = NULL;

	fake_lock();
	errno = fake_call(__func__);
	if (errno == 0) {
		channel = calloc(1, sizeof(*channel));
		assert(channel != NULL);
		channel->channel.context = context;
		fake_bell_init(&channel->bell);
		channel->channel.fd = channel->bell.fd;
		list_init(&channel->rung);
		world.n_objects++;
	}
	fake_unlock();
	return channel != NULL ? &channel->channel : NULL;
}

int
ibv_destroy_comp_channel(struct ibv_comp_channel *channel_at)
{
	struct fake_channel *channel = channel_of(channel_at);

	fake_lock();
	if (channel->channel.refcnt > 0) {
		fake_complain("a completion channel goes before its queues");
		fake_unlock();
		return EBUSY;
	}
	fake_bell_fini(&channel->bell);
	world.n_objects--;
	fake_unlock();
	free(channel);
	return 0;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
	      struct ibv_comp_channel *channel, int comp_vector)
{
	struct fake_cq *cq = NULL;

	(void)comp_vector;
	fake_lock();
	errno = fake_call(__func__);
	if (errno == 0 && (cqe < 1 || cqe > 65536))
		errno = EINVAL;
	if (errno == 0) {
		cq = calloc(1, sizeof(*cq));
		assert(cq != NULL);
		cq->cq = (struct ibv_cq){.context = context,
					 .channel = channel,
					 .cq_context = cq_context,
					 .cqe = cqe};
		list_init(&cq->wcs);
		list_link_init(&cq->at);
		list_link_init(&cq->at_channel);
		list_push_back(&world.cqs, &cq->at);
		if (channel != NULL)
			channel->refcnt++;
		world.n_objects++;
	}
	fake_unlock();
	return cq != NULL ? &cq->cq : NULL;
}

/* leave_channel -- an event of it that nobody has taken yet is gone. */
static void
leave_channel(struct fake_cq *cq)
{
	struct fake_channel *channel;

	if (cq->cq.channel == NULL)
		return;
	channel = channel_of(cq->cq.channel);
	if (list_link_is_on(&cq->at_channel))
		list_remove(&cq->at_channel);
	fake_bell_set(&channel->bell, !list_is_empty(&channel->rung));
	channel->channel.refcnt--;
}

int
ibv_destroy_cq(struct ibv_cq *cq_at)
{
	struct fake_cq *cq = cq_of(cq_at);

	fake_lock();
	if (cq->n_uses > 0) {
		fake_complain("a completion queue goes before its queue pairs");
		fake_unlock();
		return EBUSY;
	}
	/* A real one would wait for ever. */
	if (cq->n_acked != cq->n_events)
		fake_complain("a completion queue goes with %u events not acknowledged",
			      cq->n_events - cq->n_acked);
	leave_channel(cq);
	list_remove(&cq->at);
	list_each_safe(&cq->wcs, link)
		free(list_of(link, struct fake_wc, at));
	free(cq->held);
	world.n_objects--;
	fake_unlock();
	free(cq);
	return 0;
}

void
fake_cq_use(struct ibv_cq *cq, int n)
{
	cq_of(cq)->n_uses += (unsigned)n;
}

/* ---- in -------------------------------------------------------------------------- */

static void
ring(struct fake_cq *cq)
{
	struct fake_channel *channel;

	if (!cq->is_armed || cq->cq.channel == NULL)
		return;
	cq->is_armed = false;
	channel = channel_of(cq->cq.channel);
	if (!list_link_is_on(&cq->at_channel))
		list_push_back(&channel->rung, &cq->at_channel);
	fake_bell_set(&channel->bell, true);
}

static void
append(struct fake_cq *cq, struct fake_wc *wc)
{
	if (cq->n_wcs == cq->cq.cqe)
		fake_complain("a completion queue of %d is overrun", cq->cq.cqe);
	list_push_back(&cq->wcs, &wc->at);
	cq->n_wcs++;
	ring(cq);
}

static struct fake_wc *
wc_new(const struct ibv_wc *wc, uint32_t frees)
{
	struct fake_wc *one = calloc(1, sizeof(*one));

	assert(one != NULL);
	one->wc = *wc;
	one->frees = frees;
	list_link_init(&one->at);
	return one;
}

static void
let_held_go(struct fake_cq *cq)
{
	struct fake_wc *held = cq->held;

	cq->held = NULL;
	if (held != NULL)
		append(cq, held);
}

void
fake_cq_push(struct fake_qp *qp, struct ibv_cq *to, const struct ibv_wc *wc, uint32_t frees)
{
	struct fake_cq *cq = cq_of(to);
	const struct fake_luck *luck = &world.config.luck;

	if (fake_chance(&qp->rand, luck->drop)) {
		world.counts.n_dropped++;
		return;
	}
	if (cq->held == NULL && fake_chance(&qp->rand, luck->reorder)) {
		world.counts.n_reordered++;
		cq->held = wc_new(wc, frees);
		cq->held_until_ns = fake_now() + rand_below(&qp->rand, HELD_NS_MAX);
		return;
	}
	append(cq, wc_new(wc, frees));
	if (fake_chance(&qp->rand, luck->twice)) {
		world.counts.n_twice++;
		append(cq, wc_new(wc, 0));
	}
	let_held_go(cq);
}

static void
forget_in(struct fake_cq *cq, uint32_t qp_num)
{
	list_each_safe(&cq->wcs, link) {
		struct fake_wc *wc = list_of(link, struct fake_wc, at);

		if (wc->wc.qp_num != qp_num)
			continue;
		list_remove(&wc->at);
		cq->n_wcs--;
		free(wc);
	}
}

void
fake_cq_forget(const struct fake_qp *qp)
{
	forget_in(cq_of(qp->qp.send_cq), qp->qp.qp_num);
	forget_in(cq_of(qp->qp.recv_cq), qp->qp.qp_num);
}

uint64_t
fake_cq_tick(uint64_t now_ns)
{
	uint64_t next_ns = FAKE_NEVER;

	list_each(&world.cqs, link) {
		struct fake_cq *cq = list_of(link, struct fake_cq, at);

		if (cq->held == NULL)
			continue;
		if (cq->held_until_ns <= now_ns)
			let_held_go(cq);
		else
			next_ns = num_min(next_ns, cq->held_until_ns);
	}
	return next_ns;
}

/* ---- out ------------------------------------------------------------------------- */

int
fake_poll_cq(struct ibv_cq *cq_at, int cap, struct ibv_wc *ret)
{
	struct fake_cq *cq = cq_of(cq_at);
	int n = 0;

	fake_lock();
	while (n < cap && !list_is_empty(&cq->wcs)) {
		struct fake_wc *wc = list_of(list_first(&cq->wcs), struct fake_wc, at);
		struct fake_qp *qp = fake_qp_find(wc->wc.qp_num);

		if (qp != NULL) {
			assert(qp->n_sends >= wc->frees);
			qp->n_sends -= wc->frees;
		}
		ret[n] = wc->wc;
		if (wc->wc.status != IBV_WC_SUCCESS) { /* then only these mean anything */
			memset(&ret[n], 0xa5, sizeof(ret[n]));
			ret[n].wr_id = wc->wc.wr_id;
			ret[n].status = wc->wc.status;
			ret[n].vendor_err = wc->wc.vendor_err;
			ret[n].qp_num = wc->wc.qp_num;
		}
		n++;
		list_remove(&wc->at);
		cq->n_wcs--;
		free(wc);
	}
	fake_unlock();
	return n;
}

int
fake_req_notify(struct ibv_cq *cq, int solicited_only)
{
	int e;

	(void)solicited_only;
	fake_lock();
	e = fake_call("ibv_req_notify_cq");
	if (e == 0)
		cq_of(cq)->is_armed = true;
	fake_unlock();
	return e;
}

/* take_event -- 0 or EAGAIN.  needs: the world's lock. */
static int
take_event(struct fake_channel *channel, struct ibv_cq **ret_cq, void **ret_context)
{
	struct fake_cq *cq;

	if (list_is_empty(&channel->rung))
		return EAGAIN;
	cq = list_of(list_first(&channel->rung), struct fake_cq, at_channel);
	list_remove(&cq->at_channel);
	cq->n_events++;
	fake_bell_set(&channel->bell, !list_is_empty(&channel->rung));
	*ret_cq = &cq->cq;
	*ret_context = cq->cq.cq_context;
	return 0;
}

int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq, void **ret_context)
{
	bool may_block = (fcntl(channel->fd, F_GETFL) & O_NONBLOCK) == 0;
	int e;

	for (;;) {
		struct pollfd one = {.fd = channel->fd, .events = POLLIN};

		fake_lock();
		e = take_event(channel_of(channel), ret_cq, ret_context);
		fake_unlock();
		if (e == 0 || !may_block)
			break;
		(void)poll(&one, 1, -1);
	}
	errno = e;
	return e == 0 ? 0 : -1;
}

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
	fake_lock();
	cq_of(cq)->n_acked += n;
	if (cq_of(cq)->n_acked > cq_of(cq)->n_events)
		fake_complain("more events are acknowledged than there were");
	fake_unlock();
}
