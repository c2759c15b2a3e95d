/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/master_world.h"

/* Tenant "a" with a quota, its client, and two segments of 64 MiB. */
static struct end *
with_quota(struct world *w, uint64_t bytes, uint64_t objects)
{
	struct end *provider = world_join(w, 11);

	end_mount(provider, 1, 1, 64 * MIB);
	end_mount(provider, 2, 1, 64 * MIB);
	assert_int_equal(end_tenant_put(provider, "a", TENANT_SET_BYTES | TENANT_SET_OBJECTS, bytes,
					objects),
			 STATUS_OK);
	return world_join_as(w, 12, "a");
}

/* The status of one put_start, once its time to wait is over; *ret_rep lives as the end's next one.
 */
static uint32_t
start_patiently(struct end *end, const char *key, uint64_t len_bytes, uint8_t n_copies,
		struct rep_put_start *ret_rep)
{
	struct rec_put put = {span_of(key, strlen(key)), len_bytes};
	uint64_t id = SEND(end, put_start, .replica_num = n_copies, .n_puts = 1, .puts = &put);

	for (int i = 0; i < 60 && end_status(end, id) == NO_ANSWER; i++)
		world_pass_ms(end->world, 50);
	assert_int_equal(HEAR(end, id, put_start, ret_rep), STATUS_OK);
	return ret_rep->places[0].status;
}

static uint32_t
put_patiently(struct end *end, const char *key, uint64_t len_bytes)
{
	struct rep_put_start rep = {0};
	uint32_t status = start_patiently(end, key, len_bytes, 1, &rep);

	return status != STATUS_OK ? status : end_finish(end, rep.places[0].object_id, len_bytes);
}

static void
assert_reply_why(const struct rep_put_start *rep, const char *words)
{
	if (memmem(rep->why.at, rep->why.len, words, strlen(words)) == NULL)
		fail_msg("no \"%s\" in: %.*s", words, (int)rep->why.len, (const char *)rep->why.at);
}

static void
quota__may_be_filled_to_the_last_byte__and_no_further(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 8 * MIB, 0);
	const struct tenant *a = world_tenant(w, "a");

	assert_int_equal(put_patiently(end, "1", 4 * MIB), STATUS_OK);
	assert_int_equal(put_patiently(end, "2", 4 * MIB), STATUS_OK);
	assert_int_equal(a->charged_bytes, 8 * MIB);
	assert_int_equal(a->n_objects, 2);
	assert_int_equal(put_patiently(end, "3", 1), STATUS_OK);

	assert_int_equal(a->n_objects, 2); /* the one put first had to go */
	assert_int_equal(end_exist(end, "1"), STATUS_NOT_FOUND);
	assert_int_equal(a->charged_bytes, 4 * MIB + 512);
}

static void
put_over_quota__takes_nothing_from_another_tenant(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 8 * MIB, 0), *other = world_join_as(w, 13, "b");

	assert_true(end_put(other, "old", 16 * MIB) != 0);
	for (int i = 0; i < 20; i++) {
		char key[8];

		snprintf(key, sizeof(key), "k%d", i);
		assert_int_equal(put_patiently(end, key, 1 * MIB), STATUS_OK);
		assert_true(world_tenant(w, "a")->charged_bytes <= 8 * MIB);
	}

	assert_int_equal(end_exist(other, "old"), STATUS_OK);
	assert_int_equal(end_exist(end, "k0"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "k19"), STATUS_OK);
}

static void
put_over_quota__while_all_is_leased__is_refused_and_says_so(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 8 * MIB, 0);
	struct rep_put_start rep = {0};

	assert_int_equal(put_patiently(end, "k", 6 * MIB), STATUS_OK);
	end_get(end, "k");
	assert_int_equal(start_patiently(end, "l", 4 * MIB, 1, &rep), STATUS_QUOTA_EXCEEDED);

	assert_reply_why(&rep,
			 "\"a\" wants 4.0 MiB more, and holds 6.0 MiB of its quota of 8.0 MiB");
	assert_reply_why(&rep, "6.0 MiB leased, 0 B pinned, 0 B being written, 0 B resting");
	assert_int_equal(end_exist(end, "k"), STATUS_OK);
}

