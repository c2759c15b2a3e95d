/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/master_world.h"

#include <errno.h>

#include "tests/unit/allocs.h"

static uint32_t
tenant_delete(struct end *end, const char *name)
{
	struct rec_tenant_name one = {span_of(name, strlen(name))};
	struct rep_tenant_delete rep = {0};
	uint32_t status = ASK(end, tenant_delete, &rep, .n_tenants = 1, .tenants = &one);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

/* Those behind `after`, in words; lives until the next call. */
static const char *
tenant_list(struct end *end, const char *after, uint32_t most)
{
	static char text[4096];
	struct rep_tenant_list rep = {0};
	size_t at = 0;

	assert_int_equal(
		ASK(end, tenant_list, &rep, .after = span_of(after, strlen(after)), .most = most),
		STATUS_OK);
	text[0] = '\0';
	for (uint32_t i = 0; i < rep.n_tenants; i++)
		at += (size_t)snprintf(
			text + at, sizeof(text) - at, "%.*s %u/%u ", (int)rep.tenants[i].name.len,
			(const char *)rep.tenants[i].name.at, (unsigned)rep.tenants[i].quota_bytes,
			(unsigned)rep.tenants[i].quota_objects);
	snprintf(text + at, sizeof(text) - at, "%s", rep.has_more != 0 ? "more" : "end");
	return text;
}

/* What the master said besides the status. */
static void
assert_why(struct end *end, const char *words)
{
	struct frame frame;
	struct span why;

	assert_true(end_answers(end, end->last_request, &frame) > 0);
	why = why_decode(frame.payload);
	if (memmem(why.at, why.len, words, strlen(words)) == NULL)
		fail_msg("no \"%s\" in: %.*s", words, (int)why.len, (const char *)why.at);
}

/* ---- who may join ---- */

static void
join__for_a_tenant_that_is_not_there__makes_it(void **state)
{
	struct world *w = *state;
	struct end *end = world_join_as(w, 11, "llama");

	assert_string_equal(tenant_list(end, "", 9), "default 0/0 llama 0/0 end");
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	assert_string_equal(tenant_list(end, "", 9), "default 0/0 llama 0/0 end");
}

static void
join__where_tenants_are_strict__is_refused_and_names_the_cure(void **state)
{
	struct world *w = *state;
	struct end *end = world_connect(w);

	w->master->limits.strict_tenants = true;
	assert_int_equal(end_join(end, 11, "llama"), STATUS_TENANT_NOT_FOUND);
	assert_why(end, "tiffin tenants put llama");
	assert_int_equal(end_tenant_put(world_join(w, 12), "llama", 0, 0, 0), STATUS_OK);

	assert_int_equal(end_join(end, 11, "llama"), STATUS_OK);
}

static void
join__for_a_name_that_is_kept__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_connect(w);

	assert_int_equal(end_join(end, 11, "_store"), STATUS_INVALID);
	assert_why(end, "'_'");
}

static void
join__again_for_another_tenant__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_join_as(w, 11, "llama");

	assert_int_equal(end_join(end, 11, "qwen"), STATUS_INVALID);
	assert_null(
		tenants_by_name(&w->master->tenants, (const uint8_t *)"qwen", 4)); /* nor made */
	assert_why(end, "llama");
	assert_int_equal(end_join(end, 11, "llama"), STATUS_OK);
}

/* ---- key spaces ---- */

static void
one_key__of_two_tenants__is_two_objects(void **state)
{
	struct world *w = *state;
	struct end *a = world_join_as(w, 11, "a"), *b = world_join_as(w, 12, "b");
	uint32_t status;
	uint64_t id;

	end_mount(a, 1, 1, 64 * MIB);
	assert_true(end_put(a, "k", 4096) != 0);
	assert_int_equal(end_exist(b, "k"), STATUS_NOT_FOUND);
	id = end_start(b, "k", 8192, 0, &status);
	assert_int_equal(status, STATUS_OK);
	assert_int_equal(end_start(a, "other", 4096, 0, &status) != 0, true);
	end_start(b, "other", 4096, 0, &status);
	assert_int_equal(status, STATUS_OK);
	assert_int_equal(end_finish(b, id, 8192), STATUS_OK);

	assert_int_equal(end_get(a, "k").len_bytes, 4096);
	assert_int_equal(end_get(b, "k").len_bytes, 8192);
	assert_int_equal(end_remove(b, "k", true), STATUS_OK);
	assert_int_equal(end_exist(a, "k"), STATUS_OK);
}

