/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/loop.h"

/* One pipe whose reading end is watched. */
struct ear {
	struct loop_watch watch;
	struct loop *loop;
	int write_fd;
	unsigned n_heard;
	uint32_t last;
	struct loop_watch *victim; /* removed by the callback, if set */
};

static void
hear(struct loop_watch *watch, uint32_t events)
{
	struct ear *ear = container_of(watch, struct ear, watch);

	ear->n_heard++;
	ear->last = events;
	if (ear->victim != NULL)
		loop_remove(ear->loop, ear->victim);
}

static void
ear_open(struct ear *ear, struct loop *loop)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*ear = (struct ear){
		.watch = {.fd = fds[0], .events = EPOLLIN, .fn = hear},
		.loop = loop,
		.write_fd = fds[1],
	};
	assert_int_equal(loop_add(loop, &ear->watch), 0);
}

static void
ear_close(struct ear *ear)
{
	loop_remove(ear->loop, &ear->watch);
	close(ear->watch.fd);
	if (ear->write_fd >= 0)
		close(ear->write_fd);
}

static void
speak(struct ear *ear)
{
	assert_int_equal(write(ear->write_fd, "x", 1), 1);
}

static int
loop_open(void **state)
{
	struct loop *loop;

	if (loop_new(&loop) != 0)
		return -1;
	*state = loop;
	return 0;
}

static int
loop_close(void **state)
{
	loop_free(*state);
	return 0;
}

static void
turn__with_nothing_ready__calls_nobody(void **state)
{
	struct loop *loop = *state;
	struct ear ear;

	ear_open(&ear, loop);

	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(ear.n_heard, 0);
	ear_close(&ear);
}

static void
turn__calls_who_is_ready_and_again_until_it_is_read(void **state)
{
	struct loop *loop = *state;
	struct ear ear;
	char c;

	ear_open(&ear, loop);
	speak(&ear);

	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(loop_turn(loop, -1), 1);
	assert_int_equal(ear.n_heard, 2);
	assert_int_equal(ear.last, EPOLLIN);

	assert_int_equal(read(ear.watch.fd, &c, 1), 1);
	assert_int_equal(loop_turn(loop, 0), 0);
	ear_close(&ear);
}

static void
hang_up__is_told_though_nobody_asked(void **state)
{
	struct loop *loop = *state;
	struct ear ear;

	ear_open(&ear, loop);
	assert_int_equal(loop_change(loop, &ear.watch, 0), 0);
	close(ear.write_fd);
	ear.write_fd = -1;

	assert_int_equal(loop_turn(loop, -1), 1);
	assert_true(ear.last & EPOLLHUP);
	ear_close(&ear);
}

static void
change__to_nothing__silences_until_it_is_changed_back(void **state)
{
	struct loop *loop = *state;
	struct ear ear;

	ear_open(&ear, loop);
	speak(&ear);

	assert_int_equal(loop_change(loop, &ear.watch, 0), 0);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(loop_change(loop, &ear.watch, EPOLLIN), 0);
	assert_int_equal(loop_turn(loop, 0), 1);
	ear_close(&ear);
}

static void
callback__may_remove_itself(void **state)
{
	struct loop *loop = *state;
	struct ear ear;

	ear_open(&ear, loop);
	speak(&ear);
	ear.victim = &ear.watch;

	assert_int_equal(loop_turn(loop, 0), 1);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(ear.n_heard, 1);
	ear_close(&ear);
}

/* Both are ready in the same turn; the one served first removes the other. */
static void
watch__removed_while_its_event_waits__is_not_called(void **state)
{
	struct loop *loop = *state;
	struct ear a, b;

	ear_open(&a, loop);
	ear_open(&b, loop);
	speak(&a);
	speak(&b);
	a.victim = &b.watch;
	b.victim = &a.watch;

	assert_int_equal(loop_turn(loop, 0), 1);
	assert_int_equal(a.n_heard + b.n_heard, 1);
	ear_close(&a);
	ear_close(&b);
}

struct silencer {
	struct ear ear;
	struct loop_watch *other;
};

static void
silence_other(struct loop_watch *watch, uint32_t events)
{
	struct silencer *s = container_of(watch, struct silencer, ear.watch);

	hear(watch, events);
	assert_int_equal(loop_change(s->ear.loop, s->other, 0), 0);
}

static void
watch__silenced_while_its_event_waits__is_not_called(void **state)
{
	struct loop *loop = *state;
	struct silencer a, b;

	ear_open(&a.ear, loop);
	ear_open(&b.ear, loop);
	a.ear.watch.fn = b.ear.watch.fn = silence_other;
	a.other = &b.ear.watch;
	b.other = &a.ear.watch;
	speak(&a.ear);
	speak(&b.ear);

	assert_int_equal(loop_turn(loop, 0), 1);
	assert_int_equal(a.ear.n_heard + b.ear.n_heard, 1);
	ear_close(&a.ear);
	ear_close(&b.ear);
}

static void
many__in_one_turn__are_all_served(void **state)
{
	struct loop *loop = *state;
	static struct ear ears[200];
	int n = 0;

	for (size_t i = 0; i < array_len(ears); i++) {
		ear_open(&ears[i], loop);
		ears[i].victim = &ears[i].watch;
		speak(&ears[i]);
	}

	for (int turn = 0; turn < 10; turn++)
		n += loop_turn(loop, 0);

	assert_int_equal(n, array_len(ears));
	for (size_t i = 0; i < array_len(ears); i++) {
		assert_int_equal(ears[i].n_heard, 1);
		ear_close(&ears[i]);
	}
}

static void *
wake_it(void *loop)
{
	loop_wake(loop);
	return NULL;
}

static void
wake__from_another_thread__ends_an_endless_wait(void **state)
{
	struct loop *loop = *state;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wake_it, loop), 0);

	assert_int_equal(loop_turn(loop, -1), 0);
	pthread_join(thread, NULL);
}

static void
wake__before_the_turn__ends_it_once(void **state)
{
	struct loop *loop = *state;

	loop_wake(loop);
	loop_wake(loop);

	assert_int_equal(loop_turn(loop, -1), 0);
	/* The bell has been heard: nothing is left for this turn. */
	assert_int_equal(loop_turn(loop, 0), 0);
}

static void
add__of_a_bad_descriptor__is_a_failure(void **state)
{
	struct loop_watch watch = {.fd = -1, .events = EPOLLIN, .fn = hear};

	assert_int_equal(loop_add(*state, &watch), -EBADF);
}

static void
new__without_memory__is_refused(void **state)
{
	struct loop *loop = NULL;

	(void)state;
	allocs_fail_after(0);
	assert_int_equal(loop_new(&loop), -ENOMEM);
	allocs_succeed();
	assert_null(loop);
}

#define with_loop(test) cmocka_unit_test_setup_teardown(test, loop_open, loop_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_loop(turn__with_nothing_ready__calls_nobody),
		with_loop(turn__calls_who_is_ready_and_again_until_it_is_read),
		with_loop(hang_up__is_told_though_nobody_asked),
		with_loop(change__to_nothing__silences_until_it_is_changed_back),
		with_loop(callback__may_remove_itself),
		with_loop(watch__removed_while_its_event_waits__is_not_called),
		with_loop(watch__silenced_while_its_event_waits__is_not_called),
		with_loop(many__in_one_turn__are_all_served),
		with_loop(wake__from_another_thread__ends_an_endless_wait),
		with_loop(wake__before_the_turn__ends_it_once),
		with_loop(add__of_a_bad_descriptor__is_a_failure),
		cmocka_unit_test(new__without_memory__is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
