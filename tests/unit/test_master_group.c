/* SPDX-License-Identifier: Apache-2.0 */

/* Groups: who is a member, what a restart knows of it, and how they go for room together. */
#include <errno.h>

#include "tests/unit/allocs.h"
#include "tests/unit/master_world.h"

static struct end *
provider_of(struct world *w, uint64_t size_bytes)
{
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, size_bytes), STATUS_OK);
	return end;
}

/* A put of one object that is ended; pin as on the wire. */
static uint32_t
put(struct end *end, const char *key, const char *group, uint64_t len_bytes, uint8_t pin)
{
	struct rec_put one = {span_of(key, strlen(key)), len_bytes};
	struct rec_group_id id = {span_of(group, strlen(group))};
	struct rep_put_start rep = {0};
	uint64_t request = SEND(end, put_start, .replica_num = 1, .flags = PUT_REPLACE, .n_puts = 1,
				.puts = &one, .pin = pin, .n_groups = 1, .groups = &id);
	uint32_t status;

	world_turn(end->world);
	for (int i = 0; i < 60 && end_status(end, request) == NO_ANSWER; i++)
		world_pass_ms(end->world, 50);
	status = HEAR(end, request, put_start, &rep);
	if (status == STATUS_OK)
		status = rep.places[0].status;
	return status == STATUS_OK ? end_finish(end, rep.places[0].object_id, len_bytes) : status;
}

static void
put_mib(struct end *end, const char *key, const char *group)
{
	assert_int_equal(put(end, key, group, MIB, 0), STATUS_OK);
}

/* The object's group as stat tells it; "?" when there is none of that key. */
static const char *
group_told(struct end *end, const char *key)
{
	static char text[GROUP_MAX + 1];
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_stat rep = {0};

	assert_int_equal(ASK(end, stat, &rep, .n_keys = 1, .keys = &only), STATUS_OK);
	if (rep.objects[0].status != STATUS_OK)
		return "?";
	snprintf(text, sizeof(text), "%.*s", (int)rep.objects[0].group.len,
		 (const char *)rep.objects[0].group.at);
	return text;
}

static bool
is_there(struct end *end, const char *key)
{
	return end_exist(end, key) == STATUS_OK;
}

/* The keys of a group, blank behind each, as many requests as it takes. */
static const char *
keys_of(struct end *end, const char *group, const char *prefix, const char *after)
{
	static char text[512];
	char last[64];
	struct rep_list_by_regex rep = {.has_more = 1};
	size_t at = 0;

	snprintf(last, sizeof(last), "%s", after);
	text[0] = '\0';
	while (rep.has_more != 0) {
		assert_int_equal(ASK(end, list_by_regex, &rep,
				     .prefix = span_of(prefix, strlen(prefix)),
				     .after = span_of(last, strlen(last)),
				     .group = span_of(group, strlen(group))),
				 STATUS_OK);
		for (uint32_t i = 0; i < rep.n_listed; i++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s ",
					       (int)rep.listed[i].key.len,
					       (const char *)rep.listed[i].key.at);
		snprintf(last, sizeof(last), "%.*s", (int)rep.after.len,
			 (const char *)rep.after.at);
	}
	return text;
}

/* ---- who is a member ---- */

static void
group__is_told_by_stat_and_lists(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_list rep = {0};

	put_mib(end, "b", "g");
	put_mib(end, "a", "g");
	put_mib(end, "c", "");
	put_mib(end, "d", "other");
	assert_string_equal(group_told(end, "a"), "g");
	assert_string_equal(group_told(end, "c"), "");
	assert_int_equal(ASK(end, list, &rep, .most = 10), STATUS_OK);
	assert_int_equal(rep.n_listed, 4);
	assert_true(span_equal(rep.listed[0].group, span_of("g", 1)));
	assert_int_equal(rep.listed[2].group.len, 0);
	assert_true(span_equal(rep.listed[3].group, span_of("other", 5)));
}

static void
group__is_listed_by_its_id__in_the_order_of_keys(void **state)
{
	static const char *const keys[] = {"x/3", "y/1", "x/1", "x/22", "x/2"};
	struct end *end = provider_of(*state, 64 * MIB);

	for (size_t i = 0; i < array_len(keys); i++)
		put_mib(end, keys[i], "g");
	put_mib(end, "x/0", "h");
	assert_string_equal(keys_of(end, "g", "", ""), "x/1 x/2 x/22 x/3 y/1 ");
	assert_string_equal(keys_of(end, "g", "x/", ""), "x/1 x/2 x/22 x/3 ");
	assert_string_equal(keys_of(end, "g", "x/", "x/2"), "x/22 x/3 ");
	assert_string_equal(keys_of(end, "g", "x/2", "x/1"), "x/2 x/22 ");
	assert_string_equal(keys_of(end, "h", "", ""), "x/0 ");
	assert_string_equal(keys_of(end, "nobody", "", ""), "");
}

