/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core_world.h"

static uint8_t sent[1 << 20], seen[1 << 20];

static void
get__of_what_was_put__has_the_same_bytes(void **state)
{
	struct world *w = *state;
	uint64_t len = 0;

	world_put_pattern(w, "a", sent, 100000, 1);

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), &len), 0);

	assert_int_equal(len, 100000);
	assert_memory_equal(seen, sent, 100000);
}

static void
get__into_many_slices__scatters_in_order(void **state)
{
	struct world *w = *state;
	struct iovec slices[3] = {{seen, 10}, {seen + 500, 0}, {seen + 1000, 90}};
	uint64_t len = 0;

	world_put_pattern(w, "a", sent, 100, 1);

	assert_int_equal(tiffin_get(w->client, "a", slices, 3, &len), 0);

	assert_memory_equal(seen, sent, 10);
	assert_memory_equal(seen + 1000, sent + 10, 90);
}

static void
get__of_an_empty_object__gives_length_zero(void **state)
{
	struct world *w = *state;
	uint64_t len = 7;

	assert_int_equal(world_put(w, "empty", "", 0, 1), 0);

	assert_int_equal(world_get(w, "empty", seen, 1, &len), 0);

	assert_int_equal(len, 0);
}

static void
get__of_a_missing_key__answers_not_found_and_names_it(void **state)
{
	struct world *w = *state;
	uint64_t len = 7;

	assert_int_equal(world_get(w, "nobody", seen, 1, &len), TIFFIN_E_NOT_FOUND);

	assert_int_equal(len, 7);
	assert_non_null(strstr(tiffin_why(), "nobody"));
}

static void
get__into_less_room__answers_too_small_and_touches_nothing(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, 100, 1);
	memset(seen, 0x55, 100);

	assert_int_equal(world_get(w, "a", seen, 99, NULL), TIFFIN_E_TOO_SMALL);

	for (size_t i = 0; i < 100; i++)
		assert_int_equal(seen[i], 0x55);
}

static void
get_range__reads_only_what_there_is(void **state)
{
	struct world *w = *state;
	struct iovec slice = {seen, 50};
	uint64_t len = 0;

	world_put_pattern(w, "a", sent, 100, 1);

	assert_int_equal(tiffin_get_range(w->client, "a", 80, &slice, 1, &len), 0);
	assert_int_equal(len, 20);
	assert_memory_equal(seen, sent + 80, 20);

	assert_int_equal(tiffin_get_range(w->client, "a", UINT64_MAX, &slice, 1, &len), 0);
	assert_int_equal(len, 0);
}

static void
get__with_bad_arguments__answers_invalid(void **state)
{
	struct world *w = *state;
	char too_long[TIFFIN_KEY_MAX + 2];

	memset(too_long, 'k', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';

	assert_int_equal(world_get(w, "", seen, 1, NULL), TIFFIN_E_INVALID);
	assert_int_equal(world_get(w, too_long, seen, 1, NULL), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_get(w->client, NULL, NULL, 0, NULL), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_get(w->client, "a", NULL, 1, NULL), TIFFIN_E_INVALID);
	assert_int_equal(world_get(w, "a", NULL, 1, NULL), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_get(NULL, "a", NULL, 0, NULL), TIFFIN_E_INVALID);
	assert_int_equal(w->n_heard[MSG_get_replica_list], 0);
}

static void
get__when_one_copy_is_lost__reads_the_other(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, 5000, 2);
	engine_unlend(w->engine, w->lents[0]);

	for (int i = 0; i < 4; i++) {
		memset(seen, 0, 5000);
		assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);
		assert_memory_equal(seen, sent, 5000);
	}
}

static void
get__when_one_copy_has_other_bytes__reads_the_other(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, 5000, 2);
	w->lents[1]->bytes[17] ^= 1;

	for (int i = 0; i < 4; i++) {
		assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);
		assert_memory_equal(seen, sent, 5000);
	}
}

static void
get__when_every_copy_has_other_bytes__answers_checksum(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, 5000, 2);
	w->lents[0]->bytes[4999] ^= 1;
	w->lents[1]->bytes[17] ^= 1;

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_CHECKSUM);
}

