/* SPDX-License-Identifier: Apache-2.0 */

/* Objects by their keys: rename, stat, list, attributes. */
#include "tests/unit/master_world.h"

enum { NOREPLACE = 1, EXCHANGE = 2, EXCHANGE_ANY = 4 };

static struct end *
end_with_keys(struct world *w, const char *const *keys, size_t n)
{
	struct end *end = world_join(w, 11);

	end_mount(end, 1, 1, 64 * MIB);
	for (size_t i = 0; i < n; i++)
		assert_true(end_put(end, keys[i], 100 + i) != 0);
	return end;
}

static struct span
text(const char *words)
{
	return span_of(words, strlen(words));
}

/* Pairs "from", "to", ... NULL. */
static uint32_t
rename_all(struct end *end, uint8_t flags, const char *const *words)
{
	struct rec_rename_pair pairs[8];
	struct rep_rename rep;
	uint32_t n = 0;

	for (; words[2 * n] != NULL; n++)
		pairs[n] = (struct rec_rename_pair){text(words[2 * n]), text(words[2 * n + 1])};
	return ASK(end, rename, &rep, .flags = flags, .n_pairs = n, .pairs = pairs);
}

#define RENAME(end, flags, ...) rename_all(end, flags, (const char *const[]){__VA_ARGS__, NULL})
#define KEYS(...)                                                                                  \
	(const char *const[]){__VA_ARGS__}, array_len(((const char *const[]){__VA_ARGS__}))

/* ---- rename ---- */

static void
rename__moves_the_version_as_it_is(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a"));
	uint64_t id = end_get(end, "a").object_id;

	assert_int_equal(RENAME(end, 0, "a", "b/longer"), STATUS_OK);
	assert_int_equal(end_exist(end, "a"), STATUS_NOT_FOUND);
	assert_int_equal(end_get(end, "b/longer").object_id, id);
}

static void
rename__of_several__is_all_or_nothing(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "b"));

	assert_int_equal(RENAME(end, 0, "a", "x", "none", "y"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "a"), STATUS_OK);
	assert_int_equal(end_exist(end, "x"), STATUS_NOT_FOUND);
	assert_int_equal(RENAME(end, 0, "a", "x", "b", "y"), STATUS_OK);
	assert_int_equal(end_exist(end, "x"), STATUS_OK);
	assert_int_equal(end_exist(end, "y"), STATUS_OK);
}

static void
exchange__of_two__gives_each_the_others_key(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "b/longer", "c"));
	uint64_t a = end_get(end, "a").object_id, b = end_get(end, "b/longer").object_id;

	assert_int_equal(RENAME(end, EXCHANGE, "a", "b/longer"), STATUS_OK);
	assert_int_equal(end_get(end, "a").object_id, b);
	assert_int_equal(end_get(end, "b/longer").object_id, a);
	assert_int_equal(RENAME(end, EXCHANGE, "a", "none"), STATUS_NOT_FOUND);
	assert_int_equal(RENAME(end, EXCHANGE, "none", "a"), STATUS_NOT_FOUND);
	assert_int_equal(RENAME(end, EXCHANGE, "a", "a"), STATUS_INVALID);
	assert_int_equal(RENAME(end, EXCHANGE | NOREPLACE, "a", "c"), STATUS_INVALID);
	assert_int_equal(RENAME(end, 8, "a", "x"), STATUS_INVALID);
	assert_int_equal(end_get(end, "a").object_id, b);
}

