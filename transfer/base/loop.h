/* SPDX-License-Identifier: Apache-2.0 */

/*
 * loop.h -- one thread that waits for many descriptors (epoll, level-triggered).
 *
 * A watch is embedded in the struct that owns the descriptor.  Its callback may
 * remove any watch, also its own, also one with an event still waiting in this
 * turn: the loop forgets that event.
 *
 * thread:  the owner's, but loop_wake() any (and from a signal handler).
 */
#ifndef TRANSFER_BASE_LOOP_H
#define TRANSFER_BASE_LOOP_H

#include "transfer/base/base.h"

struct loop;
struct loop_watch;

/* events: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR or-ed. */
typedef void (*loop_fn)(struct loop_watch *watch, uint32_t events);

struct loop_watch {
	int fd; /* not owned */
	uint32_t events;
	loop_fn fn;
};

int loop_new(struct loop **ret_loop) MUST_CHECK;
void loop_free(struct loop *loop);

/* loop_add -- needs: watch->fd, ->events, ->fn set.  0 or -errno. */
int loop_add(struct loop *loop, struct loop_watch *watch) MUST_CHECK;
int loop_change(struct loop *loop, struct loop_watch *watch, uint32_t events) MUST_CHECK;
void loop_remove(struct loop *loop, struct loop_watch *watch);

/* loop_turn -- wait at most wait_ms (-1: for ever), call what is ready.  Calls made, or -errno. */
int loop_turn(struct loop *loop, int wait_ms) MUST_CHECK;

/* loop_wake -- end the wait of the turn under way, or of the next. */
void loop_wake(struct loop *loop);

DEFINE_CLEANUP(struct loop, loop_free);

#endif
