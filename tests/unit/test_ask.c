/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "master/ask.h"
#include "transfer/base/loop.h"

/* One who asks, and what it got; the test itself is the loop's thread. */
struct asker {
	struct asks *asks;
	pthread_t thread;
	uint64_t wait_ms;
	int n_later; /* the answer says "later" so often */
	int n_calls, result;
};

static bool
answer(void *arg, struct master *master)
{
	struct asker *asker = arg;

	assert_null(master);
	asker->n_calls++;
	return asker->n_later-- <= 0;
}

static void *
ask(void *arg)
{
	struct asker *asker = arg;

	asker->result = asks_put(asker->asks, answer, asker, asker->wait_ms);
	return NULL;
}

static void
start(struct asker *asker, struct asks *asks, uint64_t wait_ms)
{
	asker->asks = asks;
	asker->wait_ms = wait_ms;
	assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static void
a_question__is_answered_by_the_thread_that_turns_the_loop(void **state)
{
	struct asker asker = {.n_later = 2};
	struct asks *asks;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(asks_new(loop, &asks), 0);
	start(&asker, asks, 60000);
	while (asker.n_calls == 0) { /* it wakes the loop */
		assert_true(loop_turn(loop, 1000) >= 0);
		asks_answer(asks, NULL);
	}
	while (asker.n_calls < 3) /* what said "later" is asked again */
		asks_answer(asks, NULL);
	pthread_join(asker.thread, NULL);
	assert_int_equal(asker.result, 0);
	assert_int_equal(asker.n_calls, 3);
	asks_close(asks);
	asks_free(asks);
	loop_free(loop);
}

static void
a_question__to_a_loop_that_stands_still_is_given_up_in_time(void **state)
{
	struct asker asker = {0};
	struct asks *asks;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(asks_new(loop, &asks), 0);
	start(&asker, asks, 1);
	pthread_join(asker.thread, NULL);
	assert_int_equal(asker.result, -ETIMEDOUT);
	asks_answer(asks, NULL);
	assert_int_equal(asker.n_calls, 0);
	asks_close(asks);
	asks_free(asks);
	loop_free(loop);
}

static void
a_question__is_cancelled_when_the_program_ends(void **state)
{
	struct asker before = {0}, after = {0};
	struct asks *asks;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(asks_new(loop, &asks), 0);
	start(&before, asks, 60000);
	assert_true(loop_turn(loop, 10000) >= 0); /* it has come */
	asks_close(asks);
	start(&after, asks, 60000);
	pthread_join(before.thread, NULL);
	pthread_join(after.thread, NULL);
	assert_int_equal(before.result, -ECANCELED);
	assert_int_equal(after.result, -ECANCELED);
	asks_free(asks);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question__is_answered_by_the_thread_that_turns_the_loop),
		cmocka_unit_test(a_question__to_a_loop_that_stands_still_is_given_up_in_time),
		cmocka_unit_test(a_question__is_cancelled_when_the_program_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
