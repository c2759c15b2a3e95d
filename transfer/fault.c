/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fault.c -- a decorator that makes any transport bad, by chance from a seed.
 *
 *      submit   lost, timeout: completed at once, nothing is moved
 *               flip of a WRITE: the inner one is shown slices with one byte replaced
 *      judge    lost_late: said to be lost after all;  flip of a READ: a bit is turned
 */
#include "transfer/fault.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/crc.h"
#include "transfer/base/err.h"
#include "transfer/base/lock.h"
#include "transfer/engine.h"
#include "transfer/op_cursor.h"

/* A WRITE on its way with one bit turned; the caller's memory is not touched. */
struct turned {
	struct list_link at;
	struct op *op;
	const struct iovec *slices; /* the op's own, and how many and where it began */
	size_t n_slices;
	uint64_t skip_bytes;
	uint8_t byte;
	struct iovec shown[];
};

struct fault {
	struct transport base;
	struct fault_plan plan;
	struct lock lock; /* LOCK_xfer_serve; guards what follows */
	struct rand rand;
	struct list turned;
};

/* strikes -- chances in 2^16. */
static bool
strikes(struct fault *fault, uint32_t chances)
{
	bool yes;

	if (chances == 0)
		return false;
	lock_take(&fault->lock);
	yes = rand_below(&fault->rand, 1u << 16) < chances;
	lock_drop(&fault->lock);
	return yes;
}

static uint64_t
pick_bit(struct fault *fault, const struct op *op)
{
	uint64_t bit;

	lock_take(&fault->lock);
	bit = rand_below(&fault->rand, op->len_bytes * 8);
	lock_drop(&fault->lock);
	return bit;
}

/* ---- turning a bit ---- */

static void
flip_read(struct fault *fault, struct op *op)
{
	uint64_t bit = pick_bit(fault, op);
	struct iovec slice;

	if (op_slices(op, bit / 8, 1, &slice, 1) == 1)
		*(uint8_t *)slice.iov_base ^= (uint8_t)(1u << (bit % 8));
}

/* show -- all bytes of the op, but the one at `at_bytes` from elsewhere. */
static size_t
show(const struct op *op, uint64_t at_bytes, uint8_t *byte, struct iovec *ret)
{
	struct op_cursor cursor;
	uint64_t len;
	size_t n;

	op_cursor_init(&cursor, op, 0);
	n = op_cursor_look(&cursor, at_bytes, ret, op->n_slices, &len);
	op_cursor_move(&cursor, at_bytes);
	ret[n++] = (struct iovec){byte, 1};
	op_cursor_move(&cursor, 1);
	return n +
	       op_cursor_look(&cursor, op->len_bytes - at_bytes - 1, ret + n, op->n_slices, &len);
}

static void
turn_write(struct fault *fault, struct op *op)
{
	uint64_t bit = pick_bit(fault, op);
	struct turned *turned =
		malloc(sizeof(*turned) + (2 * op->n_slices + 1) * sizeof(struct iovec));
	struct iovec slice;

	if (turned == NULL || op_slices(op, bit / 8, 1, &slice, 1) != 1) {
		free(turned);
		return; /* this one goes well */
	}
	turned->op = op;
	turned->slices = op->slices;
	turned->n_slices = op->n_slices;
	turned->skip_bytes = op->skip_bytes;
	turned->byte = *(uint8_t *)slice.iov_base ^ (uint8_t)(1u << (bit % 8));
	list_link_init(&turned->at);

	op->n_slices = show(op, bit / 8, &turned->byte, turned->shown);
	op->slices = turned->shown;
	op->skip_bytes = 0;
	lock_take(&fault->lock);
	list_push_back(&fault->turned, &turned->at);
	lock_drop(&fault->lock);
}

static struct turned *
find_turned(struct fault *fault, const struct op *op)
{
	struct turned *found = NULL;

	lock_take(&fault->lock);
	list_each(&fault->turned, link) {
		struct turned *turned = list_of(link, struct turned, at);

		if (turned->op == op)
			found = turned;
	}
	if (found != NULL)
		list_remove(&found->at);
	lock_drop(&fault->lock);
	return found;
}

