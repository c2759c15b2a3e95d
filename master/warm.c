/* SPDX-License-Identifier: Apache-2.0 */
#include "master/warm.h"

#include <errno.h>
#include <sys/mman.h>

#include "transfer/base/err.h"
#include "transfer/base/lock.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse it, and memory stays as it is */
#endif

struct ask {
	void *at;
	size_t len_bytes;
};

struct warm {
	struct lock lock; /* LOCK_master_warm; what follows is with the lock held */
	pthread_cond_t cond;
	pthread_t thread;
	struct ask asks[WARM_ASKS_MAX]; /* a ring: n_asked came, n_done are over */
	size_t n_asked, n_done;
	bool is_ending;
};

static void *
work(void *arg)
{
	struct warm *warm = arg;

	lock_take(&warm->lock);
	while (!warm->is_ending) {
		struct ask ask = warm->asks[warm->n_done % WARM_ASKS_MAX];

		if (warm->n_done == warm->n_asked) {
			lock_wait(&warm->lock, &warm->cond);
			continue;
		}
		lock_drop(&warm->lock);
		(void)madvise(ask.at, ask.len_bytes, MADV_POPULATE_WRITE);
		lock_take(&warm->lock);
		warm->n_done++;
		pthread_cond_broadcast(&warm->cond);
	}
	lock_drop(&warm->lock);
	return NULL;
}

int
warm_new(struct warm **ret_warm)
{
	struct warm *warm = calloc(1, sizeof(*warm));
	int e;

	if (warm == NULL)
		return err_new(-ENOMEM);
	lock_init(&warm->lock, LOCK_master_warm);
	lock_cond_init(&warm->cond);
	e = pthread_create(&warm->thread, NULL, work, warm);
	if (e != 0) {
		pthread_cond_destroy(&warm->cond);
		lock_fini(&warm->lock);
		free(warm);
		return err_new(-e);
	}
	*ret_warm = warm;
	return 0;
}

void
warm_free(struct warm *warm)
{
	if (warm == NULL)
		return;

	lock_take(&warm->lock);
	warm->is_ending = true;
	pthread_cond_broadcast(&warm->cond);
	lock_drop(&warm->lock);
	pthread_join(warm->thread, NULL);
	pthread_cond_destroy(&warm->cond);
	lock_fini(&warm->lock);
	free(warm);
}

void
warm_ask(struct warm *warm, void *at, size_t len_bytes)
{
	lock_take(&warm->lock);
	if (warm->n_asked - warm->n_done < WARM_ASKS_MAX)
		warm->asks[warm->n_asked++ % WARM_ASKS_MAX] = (struct ask){at, len_bytes};
	lock_drop(&warm->lock);
	pthread_cond_broadcast(&warm->cond);
}

void
warm_rest(struct warm *warm)
{
	lock_take(&warm->lock);
	while (warm->n_done < warm->n_asked)
		lock_wait(&warm->lock, &warm->cond);
	lock_drop(&warm->lock);
}