static void
key_spaces__after_a_restart__are_apart_as_before(void **state)
{
	struct world *w = *state;
	struct end *a = world_join_as(w, 11, "a"), *b = world_join_as(w, 12, "b");

	end_mount(a, 1, 1, 64 * MIB);
	assert_true(end_put(a, "k", 4096) != 0 && end_put(b, "k", 8192) != 0);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	a = world_join_as(w, 11, "a");
	b = world_join_as(w, 12, "b");
	end_mount(a, 1, 1, 64 * MIB);

	assert_int_equal(end_get(a, "k").len_bytes, 4096);
	assert_int_equal(end_get(b, "k").len_bytes, 8192);
	assert_int_equal(world_tenant(w, "a")->charged_bytes, 4096);
	assert_int_equal(world_tenant(w, "b")->charged_bytes, 8192);
}

/* ---- put, list, delete ---- */

static void
tenant_put__of_one_quota__leaves_the_other(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_tenant_put(end, "b", TENANT_SET_BYTES, 1000, 9), STATUS_OK);
	assert_string_equal(tenant_list(end, "default", 9), "end");
	assert_string_equal(tenant_list(end, "a", 1), "b 1000/0 more");
	assert_int_equal(end_tenant_put(end, "b", TENANT_SET_OBJECTS, 9, 7), STATUS_OK);
	assert_int_equal(end_tenant_put(end, "b", 0, 1, 1), STATUS_OK);
	assert_int_equal(end_tenant_put(end, "b", 4, 1, 1), STATUS_INVALID);
	assert_int_equal(end_tenant_put(end, "b", TENANT_SET_BYTES, 1ull << 63, 1), STATUS_INVALID);
	assert_int_equal(end_tenant_put(end, "_b", 0, 0, 0), STATUS_INVALID);
	world_close(w);
	assert_int_equal(world_open(w), 0);

	assert_string_equal(tenant_list(world_join(w, 11), "", 9), "b 1000/7 default 0/0 end");
}

static void
tenant_list__goes_on_behind_the_last_name(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_tenant_put(end, "z", 0, 0, 0), STATUS_OK);
	assert_int_equal(end_tenant_put(end, "aa", 0, 0, 0), STATUS_OK);
	assert_int_equal(end_tenant_put(end, "a", 0, 0, 0), STATUS_OK);

	assert_string_equal(tenant_list(end, "", 2), "a 0/0 aa 0/0 more");
	assert_string_equal(tenant_list(end, "aa", 2), "default 0/0 z 0/0 end");
	assert_string_equal(tenant_list(end, "ab", 1), "default 0/0 more");
	assert_string_equal(tenant_list(end, "z", 1), "end");
}

static void
tenant_delete__of_one_that_holds_something_or_has_clients__is_refused(void **state)
{
	struct world *w = *state;
	struct end *admin = world_join(w, 11), *end = world_join_as(w, 12, "llama");
	struct rep_leave bye;

	end_mount(admin, 1, 1, 64 * MIB);
	assert_int_equal(tenant_delete(admin, "nobody"), STATUS_TENANT_NOT_FOUND);
	assert_int_equal(tenant_delete(admin, "default"), STATUS_INVALID);
	assert_int_equal(tenant_delete(admin, "llama"), STATUS_TENANT_NOT_EMPTY);
	assert_true(end_put(end, "k", 4096) != 0);
	assert_int_equal(ASK(end, leave, &bye), STATUS_OK);
	assert_int_equal(tenant_delete(admin, "llama"), STATUS_TENANT_NOT_EMPTY);
	end = world_join_as(w, 12, "llama");
	assert_int_equal(end_remove(end, "k", false), STATUS_OK);
	assert_int_equal(ASK(end, leave, &bye), STATUS_OK);
	world_pass_ms(w, 200);

	assert_int_equal(tenant_delete(admin, "llama"), STATUS_OK);
	assert_int_equal(tenant_delete(admin, "llama"), STATUS_TENANT_NOT_FOUND);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	assert_string_equal(tenant_list(world_join(w, 11), "", 9), "default 0/0 end");
}

static void
tenant__for_which_there_is_no_memory__is_not_there(void **state)
{
	const struct tenant_quota quota = {.bytes = 1 << 20};
	struct world *w = *state;
	struct tenant *tenant;
	unsigned n_failed = 0;
	int r;

	do {
		allocs_fail_after(n_failed);
		r = tenant_make(w->master, span_of("a", 1), &quota, &tenant);
		allocs_succeed();
		assert_true(r == 0 || r == -ENOMEM);
		master_check(w->master);
		assert_int_equal(w->master->tenants.by_name.n, r == 0 ? 2 : 1);
	} while (r < 0 && n_failed++ < 100);

	assert_true(n_failed > 2);
	assert_int_equal(world_tenant(w, "a")->quota.bytes, 1 << 20);
	world_turn(w);
}

