/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_turn.c -- who is the worker: one at a time.
 *
 *      store thread   whenever there is news or something is due; syncs, checkpoints, second
 *                     attempts, batches of many records
 *      the loop       while the store thread sleeps: the commit of a small batch
 *
 * To wake the store thread, and to be woken by it, takes longer than to commit a few
 * records, and far longer when other programs want the processors.  With more records it
 * is better that the loop goes on meanwhile.
 */
#include <sys/resource.h>

#include "master/store_internal.h"
#include "transfer/base/num.h"

#define SLOW_NS  (5 * NS_PER_MS) /* a commit that slept so long says that the disk is slow: */
#define REST_NS  NS_PER_S        /* so long the loop commits nothing itself */
#define LATER_NS NS_PER_MS       /* so much later than it is due upkeep is still in time */

static uint64_t
now_ns(const struct store *store)
{
	return clock_ns(store->config.clock);
}

/* ---- on the loop's own thread --------------------------------------------------------- */

bool
store_here_begin(struct store *store, const struct store_batch *batch)
{
	const struct journal *journal = &batch->journal;

	assert(lock_held(&store->lock));

	if (!store->has_thread || store->is_working || store->is_kicked || store->is_closing)
		return false;
	if (journal->n_records > store->config.here_max_records || journal->wants_sync)
		return false;
	/* Nobody is the worker: what is the worker's may be looked at. */
	if (store->wants_sync || list_first(&store->queue) != &batch->at ||
	    !list_is_empty(&store->group) || store->must_rewrite || store_is_sync_time(store) ||
	    now_ns(store) < store->here_again_ns)
		return false;
	store->is_working = true;
	return true;
}

static uint64_t
n_sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) < 0 ? 0 : (uint64_t)usage.ru_nvcsw;
}

void
store_here(struct store *store)
{
	uint64_t began = now_ns(store), sleeps = n_sleeps(), now, due;
	bool is_needed;

	assert(store->is_working);

	store->is_here = true;
	due = store_commit(store);
	store->is_here = false;
	now = now_ns(store);
	if (n_sleeps() != sleeps && now - began > SLOW_NS)
		store->here_again_ns = now + REST_NS;

	lock_take(&store->lock);
	store->is_working = false;
	if (num_add_sat(num_add_sat(now, due), LATER_NS) < store->nap_until_ns)
		store->is_kicked = true;
	is_needed = store->is_kicked || store->is_in_line;
	lock_drop(&store->lock);
	if (is_needed)
		pthread_cond_signal(&store->cond);
}

/* ---- the store thread ------------------------------------------------------------------ */

/* nap -- until something is due, or there is news. */
static void
nap(struct store *store, uint64_t due)
{
	store->nap_until_ns = num_add_sat(now_ns(store), due);
	while (due > 0 && !store->is_kicked && !store->is_closing) {
		if (due == UINT64_MAX)
			lock_wait(&store->lock, &store->cond);
		else if (!lock_wait_for(&store->lock, &store->cond, due))
			break;
	}
	store->nap_until_ns = 0;
}

void *
store_thread_main(void *arg)
{
	struct store *store = arg;

	lock_take(&store->lock);
	while (!store->is_closing) {
		uint64_t due;

		store->is_in_line = true;
		while (store->is_working)
			lock_wait(&store->lock, &store->cond);
		store->is_in_line = false;
		store->is_working = true;
		store->is_kicked = false;
		lock_drop(&store->lock);

		due = store_work(store);

		lock_take(&store->lock);
		store->is_working = false;
		nap(store, due);
	}
	lock_drop(&store->lock);
	return NULL;
}
