/* SPDX-License-Identifier: Apache-2.0 */

/* test_engine_alloc.c -- the engine when there is no memory, and that it needs none once it runs.
 */
#include "tests/unit/xfer_world.h"

#include <errno.h>

#include "tests/unit/allocs.h"

/* ---- steady state ---- */

static void
ops__once_the_way_is_known__allocate_nothing(struct world *w)
{
	struct token tokens[2] = {token_for(w->lent, TOKEN_READ | TOKEN_MAP),
				  token_for(w->lent, TOKEN_WRITE)};
	struct scatter s = scatter_new(&w->rand, 300000);
	enum op_result results[8];

	for (size_t i = 0; i < array_len(results); i++) {
		struct op op = op_for(w, i % 2 ? OP_WRITE : OP_READ, &tokens[i % 2], &s, 5000);

		if (i == 2) /* both ways were gone once */
			allocs_fail_after(0);
		results[i] = run(w, &op);
	}
	allocs_succeed();

	for (size_t i = 0; i < array_len(results); i++)
		assert_int_equal(results[i], OP_DONE);
	free(s.area);
}

static void
local__in_steady_state__allocates_nothing(void **state)
{
	struct world *w = world_open(transport_local_new, "unix");

	(void)state;
	assert_int_equal(engine_lend(w->engine, w->lent), 0);
	ops__once_the_way_is_known__allocate_nothing(w);
	engine_unlend(w->engine, w->lent);
	world_close(w);
}

static void
shm__in_steady_state__allocates_nothing(void **state)
{
	struct world *w = world_open(transport_shm_new, "unix");

	(void)state;
	ops__once_the_way_is_known__allocate_nothing(w);
	world_close(w);
}

static void
tcp__in_steady_state__allocates_nothing(void **state)
{
	struct world *w = world_open(transport_tcp_new, "127.0.0.1:0");

	(void)state;
	ops__once_the_way_is_known__allocate_nothing(w);
	world_close(w);
}

/* ---- each allocation fails in turn ---- */

static void
lent__survives_the_failure_of_each_allocation_in_turn(void **state)
{
	struct lent_config config = {.size_bytes = LENT_SIZE_MIN};
	struct rand rand;

	(void)state;
	rand_init(&rand, 1);
	for (unsigned n = 0;; n++) {
		cleanup_with(lent_close_at) struct lent *lent = NULL;
		int r;

		allocs_fail_after(n);
		r = lent_open(&config, &rand, &lent);
		allocs_succeed();
		if (r == 0)
			return; /* nothing was left to fail */
		assert_int_equal(r, -ENOMEM);
	}
}

static int
make_all(struct engine **ret_engine, struct target **ret_target)
{
	static const struct target_desc desc = {.segment_id = 1, .size_bytes = 1 << 20};
	int r = engine_new(clock_real(), ret_engine);

	if (r == 0)
		r = engine_add_default(*ret_engine, 1);
	if (r == 0)
		r = engine_target(*ret_engine, &desc, ret_target);
	return r;
}

static void
engine__survives_the_failure_of_each_allocation_in_turn(void **state)
{
	(void)state;
	for (unsigned n = 0;; n++) {
		struct engine *engine = NULL;
		struct target *target = NULL;
		int r;

		allocs_fail_after(n);
		r = make_all(&engine, &target);
		allocs_succeed();
		if (engine != NULL)
			engine_target_unref(engine, target);
		engine_free(engine);
		if (r == 0)
			return;
		assert_int_equal(r, -ENOMEM);
	}
}

/* An op that finds no memory for its way is not moved, and the next one is. */
static void
first_op_without_memory__is_lost_and_the_next_is_done(int (*make)(struct transport **),
						      const char *listen)
{
	struct world *w = world_open(make, listen);
	struct token token = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_READ, &token, &s, 0);
	enum op_result result;

	allocs_fail_after(0);
	result = run(w, &op);
	allocs_succeed();
	assert_int_equal(result, OP_E_LOST);
	op = op_for(w, OP_READ, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_DONE);

	free(s.area);
	world_close(w);
}

static void
shm__without_memory_for_a_view__loses_that_op_alone(void **state)
{
	(void)state;
	first_op_without_memory__is_lost_and_the_next_is_done(transport_shm_new, "unix");
}

static void
tcp__without_memory_for_a_peer__loses_that_op_alone(void **state)
{
	(void)state;
	first_op_without_memory__is_lost_and_the_next_is_done(transport_tcp_new, "127.0.0.1:0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local__in_steady_state__allocates_nothing),
		cmocka_unit_test(shm__in_steady_state__allocates_nothing),
		cmocka_unit_test(tcp__in_steady_state__allocates_nothing),
		cmocka_unit_test(lent__survives_the_failure_of_each_allocation_in_turn),
		cmocka_unit_test(engine__survives_the_failure_of_each_allocation_in_turn),
		cmocka_unit_test(shm__without_memory_for_a_view__loses_that_op_alone),
		cmocka_unit_test(tcp__without_memory_for_a_peer__loses_that_op_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