static void
put_over_quota__waits_for_what_rests__and_for_other_puts(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 8 * MIB, 0);
	struct rec_put put = {span_of("new", 3), 8 * MIB};
	struct rep_put_start rep = {0};
	uint32_t status;
	uint64_t old, id;

	old = end_start(end, "old", 8 * MIB, 0, &status);
	id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_pass_ms(w, 500);
	assert_int_equal(end_status(end, id), NO_ANSWER);
	assert_int_equal(end_revoke(end, old, /* is_quiet= */ true), STATUS_OK);
	world_pass_ms(w, 100);

	assert_int_equal(HEAR(end, id, put_start, &rep), STATUS_OK);
	assert_int_equal(rep.places[0].status, STATUS_OK);
}

static void
put_over_quota__after_its_time__says_what_is_written_and_what_rests(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 8 * MIB, 0);
	struct rep_put_start rep = {0};
	uint32_t status;
	uint64_t lost = end_start(end, "lost", 2 * MIB, 0, &status);

	end_revoke(end, lost, /* is_quiet= */ false);
	end_start(end, "slow", 5 * MIB, 0, &status);
	assert_int_equal(start_patiently(end, "l", 4 * MIB, 1, &rep), STATUS_QUOTA_EXCEEDED);

	assert_reply_why(&rep, "0 B leased, 0 B pinned, 5.0 MiB being written, 2.0 MiB resting");
	assert_int_equal(counter_get(&w->master->counters.puts_over_quota), 1);
}

static void
put_of_more_than_the_whole_quota__is_refused_at_once__and_nothing_goes(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 8 * MIB, 0);
	uint32_t status;

	assert_int_equal(put_patiently(end, "k", 4 * MIB), STATUS_OK);
	end_start(end, "l", 8 * MIB + 1, 0, &status);

	assert_int_equal(status, STATUS_QUOTA_EXCEEDED);
	assert_int_equal(end_exist(end, "k"), STATUS_OK);
}

static void
copies__count_each__and_fewer_are_made_when_only_those_fit(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 6 * MIB, 0);
	struct rep_put_start rep = {0};

	assert_int_equal(start_patiently(end, "k", 4 * MIB, 2, &rep), STATUS_OK);
	assert_int_equal(rep.places[0].n_replicas, 1);
	assert_int_equal(world_tenant(w, "a")->charged_bytes, 4 * MIB);
}

static void
put_extend__over_quota__makes_room_and_is_refused_like_a_put(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 8 * MIB, 0);
	struct rep_put_extend rep = {0};
	uint32_t status;
	uint64_t id, request;

	assert_int_equal(put_patiently(end, "old", 4 * MIB), STATUS_OK);
	id = end_start(end, "k", 4 * MIB, 0, &status);
	request = SEND(end, put_extend, .object_id = id, .more_bytes = 4 * MIB);
	world_pass_ms(w, 500);
	assert_int_equal(HEAR(end, request, put_extend, &rep), STATUS_OK);
	assert_int_equal(end_exist(end, "old"), STATUS_NOT_FOUND);
	assert_int_equal(world_tenant(w, "a")->charged_bytes, 8 * MIB);

	request = SEND(end, put_extend, .object_id = id, .more_bytes = 1);
	world_pass_ms(w, 2500);
	assert_int_equal(end_status(end, request), STATUS_QUOTA_EXCEEDED);
	assert_int_equal(world_tenant(w, "a")->charged_bytes, 8 * MIB);
}

static void
objects__beyond_their_quota__drive_out_the_one_leased_longest_ago(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 0, 2);

	assert_int_equal(put_patiently(end, "1", 4096), STATUS_OK);
	assert_int_equal(put_patiently(end, "2", 4096), STATUS_OK);
	assert_int_equal(put_patiently(end, "3", 4096), STATUS_OK);

	assert_int_equal(end_exist(end, "1"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "2"), STATUS_OK);
	assert_int_equal(world_tenant(w, "a")->n_objects, 2);
}