static void
exchange_any__of_pairs_with_one_missing__moves_the_other_all_or_none(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a/1", "a/2", "b/2", "b/3"));
	uint64_t a1 = end_get(end, "a/1").object_id, a2 = end_get(end, "a/2").object_id;
	uint64_t b2 = end_get(end, "b/2").object_id, b3 = end_get(end, "b/3").object_id;

	assert_int_equal(RENAME(end, EXCHANGE_ANY, "a/1", "b/1", "a/9", "b/9"), STATUS_NOT_FOUND);
	assert_int_equal(RENAME(end, EXCHANGE_ANY | EXCHANGE, "a/1", "b/1"), STATUS_INVALID);
	assert_int_equal(end_get(end, "a/1").object_id, a1);
	assert_int_equal(RENAME(end, EXCHANGE_ANY, "a/1", "b/1", "a/2", "b/2", "a/3", "b/3"),
			 STATUS_OK);
	assert_int_equal(end_get(end, "b/1").object_id, a1);
	assert_int_equal(end_get(end, "b/2").object_id, a2);
	assert_int_equal(end_get(end, "a/2").object_id, b2);
	assert_int_equal(end_get(end, "a/3").object_id, b3);
	assert_int_equal(end_exist(end, "a/1"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "b/3"), STATUS_NOT_FOUND);
	assert_int_equal(end->world->master->objects.n, 4);
}

static void
rename__onto_another__replaces_it__unless_that_was_forbidden(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "b"));
	uint64_t id = end_get(end, "a").object_id;

	assert_int_equal(RENAME(end, NOREPLACE, "a", "b"), STATUS_EXISTS);
	assert_int_equal(RENAME(end, 0, "a", "b"), STATUS_OK);
	assert_int_equal(end_get(end, "b").object_id, id);
	assert_int_equal(end->world->master->objects.n, 1);
}

static void
rename__that_names_a_key_twice__is_refused(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "b"));

	assert_int_equal(RENAME(end, 0, "a", "a"), STATUS_INVALID);
	assert_int_equal(RENAME(end, 0, "a", "b", "b", "c"), STATUS_INVALID);
	assert_int_equal(RENAME(end, 0, "a", "x", "b", "x"), STATUS_INVALID);
	assert_int_equal(RENAME(end, 8, "a", "x"), STATUS_INVALID);
	assert_int_equal(end_exist(end, "a"), STATUS_OK);
}

static void
rename__onto_an_object_under_a_lease__keeps_its_bytes_for_the_reader(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "b"));
	struct rec_object_place place = end_get(end, "b");

	assert_int_equal(RENAME(end, 0, "a", "b"), STATUS_OK);
	assert_int_equal(end->world->master->ghosts.n, 1);
	assert_int_equal(end_renew(end, place.object_id, place.lease_id), STATUS_OK);
}

static void
lease__on_a_renamed_object__goes_on(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a"));
	struct rec_object_place place = end_get(end, "a");

	assert_int_equal(RENAME(end, 0, "a", "b"), STATUS_OK);
	assert_int_equal(end_renew(end, place.object_id, place.lease_id), STATUS_OK);
	assert_int_equal(end_remove(end, "b", false), STATUS_HAS_LEASE);
}

static void
rename__survives_a_restart(void **state)
{
	struct world *w = *state;
	struct end *end = end_with_keys(w, KEYS("a", "b", "c"));

	assert_int_equal(RENAME(end, 0, "a", "b", "c", "d"), STATUS_OK);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);

	assert_int_equal(w->master->objects.n, 2);
	assert_int_equal(end_exist(end, "a"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "b"), STATUS_NOT_COMPLETE);
	assert_int_equal(end_exist(end, "d"), STATUS_NOT_COMPLETE);
}

/* ---- stat ---- */

static struct rec_object_state
stat_of(struct end *end, const char *key)
{
	struct rec_key_only only = {text(key)};
	struct rep_stat rep = {0};

	assert_int_equal(ASK(end, stat, &rep, .n_keys = 1, .keys = &only), STATUS_OK);
	return rep.objects[0];
}

static void
stat__tells_length_copies_lease_and_what_lies_below(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "dir/x", "dirt"));
	struct rec_object_state rec;

	end_get(end, "a");
	rec = stat_of(end, "a");
	assert_int_equal(rec.status, STATUS_OK);
	assert_int_equal(rec.len_bytes, 100);
	assert_int_equal(rec.n_replicas, 1);
	assert_in_range(rec.lease_left_ms, 4000, 6000);
	assert_int_equal(rec.has_below, 0);
	rec = stat_of(end, "dir");
	assert_int_equal(rec.status, STATUS_NOT_FOUND);
	assert_int_equal(rec.has_below, 1);
	assert_int_equal(stat_of(end, "dirt").has_below, 0);
}

