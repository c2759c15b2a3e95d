/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What has to go from memory goes to a disk, and comes back when it is wanted.
 *
 *      segment 1   4 MiB of memory, provider a          segment 2   a disk, provider b
 */
#include "tests/unit/master_works.h"

#include "master/pin.h"

#define LARGE (1u * MIB)

struct tiers {
	struct world *w;
	struct end *a, *b, *user;
};

static void
all_ping(const struct tiers *t)
{
	end_work(t->a);
	end_work(t->b);
	assert_int_equal(end_ping(t->user), STATUS_OK);
}

static struct tiers
tiers_of(struct world *w, enum offload_mode mode, uint64_t disk_bytes)
{
	struct tiers t = {w, world_join(w, 1), world_join(w, 2), world_join(w, 9)};

	w->master->limits.offload = mode;
	assert_int_equal(end_mount(t.a, 1, 1, 4 * MIB), STATUS_OK);
	if (disk_bytes > 0)
		assert_int_equal(end_mount_on(t.b, MEDIUM_FILE, 2, 1, disk_bytes), STATUS_OK);
	end_work(t.a);
	end_work(t.b);
	return t;
}

/* put_four -- as much as memory takes without its high mark of 95 %; the last one is beyond it. */
static void
put_some(struct tiers *t, unsigned n, const char *prefix)
{
	for (unsigned i = 0; i < n; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%s%u", prefix, i);
		assert_int_not_equal(end_put(t->user, key, LARGE), 0);
		world_pass_ms(t->w, 100);
	}
}

static void
put_four(struct tiers *t)
{
	put_some(t, 4, "k");
}

/* carry_out -- whatever the disk's provider is offered, and time for the old places to come free.
 */
static unsigned
carry_out(struct tiers *t, struct end *end)
{
	unsigned n = 0;

	for (int i = 0; i < 20; i++) {
		all_ping(t);
		n += end_carry_out(end) == STATUS_OK;
		world_pass_ms(t->w, 300);
	}
	return n;
}

static uint64_t
place_of(struct tiers *t, const char *key)
{
	struct rec_object_place place = end_get(t->user, key);

	if (place.status != STATUS_OK)
		return 0;
	assert_int_equal(end_release(t->user, place.object_id, place.lease_id), STATUS_OK);
	return place.n_replicas == 1 ? place.replicas[0].segment_id : UINT64_MAX;
}

/* use -- as a reader that comes again later: uses within four seconds count as one. */
static void
use(struct tiers *t, const char *key)
{
	(void)place_of(t, key);
	world_pass_ms(t->w, 4500);
	all_ping(t);
}

static void
put__in_a_store_of_both_tiers__goes_to_memory(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);

	for (int i = 0; i < 3; i++) {
		char key[8];

		snprintf(key, sizeof(key), "m%d", i);
		assert_int_not_equal(end_put(t.user, key, LARGE), 0);
		assert_int_equal(place_of(&t, key), 1);
	}
}

static void
put__in_a_store_of_disks_alone__goes_there(void **state)
{
	struct world *w = *state;
	struct end *b = world_join(w, 2), *user = world_join(w, 9);

	assert_int_equal(end_mount_on(b, MEDIUM_FILE, 2, 1, 64 * MIB), STATUS_OK);

	assert_int_not_equal(end_put(user, "k", LARGE), 0);
	assert_int_equal(seg(w, 2)->n_replicas, 1);
}

static void
eviction__with_a_disk__moves_the_oldest_there_and_nothing_is_gone(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);
	const struct master_counters *counters = &t.w->master->counters;

	put_four(&t);
	assert_true(t.w->master->offload.n_offloads > 0);
	assert_true(carry_out(&t, t.b) > 0);

	assert_int_equal(place_of(&t, "k0"), 2);
	assert_int_equal(place_of(&t, "k3"), 1);
	assert_int_equal(counter_get(&counters->evictions), 0);
	assert_int_equal(counter_get(&counters->offloads), seg(t.w, 2)->n_replicas);
	assert_int_equal(counter_get(&counters->offloaded_bytes),
			 counter_get(&counters->offloads) * LARGE);
	assert_int_equal(counter_get(&counters->tasks_done), 0);
	assert_int_equal(t.w->master->offload.n_offloads, 0);
	assert_int_equal(t.w->master->offload.bytes, 0);
	tasks_check(t.w->master);
}

