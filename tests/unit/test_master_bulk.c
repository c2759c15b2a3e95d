/* SPDX-License-Identifier: Apache-2.0 */

/* Many keys at once: removal by prefix and pattern, lists by pattern and segment, copies of one
 * segment. */
#include "tests/unit/master_world.h"

static struct span
text(const char *words)
{
	return span_of(words, strlen(words));
}

static struct end *
with_objects(struct world *w, const char *fmt, int n)
{
	struct end *end = world_join(w, 11);
	char key[64];

	end_mount(end, 1, 1, 64 * MIB);
	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), fmt, i);
		assert_true(end_put(end, key, 100) != 0);
	}
	return end;
}

static void
remove_by_prefix__takes_those_alone_and_counts_them(void **state)
{
	struct end *end = with_objects(*state, "a/%d", 5);
	struct rep_remove_by_prefix rep = {0};

	assert_true(end_put(end, "a", 1) != 0);
	assert_true(end_put(end, "b/1", 1) != 0);
	assert_int_equal(ASK(end, remove_by_prefix, &rep, .prefix = text("a/")), STATUS_OK);
	assert_int_equal(rep.n_removed, 5);
	assert_int_equal(rep.has_more, 0);
	assert_int_equal(end_exist(end, "a/3"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "a"), STATUS_OK);
	assert_int_equal(end_exist(end, "b/1"), STATUS_OK);
}

static void
remove_by_prefix__keeps_what_is_read_unless_forced(void **state)
{
	struct end *end = with_objects(*state, "a/%d", 3);
	struct rep_remove_by_prefix rep = {0};

	assert_true(end_get(end, "a/1").object_id != 0);
	assert_int_equal(ASK(end, remove_by_prefix, &rep, .prefix = text("a/")), STATUS_OK);
	assert_int_equal(rep.n_removed, 2);
	assert_int_equal(rep.n_leased, 1);
	assert_int_equal(ASK(end, remove_by_prefix, &rep, .force = 1, .prefix = text("a/")),
			 STATUS_OK);
	assert_int_equal(rep.n_removed, 1);
	assert_int_equal(rep.n_leased, 0);
}

static void
remove_all__goes_in_stretches_of_1024_keys(void **state)
{
	struct end *end = with_objects(*state, "k%05d", 1500);
	struct rep_remove_all rep = {0};

	assert_int_equal(ASK(end, remove_all, &rep, .force = 0), STATUS_OK);
	assert_int_equal(rep.n_removed, 1024);
	assert_int_equal(rep.has_more, 1);
	assert_true(span_equal(rep.after, text("k01023")));
	assert_int_equal(ASK(end, remove_all, &rep, .after = text("k01023")), STATUS_OK);
	assert_int_equal(rep.n_removed, 476);
	assert_int_equal(rep.has_more, 0);
	assert_int_equal(((struct world *)*state)->master->objects.n, 0);
}

static void
a_removal_that_comes_again__gets_the_same_answer(void **state)
{
	struct end *end = with_objects(*state, "a/%d", 2);
	struct msg_remove_by_prefix msg = {.prefix = text("a/")};
	struct rep_remove_by_prefix rep = {0};
	struct buf payload;

	buf_init(&payload);
	assert_int_equal(msg_remove_by_prefix_encode(&payload, &msg), 0);
	for (int i = 0; i < 2; i++) {
		end_send_as(end, 7777, MSG_remove_by_prefix, &payload);
		world_turn(*state);
		assert_int_equal(HEAR(end, 7777, remove_by_prefix, &rep), STATUS_OK);
		assert_int_equal(rep.n_removed, 2);
	}
	buf_fini(&payload);
}

static void
remove_by_regex__takes_what_the_pattern_is_found_in(void **state)
{
	struct end *end = with_objects(*state, "a/layer-%d", 12);
	struct rep_remove_by_regex rep = {0};

	assert_int_equal(
		ASK(end, remove_by_regex, &rep, .prefix = text("a/"), .pattern = text("-[0-9]$")),
		STATUS_OK);
	assert_int_equal(rep.n_removed, 10);
	assert_int_equal(end_exist(end, "a/layer-11"), STATUS_OK);
}

static void
a_pattern_that_is_none__is_refused_and_changes_nothing(void **state)
{
	struct end *end = with_objects(*state, "a/%d", 2);
	struct rep_remove_by_regex rep = {0};

	assert_int_equal(ASK(end, remove_by_regex, &rep, .pattern = text("a(")), STATUS_INVALID);
	assert_int_equal(ASK(end, remove_by_regex, &rep, .pattern = text("")), STATUS_INVALID);
	assert_int_equal(end_exist(end, "a/0"), STATUS_OK);
	assert_int_equal(end_exist(end, "a/1"), STATUS_OK);
}

static void
list_by_regex__tells_what_matches_and_where_it_has_looked_to(void **state)
{
	struct end *end = with_objects(*state, "k%05d", 1100);
	struct rep_list_by_regex rep = {0};

	assert_int_equal(ASK(end, list_by_regex, &rep, .pattern = text("9{2}$")), STATUS_OK);
	assert_int_equal(rep.n_listed, 10);
	assert_true(span_equal(rep.listed[0].key, text("k00099")));
	assert_int_equal(rep.listed[0].len_bytes, 100);
	assert_int_equal(rep.has_more, 1);
	assert_true(span_equal(rep.after, text("k01023")));
	assert_int_equal(
		ASK(end, list_by_regex, &rep, .pattern = text("9{2}$"), .after = text("k01023")),
		STATUS_OK);
	assert_int_equal(rep.n_listed, 1);
	assert_true(span_equal(rep.listed[0].key, text("k01099")));
	assert_int_equal(rep.has_more, 0);
}

