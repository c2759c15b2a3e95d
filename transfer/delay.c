/* SPDX-License-Identifier: Apache-2.0 */

/*
 * delay.c -- a decorator that makes any transport slow.
 *
 *      submit --> queue, in order of due time --progress--> inner
 *
 * All delays are the same, so the order of coming is the order of going.
 */
#include <errno.h>

#include "transfer/base/err.h"
#include "transfer/base/lock.h"
#include "transfer/base/num.h"
#include "transfer/engine.h"
#include "transfer/fault.h"

struct delay {
	struct transport base;
	uint64_t len_ns;
	struct lock lock;   /* LOCK_xfer_serve: the inner one is never called under it */
	struct list queued; /* ops; done_bytes is the time they are due at */
};

static int
delay_submit(struct transport *t, struct op *op)
{
	struct delay *delay = container_of(t, struct delay, base);

	op->done_bytes = num_add_sat(clock_ns(engine_clock(t->engine)), delay->len_ns);
	lock_take(&delay->lock);
	list_push_back(&delay->queued, &op->at);
	lock_drop(&delay->lock);
	return 0;
}

/* wakes_at -- when something must be done about an op. */
static uint64_t
wakes_at(const struct op *op)
{
	return num_min(op->done_bytes, op->deadline_ns);
}

/* take_ripe -- one op whose time has come, or NULL; *ret_next_ns: when the batch's next one will
 * be. */
static struct op *
take_ripe(struct delay *delay, const struct batch *batch, uint64_t now_ns, uint64_t *ret_next_ns)
{
	struct op *ripe = NULL;

	*ret_next_ns = UINT64_MAX;
	lock_take(&delay->lock);
	list_each_safe(&delay->queued, link) {
		struct op *op = list_of(link, struct op, at);

		if (wakes_at(op) <= now_ns) {
			list_remove(link);
			ripe = op;
			break;
		}
		if (op->batch == batch)
			*ret_next_ns = num_min(*ret_next_ns, wakes_at(op));
	}
	lock_drop(&delay->lock);
	return ripe;
}

static void
hand_on(struct delay *delay, struct op *op, uint64_t now_ns)
{
	struct transport *inner = delay->base.inner;

	if (op->deadline_ns <= now_ns) {
		engine_complete(delay->base.engine, op, OP_E_TIMEOUT);
		return;
	}
	op->done_bytes = 0;
	if (inner->ops->submit(inner, op) != 0)
		engine_pass(delay->base.engine, op);
}

static void
delay_progress(struct transport *t, struct batch *batch, uint64_t until_ns)
{
	struct delay *delay = container_of(t, struct delay, base);
	const struct clock *clock = engine_clock(t->engine);
	uint64_t now_ns = clock_ns(clock);
	uint64_t next_ns;
	struct op *op;

	while ((op = take_ripe(delay, batch, now_ns, &next_ns)) != NULL)
		hand_on(delay, op, now_ns);
	if (batch_is_done(batch))
		return;

	until_ns = num_min(until_ns, next_ns);
	if (next_ns == UINT64_MAX && t->inner->ops->progress != NULL)
		t->inner->ops->progress(t->inner, batch, until_ns);
	else if (until_ns > now_ns && until_ns != UINT64_MAX)
		clock->sleep_ns(clock, until_ns - now_ns);
}

static int
delay_map(struct transport *t, struct target *target, const struct token *token,
	  const void **ret_bytes)
{
	if (t->inner->ops->map == NULL)
		return TRANSPORT_E_CANT;
	return t->inner->ops->map(t->inner, target, token, ret_bytes);
}

static void
delay_free(struct transport *t)
{
	struct delay *delay = container_of(t, struct delay, base);

	list_each_safe(&delay->queued, link) {
		list_remove(link);
		engine_complete(t->engine, list_of(link, struct op, at), OP_E_CANCELLED);
	}
	t->inner->ops->free(t->inner);
	lock_fini(&delay->lock);
	free(delay);
}

static const struct transport_ops delay_ops = {
	.name = "delay",
	.submit = delay_submit,
	.progress = delay_progress,
	.map = delay_map,
	.free = delay_free,
};

int
transport_delay_new(struct transport **inner_taken, uint64_t len_ns, struct transport **ret_t)
{
	struct delay *delay = calloc(1, sizeof(*delay));

	if (delay == NULL)
		return err_new(-ENOMEM);
	delay->base.ops = &delay_ops;
	delay->base.inner = take(inner_taken);
	delay->len_ns = len_ns;
	lock_init(&delay->lock, LOCK_xfer_serve);
	list_init(&delay->queued);
	*ret_t = &delay->base;
	return 0;
}