static void
group__belongs_to_one_tenant(void **state)
{
	struct world *w = *state;
	struct end *end = provider_of(w, 64 * MIB);
	struct end *other = world_join_as(w, 12, "other");

	put_mib(end, "a", "g");
	put_mib(other, "b", "g");
	assert_string_equal(keys_of(end, "g", "", ""), "a ");
	assert_string_equal(keys_of(other, "g", "", ""), "b ");
}

static void
groups__of_another_number_than_the_puts_or_too_long__are_invalid(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	char much[GROUP_MAX + 2];
	struct rec_put puts[2] = {{span_of("a", 1), MIB}, {span_of("b", 1), MIB}};
	struct rec_group_id ids[2] = {{span_of("g", 1)}, {span_of(much, GROUP_MAX + 1)}};
	struct rep_put_start rep = {0};

	memset(much, 'x', sizeof(much));
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_puts = 2, .puts = puts,
			     .n_groups = 1, .groups = ids),
			 STATUS_INVALID);
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_puts = 2, .puts = puts,
			     .n_groups = 2, .groups = ids),
			 STATUS_INVALID);
	ids[1].id.len = GROUP_MAX;
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_puts = 2, .puts = puts,
			     .n_groups = 2, .groups = ids),
			 STATUS_OK);
}

static void
group__follows_its_version_and_not_the_key(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rec_rename_pair pair = {span_of("a", 1), span_of("z", 1)};
	struct rep_rename renamed;

	put_mib(end, "a", "g");
	put_mib(end, "b", "g");
	put_mib(end, "z", "old");
	assert_int_equal(ASK(end, rename, &renamed, .n_pairs = 1, .pairs = &pair), STATUS_OK);
	assert_string_equal(keys_of(end, "g", "", ""), "b z ");
	assert_string_equal(keys_of(end, "old", "", ""), "");
	put_mib(end, "z", "new");
	assert_string_equal(keys_of(end, "g", "", ""), "b ");
	assert_string_equal(group_told(end, "z"), "new");
	assert_int_equal(end_remove(end, "b", false), STATUS_OK);
	assert_string_equal(keys_of(end, "g", "", ""), "");
	assert_int_equal(((struct world *)*state)->master->groups.n, 1);
}

static void
group__survives_a_restart__and_what_left_it_stays_out(void **state)
{
	struct world *w = *state;
	struct end *end = provider_of(w, 64 * MIB);

	put_mib(end, "a", "g");
	put_mib(end, "b", "");
	put_mib(end, "c", "g");
	put_mib(end, "d", "h");
	put_mib(end, "d", "");
	assert_int_equal(end_remove(end, "c", false), STATUS_OK);
	world_turn(w);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join_again(w, 11);
	assert_int_equal(w->master->groups.n, 1);
	assert_string_equal(group_told(end, "a"), "g");
	assert_string_equal(group_told(end, "d"), "");
}

static void
put_end__without_memory_at_any_point__makes_no_member(void **state)
{
	struct world *w = *state;
	struct end *end = provider_of(w, 64 * MIB);
	struct rec_put one = {span_of("a", 1), MIB};
	struct rec_group_id id = {span_of("g", 1)};
	struct rep_put_start rep = {0};
	const struct put_done done = {.len_bytes = MIB, .put_at_ms = 5};
	unsigned n_failed = 0;
	int r = -ENOMEM;

	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_puts = 1, .puts = &one,
			     .n_groups = 1, .groups = &id),
			 STATUS_OK);
	while (r < 0) {
		struct put *put = map_get(&w->master->puts_by_id, rep.places[0].object_id);

		allocs_fail_after(n_failed++);
		r = put_close(w->master, put, &done);
		allocs_succeed();
		assert_true(r == 0 || r == -ENOMEM);
		master_check(w->master);
		assert_int_equal(w->master->groups.n, r == 0);
		assert_true(n_failed < 100);
	}
	assert_true(n_failed > 3);
	world_turn(w);
	assert_string_equal(group_told(end, "a"), "g");
}

/* ---- removal ---- */

static struct rep_remove_by_regex
remove_group(struct end *end, const char *group, const char *prefix, bool force)
{
	struct rep_remove_by_regex rep = {0};

	assert_int_equal(ASK(end, remove_by_regex, &rep, .force = force,
			     .prefix = span_of(prefix, strlen(prefix)),
			     .group = span_of(group, strlen(group))),
			 STATUS_OK);
	return rep;
}