static void
get__when_every_copy_is_lost__answers_unreachable_after_a_fresh_look(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, 5000, 2);
	engine_unlend(w->engine, w->lents[0]);
	engine_unlend(w->engine, w->lents[1]);

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_UNREACHABLE);

	assert_int_equal(w->n_heard[MSG_get_replica_list], 2);
}

static void
get__under_random_faults__is_right_or_an_error(void **state)
{
	const struct fault_plan plan = {.seed = 7, .lost = 12000, .flip = 12000, .timeout = 3000};
	struct world w;
	unsigned n_good = 0;

	(void)state;
	world_init(&w, &plan);
	world_pattern(sent, 3000, 9);
	while (world_put(&w, "a", sent, 3000, 2) != 0)
		continue;
	for (size_t i = 0; i < WORLD_SEGMENTS; i++) /* a bit may have been turned on the way in */
		memcpy(w.lents[i]->bytes +
			       world_object(&w, "a")->replicas[i].extents[0].offset_bytes,
		       sent, 3000);

	for (int i = 0; i < 200; i++) {
		memset(seen, 0, 3000);
		if (world_get(&w, "a", seen, sizeof(seen), NULL) != 0)
			continue;
		assert_memory_equal(seen, sent, 3000);
		n_good++;
	}
	assert_true(n_good > 100);
	world_fini(&w);
}

static void
let_the_lease_run_out(struct world *w, uint16_t type)
{
	if (type == MSG_query_segment)
		clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS);
}

static void
get__when_the_lease_ran_out_on_the_way__looks_again(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, 5000, 1);
	where_drop(&w->client->where, w->lents[0]->segment_id);
	w->on_call = let_the_lease_run_out;

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);

	assert_int_equal(w->n_heard[MSG_get_replica_list], 2);
	assert_memory_equal(seen, sent, 5000);
}

static void
get__while_its_provider_comes_back__waits_for_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	w->session.n_joins++;
	w->session.master_epoch++;
	w->is_away = true;
	w->back_at_ns = clock_ns(&w->clock.base) + 1500 * NS_PER_MS;

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);

	assert_memory_equal(seen, "bytes", 5);
}

static void
get__when_its_provider_stays_away__answers_unreachable(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	w->is_away = true;
	w->back_at_ns = UINT64_MAX;

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_UNREACHABLE);
}

/* Without sums nobody else would notice. */
static void
get_batch__with_a_copy_that_is_not_to_be_had__moves_the_others_all_the_same(void **state)
{
	struct world *w = *state;
	struct iovec slices[3] = {{seen, 100}, {seen + 1000, 100}, {seen + 2000, 100}};
	struct tiffin_item items[3] = {{.key = "a", .slices = &slices[0], .n_slices = 1},
				       {.key = "b", .slices = &slices[1], .n_slices = 1},
				       {.key = "c", .slices = &slices[2], .n_slices = 1}};
	struct toy_object *b;

	w->client->no_verify = true;
	world_pattern(sent, 300, 1);
	memset(seen, 0, sizeof(seen));
	assert_int_equal(world_put(w, "a", sent, 100, 1), 0);
	assert_int_equal(world_put(w, "b", sent + 100, 100, 2), 0);
	assert_int_equal(world_put(w, "c", sent + 200, 100, 1), 0);
	b = world_object(w, "b");
	b->replicas[0] = b->replicas[1]; /* on the other segment alone */
	b->n_replicas = 1;
	where_drop(&w->client->where, w->lents[1]->segment_id);
	w->refuse_type = MSG_query_segment;
	w->refuse_status = STATUS_INVALID;

	assert_int_equal(tiffin_get_batch(w->client, items, 3), 0);

	assert_int_equal(items[0].result, 0);
	assert_memory_equal(seen, sent, 100);
	assert_int_equal(items[2].result, 0);
	assert_memory_equal(seen + 2000, sent + 200, 100);
}

/* Its connection was cut, and nothing else: there it is again, for who asks. */
static void
lend_again(struct world *w, uint16_t type)
{
	if (type != MSG_query_segment)
		return;
	w->on_call = NULL;
	assert_int_equal(engine_lend(w->engine, w->lents[0]), 0);
}

