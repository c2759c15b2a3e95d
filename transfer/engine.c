/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The way of an op:
 *
 *      engine_submit --> transports[0].submit --CANT--> transports[1].submit --CANT--> ... LOST
 *                              | 0                          | 0
 *                              +-------------+--------------+
 *                                            v
 *      (the transport, at any time)   engine_complete --> judge of decorators --> batch: one less
 *
 * `tried` has a bit for each transport that was asked; the highest one is the taker.
 */
#include "transfer/engine.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/lock.h"
#include "transfer/base/map.h"
#include "transfer/base/num.h"
#include "transfer/lends.h"
#include "transfer/path_stats.h"
#include "transfer/transport.h"

#define N_BUCKETS 256

/* With ops of a batch on several transports, none may wait longer than this while others stand. */
#define TURN_NS NS_PER_MS

/* thread:  any; transports are fixed before the first submit. */
struct engine {
	const struct clock *clock;
	struct transport *transports[TARGET_TRANSPORTS_MAX];
	bool is_judged[TARGET_TRANSPORTS_MAX]; /* a decorator in the chain looks at completions */
	unsigned n_transports;
	unsigned driven; /* those with progress(), one bit each */
	atomic_bool
		is_stopped; /* set once; who submits too late for it is cut off by the transport */
	struct lends lends;
	struct lock lock;               /* LOCK_xfer_engine; guards what follows */
	struct list buckets[N_BUCKETS]; /* targets by segment id */
	struct path_table paths;
};

int
engine_new(const struct clock *clock, struct engine **ret_engine)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL)
		return err_new(-ENOMEM);

	engine->clock = clock;
	lends_init(&engine->lends);
	lock_init(&engine->lock, LOCK_xfer_engine);
	for (size_t i = 0; i < N_BUCKETS; i++)
		list_init(&engine->buckets[i]);
	path_table_init(&engine->paths);
	*ret_engine = engine;
	return 0;
}

void
engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;

	for (unsigned i = 0; i < engine->n_transports; i++)
		engine->transports[i]->ops->free(engine->transports[i]);
	for (size_t i = 0; i < N_BUCKETS; i++)
		assert(list_is_empty(&engine->buckets[i]));
	path_table_fini(&engine->paths);
	lock_fini(&engine->lock);
	lends_fini(&engine->lends);
	free(engine);
}

void
engine_add(struct engine *engine, struct transport **t_taken)
{
	struct transport *t = take(t_taken);
	unsigned index = engine->n_transports++;

	assert(index < TARGET_TRANSPORTS_MAX);

	engine->transports[index] = t;
	if (t->ops->progress != NULL)
		engine->driven |= 1u << index;
	for (; t != NULL; t = t->inner) {
		t->engine = engine;
		t->index = index;
		engine->is_judged[index] |= t->ops->judge != NULL;
	}
}

int
engine_add_default(struct engine *engine, unsigned rdma_conns)
{
	static int (*const make[])(struct transport **) = {
		transport_local_new, transport_shm_new, transport_file_new,
		transport_rdma_new,  transport_tcp_new,
	};

	for (size_t i = 0; i < array_len(make); i++) {
		struct transport *t;
		int r;

		if (make[i] == transport_rdma_new && rdma_conns == 0)
			continue;
		r = make[i](&t);
		if (r == TRANSPORT_E_CANT)
			continue; /* not built */
		if (r < 0)
			return err_up(r);
		if (make[i] == transport_rdma_new)
			transport_rdma_set(t, rdma_conns);
		engine_add(engine, &t);
	}
	return 0;
}

const struct clock *
engine_clock(const struct engine *engine)
{
	return engine->clock;
}

/* ---- segments of this process ---- */

struct lends *
engine_lends(struct engine *engine)
{
	return &engine->lends;
}

int
engine_lend(struct engine *engine, struct lent *lent)
{
	int r = lends_add(&engine->lends, lent);

	return r == LENDS_E_EXISTS ? err_new(-EEXIST) : err_up(r);
}

void
engine_unlend(struct engine *engine, struct lent *lent)
{
	lends_leave(&engine->lends, lent);
	lends_wait(&engine->lends, lent);
}

/* ---- targets ---- */

static struct list *
bucket_of(struct engine *engine, uint64_t segment_id)
{
	return &engine->buckets[map_hash(&segment_id, sizeof(segment_id), 0) % N_BUCKETS];
}

static bool
is_same_place(const struct target_desc *a, const struct target_desc *b)
{
	return a->segment_id == b->segment_id && a->segment_epoch == b->segment_epoch &&
	       a->size_bytes == b->size_bytes && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->endpoint, b->endpoint) == 0;
}

static int
target_get_locked(struct engine *engine, const struct target_desc *desc, struct target **ret_target)
{
	struct list *bucket = bucket_of(engine, desc->segment_id);
	struct target *target;

	list_each(bucket, link) {
		target = list_of(link, struct target, at);
		if (is_same_place(&target->desc, desc)) {
			engine_target_ref(target);
			*ret_target = target;
			return 0;
		}
	}

	target = calloc(1, sizeof(*target));
	if (target == NULL)
		return err_new(-ENOMEM);
	atomic_init(&target->n_refs, 1);
	target->desc = *desc;
	target->is_same_host = strcmp(desc->host, host_id()) == 0;
	list_link_init(&target->at);
	list_push_front(bucket, &target->at);
	*ret_target = target;
	return 0;
}

