/* SPDX-License-Identifier: Apache-2.0 */

/* thread.h -- threads of the library inside somebody else's program. */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <pthread.h>

#include "transfer/base/base.h"

/*
 * thread_start -- a thread that takes no signals: they belong to the program's own.
 *
 * result:  0 or -errno; join it with pthread_join().
 */
int thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg) MUST_CHECK;

#endif