static void
group__is_removed_by_its_id__but_for_what_is_read(void **state)
{
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_remove_by_regex rep;

	put_mib(end, "a", "g");
	put_mib(end, "b", "g");
	put_mib(end, "c", "h");
	put_mib(end, "d", "");
	assert_int_equal(end_get(end, "a").status, STATUS_OK);
	assert_int_equal(remove_group(end, "g", "b", false).n_removed, 1);
	rep = remove_group(end, "g", "", false);
	assert_int_equal(rep.n_removed, 0);
	assert_int_equal(rep.n_leased, 1);
	assert_int_equal(remove_group(end, "g", "", true).n_removed, 1);
	assert_true(is_there(end, "c") && is_there(end, "d"));
	assert_int_equal(remove_group(end, "g", "", true).n_removed, 0);
}

static void
group__of_more_members_than_a_request_looks_at__is_listed_and_removed_whole(void **state)
{
	enum { N = 1100 };
	struct end *end = provider_of(*state, 64 * MIB);
	struct rep_list_by_regex listed = {0};
	struct rep_remove_by_regex removed = {.has_more = 1};
	char key[16], after[16] = "";
	unsigned n_listed = 0, n_removed = 0;

	for (unsigned i = 0; i < N; i++) {
		snprintf(key, sizeof(key), "k%04u", i);
		assert_int_equal(put(end, key, i % 100 == 0 ? "few" : "many", 512, 0), STATUS_OK);
	}
	for (bool more = true; more; more = listed.has_more != 0) {
		assert_int_equal(ASK(end, list_by_regex, &listed,
				     .after = span_of(after, strlen(after)),
				     .group = span_of("many", 4)),
				 STATUS_OK);
		n_listed += listed.n_listed;
		snprintf(after, sizeof(after), "%.*s", (int)listed.after.len,
			 (const char *)listed.after.at);
	}
	assert_int_equal(n_listed, N - N / 100);
	after[0] = '\0';
	while (removed.has_more != 0) {
		assert_int_equal(ASK(end, remove_by_regex, &removed,
				     .after = span_of(after, strlen(after)),
				     .group = span_of("many", 4)),
				 STATUS_OK);
		n_removed += removed.n_removed;
		snprintf(after, sizeof(after), "%.*s", (int)removed.after.len,
			 (const char *)removed.after.at);
	}
	assert_int_equal(n_removed, N - N / 100);
	assert_int_equal(((struct world *)*state)->master->objects.n, N / 100);
}

/* ---- going for room ---- */

static void
eviction_of_one__takes_its_group__and_no_other(void **state)
{
	struct end *end = provider_of(*state, 8 * MIB);

	put_mib(end, "a1", "a");
	put_mib(end, "b1", "b");
	put_mib(end, "a2", "a");
	put_mib(end, "b2", "b");
	put_mib(end, "a3", "a");
	put_mib(end, "x", "");
	put_mib(end, "b3", "b");
	put_mib(end, "y", "");
	put_mib(end, "new", ""); /* the group a was used last before all others were */
	assert_string_equal(keys_of(end, "a", "", ""), "");
	assert_string_equal(keys_of(end, "b", "", ""), "b1 b2 b3 ");
	assert_true(is_there(end, "x") && is_there(end, "y"));
	put_mib(end, "2", ""); /* what a had, is enough for these */
	put_mib(end, "3", "");
	assert_string_equal(keys_of(end, "b", "", ""), "b1 b2 b3 ");
	/* x is older than the last of b */
	assert_int_equal(put(end, "4", "", MIB / 2, 0), STATUS_OK);
	assert_false(is_there(end, "x"));
	assert_string_equal(keys_of(end, "b", "", ""), "b1 b2 b3 ");
	put_mib(end, "5", "");
	assert_string_equal(keys_of(end, "b", "", ""), "");
	assert_true(is_there(end, "y") && is_there(end, "new"));
}

static void
lease_on_one__keeps_its_group(void **state)
{
	struct end *end = provider_of(*state, 6 * MIB);
	struct rec_object_place place;

	put_mib(end, "a1", "a");
	put_mib(end, "a2", "a");
	put_mib(end, "a3", "a");
	put_mib(end, "x", "");
	put_mib(end, "y", "");
	put_mib(end, "z", "");
	place = end_get(end, "a2");
	assert_int_equal(place.status, STATUS_OK);
	for (unsigned i = 0; i < 3; i++) {
		char key[8];

		snprintf(key, sizeof(key), "new%u", i);
		put_mib(end, key, "");
		assert_int_equal(end_renew(end, place.object_id, place.lease_id), STATUS_OK);
	}
	assert_string_equal(keys_of(end, "a", "", ""), "a1 a2 a3 ");
	assert_false(is_there(end, "x") || is_there(end, "y") || is_there(end, "z"));
}