static uint32_t
sum(const struct op *op)
{
	struct op_cursor cursor;
	uint64_t left = op->len_bytes, len;
	uint32_t crc = 0;
	struct iovec slice;

	op_cursor_init(&cursor, op, 0);
	for (; left > 0; left -= len) {
		op_cursor_look(&cursor, left, &slice, 1, &len);
		crc = crc_of(crc, slice.iov_base, slice.iov_len);
		op_cursor_move(&cursor, len);
	}
	return crc;
}

/* turn_back -- the caller gets his own slices again, and the sum of what he meant to write. */
static void
turn_back(struct fault *fault, struct op *op)
{
	struct turned *turned = find_turned(fault, op);

	if (turned == NULL)
		return;
	op->slices = turned->slices;
	op->n_slices = turned->n_slices;
	op->skip_bytes = turned->skip_bytes;
	if (op->want_crc)
		op->crc = sum(op);
	free(turned);
}

/* ---- the transport ---- */

static int
fault_submit(struct transport *t, struct op *op)
{
	struct fault *fault = container_of(t, struct fault, base);
	int r;

	if (strikes(fault, fault->plan.lost)) {
		engine_complete(t->engine, op, OP_E_LOST);
		return 0;
	}
	if (strikes(fault, fault->plan.timeout)) {
		engine_complete(t->engine, op, OP_E_TIMEOUT);
		return 0;
	}
	if (op->kind == OP_WRITE && strikes(fault, fault->plan.flip))
		turn_write(fault, op);

	r = t->inner->ops->submit(t->inner, op);
	if (r != 0)
		turn_back(fault, op);
	return r;
}

static enum op_result
fault_judge(struct transport *t, struct op *op, enum op_result result)
{
	struct fault *fault = container_of(t, struct fault, base);

	if (op->kind == OP_WRITE)
		turn_back(fault, op);
	if (result != OP_DONE)
		return result;
	if (op->kind == OP_READ && strikes(fault, fault->plan.flip)) {
		flip_read(fault, op);
		if (op->want_crc)
			op->crc = sum(op); /* turned on the way: the sum is of what has come */
	}
	return strikes(fault, fault->plan.lost_late) ? OP_E_LOST : OP_DONE;
}

static void
fault_progress(struct transport *t, struct batch *batch, uint64_t until_ns)
{
	if (t->inner->ops->progress != NULL)
		t->inner->ops->progress(t->inner, batch, until_ns);
}

static int
fault_map(struct transport *t, struct target *target, const struct token *token,
	  const void **ret_bytes)
{
	if (t->inner->ops->map == NULL)
		return TRANSPORT_E_CANT;
	return t->inner->ops->map(t->inner, target, token, ret_bytes);
}

static void
fault_free(struct transport *t)
{
	struct fault *fault = container_of(t, struct fault, base);

	t->inner->ops->free(t->inner);
	assert(list_is_empty(&fault->turned));
	lock_fini(&fault->lock);
	free(fault);
}

static const struct transport_ops fault_ops = {
	.name = "fault",
	.submit = fault_submit,
	.progress = fault_progress,
	.map = fault_map,
	.judge = fault_judge,
	.free = fault_free,
};

int
transport_fault_new(struct transport **inner_taken, const struct fault_plan *plan,
		    struct transport **ret_t)
{
	struct fault *fault = calloc(1, sizeof(*fault));

	if (fault == NULL)
		return err_new(-ENOMEM);
	fault->base.ops = &fault_ops;
	fault->base.inner = take(inner_taken);
	fault->plan = *plan;
	lock_init(&fault->lock, LOCK_xfer_serve);
	rand_init(&fault->rand, plan->seed);
	list_init(&fault->turned);
	*ret_t = &fault->base;
	return 0;
}
