/* SPDX-License-Identifier: Apache-2.0 */

/* Leases that somebody holds without reading. */
#include "tests/unit/core_world.h"

static void
lease__is_kept__until_it_is_dropped(void **state)
{
	const char *const keys[] = {"a", "none", "b", ""};
	struct world *w = *state;
	struct tiffin_lease *lease;
	int results[4];

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	assert_int_equal(world_put(w, "b", "bytes", 5, 1), 0);
	assert_int_equal(tiffin_lease_take(w->client, keys, 4, results, &lease), 0);
	assert_int_equal(results[0], 0);
	assert_int_equal(results[1], TIFFIN_E_NOT_FOUND);
	assert_int_equal(results[2], 0);
	assert_int_equal(results[3], TIFFIN_E_INVALID);

	for (int i = 0; i < 10; i++) {
		clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS / 2);
		client_tick(w->client);
	}
	assert_int_equal(tiffin_lease_check(lease, 0), 0);
	assert_int_equal(tiffin_lease_check(lease, 1), TIFFIN_E_NOT_FOUND);
	assert_int_equal(tiffin_lease_check(lease, 2), 0);
	assert_int_equal(tiffin_lease_check(lease, 4), TIFFIN_E_INVALID);
	assert_int_equal(w->n_heard[MSG_renew_lease], 10);
	assert_int_equal(w->n_released, 0);

	tiffin_lease_drop(lease);
	lease_keeper_flush(w->client);
	assert_int_equal(w->n_released, 2);
	tiffin_lease_drop(NULL);
}

static void
lease__whose_object_is_replaced_while_the_master_forgets_it__is_over(void **state)
{
	const char *key = "a";
	struct world *w = *state;
	struct tiffin_lease *lease;
	int result;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	assert_int_equal(tiffin_lease_take(w->client, &key, 1, &result, &lease), 0);
	w->objects[0].object_id += 1000; /* another version by now */
	w->forgets_leases = true;
	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS / 2);
	client_tick(w->client);
	assert_int_equal(tiffin_lease_check(lease, 0), TIFFIN_E_LEASE);
	tiffin_lease_drop(lease);
}

static void
lease__of_a_master_that_does_not_answer__runs_out(void **state)
{
	const char *key = "a";
	struct world *w = *state;
	struct tiffin_lease *lease;
	int result;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	assert_int_equal(tiffin_lease_take(w->client, &key, 1, &result, &lease), 0);
	w->link_outcome = LINK_E_LOST;
	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS - 1);
	client_tick(w->client);
	assert_int_equal(tiffin_lease_check(lease, 0), 0);
	clock_fake_advance_ms(&w->clock, 1);
	assert_int_equal(tiffin_lease_check(lease, 0), TIFFIN_E_LEASE);
	tiffin_lease_drop(lease);

	lease = NULL;
	assert_int_equal(tiffin_lease_take(w->client, &key, 1, &result, &lease),
			 TIFFIN_E_UNREACHABLE);
	assert_null(lease);
	assert_int_equal(result, TIFFIN_E_UNREACHABLE);
}

static void
lease__of_nothing__is_refused(void **state)
{
	const char *key = "a";
	struct world *w = *state;
	struct tiffin_lease *lease;
	int result;

	assert_int_equal(tiffin_lease_take(w->client, &key, 0, &result, &lease), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_lease_take(w->client, NULL, 1, &result, &lease), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_lease_check(NULL, 0), TIFFIN_E_INVALID);
}

static void
leases__more_than_one_request_takes__are_all_held(void **state)
{
	const char *keys[600];
	int results[600];
	struct world *w = *state;
	struct tiffin_lease *lease;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	for (size_t i = 0; i < 600; i++)
		keys[i] = "a";
	assert_int_equal(tiffin_lease_take(w->client, keys, 600, results, &lease), 0);
	assert_int_equal(w->n_heard[MSG_get_replica_list], 3);
	for (size_t i = 0; i < 600; i++)
		assert_int_equal(tiffin_lease_check(lease, i), 0);
	tiffin_lease_drop(lease);
	lease_keeper_flush(w->client);
	assert_int_equal(w->n_released, 600);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(lease__is_kept__until_it_is_dropped),
		world_test(lease__whose_object_is_replaced_while_the_master_forgets_it__is_over),
		world_test(lease__of_a_master_that_does_not_answer__runs_out),
		world_test(lease__of_nothing__is_refused),
		world_test(leases__more_than_one_request_takes__are_all_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
