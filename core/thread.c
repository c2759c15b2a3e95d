/* SPDX-License-Identifier: Apache-2.0 */
#include "core/thread.h"

#include <signal.h>

#include "transfer/base/err.h"

int
thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &before);
	assert(r == 0);
	r = pthread_create(ret_thread, NULL, fn, arg);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r == 0 ? 0 : err_new(-r);
}