static void
eviction__without_the_tier__drops_the_oldest(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_OFF, 64 * MIB);

	put_four(&t);
	world_pass_ms(t.w, 1000);

	assert_int_equal(place_of(&t, "k0"), 0);
	assert_int_equal(seg(t.w, 2)->n_replicas, 0);
}

static void
eviction__without_a_disk__drops_the_oldest_whatever_the_mode(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_ON, 0);

	put_four(&t);
	world_pass_ms(t.w, 1000);

	assert_int_equal(place_of(&t, "k0"), 0);
}

static void
eviction__of_what_is_read_under_a_lease__spares_it(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);
	struct rec_object_place place;

	put_some(&t, 1, "p");
	place = end_get(t.user, "p0");
	put_some(&t, 3, "k");
	for (int i = 0; i < 10; i++) {
		all_ping(&t);
		assert_int_equal(end_renew(t.user, place.object_id, place.lease_id), STATUS_OK);
		(void)end_carry_out(t.b);
		world_pass_ms(t.w, 300);
	}

	assert_int_equal(end_get(t.user, "p0").replicas[0].segment_id, 1);
	assert_int_equal(place_of(&t, "k0"), 2);
}

static void
eviction__of_a_pinned_object__leaves_it_in_memory(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);
	uint64_t id = end_put(t.user, "p0", LARGE);

	assert_int_equal(books_pin(t.w->master, map_get(&t.w->master->objects, id), PIN_HARD), 0);
	put_some(&t, 3, "k");
	carry_out(&t, t.b);

	assert_int_equal(place_of(&t, "p0"), 1);
	assert_int_equal(place_of(&t, "k0"), 2);
}

static void
moves_of_small_objects__are_offered_and_fetched_by_the_hundred(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_ON, 64 * MIB);
	struct rep_fetch_tasks fetched = {0};
	struct rep_ping pinged = {0};

	for (unsigned i = 0; i < 1020; i++) {
		char key[16];

		snprintf(key, sizeof(key), "small%u", i);
		assert_int_not_equal(end_put(t.user, key, 4096), 0);
	}
	t.w->master->limits.evict_high_pct = 95;
	t.w->master->limits.evict_low_pct = 85;
	world_pass_ms(t.w, 200);
	assert_int_equal(
		ASK(t.b, ping, &pinged, .now_ms = clock_ms(&t.w->clock.base), .has_worker = 1),
		STATUS_OK);
	assert_in_range(pinged.n_tasks, 100, 160);
	assert_int_equal(ASK(t.b, fetch_tasks, &fetched, .most = WORKS_MAX), STATUS_OK);
	assert_int_equal(fetched.n_works, 64);
}

static void
moves_of_large_objects__are_offered_as_far_as_their_bytes_go(void **state)
{
	struct world *w = *state;
	struct tiers t = {w, world_join(w, 1), world_join(w, 2), world_join(w, 9)};
	struct rep_ping pinged = {0};

	w->master->limits.offload = OFFLOAD_ON;
	assert_int_equal(end_mount(t.a, 1, 1, 16384 * MIB), STATUS_OK);
	assert_int_equal(end_mount_on(t.b, MEDIUM_FILE, 2, 1, 65536 * MIB), STATUS_OK);
	end_work(t.a);
	end_work(t.b);
	for (unsigned i = 0; i < 250; i++) {
		char key[16];

		snprintf(key, sizeof(key), "large%u", i);
		assert_int_not_equal(end_put(t.user, key, 64 * MIB), 0);
	}
	w->master->limits.evict_high_pct = 90;
	w->master->limits.evict_low_pct = 80;
	world_pass_ms(w, 200);
	assert_int_equal(
		ASK(t.b, ping, &pinged, .now_ms = clock_ms(&w->clock.base), .has_worker = 1),
		STATUS_OK);
	assert_int_equal(pinged.n_tasks, TASK_OFFER_BYTES_MAX / (64 * MIB));
}