static void
use_of_one__makes_its_group_as_young(void **state)
{
	struct world *w = *state;
	struct end *end = provider_of(w, 4 * MIB);
	struct rec_object_place place;

	put_mib(end, "a1", "a");
	put_mib(end, "a2", "a");
	put_mib(end, "x", "");
	put_mib(end, "y", "");
	place = end_get(end, "a2");
	assert_int_equal(end_release(end, place.object_id, place.lease_id), STATUS_OK);
	for (int i = 0; i < 8; i++) { /* no lease of the group runs any more */
		world_pass_ms(w, 1000);
		end_ping(end);
	}
	put_mib(end, "new", ""); /* a1 was put first, but a2 is used last */
	assert_string_equal(keys_of(end, "a", "", ""), "a1 a2 ");
	assert_false(is_there(end, "x"));
}

static void
pinned_member__stays__and_the_others_go(void **state)
{
	struct world *w = *state;
	struct end *end = provider_of(w, 6 * MIB);

	put_mib(end, "a1", "a");
	assert_int_equal(put(end, "a2", "a", MIB, 2 /* hard */), STATUS_OK);
	assert_int_equal(put(end, "a3", "a", MIB, 1 /* soft */), STATUS_OK);
	put_mib(end, "a4", "a");
	assert_int_equal(put(end, "b1", "b", 2 * MIB, 0), STATUS_OK);
	put_mib(end, "new", "");
	assert_string_equal(keys_of(end, "a", "", ""), "a2 a3 ");
	assert_true(is_there(end, "b1"));
	put_mib(end, "newer", "");
	put_mib(end, "newest", "");
	assert_string_equal(keys_of(end, "a", "", ""), "a2 a3 ");
	assert_false(is_there(end, "b1"));
}

static void
member_that_comes_while_its_group_goes__stays(void **state)
{
	struct world *w = *state;
	struct end *end = provider_of(w, 64 * MIB);
	struct group *group;
	char key[16];

	for (unsigned i = 0; i < 300; i++) {
		snprintf(key, sizeof(key), "k%03u", i);
		assert_int_equal(put(end, key, "g", 4096, 0), STATUS_OK);
	}
	group = group_find(world_tenant(w, "default"), (const uint8_t *)"g", 1);
	assert_non_null(group);
	group_go(&w->master->groups, group, EVICT_MEMORY);
	assert_int_equal(put(end, "late", "g", 4096, 0), STATUS_OK);
	world_pass_ms(w, 500);
	assert_string_equal(keys_of(end, "g", "", ""), "late ");
	assert_true(list_is_empty(&w->master->groups.going));
}

static void
group_of_many__goes_in_bounded_steps(void **state)
{
	enum { N = 600, STEPS_A_TURN = 256 };
	struct world *w = *state;
	struct end *end = provider_of(w, 64 * MIB);
	struct group *group;
	char key[16];
	size_t before = N;

	for (unsigned i = 0; i < N; i++) {
		snprintf(key, sizeof(key), "k%03u", i);
		assert_int_equal(put(end, key, "g", 4096, 0), STATUS_OK);
	}
	group = group_find(world_tenant(w, "default"), (const uint8_t *)"g", 1);
	group_go(&w->master->groups, group, EVICT_MEMORY);
	for (unsigned n_turns = 1; w->master->objects.n > 0; n_turns++) {
		clock_fake_advance_ms(&w->clock, 1);
		world_turn_alone(w);
		store_step(w->store);
		assert_true(before - w->master->objects.n <= STEPS_A_TURN);
		before = w->master->objects.n;
		assert_true(n_turns <= 10);
	}
	assert_int_equal(w->master->groups.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(group__is_told_by_stat_and_lists),
		WORLD_TEST(group__is_listed_by_its_id__in_the_order_of_keys),
		WORLD_TEST(group__belongs_to_one_tenant),
		WORLD_TEST(groups__of_another_number_than_the_puts_or_too_long__are_invalid),
		WORLD_TEST(group__follows_its_version_and_not_the_key),
		WORLD_TEST(group__survives_a_restart__and_what_left_it_stays_out),
		WORLD_TEST(put_end__without_memory_at_any_point__makes_no_member),
		WORLD_TEST(group__is_removed_by_its_id__but_for_what_is_read),
		WORLD_TEST(
			group__of_more_members_than_a_request_looks_at__is_listed_and_removed_whole),
		WORLD_TEST(eviction_of_one__takes_its_group__and_no_other),
		WORLD_TEST(lease_on_one__keeps_its_group),
		WORLD_TEST(use_of_one__makes_its_group_as_young),
		WORLD_TEST(pinned_member__stays__and_the_others_go),
		WORLD_TEST(member_that_comes_while_its_group_goes__stays),
		WORLD_TEST(group_of_many__goes_in_bounded_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