static void
list_by_segment__tells_what_has_a_copy_there_alone(void **state)
{
	struct end *end = with_objects(*state, "a/%d", 2);
	struct rec_key_only one = {text("a/0")};
	struct rep_list_by_segment rep = {0};
	struct rep_replica_clear cleared = {0};

	assert_int_equal(ASK(end, list_by_segment, &rep, .segment_id = 99),
			 STATUS_SEGMENT_NOT_FOUND);
	end_mount(end, 2, 1, 64 * MIB);
	assert_int_equal(ASK(end, list_by_segment, &rep, .segment_id = 2), STATUS_OK);
	assert_int_equal(rep.n_listed, 0);
	assert_int_equal(
		ASK(end, replica_clear, &cleared, .segment_id = 1, .n_keys = 1, .keys = &one),
		STATUS_OK);
	assert_int_equal(ASK(end, list_by_segment, &rep, .segment_id = 1), STATUS_OK);
	assert_int_equal(rep.n_listed, 1);
	assert_true(span_equal(rep.listed[0].key, text("a/1")));
	assert_int_equal(rep.has_more, 0);
	assert_int_equal(ASK(end, list_by_segment, &rep, .segment_id = 1, .prefix = text("b")),
			 STATUS_OK);
	assert_int_equal(rep.n_listed, 0);
}

static void
list_by_segment__goes_in_stretches_of_1024_keys(void **state)
{
	struct end *end = with_objects(*state, "k%05d", 1500);
	struct rep_list_by_segment rep = {0};

	assert_int_equal(ASK(end, list_by_segment, &rep, .segment_id = 1), STATUS_OK);
	assert_int_equal(rep.n_listed, 1024);
	assert_int_equal(rep.has_more, 1);
	assert_int_equal(ASK(end, list_by_segment, &rep, .segment_id = 1, .after = text("k01023")),
			 STATUS_OK);
	assert_int_equal(rep.n_listed, 476);
	assert_true(span_equal(rep.listed[0].key, text("k01024")));
	assert_int_equal(rep.has_more, 0);
}

static uint32_t
clear(struct end *end, uint64_t segment_id, const char *key)
{
	struct rec_key_only one = {text(key)};
	struct rep_replica_clear rep = {0};
	uint32_t status =
		ASK(end, replica_clear, &rep, .segment_id = segment_id, .n_keys = 1, .keys = &one);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

static struct end *
with_two_copies(struct world *w)
{
	struct end *end = world_join(w, 11);
	struct rec_put put = {text("k"), 4096};
	struct rep_put_start rep = {0};

	end_mount(end, 1, 1, 64 * MIB);
	end_mount(end, 2, 1, 64 * MIB);
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 2, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(rep.places[0].n_replicas, 2);
	assert_int_equal(end_finish(end, rep.places[0].object_id, 4096), STATUS_OK);
	return end;
}

static void
replica_clear__drops_a_copy_and_with_the_last_the_object(void **state)
{
	struct end *end = with_objects(*state, "a%d", 1);

	assert_int_equal(clear(end, 99, "a0"), STATUS_SEGMENT_NOT_FOUND);
	end_mount(end, 2, 1, 64 * MIB);
	assert_int_equal(clear(end, 2, "a0"), STATUS_NOT_FOUND); /* no copy there */
	assert_int_equal(clear(end, 1, "none"), STATUS_NOT_FOUND);
	assert_true(end_get(end, "a0").object_id != 0);
	assert_int_equal(clear(end, 1, "a0"), STATUS_HAS_LEASE);
	world_pass_ms(*state, 6000);
	assert_int_equal(clear(end, 1, "a0"), STATUS_OK);
	assert_int_equal(end_exist(end, "a0"), STATUS_NOT_FOUND);
}

/* What lies on a segment that is given up counts for nothing, though it is not forgotten yet. */
static void
replica_clear__of_the_last_copy_that_counts__takes_the_object(void **state)
{
	struct world *w = *state;
	struct end *end = with_two_copies(w);

	segment_leave(w->master, segment_find(w->master, 1));
	clock_fake_advance_ms(&w->clock, 1);
	world_turn_alone(w); /* now it stands in the journal */
	assert_int_equal(clear(end, 2, "k"), STATUS_OK);
	assert_int_equal(end_exist(end, "k"), STATUS_NOT_FOUND);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(remove_by_prefix__takes_those_alone_and_counts_them),
		WITH_WORLD(remove_by_prefix__keeps_what_is_read_unless_forced),
		WITH_WORLD(remove_all__goes_in_stretches_of_1024_keys),
		WITH_WORLD(a_removal_that_comes_again__gets_the_same_answer),
		WITH_WORLD(remove_by_regex__takes_what_the_pattern_is_found_in),
		WITH_WORLD(a_pattern_that_is_none__is_refused_and_changes_nothing),
		WITH_WORLD(list_by_regex__tells_what_matches_and_where_it_has_looked_to),
		WITH_WORLD(list_by_segment__tells_what_has_a_copy_there_alone),
		WITH_WORLD(list_by_segment__goes_in_stretches_of_1024_keys),
		WITH_WORLD(replica_clear__drops_a_copy_and_with_the_last_the_object),
		WITH_WORLD(replica_clear__of_the_last_copy_that_counts__takes_the_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