int
engine_target(struct engine *engine, const struct target_desc *desc, struct target **ret_target)
{
	int r;

	assert(memchr(desc->host, 0, sizeof(desc->host)) != NULL);
	assert(memchr(desc->endpoint, 0, sizeof(desc->endpoint)) != NULL);

	lock_take(&engine->lock);
	r = target_get_locked(engine, desc, ret_target);
	lock_drop(&engine->lock);
	return err_up(r);
}

void
engine_target_ref(struct target *target)
{
	atomic_fetch_add_explicit(&target->n_refs, 1, memory_order_relaxed);
}

void
engine_target_unref(struct engine *engine, struct target *target)
{
	bool is_last;

	if (target == NULL)
		return;

	/* Under the lock, so that nobody finds in the bucket what is about to go. */
	lock_take(&engine->lock);
	is_last = atomic_fetch_sub_explicit(&target->n_refs, 1, memory_order_acq_rel) == 1;
	if (is_last)
		list_remove(&target->at);
	lock_drop(&engine->lock);
	if (!is_last)
		return;

	for (unsigned i = 0; i < engine->n_transports; i++)
		for (struct transport *t = engine->transports[i]; t != NULL; t = t->inner)
			if (t->ops->drop != NULL)
				t->ops->drop(t, target);
	free(target);
}

int
engine_map(struct engine *engine, struct target *target, const struct token *token,
	   const void **ret_bytes)
{
	for (unsigned i = 0; i < engine->n_transports; i++) {
		struct transport *t = engine->transports[i];

		if (t->ops->map != NULL && t->ops->map(t, target, token, ret_bytes) == 0)
			return 0;
	}
	return ENGINE_E_NOT_HERE;
}

/* ---- memory ---- */

int
engine_learn(struct engine *engine, const struct memory *memory)
{
	int r = 0;

	for (unsigned i = 0; i < engine->n_transports && r == 0; i++)
		for (struct transport *t = engine->transports[i]; t != NULL && r == 0; t = t->inner)
			if (t->ops->learn != NULL)
				r = t->ops->learn(t, memory);
	if (r < 0)
		engine_unlearn(engine, memory->at);
	return err_up(r);
}

void
engine_unlearn(struct engine *engine, const void *at)
{
	for (unsigned i = 0; i < engine->n_transports; i++)
		for (struct transport *t = engine->transports[i]; t != NULL; t = t->inner)
			if (t->ops->unlearn != NULL)
				t->ops->unlearn(t, at);
}

void
engine_counts(struct engine *engine, const char *name, struct transport_counts *ret_counts)
{
	*ret_counts = (struct transport_counts){0};
	for (unsigned i = 0; i < engine->n_transports; i++)
		for (struct transport *t = engine->transports[i]; t != NULL; t = t->inner)
			if (strcmp(t->ops->name, name) == 0 && t->ops->counts != NULL)
				t->ops->counts(t, ret_counts);
}

int
engine_paths(struct engine *engine, int (*fn)(void *arg, const struct path_stats *path), void *arg)
{
	struct list_link *link;
	int r = 0;

	/* Rows are never taken away, so between two of them the lock need not be held. */
	lock_take(&engine->lock);
	link = list_first(&engine->paths.all);
	for (unsigned i = 0, n = engine->paths.n; r == 0 && i < n; i++) {
		lock_drop(&engine->lock);
		r = fn(arg, list_of(link, struct path_stats, at));
		lock_take(&engine->lock);
		link = link->next;
	}
	lock_drop(&engine->lock);
	if (r == 0 && engine->paths.n >= PATH_STATS_MAX)
		r = fn(arg, &engine->paths.others);
	return r;
}

/* ---- ops ---- */

/* taker_of -- the bit of the transport that was asked last; 0: none was. */
static unsigned
taker_of(struct op *op)
{
	unsigned tried = atomic_load_explicit(&op->tried, memory_order_relaxed);

	return tried == 0 ? 0 : 1u << (31 - (unsigned)__builtin_clz(tried));
}

/* path_of -- the row that an op of this taker counts in; the target remembers the last one. */
static struct path_stats *
path_of(struct engine *engine, const struct op *op, unsigned taker)
{
	struct target *target = op->target;
	const char *address = op->address != NULL ? op->address : "";
	struct path_stats *path = atomic_load_explicit(&target->paths[taker], memory_order_acquire);

	if (path != NULL && path_is(path, address))
		return path;
	lock_take(&engine->lock);
	path = path_table_find(&engine->paths, &target->desc, engine->transports[taker]->ops->name,
			       address);
	lock_drop(&engine->lock);
	atomic_store_explicit(&target->paths[taker], path, memory_order_release);
	return path;
}

/* judge -- what each decorator makes of the result, the innermost first. */
static enum op_result
judge(struct transport *t, struct op *op, enum op_result result)
{
	if (t->inner != NULL)
		result = judge(t->inner, op, result);
	return t->ops->judge != NULL ? t->ops->judge(t, op, result) : result;
}

