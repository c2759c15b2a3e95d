/* SPDX-License-Identifier: Apache-2.0 */

/* Who gets a lease, and who only looks. */
#include "tests/unit/master_world.h"

static uint64_t
lease_left(struct end *end, const char *key)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_stat rep = {0};

	assert_int_equal(ASK(end, stat, &rep, .n_keys = 1, .keys = &only), STATUS_OK);
	return rep.objects[0].lease_left_ms;
}

/* Of "a" and "b"; gives the status in the frame. */
static uint32_t
exist_with(struct end *end, uint8_t flags, uint32_t lease_ms, struct rep_exist *rep)
{
	struct rec_key_only keys[] = {{span_of("a", 1)}, {span_of("b", 1)}};

	*rep = (struct rep_exist){0};
	return ASK(end, exist, rep, .n_keys = 2, .keys = keys, .flags = flags,
		   .lease_ms = lease_ms);
}

static void
exist__asked_for_a_lease__keeps_the_object_for_a_while(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_exist rep;

	assert_true(end_put(end, "a", 0) != 0);
	assert_int_equal(exist_with(end, EXIST_LEASE, 0, &rep), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
	assert_int_equal(rep.fates[1].status, STATUS_NOT_FOUND);
	assert_true(lease_left(end, "a") >= w->limits.lease_ms);
	assert_int_equal(end_remove(end, "a", false), STATUS_HAS_LEASE);

	world_pass_ms(w, w->limits.lease_ms + 1000);
	assert_int_equal(lease_left(end, "a"), 0);
	assert_int_equal(end_remove(end, "a", false), STATUS_OK);
}

static void
exist__asked_for_a_lease__gives_what_is_wished_and_no_more_than_the_masters_own(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_exist rep;

	assert_true(end_put(end, "a", 0) != 0);
	assert_int_equal(exist_with(end, EXIST_LEASE, 1000, &rep), STATUS_OK);
	assert_in_range(lease_left(end, "a"), 1000, 1100);
	assert_int_equal(exist_with(end, EXIST_LEASE, 1000000, &rep), STATUS_OK);
	assert_in_range(lease_left(end, "a"), 5000, 5200);
	assert_int_equal(exist_with(end, 2, 0, &rep), STATUS_INVALID);
}

static void
looking__takes_no_lease(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_exist exist;
	struct rep_list list = {0};
	struct rep_list_by_regex by_regex = {0};
	struct rep_query_segment segments = {0};
	struct rep_query_put puts = {0};
	struct rep_events events = {0};
	struct rep_watch watch = {0};

	assert_true(end_put(end, "a", 0) != 0);
	assert_int_equal(exist_with(end, 0, 1000, &exist), STATUS_OK);
	assert_int_equal(exist.fates[0].status, STATUS_OK);
	assert_int_equal(ASK(end, list, &list, .most = 10), STATUS_OK);
	assert_int_equal(list.n_listed, 1);
	assert_int_equal(ASK(end, list_by_regex, &by_regex, .pattern = span_of("a", 1)), STATUS_OK);
	assert_int_equal(by_regex.n_listed, 1);
	assert_int_equal(ASK(end, query_segment, &segments), STATUS_OK);
	assert_int_equal(ASK(end, query_put, &puts), STATUS_OK);
	assert_int_equal(ASK(end, events, &events), STATUS_OK);
	assert_int_equal(ASK(end, watch, &watch), STATUS_OK);
	assert_int_equal(lease_left(end, "a"), 0); /* and neither does stat */
	assert_int_equal(lease_left(end, "a"), 0);
	assert_int_equal(end_remove(end, "a", false), STATUS_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(exist__asked_for_a_lease__keeps_the_object_for_a_while),
		WORLD_TEST(
			exist__asked_for_a_lease__gives_what_is_wished_and_no_more_than_the_masters_own),
		WORLD_TEST(looking__takes_no_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
