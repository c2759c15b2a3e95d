/* SPDX-License-Identifier: Apache-2.0 */
#include "master/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "transfer/base/clock.h"
#include "transfer/base/err.h"
#include "transfer/base/list.h"
#include "transfer/base/lock.h"
#include "transfer/base/loop.h"

struct ask {
	struct list_link at; /* on asks.waiting; off it while the loop answers, and afterwards */
	bool (*answer)(void *arg, struct master *master);
	void *arg;
	bool is_answered;
};

struct asks {
	struct loop *loop;
	struct lock lock;
	pthread_cond_t cond; /* some ask was answered, or the end has come */
	struct list waiting;
	bool is_closed;
};

int
asks_new(struct loop *loop, struct asks **ret_asks)
{
	struct asks *asks = calloc(1, sizeof(*asks));

	if (asks == NULL)
		return err_new(-ENOMEM);
	asks->loop = loop;
	lock_init(&asks->lock, LOCK_master_asks);
	lock_cond_init(&asks->cond);
	list_init(&asks->waiting);
	*ret_asks = asks;
	return 0;
}

void
asks_free(struct asks *asks)
{
	if (asks == NULL)
		return;

	assert(list_is_empty(&asks->waiting));
	pthread_cond_destroy(&asks->cond);
	lock_fini(&asks->lock);
	free(asks);
}

/* Until it is answered, or nobody will answer it; an answer that has begun is always waited for. */
static int
await(struct asks *asks, struct ask *ask, uint64_t wait_ms)
{
	bool in_time = true;

	while (!ask->is_answered) {
		bool is_waiting = list_link_is_on(&ask->at);

		if (is_waiting && (asks->is_closed || !in_time)) {
			list_remove(&ask->at);
			return asks->is_closed ? -ECANCELED : -ETIMEDOUT;
		}
		if (is_waiting)
			in_time = lock_wait_for(&asks->lock, &asks->cond, wait_ms * NS_PER_MS);
		else
			lock_wait(&asks->lock, &asks->cond);
	}
	return 0;
}

int
asks_put(struct asks *asks, bool (*answer)(void *arg, struct master *master), void *arg,
	 uint64_t wait_ms)
{
	struct ask ask = {.answer = answer, .arg = arg};
	int r;

	list_link_init(&ask.at);
	lock_take(&asks->lock);
	list_push_back(&asks->waiting, &ask.at);
	loop_wake(asks->loop);
	r = await(asks, &ask, wait_ms);
	lock_drop(&asks->lock);
	return r;
}

void
asks_answer(struct asks *asks, struct master *master)
{
	struct list later;
	struct list_link *link;
	unsigned n = 0;

	list_init(&later);
	lock_take(&asks->lock);
	while (n < ASKS_A_TURN && (link = list_first(&asks->waiting)) != NULL) {
		struct ask *ask = list_of(link, struct ask, at);
		bool is_answered;

		list_remove(link);
		lock_drop(&asks->lock);
		is_answered = ask->answer(ask->arg, master);
		lock_take(&asks->lock);
		ask->is_answered = is_answered;
		if (!is_answered)
			list_push_back(&later, link);
		n++;
	}
	if (!list_is_empty(&asks->waiting))
		loop_wake(asks->loop); /* the others in the next turn */
	while ((link = list_first(&later)) != NULL) {
		list_remove(link);
		list_push_back(&asks->waiting, link);
	}
	if (n > 0)
		pthread_cond_broadcast(&asks->cond);
	lock_drop(&asks->lock);
}

void
asks_close(struct asks *asks)
{
	lock_take(&asks->lock);
	asks->is_closed = true;
	pthread_cond_broadcast(&asks->cond);
	lock_drop(&asks->lock);
}