void
engine_complete(struct engine *engine, struct op *op, enum op_result result)
{
	struct batch *batch = op->batch;

	assert(op->result == OP_E_PENDING && result != OP_E_PENDING);

	if (taker_of(op) != 0) {
		unsigned taker = (unsigned)__builtin_ctz(taker_of(op));

		if (engine->is_judged[taker])
			result = judge(engine->transports[taker], op, result);
		/* One that is cancelled may outlive its target, and tells nothing of the path. */
		if (result != OP_E_CANCELLED)
			path_note(path_of(engine, op, taker), op, result,
				  clock_ns(engine->clock) - op->begun_ns);
	}
	op->result = result;
	/* From here on the op, and with the last one the batch, belong to their owner again. */
	atomic_fetch_sub_explicit(&batch->n_left, 1, memory_order_acq_rel);
}

/* is_fit -- can a transport of this kind take such an op at all? */
static bool
is_fit(const struct transport_ops *ops, const struct op *op)
{
	return implies(op->must_cut, ops->cuts) && implies(op->is_device, ops->reaches_devices);
}

void
engine_pass(struct engine *engine, struct op *op)
{
	for (unsigned i = 0; i < engine->n_transports; i++) {
		unsigned tried = atomic_load_explicit(&op->tried, memory_order_relaxed);

		if (tried >> i != 0)
			continue; /* it, or one behind it, was asked already */
		if (!is_fit(engine->transports[i]->ops, op))
			continue;
		atomic_store_explicit(&op->tried, tried | 1u << i, memory_order_relaxed);
		if (engine->transports[i]->ops->submit(engine->transports[i], op) == 0)
			return;
	}
	engine_complete(engine, op, OP_E_LOST);
}

static void
submit_one(struct engine *engine, struct op *op)
{
	if (!num_range_fits(op->offset_bytes, op->len_bytes, op->target->desc.size_bytes)) {
		engine_complete(engine, op, OP_E_INVALID);
		return;
	}
	if (op->len_bytes == 0) {
		engine_complete(engine, op, OP_DONE);
		return;
	}
	engine_pass(engine, op);
}

void
engine_submit(struct engine *engine, struct batch *batch)
{
	size_t n_ops = batch->n_ops; /* with the last submit the batch may be gone */
	struct op *ops = batch->ops;
	uint64_t now_ns = clock_ns(engine->clock);

	atomic_store_explicit(&batch->n_left, n_ops, memory_order_relaxed);
	for (size_t i = 0; i < n_ops; i++) {
		ops[i].result = OP_E_PENDING;
		ops[i].crc = 0;
		ops[i].batch = batch;
		ops[i].id = 0;
		ops[i].done_bytes = 0;
		ops[i].n_moves = 0;
		ops[i].begun_ns = now_ns;
		ops[i].address = NULL;
		ops[i].is_begun = false;
		ops[i].must_cut = ops[i].skipped_crc = false;
		atomic_store_explicit(&ops[i].tried, 0, memory_order_relaxed);
		list_link_init(&ops[i].at);
	}
	for (size_t i = 0; i < n_ops; i++) {
		if (atomic_load_explicit(&engine->is_stopped, memory_order_acquire))
			engine_complete(engine, &ops[i], OP_E_CANCELLED);
		else
			submit_one(engine, &ops[i]);
	}
}

void
engine_stop(struct engine *engine)
{
	atomic_store_explicit(&engine->is_stopped, true, memory_order_release);
	for (unsigned i = 0; i < engine->n_transports; i++)
		for (struct transport *t = engine->transports[i]; t != NULL; t = t->inner)
			if (t->ops->stop != NULL)
				t->ops->stop(t);
}

/* takers -- the transports that must be driven for this batch, one bit each. */
static unsigned
takers(const struct engine *engine, struct batch *batch)
{
	unsigned set = 0;

	for (size_t i = 0; i < batch->n_ops; i++)
		set |= taker_of(&batch->ops[i]);
	set &= engine->driven;
	return set != 0 ? set : engine->driven; /* none: one is just being handed on */
}

enum op_result
engine_wait(struct engine *engine, struct batch *batch)
{
	enum op_result worst = OP_DONE;

	while (!batch_is_done(batch)) {
		unsigned set = takers(engine, batch);
		bool is_one = (set & (set - 1)) == 0;
		uint64_t until_ns = UINT64_MAX; /* transports keep the ops' deadlines */

		for (; set != 0 && !batch_is_done(batch); set &= set - 1) {
			struct transport *t = engine->transports[__builtin_ctz(set)];

			if (!is_one)
				until_ns = num_add_sat(clock_ns(engine->clock), TURN_NS);
			t->ops->progress(t, batch, until_ns);
		}
	}
	for (size_t i = 0; i < batch->n_ops; i++)
		worst = num_max(worst, batch->ops[i].result);
	return worst;
}

enum op_result
engine_run(struct engine *engine, struct batch *batch)
{
	engine_submit(engine, batch);
	return engine_wait(engine, batch);
}