static void
move__that_is_under_way__is_not_begun_twice(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);
	size_t n;

	put_four(&t);
	n = t.w->master->offload.n_offloads;
	assert_true(n > 0);
	for (int i = 0; i < 10; i++) {
		world_pass_ms(t.w, 100);
		all_ping(&t);
	}

	assert_int_equal(t.w->master->offload.n_offloads, n);
}

static void
object_that_is_removed_while_it_moves__ends_the_move_and_nothing_rests(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);

	put_four(&t);
	assert_int_equal(end_remove(t.user, "k0", true), STATUS_OK);
	carry_out(&t, t.b);

	assert_int_equal(place_of(&t, "k0"), 0);
	assert_int_equal(t.w->master->offload.bytes, 0);
	assert_int_equal(t.w->master->offload.rest_until_ms, 0);
	tasks_check(t.w->master);
}

/* Nobody carries the moves out: `auto` gives up on them, and drops. */
static void
moves_that_fail_for_good__let_auto_drop_for_a_while(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);

	put_four(&t);
	for (int i = 0; i < 60; i++) {
		struct rep_fetch_tasks rep;

		all_ping(&t);
		rep = end_fetch(t.b);
		if (rep.n_works > 0) {
			end_release(t.b, rep.works[0].from[0].object_id,
				    rep.works[0].from[0].lease_id);
			end_report(t.b, rep.works[0].task_id, rep.works[0].to[0].object_id,
				   STATUS_UNREACHABLE);
		}
		world_pass_ms(t.w, 300);
	}

	assert_true(t.w->master->offload.rest_until_ms > 0);
	assert_true(counter_get(&t.w->master->counters.evictions) > 0);
	assert_int_equal(seg(t.w, 2)->n_replicas, 0);
	assert_int_not_equal(place_of(&t, "k3"), 0);
}

static void
disk_that_is_full__loses_what_came_there_first(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 2 * MIB);
	char key[8];

	for (int i = 0; i < 14; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		assert_int_not_equal(end_put(t.user, key, LARGE / 2), 0);
		if (i >= 6)
			carry_out(&t, t.b);
	}

	assert_int_equal(place_of(&t, "k0"), 0);
	assert_int_equal(place_of(&t, "k13"), 1);
	assert_true(seg(t.w, 2)->n_replicas >= 2);
	assert_true(counter_get(&t.w->master->counters.evictions) > 0);
}

static void
object_on_a_disk__used_often_enough__comes_back_and_keeps_its_copy_there(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);
	const struct master_counters *counters = &t.w->master->counters;

	put_four(&t);
	carry_out(&t, t.b);
	assert_int_equal(place_of(&t, "k0"), 2);
	assert_int_equal(end_remove(t.user, "k3", true), STATUS_OK); /* room in memory */
	world_pass_ms(t.w, 6000);
	all_ping(&t);

	use(&t, "k0");
	use(&t, "k0");
	assert_true(carry_out(&t, t.a) > 0);

	assert_int_equal(end_get(t.user, "k0").n_replicas, 2);
	assert_int_equal(counter_get(&counters->promotions), 1);
	assert_int_equal(counter_get(&counters->promoted_bytes), LARGE);
	assert_int_equal(t.w->master->offload.n_promotions, 0);
}

static void
object_on_a_disk__when_promotion_is_off__stays_there(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);

	t.w->master->limits.promote_uses = 0;
	put_four(&t);
	carry_out(&t, t.b);
	assert_int_equal(end_remove(t.user, "k3", true), STATUS_OK);
	world_pass_ms(t.w, 6000);
	all_ping(&t);
	for (int i = 0; i < 6; i++)
		use(&t, "k0");

	assert_int_equal(carry_out(&t, t.a), 0);
	assert_int_equal(place_of(&t, "k0"), 2);
}

/* What came back leaves memory at once, when room is wanted again: its copy on the disk is there.
 */
