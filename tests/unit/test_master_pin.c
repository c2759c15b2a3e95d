/* SPDX-License-Identifier: Apache-2.0 */

/* Pins: what stays when room is wanted, how long, and what a restart knows of it. */
#include "master/pin.h"
#include "tests/unit/master_world.h"

enum { NONE, SOFT, HARD, HOUR_MS = 3600000 };

static struct end *
provider_of(struct world *w, uint64_t size_bytes)
{
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, size_bytes), STATUS_OK);
	return end;
}

static uint32_t
end_pin(struct end *end, const char *key, uint8_t pin, uint64_t ttl_ms)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_pin rep = {0};
	uint32_t status =
		ASK(end, pin, &rep, .pin = pin, .pin_ttl_ms = ttl_ms, .n_keys = 1, .keys = &only);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

static uint32_t
end_unpin(struct end *end, const char *key)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_unpin rep = {0};
	uint32_t status = ASK(end, unpin, &rep, .n_keys = 1, .keys = &only);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

static struct rec_object_state
end_stat(struct end *end, const char *key)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_stat rep = {0};

	assert_int_equal(ASK(end, stat, &rep, .n_keys = 1, .keys = &only), STATUS_OK);
	return rep.objects[0];
}

/* Wants so much room; gives the item's status. */
static uint32_t
crowd(struct end *end, const char *key, uint64_t len_bytes, struct rep_put_start *ret_rep)
{
	struct rec_put put = {span_of(key, strlen(key)), len_bytes};
	uint64_t id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);

	for (int i = 0; i < 3; i++) {
		world_pass_ms(end->world, 1000);
		end_ping(end);
	}
	assert_int_equal(HEAR(end, id, put_start, ret_rep), STATUS_OK);
	return ret_rep->places[0].status;
}

static struct end *
four_of(struct world *w)
{
	struct end *end = provider_of(w, 4 * MIB + 65536);

	end_put(end, "a", 1 * MIB);
	end_put(end, "b", 1 * MIB);
	end_put(end, "c", 1 * MIB);
	end_put(end, "d", 1 * MIB);
	return end;
}

static void
pinned_objects__stay_while_younger_ones_go__the_soft_after_all_others(void **state)
{
	struct end *end = four_of(*state);
	struct rep_put_start rep = {0};

	assert_int_equal(end_pin(end, "a", HARD, 0), STATUS_OK);
	assert_int_equal(end_pin(end, "b", SOFT, 0), STATUS_OK);
	assert_int_equal(crowd(end, "x", 3 * MIB / 2, &rep), STATUS_OK);
	assert_int_equal(end_exist(end, "c"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "d"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "b"), STATUS_OK);

	assert_int_equal(crowd(end, "y", 1 * MIB, &rep), STATUS_OK);
	assert_int_equal(end_exist(end, "b"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "a"), STATUS_OK);
}

static void
room__when_all_is_pinned_hard__is_refused__and_the_pinned_bytes_are_told(void **state)
{
	struct end *end = four_of(*state);
	static const char *const keys[] = {"a", "b", "c", "d"};
	struct rep_put_start rep = {0};

	for (int i = 0; i < 4; i++)
		assert_int_equal(end_pin(end, keys[i], HARD, 0), STATUS_OK);
	assert_int_equal(crowd(end, "x", 1 * MIB, &rep), STATUS_NO_SPACE);
	assert_non_null(memmem(rep.why.at, rep.why.len, "4.0 MiB pinned", 14));
	assert_int_equal(end_unpin(end, "b"), STATUS_OK);
	assert_int_equal(crowd(end, "x", 512 << 10, &rep), STATUS_OK);
	assert_int_equal(end_exist(end, "b"), STATUS_NOT_FOUND);
}

static void
room_within_a_quota__when_all_is_pinned__is_refused__and_the_bytes_are_told(void **state)
{
	struct end *end = provider_of(*state, 16 * MIB);
	struct rep_put_start rep = {0};

	assert_int_equal(end_tenant_put(end, "default", 1, 2 * MIB, 0), STATUS_OK);
	end_put(end, "a", 1 * MIB);
	end_put(end, "b", 1 * MIB);
	assert_int_equal(end_pin(end, "a", HARD, 0), STATUS_OK);
	assert_int_equal(end_pin(end, "b", HARD, 0), STATUS_OK);
	assert_int_equal(crowd(end, "x", 1 * MIB, &rep), STATUS_QUOTA_EXCEEDED);
	assert_non_null(memmem(rep.why.at, rep.why.len, "2.0 MiB pinned", 14));
}

static void
soft_pins__without_the_option__stay_until_they_end(void **state)
{
	struct end *end = four_of(*state);
	static const char *const keys[] = {"a", "b", "c", "d"};
	struct rep_put_start rep = {0};

	end->world->master->limits.evict_soft_pins = 0;
	for (int i = 0; i < 4; i++)
		assert_int_equal(end_pin(end, keys[i], SOFT, i == 2 ? 20000 : 60000), STATUS_OK);
	assert_int_equal(crowd(end, "x", 1 * MIB, &rep), STATUS_NO_SPACE);
	for (int i = 0; i < 20; i++) {
		world_pass_ms(end->world, 1000);
		end_ping(end);
	}
	assert_int_equal(end_stat(end, "c").pin, NONE);
	assert_int_equal(crowd(end, "x", 512 << 10, &rep), STATUS_OK);
	assert_int_equal(end_exist(end, "c"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "a"), STATUS_OK);
}

