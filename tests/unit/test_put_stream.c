/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core_world.h"

static uint8_t sent[6 << 20], seen[6 << 20];

static struct tiffin_put *
begin(struct world *w, const char *key)
{
	struct tiffin_put *put;

	assert_int_equal(tiffin_put_begin(w->client, key, 0, NULL, &put), 0);
	return put;
}

static int
write_at(struct tiffin_put *put, uint64_t at, const void *bytes, size_t len)
{
	const struct iovec slice = {(void *)bytes, len};

	return tiffin_put_write(put, at, &slice, 1);
}

/* check -- the object has exactly these bytes, and its sum is right (get looks at it). */
static void
check(struct world *w, const char *key, const uint8_t *bytes, size_t len)
{
	uint64_t got = 0;

	memset(seen, 0x77, len);
	assert_int_equal(world_get(w, key, seen, sizeof(seen), &got), 0);
	assert_int_equal(got, len);
	assert_memory_equal(seen, bytes, len);
}

static void
small_stream__costs_what_a_put_costs(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	put = begin(w, "a");
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(write_at(put, i, &"hello"[i], 1), 0);
	assert_int_equal(w->n_heard[MSG_put_start], 0);

	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	assert_int_equal(w->n_heard[MSG_put_start], 1);
	assert_int_equal(w->n_heard[MSG_put_end], 1);
	check(w, "a", (const uint8_t *)"hello", 5);
}

static void
group_of_a_stream__is_told__whether_it_is_small_or_large(void **state)
{
	const struct tiffin_put_options options = {.struct_bytes = sizeof(options),
						   .group = "session-7"};
	struct world *w = *state;
	struct tiffin_put *put;

	assert_int_equal(tiffin_put_begin(w->client, "small", 0, &options, &put), 0);
	assert_int_equal(write_at(put, 0, "hello", 5), 0);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);
	assert_string_equal(w->last_start.group, "session-7");

	assert_int_equal(tiffin_put_begin(w->client, "large", 0, &options, &put), 0);
	assert_int_equal(write_at(put, 0, sent, sizeof(sent)), 0);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);
	assert_string_equal(w->last_start.group, "session-7");
}

static void
stream__in_order__grows_and_keeps_its_sum(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	world_pattern(sent, sizeof(sent), 3);
	put = begin(w, "a");

	for (size_t at = 0; at < 5000000; at += 100000)
		assert_int_equal(write_at(put, at, sent + at, 100000), 0);
	assert_int_equal(tiffin_put_len(put), 5000000);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	assert_true(w->n_heard[MSG_put_extend] > 0);
	check(w, "a", sent, 5000000);
}

static void
stream__in_any_order_and_again__has_the_last_bytes(void **state)
{
	struct world *w = *state;
	static const uint32_t ats[] = {3000000, 0, 1500000, 2900000, 100, 3500000, 1500100};
	struct tiffin_put *put;
	static uint8_t want[6 << 20];

	world_pattern(sent, sizeof(sent), 3);
	memset(want, 0, sizeof(want));
	put = begin(w, "a");

	for (size_t i = 0; i < array_len(ats); i++) {
		assert_int_equal(write_at(put, ats[i], sent + i * 1000, 200000), 0);
		memcpy(want + ats[i], sent + i * 1000, 200000);
	}
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	check(w, "a", want, 3700000);
}

static void
stream__with_holes__reads_as_zeros_though_old_bytes_lie_there(void **state)
{
	struct world *w = *state;
	static uint8_t want[3 << 20];
	struct tiffin_put *put;

	memset(want, 0, sizeof(want));
	put = begin(w, "a");

	assert_int_equal(write_at(put, 2500000, "end", 3), 0);
	assert_int_equal(write_at(put, 10, "begin", 5), 0);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	memcpy(want + 10, "begin", 5);
	memcpy(want + 2500000, "end", 3);
	check(w, "a", want, 2500003);
}

static void
stream__truncated_shorter_then_longer__has_zeros_behind_the_cut(void **state)
{
	struct world *w = *state;
	static uint8_t want[3 << 20];
	struct tiffin_put *put;

	world_pattern(sent, sizeof(sent), 3);
	memset(want, 0, sizeof(want));
	put = begin(w, "a");
	assert_int_equal(write_at(put, 0, sent, 2000000), 0);

	assert_int_equal(tiffin_put_truncate(put, 1000000), 0);
	assert_int_equal(tiffin_put_truncate(put, 2200000), 0);
	assert_int_equal(tiffin_put_len(put), 2200000);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	memcpy(want, sent, 1000000);
	check(w, "a", want, 2200000);
}

static void
stream__truncated_to_nothing_and_written_anew__is_summed_without_reading_back(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	world_pattern(sent, sizeof(sent), 3);
	put = begin(w, "a");
	assert_int_equal(write_at(put, 0, sent, 2000000), 0);
	assert_int_equal(tiffin_put_truncate(put, 0), 0);
	assert_int_equal(write_at(put, 0, sent + 7, 1500000), 0);

	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	check(w, "a", sent + 7, 1500000);
}

static void
stream__never_written__makes_an_empty_object(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	put = begin(w, "a");

	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	check(w, "a", sent, 0);
}