static void
object_with_a_copy_on_a_disk__leaves_memory_without_a_move(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);
	uint64_t n_moved;

	put_four(&t);
	carry_out(&t, t.b);
	assert_int_equal(end_remove(t.user, "k3", true), STATUS_OK);
	world_pass_ms(t.w, 6000);
	all_ping(&t);
	use(&t, "k0");
	use(&t, "k0");
	assert_true(carry_out(&t, t.a) > 0);
	assert_int_equal(end_get(t.user, "k0").n_replicas, 2);
	world_pass_ms(t.w, 6000);
	all_ping(&t);
	use(&t, "k1");
	use(&t, "k2");
	n_moved = counter_get(&t.w->master->counters.offloads);
	for (int i = 0; i < 2; i++) {
		char key[8];

		snprintf(key, sizeof(key), "n%d", i);
		assert_int_not_equal(end_put(t.user, key, LARGE / 2), 0);
		world_pass_ms(t.w, 1000);
	}

	assert_int_equal(place_of(&t, "k0"), 2);
	assert_int_equal(counter_get(&t.w->master->counters.offloads), n_moved);
	assert_int_equal(counter_get(&t.w->master->counters.evictions), 0);
}

static void
tenant_at_its_quota__loses_what_lies_on_disks_first(void **state)
{
	struct tiers t = tiers_of(*state, OFFLOAD_AUTO, 64 * MIB);
	struct evict_goal goal = {.bytes = LARGE / 2, .steps = 100};
	struct object *object;

	put_four(&t);
	carry_out(&t, t.b);
	object = map_get(&t.w->master->objects, end_get(t.user, "k3").object_id);

	world_pass_ms(t.w, 6000);
	evict_within(t.w->master, object->tenant, &goal);

	assert_int_equal(goal.done_objects, 1);
	assert_int_equal(place_of(&t, "k0"), 0);
	assert_int_not_equal(place_of(&t, "k1"), 0);
}

static void
join(struct world *w, const char *key, const char *group)
{
	struct tenant *tenant = tenants_by_name(&w->master->tenants, (const uint8_t *)"default", 7);
	struct object *object = books_find(w->master, tenant, (const uint8_t *)key, strlen(key));

	assert_non_null(object);
	assert_int_equal(
		group_join(&w->master->groups, object, (const uint8_t *)group, strlen(group)), 0);
}

static void
group__that_lies_on_both_tiers__goes_from_each_as_room_is_wanted_there(void **state)
{
	struct world *w = *state;
	struct tiers t = tiers_of(w, OFFLOAD_AUTO, LARGE + LARGE / 2);

	put_four(&t);
	assert_true(carry_out(&t, t.b) > 0);
	assert_int_equal(place_of(&t, "k0"), 2); /* and no other has room there */
	for (int i = 0; i < 8; i++) {            /* no lease of it runs any more */
		world_pass_ms(w, 1000);
		all_ping(&t);
	}
	join(w, "k0", "g");
	join(w, "k1", "g");
	put_some(&t, 4, "n");
	(void)carry_out(&t, t.b);
	assert_int_equal(place_of(&t, "k0"), 0);
	assert_int_equal(place_of(&t, "k1"), 0);
	assert_int_equal(w->master->groups.n, 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(group__that_lies_on_both_tiers__goes_from_each_as_room_is_wanted_there),
		T(put__in_a_store_of_both_tiers__goes_to_memory),
		T(put__in_a_store_of_disks_alone__goes_there),
		T(eviction__with_a_disk__moves_the_oldest_there_and_nothing_is_gone),
		T(eviction__without_the_tier__drops_the_oldest),
		T(eviction__without_a_disk__drops_the_oldest_whatever_the_mode),
		T(eviction__of_what_is_read_under_a_lease__spares_it),
		T(eviction__of_a_pinned_object__leaves_it_in_memory),
		T(move__that_is_under_way__is_not_begun_twice),
		WORLD_TEST(moves_of_small_objects__are_offered_and_fetched_by_the_hundred),
		WORLD_TEST(moves_of_large_objects__are_offered_as_far_as_their_bytes_go),
		T(object_that_is_removed_while_it_moves__ends_the_move_and_nothing_rests),
		T(moves_that_fail_for_good__let_auto_drop_for_a_while),
		T(disk_that_is_full__loses_what_came_there_first),
		T(object_on_a_disk__used_often_enough__comes_back_and_keeps_its_copy_there),
		T(object_on_a_disk__when_promotion_is_off__stays_there),
		T(object_with_a_copy_on_a_disk__leaves_memory_without_a_move),
		T(tenant_at_its_quota__loses_what_lies_on_disks_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
