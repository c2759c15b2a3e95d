/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ask.h -- questions of other threads, answered by the loop's between two turns.
 *
 *      other thread:  asks_put() ---- loop_wake() ---> waits ------------------> has its answer
 *      loop's:                         asks_answer(): at most ASKS_A_TURN of them
 *
 * An answer is made whole within one turn, so it says what was true at one moment; whoever has
 * long questions asks them in pieces (http_page.h), so that no turn gets long.
 *
 * thread:  asks_put() any; the others the loop's.
 */
#ifndef MASTER_ASK_H
#define MASTER_ASK_H

#include "transfer/base/base.h"

struct asks;
struct loop;
struct master;

#define ASKS_A_TURN 8

int asks_new(struct loop *loop, struct asks **ret_asks) MUST_CHECK;

/* asks_free -- needs: asks_close() was called, and no thread asks any more. */
void asks_free(struct asks *asks);

/*
 * asks_put -- have `answer` called by the loop's thread, and wait until it was.
 *
 * answer:  false: not yet, what it would say is not committed; it is called again in a later turn.
 * result:  0; -ETIMEDOUT: the loop did not come to it within wait_ms, and never will; -ECANCELED:
 *          the program ends.
 */
int asks_put(struct asks *asks, bool (*answer)(void *arg, struct master *master), void *arg,
	     uint64_t wait_ms) MUST_CHECK;

/* asks_answer -- those that wait, a few a turn. */
void asks_answer(struct asks *asks, struct master *master);

/* asks_close -- nobody is answered any more; who waits is told. */
void asks_close(struct asks *asks);

DEFINE_CLEANUP(struct asks, asks_free);

#endif