/* ---- list ---- */

struct listed {
	char words[256]; /* "key key prefix*" */
	bool has_more;
};

static struct listed
list_of_keys(struct end *end, const char *prefix, const char *after, char delimiter, uint32_t most)
{
	struct listed listed = {0};
	struct rep_list rep = {0};
	size_t at = 0;

	assert_int_equal(ASK(end, list, &rep, .prefix = text(prefix), .after = text(after),
			     .delimiter = (uint8_t)delimiter, .most = most),
			 STATUS_OK);
	for (uint32_t i = 0; i < rep.n_listed; i++)
		at += (size_t)snprintf(listed.words + at, sizeof(listed.words) - at, "%s%.*s%s",
				       i > 0 ? " " : "", (int)rep.listed[i].key.len,
				       (const char *)rep.listed[i].key.at,
				       rep.listed[i].is_prefix ? "*" : "");
	listed.has_more = rep.has_more != 0;
	return listed;
}

static void
list__gives_keys_in_the_order_of_their_bytes(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("b", "a", "a/2", "a/10", "c"));

	assert_string_equal(list_of_keys(end, "", "", 0, 100).words, "a a/10 a/2 b c");
	assert_string_equal(list_of_keys(end, "a/", "", 0, 100).words, "a/10 a/2");
	assert_string_equal(list_of_keys(end, "x", "", 0, 100).words, "");
}

static void
list__with_a_delimiter__tells_what_lies_below_as_one(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "a/1", "a/2/3", "a/2/4", "b"));

	assert_string_equal(list_of_keys(end, "", "", '/', 100).words, "a a/* b");
	assert_string_equal(list_of_keys(end, "a/", "", '/', 100).words, "a/1 a/2/*");
}

static void
list__page_by_page__gives_each_once(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "a/1", "a/2", "b", "c/1", "c/2"));
	struct listed listed;

	listed = list_of_keys(end, "", "", '/', 2);
	assert_string_equal(listed.words, "a a/*");
	assert_true(listed.has_more);
	listed = list_of_keys(end, "", "a/", '/', 2);
	assert_string_equal(listed.words, "b c/*");
	assert_false(listed.has_more);
	listed = list_of_keys(end, "", "c/", '/', 2);
	assert_string_equal(listed.words, "");
	assert_false(listed.has_more);
}

static void
list__after_a_key_that_is_gone__goes_on_behind_its_place(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "b", "c"));

	assert_int_equal(end_remove(end, "b", false), STATUS_OK);
	assert_string_equal(list_of_keys(end, "", "b", 0, 10).words, "c");
}

static void
list__of_none_or_too_many__is_refused(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a"));
	struct rep_list rep = {0};

	assert_int_equal(ASK(end, list, &rep, .most = 0), STATUS_INVALID);
	assert_int_equal(ASK(end, list, &rep, .most = 1025), STATUS_INVALID);
}

/* ---- attributes ---- */

static uint32_t
set_attr(struct end *end, const char *key, uint64_t object_id, const char *attr)
{
	struct rec_attr_set set = {.key = text(key), .object_id = object_id, .attr = text(attr)};
	struct rep_set_attr rep = {0};

	assert_int_equal(ASK(end, set_attr, &rep, .n_sets = 1, .sets = &set), STATUS_OK);
	return rep.fates[0].status;
}

static void
attr__is_set_on_the_version_that_was_meant_or_not_at_all(void **state)
{
	struct world *w = *state;
	struct end *end = end_with_keys(w, KEYS("a"));
	uint64_t id = end_get(end, "a").object_id;

	assert_int_equal(set_attr(end, "a", id + 1, "x"), STATUS_NOT_FOUND);
	assert_int_equal(set_attr(end, "a", id, "words"), STATUS_OK);
	assert_int_equal(set_attr(end, "none", 0, "x"), STATUS_NOT_FOUND);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);

	assert_int_equal(stat_of(end, "a").attr.len, 5);
	assert_memory_equal(stat_of(end, "a").attr.at, "words", 5);
}