static void
stream__only_truncated__is_all_zeros(void **state)
{
	struct world *w = *state;
	static uint8_t want[3 << 20];
	struct tiffin_put *put;

	memset(want, 0, sizeof(want));
	put = begin(w, "a");
	assert_int_equal(tiffin_put_truncate(put, 3000000), 0);

	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	check(w, "a", want, 3000000);
}

static void
stream__reads_back_its_own_bytes__before_the_commit(void **state)
{
	struct world *w = *state;
	struct iovec slice = {seen, 100};
	struct tiffin_put *put;
	uint64_t len;

	world_pattern(sent, sizeof(sent), 3);
	put = begin(w, "a");
	assert_int_equal(write_at(put, 5, "small", 5), 0);
	assert_int_equal(tiffin_put_read(put, 0, &slice, 1, &len), 0);
	assert_int_equal(len, 10);
	assert_memory_equal(seen, "\0\0\0\0\0small", 10);

	assert_int_equal(write_at(put, 0, sent, 1500000), 0);
	assert_int_equal(write_at(put, 1600000, "tail", 4), 0);
	assert_int_equal(tiffin_put_read(put, 1599950, &slice, 1, &len), 0);

	assert_int_equal(len, 54);
	assert_int_equal(seen[49], 0);
	assert_memory_equal(seen + 50, "tail", 4);
	assert_int_equal(tiffin_put_read(put, 1600004, &slice, 1, &len), 0);
	assert_int_equal(len, 0);
	tiffin_put_abort(put);
}

static void
abort__of_a_started_stream__leaves_nothing(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	put = begin(w, "a");
	assert_int_equal(write_at(put, 0, sent, 2000000), 0);

	tiffin_put_abort(put);

	assert_int_equal(w->n_heard[MSG_put_revoke], 1);
	assert_true(w->was_quiet);
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_NOT_FOUND);
}

static void
stream__whose_segment_is_lost__fails_at_once_and_at_the_commit(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	put = begin(w, "a");
	assert_int_equal(write_at(put, 0, sent, 2000000), 0);
	engine_unlend(w->engine, w->lents[0]);

	assert_int_equal(write_at(put, 2000000, sent, 2000000), TIFFIN_E_UNREACHABLE);
	assert_int_equal(write_at(put, 0, sent, 1), TIFFIN_E_UNREACHABLE);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), TIFFIN_E_UNREACHABLE);

	assert_int_equal(w->n_heard[MSG_put_end], 0);
	assert_int_equal(w->n_heard[MSG_put_revoke], 1);
}

static void
idle_stream__past_half_its_lease__is_extended_by_the_tick(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	world_pattern(sent, sizeof(sent), 3);
	put = begin(w, "a");
	assert_int_equal(write_at(put, 0, sent, 2000000), 0);
	for (int i = 0; i < 10; i++) {
		clock_fake_advance_ms(&w->clock, WORLD_WRITE_MS / 2 + 1);
		client_tick(w->client);
	}
	assert_int_equal(w->n_heard[MSG_put_extend], 10);

	assert_int_equal(write_at(put, 2000000, sent + 2000000, 1000), 0);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);

	check(w, "a", sent, 2001000);
}

static void
stream__that_the_master_gave_up__says_lease(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	put = begin(w, "a");
	assert_int_equal(write_at(put, 0, sent, 2000000), 0);
	w->objects[0].is_there = false;
	clock_fake_advance_ms(&w->clock, WORLD_WRITE_MS);

	assert_int_equal(write_at(put, 2000000, sent, 2000000), TIFFIN_E_LEASE);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), TIFFIN_E_LEASE);
}

static void
stream__with_bad_arguments__answers_invalid_and_goes_on(void **state)
{
	struct world *w = *state;
	struct tiffin_put *put;

	put = begin(w, "a");

	assert_int_equal(write_at(put, UINT64_MAX, "x", 1), TIFFIN_E_INVALID);
	assert_int_equal(write_at(put, OBJECT_LEN_MAX, "x", 1), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_put_truncate(put, OBJECT_LEN_MAX + 1), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_put_write(put, 0, NULL, 1), TIFFIN_E_INVALID);
	assert_int_equal(write_at(NULL, 0, "x", 1), TIFFIN_E_INVALID);
	assert_int_equal(write_at(put, 0, "x", 1), 0);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);
	assert_int_equal(tiffin_put_begin(w->client, "", 0, NULL, &put), TIFFIN_E_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(small_stream__costs_what_a_put_costs),
		world_test(group_of_a_stream__is_told__whether_it_is_small_or_large),
		world_test(stream__in_order__grows_and_keeps_its_sum),
		world_test(stream__in_any_order_and_again__has_the_last_bytes),
		world_test(stream__with_holes__reads_as_zeros_though_old_bytes_lie_there),
		world_test(stream__truncated_shorter_then_longer__has_zeros_behind_the_cut),
		world_test(
			stream__truncated_to_nothing_and_written_anew__is_summed_without_reading_back),
		world_test(stream__never_written__makes_an_empty_object),
		world_test(stream__only_truncated__is_all_zeros),
		world_test(stream__reads_back_its_own_bytes__before_the_commit),
		world_test(abort__of_a_started_stream__leaves_nothing),
		world_test(stream__whose_segment_is_lost__fails_at_once_and_at_the_commit),
		world_test(idle_stream__past_half_its_lease__is_extended_by_the_tick),
		world_test(stream__that_the_master_gave_up__says_lease),
		world_test(stream__with_bad_arguments__answers_invalid_and_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
