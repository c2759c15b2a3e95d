/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One turn:
 *
 *      epoll_wait --> events[0] events[1] events[2] ... events[n_ready - 1]
 *                                  ^ at: this one's callback runs
 *
 * A callback may remove a watch, and free the struct around it, that still
 * waits further right.  So loop_remove() strikes it out of the turn's events.
 */
#include "transfer/base/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/sock.h"

#define TURN_MAX 64

/* thread: the owner's, but wake_fd never changes and loop_wake() writes to it from any. */
struct loop {
	int epoll_fd, wake_fd;
	int at, n_ready; /* the turn under way; n_ready 0 between turns */
	struct epoll_event events[TURN_MAX];
};

static int
open_descriptors(struct loop *loop)
{
	/* The loop's own address stands for its bell: no watch can have it. */
	struct epoll_event bell = {.events = EPOLLIN, .data.ptr = loop};

	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return err_new(-errno);
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->wake_fd < 0)
		return err_new(-errno);
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &bell) < 0)
		return err_new(-errno);
	return 0;
}

int
loop_new(struct loop **ret_loop)
{
	cleanup_with(loop_free_at) struct loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (loop == NULL)
		return err_new(-ENOMEM);
	loop->epoll_fd = loop->wake_fd = -1;

	r = open_descriptors(loop);
	if (r < 0)
		return err_up(r);

	*ret_loop = take(&loop);
	return 0;
}

void
loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	assert(loop->n_ready == 0);

	fd_close_at(&loop->epoll_fd);
	fd_close_at(&loop->wake_fd);
	free(loop);
}

int
loop_add(struct loop *loop, struct loop_watch *watch)
{
	struct epoll_event event = {.events = watch->events, .data.ptr = watch};

	assert(watch->fn != NULL);

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) < 0)
		return err_new(-errno);
	return 0;
}

int
loop_change(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (events == watch->events)
		return 0;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) < 0)
		return err_new(-errno);
	watch->events = events;
	return 0;
}

void
loop_remove(struct loop *loop, struct loop_watch *watch)
{
	for (int i = loop->at; i < loop->n_ready; i++)
		if (loop->events[i].data.ptr == watch)
			loop->events[i].data.ptr = NULL;

	/* It can only fail when the descriptor is closed already, and then epoll has let go of it.
	 */
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
}

static void
hear_bell(struct loop *loop)
{
	uint64_t n_rings;

	/* Another thread may not have rung after all; then there is nothing to read. */
	if (read(loop->wake_fd, &n_rings, sizeof(n_rings)) < 0)
		return;
}

/* serve -- events[at].  What the watch no longer wants, an earlier callback of this turn ended. */
static bool
serve(struct loop *loop)
{
	struct epoll_event *event = &loop->events[loop->at];
	struct loop_watch *watch = event->data.ptr;
	uint32_t wanted;

	if (event->data.ptr == NULL)
		return false;
	if (event->data.ptr == loop) {
		hear_bell(loop);
		return false;
	}

	wanted = event->events & (watch->events | EPOLLHUP | EPOLLERR);
	if (wanted == 0)
		return false;
	watch->fn(watch, wanted);
	return true;
}

int
loop_turn(struct loop *loop, int wait_ms)
{
	int n_served = 0;
	int n;

	assert(loop->n_ready == 0); /* no turn within a turn */

	n = epoll_wait(loop->epoll_fd, loop->events, TURN_MAX, wait_ms);
	if (n < 0 && errno == EINTR)
		return 0; /* a signal: the caller looks what it meant */
	if (n < 0)
		return err_new(-errno);

	loop->n_ready = n;
	for (loop->at = 0; loop->at < n; loop->at++)
		n_served += serve(loop);
	loop->at = loop->n_ready = 0;
	return n_served;
}

void
loop_wake(struct loop *loop)
{
	int errno_before = errno;
	uint64_t one = 1;

	/* It fails only when 2^64 - 2 rings wait to be heard: then it will wake anyway. */
	if (write(loop->wake_fd, &one, sizeof(one)) < 0)
		errno = errno_before;
}