static void
end_that_is_told_again__under_another_tenants_id__is_not_found(void **state)
{
	struct world *w = *state;
	struct end *a = world_join_as(w, 11, "a"), *b = world_join_as(w, 12, "b");
	uint64_t id;

	end_mount(a, 1, 1, 64 * MIB);
	id = end_put(a, "k", 4096);
	assert_int_equal(end_finish(a, id, 4096), STATUS_OK);
	assert_int_equal(end_finish(b, id, 4096), STATUS_NOT_FOUND);
}

/* ---- the ledger ---- */

static void
charge__is_whole_grains_of_every_copy__from_put_start_on(void **state)
{
	struct world *w = *state;
	struct end *end = world_join_as(w, 11, "a");
	const struct tenant *a = world_tenant(w, "a");
	struct rec_put put = {span_of("k", 1), 1000};
	struct rep_put_start rep = {0};

	end_mount(end, 1, 1, 64 * MIB);
	end_mount(end, 2, 1, 64 * MIB);
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 2, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(a->charged_bytes, 2 * 1024);
	assert_int_equal(a->n_puts, 1);
	assert_int_equal(end_finish(end, rep.places[0].object_id, 100), STATUS_OK);

	assert_int_equal(a->charged_bytes, 2 * 512);
	assert_int_equal(a->n_puts, 0);
	assert_int_equal(world_tenant(w, "default")->charged_bytes, 0);
}

static void
room_that_a_writer_left_behind__stays_charged_until_it_is_fenced(void **state)
{
	struct world *w = *state;
	struct end *provider = world_join(w, 11), *end = world_join_as(w, 12, "a");
	const struct tenant *a = world_tenant(w, "a");
	struct rep_ping ping = {0};
	struct rec_id fenced;
	uint32_t status;
	uint64_t id;

	end_mount(provider, 1, 1, 64 * MIB);
	id = end_start(end, "k", 8192, 0, &status);
	assert_int_equal(end_revoke(end, id, /* is_quiet= */ false), STATUS_OK);
	world_pass_ms(w, 5000);
	assert_int_equal(a->charged_bytes, 8192);
	assert_int_equal(a->gated_bytes, 8192);

	assert_int_equal(ASK(provider, ping, &ping), STATUS_OK);
	assert_int_equal(ping.n_fences, 1);
	fenced = (struct rec_id){ping.fences[0].fence_id};
	assert_int_equal(ASK(provider, ping, &ping, .n_fenced = 1, .fenced = &fenced), STATUS_OK);
	world_pass_ms(w, 200);
	assert_int_equal(a->charged_bytes, 0);
	assert_int_equal(a->gated_bytes, 0);
}

static void
object_removed_under_a_lease__stays_charged_until_its_bytes_are_free(void **state)
{
	struct world *w = *state;
	struct end *end = world_join_as(w, 11, "a");
	const struct tenant *a = world_tenant(w, "a");

	end_mount(end, 1, 1, 64 * MIB);
	end_put(end, "k", 4096);
	end_get(end, "k");
	assert_int_equal(end_remove(end, "k", true), STATUS_OK);
	assert_int_equal(a->n_objects, 0);
	assert_int_equal(a->charged_bytes, 4096);
	for (int i = 0; i < 6; i++) {
		end_ping(end);
		world_pass_ms(w, 1000);
	}

	assert_int_equal(a->charged_bytes, 0);
	assert_int_equal(a->resting_bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(join__for_a_tenant_that_is_not_there__makes_it),
		WORLD_TEST(join__where_tenants_are_strict__is_refused_and_names_the_cure),
		WORLD_TEST(join__for_a_name_that_is_kept__is_refused),
		WORLD_TEST(join__again_for_another_tenant__is_refused),
		WORLD_TEST(one_key__of_two_tenants__is_two_objects),
		WORLD_TEST(key_spaces__after_a_restart__are_apart_as_before),
		WORLD_TEST(tenant_put__of_one_quota__leaves_the_other),
		WORLD_TEST(tenant_list__goes_on_behind_the_last_name),
		WORLD_TEST(tenant_delete__of_one_that_holds_something_or_has_clients__is_refused),
		WORLD_TEST(tenant__for_which_there_is_no_memory__is_not_there),
		WORLD_TEST(end_that_is_told_again__under_another_tenants_id__is_not_found),
		WORLD_TEST(charge__is_whole_grains_of_every_copy__from_put_start_on),
		WORLD_TEST(room_that_a_writer_left_behind__stays_charged_until_it_is_fenced),
		WORLD_TEST(object_removed_under_a_lease__stays_charged_until_its_bytes_are_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
