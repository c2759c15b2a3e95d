/* SPDX-License-Identifier: Apache-2.0 */

/* What becomes of copies, moves and drains is told as events. */
#include "tests/unit/master_works.h"

static int
setup(void **state)
{
	struct world *w;

	assert_int_equal(world_setup(state), 0);
	w = *state;
	w->limits.events_max = 100;
	world_close(w);
	return world_open(w);
}

/* The words of the newest event of that kind; "-": there is none.  They live until the end's next
 * answer. */
static struct span
told(struct end *end, const char *kind)
{
	struct rep_events rep = {0};

	world_pass_ms(end->world, 1100);
	assert_int_equal(ASK(end, events, &rep), STATUS_OK);
	for (uint32_t i = rep.n_events; i-- > 0;)
		if (span_equal(rep.events[i].kind, span_of(kind, strlen(kind))))
			return rep.events[i].words;
	return span_of("-", 1);
}

static void
assert_told(struct end *end, const char *kind, const char *words)
{
	struct span is = told(end, kind);
	char text[TEXT_MAX + 1];

	snprintf(text, sizeof(text), "%.*s", (int)is.len, (const char *)is.at);
	assert_string_equal(text, words);
}

static void
drain_end(struct end *end, uint64_t segment_id, uint64_t *ret_job_id)
{
	struct rec_id id = {segment_id};
	struct rep_drain rep = {0};

	assert_int_equal(ASK(end, drain, &rep, .n_segments = 1, .segments = &id), STATUS_OK);
	*ret_job_id = rep.job_id;
}

static void
cancel(struct end *end, uint64_t id)
{
	struct rec_id one = {id};
	struct rep_cancel rep = {0};

	assert_int_equal(ASK(end, cancel, &rep, .n_ids = 1, .ids = &one), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
}

static void
copy_that_goes_well__has_begun_and_is_counted(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);

	assert_int_equal(end_copy(c.user, "k", 2).status, STATUS_OK);
	assert_told(c.user, "task_begun", "copy of k");
	assert_told(c.user, "task_done", "-");
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	assert_told(c.user, "task_done", "");
	assert_told(c.user, "task_failed", "-");
}

static void
copy_that_is_cancelled__is_told(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);

	cancel(c.user, end_move(c.user, "k", 1, 2).task_id);
	assert_told(c.user, "task_cancelled", "move of k");
}

static void
copy_of_what_was_removed__has_failed__with_why(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);

	assert_true(end_put(c.user, "odd\n\xff", LEN) != 0);
	assert_int_equal(end_copy(c.user, "odd\n\xff", 0).status, STATUS_OK);
	assert_int_equal(end_remove(c.user, "odd\n\xff", true), STATUS_OK);
	for (int i = 0; i < 40; i++) { /* until the room that it was offered is given up */
		world_pass_ms(w, 1000);
		end_work(c.a);
		end_work(c.b);
		(void)end_exist(c.user, "k");
	}
	assert_told(c.user, "task_failed", "copy of odd\\n\\xff: no such object, put or lease");
}

static void
copy_that_fails_each_time__is_retried_out(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	unsigned n_tries = 0;

	assert_int_equal(end_copy(c.user, "k", 2).status, STATUS_OK);
	for (int i = 0; i < 200 && n_tries < TASK_TRIES_MAX; i++) {
		struct rep_fetch_tasks rep = end_fetch(c.b);

		if (rep.n_works > 0) {
			uint64_t task_id = rep.works[0].task_id;
			uint64_t put_id = rep.works[0].to[0].object_id;

			assert_int_equal(end_report(c.b, task_id, put_id, STATUS_UNREACHABLE),
					 STATUS_OK);
			n_tries++;
		}
		world_pass_ms(w, 100);
		end_work(c.b);
	}
	assert_int_equal(n_tries, TASK_TRIES_MAX);
	assert_told(c.user, "task_failed", "-");
	assert_true(told(c.user, "task_retried_out").len > strlen("copy of k, 5 times: "));
}

static void
drain_that_ends_well__has_begun_and_is_done__its_moves_are_only_counted(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	uint64_t job_id;

	drain_end(c.user, 1, &job_id);
	assert_told(c.user, "drain_begun", "seg1");
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	world_pass_ms(w, 6000);
	assert_told(c.user, "drain_done", "seg1: 1 moved, 0 can't be moved");
	assert_told(c.user, "task_done", "");
	assert_told(c.user, "task_begun", "-");
}

static void
drain_that_is_cancelled__is_told__and_so_are_its_moves(void **state)
{
	struct world *w = *state;
	struct cast c = cast_of(w);
	uint64_t job_id;

	drain_end(c.user, 1, &job_id);
	cancel(c.user, job_id);
	assert_told(c.user, "drain_cancelled", "seg1: 0 moved, 0 can't be moved");
	assert_told(c.user, "task_cancelled", "move of k");
}

static void
drain_with_nowhere_to_go__has_failed__with_why(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 1), *user = world_join(w, 9);
	uint64_t job_id;

	assert_int_equal(end_mount(a, 1, 1, 8 * MIB), STATUS_OK);
	end_work(a);
	assert_true(end_put(user, "x", LEN) != 0);
	drain_end(user, 1, &job_id);
	for (int i = 0; i < 10; i++) {
		world_pass_ms(w, 1000);
		end_work(a);
		(void)end_exist(user, "x");
	}
	assert_told(user, "drain_failed",
		    "seg1: 0 moved, 1 can't be moved, the last: nobody lends memory");
	assert_true(told(user, "task_retried_out").len > 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(copy_that_goes_well__has_begun_and_is_counted),
		T(copy_that_is_cancelled__is_told),
		T(copy_of_what_was_removed__has_failed__with_why),
		T(copy_that_fails_each_time__is_retried_out),
		T(drain_that_ends_well__has_begun_and_is_done__its_moves_are_only_counted),
		T(drain_that_is_cancelled__is_told__and_so_are_its_moves),
		T(drain_with_nowhere_to_go__has_failed__with_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
