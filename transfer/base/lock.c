/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/lock.h"

#include <errno.h>
#include <time.h>

#include "transfer/base/clock.h"
#include "transfer/base/num.h"

/* What this thread holds, outermost first; each rank at most once, so 16 are more than enough. */
static _Thread_local const struct lock *held[16];
static _Thread_local size_t n_held;

bool
lock_held(const struct lock *lock)
{
	for (size_t i = 0; i < n_held; i++)
		if (held[i] == lock)
			return true;
	return false;
}

void
lock_init(struct lock *lock, enum lock_rank rank)
{
	int r = pthread_mutex_init(&lock->mutex, NULL);

	assert(r == 0);
	lock->rank = rank;
}

void
lock_fini(struct lock *lock)
{
	int r = pthread_mutex_destroy(&lock->mutex);

	assert(r == 0);
}

void
lock_take(struct lock *lock)
{
	int r;

	assert(n_held < array_len(held));
	assert(n_held == 0 || held[n_held - 1]->rank < lock->rank);

	r = pthread_mutex_lock(&lock->mutex);
	assert(r == 0);
	held[n_held++] = lock;
}

void
lock_drop(struct lock *lock)
{
	int r;

	assert(n_held > 0 && held[n_held - 1] == lock);

	n_held--;
	r = pthread_mutex_unlock(&lock->mutex);
	assert(r == 0);
}

/* A thread that waits keeps its place in `held`: it does nothing until it has the lock again. */
void
lock_wait(struct lock *lock, pthread_cond_t *cond)
{
	int r;

	assert(n_held > 0 && held[n_held - 1] == lock);

	r = pthread_cond_wait(cond, &lock->mutex);
	assert(r == 0);
}

bool
lock_wait_for(struct lock *lock, pthread_cond_t *cond, uint64_t len_ns)
{
	struct timespec until;
	uint64_t until_ns;
	int r;

	assert(n_held > 0 && held[n_held - 1] == lock);

	r = clock_gettime(CLOCK_MONOTONIC, &until);
	assert(r == 0);
	until_ns = num_add_sat((uint64_t)until.tv_sec * NS_PER_S + (uint64_t)until.tv_nsec, len_ns);
	until.tv_sec = (time_t)(until_ns / NS_PER_S);
	until.tv_nsec = (long)(until_ns % NS_PER_S);

	r = pthread_cond_timedwait(cond, &lock->mutex, &until);
	assert(r == 0 || r == ETIMEDOUT);
	return r == 0;
}

void
lock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int r;

	r = pthread_condattr_init(&attr);
	assert(r == 0);
	r = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	assert(r == 0);
	r = pthread_cond_init(cond, &attr);
	assert(r == 0);
	pthread_condattr_destroy(&attr);
}