static void
objects__without_bytes__are_never_driven_out(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 0, 2);
	struct rep_put_start rep = {0};

	assert_int_equal(put_patiently(end, "d/", 0), STATUS_OK);
	assert_int_equal(put_patiently(end, "e/", 0), STATUS_OK);

	assert_int_equal(start_patiently(end, "f", 0, 1, &rep), STATUS_QUOTA_EXCEEDED);
	assert_reply_why(&rep, "2 of the 2 objects");
	assert_int_equal(end_exist(end, "d/"), STATUS_OK);
}

static void
batch_beyond_the_quota__is_begun_as_far_as_it_goes(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 0, 2);
	struct rec_put puts[3] = {
		{span_of("1", 1), 4096}, {span_of("2", 1), 4096}, {span_of("3", 1), 4096}};
	struct rep_put_start rep = {0};
	uint64_t id = SEND(end, put_start, .replica_num = 1, .n_puts = 3, .puts = puts);

	world_pass_ms(w, 2500);
	assert_int_equal(HEAR(end, id, put_start, &rep), STATUS_OK);
	assert_int_equal(rep.places[0].status, STATUS_OK);
	assert_int_equal(rep.places[1].status, STATUS_OK);
	assert_int_equal(rep.places[2].status, STATUS_QUOTA_EXCEEDED);
	assert_int_equal(world_tenant(w, "a")->n_puts, 2);
}

static void
quota_below_what_is_there__stops_no_reader__and_the_next_put_makes_room(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 0, 0);
	const struct tenant *a = world_tenant(w, "a");

	for (int i = 0; i < 8; i++) {
		char key[8];

		snprintf(key, sizeof(key), "k%d", i);
		assert_int_equal(put_patiently(end, key, 1 * MIB), STATUS_OK);
	}
	assert_int_equal(end_tenant_put(end, "a", TENANT_SET_BYTES, 3 * MIB, 0), STATUS_OK);
	assert_true(tenant_is_over(a));
	world_pass_ms(w, 500);
	assert_int_equal(a->charged_bytes, 8 * MIB);
	assert_int_equal(end_get(end, "k0").status, STATUS_OK);
	assert_int_equal(put_patiently(end, "new", 1 * MIB), STATUS_OK);

	assert_int_equal(a->charged_bytes, 3 * MIB);
	assert_int_equal(end_exist(end, "k0"), STATUS_OK); /* it was read last */
	assert_int_equal(end_exist(end, "new"), STATUS_OK);
}

static void
books_of_a_tenant_over_quota__open__and_are_read(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 0, 0);

	assert_int_equal(put_patiently(end, "k", 4 * MIB), STATUS_OK);
	assert_int_equal(end_tenant_put(end, "a", TENANT_SET_BYTES, 1 * MIB, 0), STATUS_OK);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join_as(w, 12, "a");
	end_mount(end, 1, 1, 64 * MIB);
	end_mount(end, 2, 1, 64 * MIB);

	assert_int_equal(end_get(end, "k").status, STATUS_OK);
	assert_int_equal(put_patiently(end, "l", 512), STATUS_QUOTA_EXCEEDED);
	assert_true(tenant_is_over(world_tenant(w, "a")));
}

static void
quota_taken_away__lets_puts_go_on(void **state)
{
	struct world *w = *state;
	struct end *end = with_quota(w, 1 * MIB, 1);

	assert_int_equal(put_patiently(end, "k", 2 * MIB), STATUS_QUOTA_EXCEEDED);
	assert_int_equal(end_tenant_put(end, "a", TENANT_SET_BYTES, 0, 0), STATUS_OK);
	assert_int_equal(put_patiently(end, "k", 2 * MIB), STATUS_OK);
}

/* ---- who pays when the whole store is full ---- */

