/* SPDX-License-Identifier: Apache-2.0 */

/* lock.h -- a mutex that knows its place.  The order is in locks.def; it is asserted. */
#ifndef TRANSFER_BASE_LOCK_H
#define TRANSFER_BASE_LOCK_H

#include <pthread.h>

#include "transfer/base/base.h"

enum lock_rank {
#define LOCK(name, doc) LOCK_##name,
#include "transfer/base/locks.def"
#undef LOCK
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

/* lock_held -- does this thread hold it?  For assertions. */
bool lock_held(const struct lock *lock);

void lock_init(struct lock *lock, enum lock_rank rank);
void lock_fini(struct lock *lock);
void lock_take(struct lock *lock);
void lock_drop(struct lock *lock);

/*
 * lock_wait     -- drop it, wait for cond until woken, take it again.
 * lock_wait_for -- the same, at most len_ns of CLOCK_MONOTONIC; false: time is up.
 *
 * Both may wake for nothing: look again at what was waited for.  needs: the innermost lock held.
 */
void lock_wait(struct lock *lock, pthread_cond_t *cond);
bool lock_wait_for(struct lock *lock, pthread_cond_t *cond, uint64_t len_ns);

/* lock_cond_init -- a condition variable that lock_wait_for() can use. */
void lock_cond_init(pthread_cond_t *cond);

#endif
