/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "transfer/base/clock.h"
#include "transfer/base/lock.h"

static void
lock__is_held_by_the_thread_that_took_it(void **state)
{
	struct lock lock;

	(void)state;
	lock_init(&lock, LOCK_test_world);
	assert_false(lock_held(&lock));

	lock_take(&lock);
	assert_true(lock_held(&lock));
	lock_drop(&lock);

	assert_false(lock_held(&lock));
	lock_fini(&lock);
}

static void *
look(void *lock)
{
	return lock_held(lock) ? lock : NULL;
}

static void
lock__is_not_held_by_another_thread(void **state)
{
	struct lock lock;
	pthread_t thread;
	void *seen;

	(void)state;
	lock_init(&lock, LOCK_test_world);
	lock_take(&lock);

	assert_int_equal(pthread_create(&thread, NULL, look, &lock), 0);
	pthread_join(thread, &seen);

	assert_null(seen);
	lock_drop(&lock);
	lock_fini(&lock);
}

static void
locks__may_be_taken_downwards(void **state)
{
	struct lock outer, inner;

	(void)state;
	lock_init(&outer, LOCK_core_client);
	lock_init(&inner, LOCK_xfer_path);

	lock_take(&outer);
	lock_take(&inner);
	assert_true(lock_held(&outer) && lock_held(&inner));
	lock_drop(&inner);
	lock_drop(&outer);

	lock_fini(&inner);
	lock_fini(&outer);
}

/* ends_by_abort -- does `sin` break an assertion?  In a child, so that this program lives on. */
static bool
ends_by_abort(void (*sin)(void))
{
	const struct rlimit no_core = {0};
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		sin();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
take_upwards(void)
{
	static struct lock outer, inner;

	lock_init(&outer, LOCK_core_client);
	lock_init(&inner, LOCK_xfer_path);
	lock_take(&inner);
	lock_take(&outer);
}

static void
take_twice(void)
{
	static struct lock lock;

	lock_init(&lock, LOCK_test_world);
	lock_take(&lock);
	lock_take(&lock);
}

static void
drop_what_is_not_held(void)
{
	static struct lock lock;

	lock_init(&lock, LOCK_test_world);
	lock_drop(&lock);
}

static void
wait_without_the_lock(void)
{
	static struct lock lock;
	static pthread_cond_t cond;

	lock_init(&lock, LOCK_test_world);
	lock_cond_init(&cond);
	lock_wait_for(&lock, &cond, 1);
}

static void
sins_against_the_order__end_the_process(void **state)
{
	(void)state;
	assert_true(ends_by_abort(take_upwards));
	assert_true(ends_by_abort(take_twice));
	assert_true(ends_by_abort(drop_what_is_not_held));
	assert_true(ends_by_abort(wait_without_the_lock));
}

static void
wait_for__whose_time_is_up__says_so_and_holds_the_lock(void **state)
{
	struct lock lock;
	pthread_cond_t cond;

	(void)state;
	lock_init(&lock, LOCK_test_world);
	lock_cond_init(&cond);
	lock_take(&lock);

	assert_false(lock_wait_for(&lock, &cond, 0));

	assert_true(lock_held(&lock));
	lock_drop(&lock);
	pthread_cond_destroy(&cond);
	lock_fini(&lock);
}

struct world {
	struct lock lock; /* LOCK_test_world */
	pthread_cond_t cond;
	bool is_ready;
};

static void *
make_ready(void *arg)
{
	struct world *world = arg;

	lock_take(&world->lock);
	world->is_ready = true;
	pthread_cond_signal(&world->cond);
	lock_drop(&world->lock);
	return NULL;
}

static void
wait_with(void (*wait)(struct world *world))
{
	struct world world = {0};
	pthread_t thread;

	lock_init(&world.lock, LOCK_test_world);
	lock_cond_init(&world.cond);
	lock_take(&world.lock);
	assert_int_equal(pthread_create(&thread, NULL, make_ready, &world), 0);

	while (!world.is_ready)
		wait(&world);

	assert_true(lock_held(&world.lock));
	lock_drop(&world.lock);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&world.cond);
	lock_fini(&world.lock);
}

static void
wait_for_ever(struct world *world)
{
	lock_wait(&world->lock, &world->cond);
}

static void
wait_for_a_minute(struct world *world)
{
	assert_true(lock_wait_for(&world->lock, &world->cond, 60 * NS_PER_S));
}

static void
wait_for_eternity(struct world *world)
{
	assert_true(lock_wait_for(&world->lock, &world->cond, UINT64_MAX));
}

static void
wait__lets_the_other_thread_in_and_ends_when_woken(void **state)
{
	(void)state;
	wait_with(wait_for_ever);
	wait_with(wait_for_a_minute);
	wait_with(wait_for_eternity);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock__is_held_by_the_thread_that_took_it),
		cmocka_unit_test(lock__is_not_held_by_another_thread),
		cmocka_unit_test(locks__may_be_taken_downwards),
		cmocka_unit_test(sins_against_the_order__end_the_process),
		cmocka_unit_test(wait_for__whose_time_is_up__says_so_and_holds_the_lock),
		cmocka_unit_test(wait__lets_the_other_thread_in_and_ends_when_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