static void
full_store__takes_from_the_tenant_that_holds_most(void **state)
{
	struct world *w = *state;
	struct end *small = world_join_as(w, 11, "small"), *large = world_join_as(w, 12, "large");

	end_mount(small, 1, 1, 64 * MIB);
	for (int i = 0; i < 4; i++) { /* older than all of the other's */
		char key[8];

		snprintf(key, sizeof(key), "s%d", i);
		assert_int_equal(put_patiently(small, key, 4 * MIB), STATUS_OK);
	}
	for (int i = 0; i < 24; i++) {
		char key[8];

		snprintf(key, sizeof(key), "l%d", i);
		assert_int_equal(put_patiently(large, key, 4 * MIB), STATUS_OK);
	}
	assert_int_equal(world_tenant(w, "small")->n_objects, 4);
	for (int i = 4; i < 7; i++) {
		char key[8];

		snprintf(key, sizeof(key), "s%d", i);
		assert_int_equal(put_patiently(small, key, 4 * MIB), STATUS_OK);
	}
	assert_int_equal(world_tenant(w, "small")->n_objects, 7);
}

static void
full_store__whose_largest_tenant_is_all_leased__takes_from_the_next(void **state)
{
	struct world *w = *state;
	struct end *small = world_join_as(w, 11, "small"), *large = world_join_as(w, 12, "large");

	end_mount(small, 1, 1, 64 * MIB);
	assert_int_equal(put_patiently(small, "s", 16 * MIB), STATUS_OK);
	assert_int_equal(put_patiently(large, "l", 48 * MIB), STATUS_OK);
	end_get(large, "l");
	assert_int_equal(put_patiently(large, "l2", 4 * MIB), STATUS_OK);

	assert_int_equal(end_exist(large, "l"), STATUS_OK);
	assert_int_equal(end_exist(small, "s"), STATUS_NOT_FOUND);
}

static void
grade__grows_with_what_is_held__four_to_a_doubling(void **state)
{
	unsigned last = 0;

	(void)state;
	for (uint64_t bytes = 512; bytes < 1ull << 62; bytes += bytes / 64 + 512) {
		unsigned grade = tenant_grade_of(bytes);

		assert_true(grade >= last && grade < TENANT_GRADES);
		assert_true(tenant_grade_of(2 * bytes) <= grade + 5);
		last = grade;
	}
	assert_int_equal(tenant_grade_of(511), 0);
	assert_int_equal(tenant_grade_of(1ull << 40) - tenant_grade_of(1ull << 39), 4);
	assert_true(tenant_grade_of(UINT64_MAX) < TENANT_GRADES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(quota__may_be_filled_to_the_last_byte__and_no_further),
		WORLD_TEST(put_over_quota__takes_nothing_from_another_tenant),
		WORLD_TEST(put_over_quota__while_all_is_leased__is_refused_and_says_so),
		WORLD_TEST(put_over_quota__waits_for_what_rests__and_for_other_puts),
		WORLD_TEST(put_over_quota__after_its_time__says_what_is_written_and_what_rests),
		WORLD_TEST(put_of_more_than_the_whole_quota__is_refused_at_once__and_nothing_goes),
		WORLD_TEST(copies__count_each__and_fewer_are_made_when_only_those_fit),
		WORLD_TEST(put_extend__over_quota__makes_room_and_is_refused_like_a_put),
		WORLD_TEST(objects__beyond_their_quota__drive_out_the_one_leased_longest_ago),
		WORLD_TEST(objects__without_bytes__are_never_driven_out),
		WORLD_TEST(batch_beyond_the_quota__is_begun_as_far_as_it_goes),
		WORLD_TEST(quota_below_what_is_there__stops_no_reader__and_the_next_put_makes_room),
		WORLD_TEST(books_of_a_tenant_over_quota__open__and_are_read),
		WORLD_TEST(quota_taken_away__lets_puts_go_on),
		WORLD_TEST(full_store__takes_from_the_tenant_that_holds_most),
		WORLD_TEST(full_store__whose_largest_tenant_is_all_leased__takes_from_the_next),
		cmocka_unit_test(grade__grows_with_what_is_held__four_to_a_doubling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