/* ---- remove ---- */

static void
remove__of_several__answers_each(void **state)
{
	struct end *end = end_with_keys(*state, KEYS("a", "b"));
	struct rec_key_only keys[3] = {{text("a")}, {text("none")}, {text("b")}};
	struct rep_remove rep = {0};

	end_get(end, "b");
	assert_int_equal(ASK(end, remove, &rep, .n_keys = 3, .keys = keys), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
	assert_int_equal(rep.fates[1].status, STATUS_NOT_FOUND);
	assert_int_equal(rep.fates[2].status, STATUS_HAS_LEASE);
}

static void
removed_object__does_not_come_back_after_a_restart(void **state)
{
	struct world *w = *state;
	struct end *end = end_with_keys(w, KEYS("a", "b"));

	assert_int_equal(end_remove(end, "a", false), STATUS_OK);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	assert_int_equal(end_exist(end, "a"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "b"), STATUS_NOT_COMPLETE);
	end_mount(end, 1, 1, 64 * MIB);
	assert_int_equal(end_exist(end, "b"), STATUS_OK);
}

static uint32_t
swap_attr(struct end *end, const char *key, const char *former, const char *attr)
{
	struct rec_attr_set set = {
		.key = text(key), .attr = text(attr), .if_former = 1, .former = text(former)};
	struct rep_set_attr rep = {0};

	assert_int_equal(ASK(end, set_attr, &rep, .n_sets = 1, .sets = &set), STATUS_OK);
	return rep.fates[0].status;
}

static void
attributes__are_swapped_only_for_those_that_are_there(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	assert_true(end_put(end, "a", 10) != 0);
	assert_int_equal(swap_attr(end, "a", "x", "one"), STATUS_CHANGED);
	assert_int_equal(swap_attr(end, "a", "", "one"), STATUS_OK);
	assert_int_equal(swap_attr(end, "a", "", "two"), STATUS_CHANGED);
	assert_int_equal(swap_attr(end, "a", "on", "two"), STATUS_CHANGED);
	assert_int_equal(swap_attr(end, "a", "one", "two"), STATUS_OK);
	assert_int_equal(swap_attr(end, "a", "two", ""), STATUS_OK);
	assert_int_equal(swap_attr(end, "none", "", "x"), STATUS_NOT_FOUND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(rename__moves_the_version_as_it_is),
		WORLD_TEST(rename__of_several__is_all_or_nothing),
		WORLD_TEST(exchange__of_two__gives_each_the_others_key),
		WORLD_TEST(exchange_any__of_pairs_with_one_missing__moves_the_other_all_or_none),
		WORLD_TEST(rename__onto_another__replaces_it__unless_that_was_forbidden),
		WORLD_TEST(rename__that_names_a_key_twice__is_refused),
		WORLD_TEST(rename__onto_an_object_under_a_lease__keeps_its_bytes_for_the_reader),
		WORLD_TEST(lease__on_a_renamed_object__goes_on),
		WORLD_TEST(rename__survives_a_restart),
		WORLD_TEST(stat__tells_length_copies_lease_and_what_lies_below),
		WORLD_TEST(list__gives_keys_in_the_order_of_their_bytes),
		WORLD_TEST(list__with_a_delimiter__tells_what_lies_below_as_one),
		WORLD_TEST(list__page_by_page__gives_each_once),
		WORLD_TEST(list__after_a_key_that_is_gone__goes_on_behind_its_place),
		WORLD_TEST(list__of_none_or_too_many__is_refused),
		WORLD_TEST(attr__is_set_on_the_version_that_was_meant_or_not_at_all),
		WORLD_TEST(attributes__are_swapped_only_for_those_that_are_there),
		WORLD_TEST(remove__of_several__answers_each),
		WORLD_TEST(removed_object__does_not_come_back_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