static void
pin__that_ended__protects_no_longer_than_others_are_protected(void **state)
{
	struct end *end = four_of(*state);
	struct rep_put_start rep = {0};

	assert_int_equal(end_pin(end, "a", SOFT, 1000), STATUS_OK);
	assert_int_equal(end_pin(end, "b", HARD, 0), STATUS_OK);
	assert_int_equal(end_pin(end, "c", HARD, 0), STATUS_OK);
	assert_int_equal(end_pin(end, "d", SOFT, HOUR_MS), STATUS_OK);
	world_pass_ms(end->world, 3000);
	end_ping(end);
	assert_int_equal(crowd(end, "x", 512 << 10, &rep), STATUS_OK);
	assert_int_equal(end_exist(end, "a"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "d"), STATUS_OK);
}

static void
pin__in_put_start__holds_from_the_end_of_the_put(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB);
	struct rec_put put = {span_of("k", 1), 4096};
	struct rep_put_start rep = {0};
	struct rec_object_state stat;

	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 1, .n_puts = 1, .puts = &put,
			     .pin = SOFT, .pin_ttl_ms = HOUR_MS),
			 STATUS_OK);
	world_pass_ms(end->world, 2000);
	assert_int_equal(end_finish(end, rep.places[0].object_id, 4096), STATUS_OK);
	stat = end_stat(end, "k");
	assert_int_equal(stat.pin, SOFT);
	assert_in_range(stat.pin_left_ms, HOUR_MS - 1000, HOUR_MS + 1000);
}

static void
wish__that_no_pin_can_fulfil__is_refused(void **state)
{
	struct end *end = four_of(*state);
	struct rec_put put = {span_of("k", 1), 4096};
	struct rep_put_start rep = {0};

	assert_int_equal(end_pin(end, "a", NONE, 0), STATUS_INVALID);
	assert_int_equal(end_pin(end, "a", 3, 0), STATUS_INVALID);
	assert_int_equal(end_pin(end, "a", HARD, 1000), STATUS_INVALID);
	assert_int_equal(end_pin(end, "a", SOFT, 86400001), STATUS_INVALID);
	assert_int_equal(end_pin(end, "none", SOFT, 0), STATUS_NOT_FOUND);
	assert_int_equal(end_unpin(end, "none"), STATUS_NOT_FOUND);
	assert_int_equal(
		ASK(end, put_start, &rep, .replica_num = 1, .n_puts = 1, .puts = &put, .pin = 3),
		STATUS_INVALID);
	assert_int_equal(end_stat(end, "a").pin, NONE);
}

static void
pinned_object__is_removed_and_renamed_as_any_other(void **state)
{
	struct end *end = four_of(*state);
	struct rec_rename_pair pair = {span_of("b", 1), span_of("e", 1)};
	struct rep_rename rep;

	assert_int_equal(end_pin(end, "a", HARD, 0), STATUS_OK);
	assert_int_equal(end_remove(end, "a", false), STATUS_OK);
	assert_int_equal(end_pin(end, "b", HARD, 0), STATUS_OK);
	assert_int_equal(ASK(end, rename, &rep, .n_pairs = 1, .pairs = &pair), STATUS_OK);
	assert_int_equal(end_stat(end, "e").pin, HARD);
	assert_int_equal(end_pin(end, "e", SOFT, 0), STATUS_OK);
	assert_int_equal(end_stat(end, "e").pin, SOFT);
	assert_int_equal(end_unpin(end, "e"), STATUS_OK);
	assert_int_equal(end_stat(end, "e").pin, NONE);
}

static void
pins__are_known_after_a_restart(void **state)
{
	struct world *w = *state;
	struct end *end = four_of(w);

	assert_int_equal(end_pin(end, "a", HARD, 0), STATUS_OK);
	assert_int_equal(end_pin(end, "b", SOFT, HOUR_MS), STATUS_OK);
	assert_int_equal(end_pin(end, "c", SOFT, 1000), STATUS_OK);
	assert_int_equal(end_pin(end, "d", HARD, 0), STATUS_OK);
	assert_int_equal(end_unpin(end, "d"), STATUS_OK);
	world_pass_ms(w, 2500);
	world_close(w);
	assert_int_equal(world_open(w), 0);

	end = world_join_again(w, 11);
	assert_int_equal(end_stat(end, "a").pin, HARD);
	assert_int_equal(end_stat(end, "b").pin, SOFT);
	assert_in_range(end_stat(end, "b").pin_left_ms, HOUR_MS - 5000, HOUR_MS);
	assert_int_equal(end_stat(end, "c").pin, NONE);
	assert_int_equal(end_stat(end, "d").pin, NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(pinned_objects__stay_while_younger_ones_go__the_soft_after_all_others),
		WORLD_TEST(
			room__when_all_is_pinned_hard__is_refused__and_the_pinned_bytes_are_told),
		WORLD_TEST(
			room_within_a_quota__when_all_is_pinned__is_refused__and_the_bytes_are_told),
		WORLD_TEST(soft_pins__without_the_option__stay_until_they_end),
		WORLD_TEST(pin__that_ended__protects_no_longer_than_others_are_protected),
		WORLD_TEST(pin__in_put_start__holds_from_the_end_of_the_put),
		WORLD_TEST(wish__that_no_pin_can_fulfil__is_refused),
		WORLD_TEST(pinned_object__is_removed_and_renamed_as_any_other),
		WORLD_TEST(pins__are_known_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
