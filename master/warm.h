/* SPDX-License-Identifier: Apache-2.0 */

/*
 * warm.h -- a thread that has the kernel find and clear memory before it is needed.
 *
 *      owner     | in use | in use | next |  then  |        pages of 2 MiB
 *                                    ^ ready ^ warm_ask(): being made so by the thread
 *
 * Memory that nobody had before is found and cleared when it is first touched: of a large page
 * that takes a millisecond, and ten where a host behind the kernel must find it first.  An owner
 * who knows which memory comes next asks for it here, and never waits.  When memory is not ready
 * in time, or can't be had, touching it does what it always did.
 *
 * thread:  warm_ask() and warm_rest(): one owner's.  Contents are never changed, so the owner may
 *          use the memory meanwhile.
 */
#ifndef MASTER_WARM_H
#define MASTER_WARM_H

#include "transfer/base/base.h"

struct warm;

/* warm_new -- 0, -ENOMEM, or -EAGAIN when there can be no thread. */
int warm_new(struct warm **ret_warm) MUST_CHECK;
void warm_free(struct warm *warm);

/* warm_ask -- these bytes, soon; forgotten when WARM_ASKS_MAX others wait.  needs: whole pages,
 * which stay mapped until warm_rest(). */
#define WARM_ASKS_MAX 8
void warm_ask(struct warm *warm, void *at, size_t len_bytes);

/* warm_rest -- wait until the thread touches nothing of what was asked before. */
void warm_rest(struct warm *warm);

DEFINE_CLEANUP(struct warm, warm_free);

#endif