static void
view__whose_only_copy_was_cut_off__asks_for_it_once_more(void **state)
{
	struct world *w = *state;
	const struct iovec slice = {seen, 100};
	struct tiffin_view *view;
	uint64_t len = 0;

	memset(seen, 0, sizeof(seen));
	world_put_pattern(w, "a", sent, 100, 1);
	assert_int_equal(tiffin_view_open(w->client, "a", &view), 0);
	assert_int_equal(tiffin_view_read(view, 0, &slice, 1, &len), 0);
	engine_unlend(w->engine, w->lents[0]);
	memset(seen, 0, sizeof(seen));
	w->on_call = lend_again;

	assert_int_equal(tiffin_view_read(view, 0, &slice, 1, &len), 0);

	assert_int_equal(len, 100);
	assert_memory_equal(seen, sent, 100);
	assert_int_equal(w->n_heard[MSG_get_replica_list], 1);
	tiffin_view_close(view);
}

static void
get_batch__answers_each_for_itself(void **state)
{
	struct world *w = *state;
	struct iovec slices[4] = {{seen, 100}, {seen + 100, 100}, {seen + 200, 1}, {seen + 300, 0}};
	struct tiffin_item items[4] = {{.key = "a", .slices = &slices[0], .n_slices = 1},
				       {.key = "b", .slices = &slices[1], .n_slices = 1},
				       {.key = "a", .slices = &slices[2], .n_slices = 1},
				       {.key = "", .slices = &slices[3], .n_slices = 1}};

	world_put_pattern(w, "a", sent, 100, 1);

	assert_int_equal(tiffin_get_batch(w->client, items, 4), 0);

	assert_int_equal(items[0].result, 0);
	assert_int_equal(items[0].ret_len_bytes, 100);
	assert_memory_equal(seen, sent, 100);
	assert_int_equal(items[1].result, TIFFIN_E_NOT_FOUND);
	assert_int_equal(items[2].result, TIFFIN_E_TOO_SMALL);
	assert_int_equal(items[3].result, TIFFIN_E_INVALID);
	assert_int_equal(w->n_heard[MSG_get_replica_list], 1);
}

static void
get__gives_its_lease_back_before_a_remove(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);
	assert_int_equal(w->n_released, 0);

	assert_int_equal(tiffin_remove(w->client, "a", 0), 0);

	assert_int_equal(w->n_released, 1);
}

static void
master__that_is_silent__makes_get_time_out(void **state)
{
	struct world *w = *state;

	w->link_outcome = LINK_E_TIMEOUT;

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_TIMEOUT);

	assert_non_null(strstr(tiffin_why(), "unix:/the/master"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(get__of_what_was_put__has_the_same_bytes),
		world_test(get__into_many_slices__scatters_in_order),
		world_test(get__of_an_empty_object__gives_length_zero),
		world_test(get__of_a_missing_key__answers_not_found_and_names_it),
		world_test(get__into_less_room__answers_too_small_and_touches_nothing),
		world_test(get_range__reads_only_what_there_is),
		world_test(get__with_bad_arguments__answers_invalid),
		world_test(get__when_one_copy_is_lost__reads_the_other),
		world_test(get__when_one_copy_has_other_bytes__reads_the_other),
		world_test(get__when_every_copy_has_other_bytes__answers_checksum),
		world_test(get__when_every_copy_is_lost__answers_unreachable_after_a_fresh_look),
		cmocka_unit_test(get__under_random_faults__is_right_or_an_error),
		world_test(get__when_the_lease_ran_out_on_the_way__looks_again),
		world_test(get__while_its_provider_comes_back__waits_for_it),
		world_test(get__when_its_provider_stays_away__answers_unreachable),
		world_test(view__whose_only_copy_was_cut_off__asks_for_it_once_more),
		world_test(get_batch__answers_each_for_itself),
		world_test(
			get_batch__with_a_copy_that_is_not_to_be_had__moves_the_others_all_the_same),
		world_test(get__gives_its_lease_back_before_a_remove),
		world_test(master__that_is_silent__makes_get_time_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
