/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core_world.h"

static uint8_t sent[1 << 20], seen[1 << 20];

static void
put__on_two_segments__writes_the_same_bytes_to_both(void **state)
{
	struct world *w = *state;
	const struct toy_object *o;

	world_pattern(sent, 70000, 5);

	assert_int_equal(world_put(w, "a", sent, 70000, 2), 0);

	o = world_object(w, "a");
	assert_int_equal(o->n_replicas, 2);
	for (size_t i = 0; i < 2; i++)
		assert_memory_equal(w->lents[i]->bytes + o->replicas[i].extents[0].offset_bytes,
				    sent, 70000);
}

static void
put__of_an_existing_key__answers_exists_and_changes_nothing(void **state)
{
	struct world *w = *state;
	uint64_t len;

	assert_int_equal(world_put(w, "a", "first", 5, 1), 0);

	assert_int_equal(world_put(w, "a", "other", 5, 1), TIFFIN_E_EXISTS);

	assert_int_equal(world_get(w, "a", seen, sizeof(seen), &len), 0);
	assert_memory_equal(seen, "first", 5);
}

static void
put__with_replace__first_gives_back_the_leases_of_gets_that_are_over(void **state)
{
	const struct tiffin_put_options options = {.struct_bytes = sizeof(options),
						   .flags = TIFFIN_REPLACE};
	const struct iovec slice = {"other", 5};
	struct world *w = *state;

	assert_int_equal(world_put(w, "a", "first", 5, 1), 0);
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);
	assert_int_equal(w->n_released, 0);

	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), 0);

	assert_int_equal(w->n_released, 1);
}

static void
put__with_replace__takes_the_place(void **state)
{
	struct world *w = *state;
	const struct tiffin_put_options options = {.struct_bytes = sizeof(options),
						   .flags = TIFFIN_REPLACE};
	const struct iovec slice = {"other", 5};
	uint64_t id = 0;

	assert_int_equal(world_put(w, "a", "first", 5, 1), 0);

	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, &id), 0);

	assert_int_equal(world_object(w, "a")->object_id, id);
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);
	assert_memory_equal(seen, "other", 5);
}

static void
put__whose_segment_is_lost__is_revoked_as_not_quiet_and_tried_once_more(void **state)
{
	struct world *w = *state;

	engine_unlend(w->engine, w->lents[0]);

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), TIFFIN_E_UNREACHABLE);

	assert_int_equal(w->n_heard[MSG_put_start], 2);
	assert_int_equal(w->n_heard[MSG_put_revoke], 2);
	assert_false(w->was_quiet);
	assert_int_equal(w->n_heard[MSG_put_end], 0);
}

static void
put__that_the_master_gave_up__is_revoked_as_quiet(void **state)
{
	struct world *w = *state;

	w->refuse_type = MSG_put_end;
	w->refuse_status = STATUS_INVALID;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), TIFFIN_E_INVALID);

	assert_int_equal(w->n_heard[MSG_put_revoke], 1);
	assert_true(w->was_quiet);
}

static void
put__when_the_books_cannot_be_written_for_a_moment__asks_again(void **state)
{
	struct world *w = *state;

	w->refuse_type = MSG_put_start;
	w->refuse_status = STATUS_UNAVAILABLE;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);

	assert_int_equal(w->n_heard[MSG_put_start], 2);
}

static void
let_the_write_lease_run_out(struct world *w, uint16_t type)
{
	if (type == MSG_query_segment)
		clock_fake_advance_ms(&w->clock, WORLD_WRITE_MS);
}

static void
put__whose_write_lease_ran_out_before_it_wrote__writes_nothing(void **state)
{
	struct world *w = *state;

	w->on_call = let_the_write_lease_run_out;

	/* The second attempt finds the segment known, and does it. */
	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);

	assert_int_equal(w->n_heard[MSG_put_start], 2);
	assert_int_equal(w->lents[0]->bytes[0], 0xee);
}

static void
put__under_random_faults__is_whole_or_an_error(void **state)
{
	const struct fault_plan plan = {.seed = 3, .lost = 15000, .lost_late = 5000, .flip = 0};
	unsigned n_good = 0;
	char key[16];

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct fault_plan one = plan;
		struct world w;

		one.seed += (uint64_t)i;
		world_init(&w, &one);
		world_pattern(sent, 3000, (uint32_t)i);
		snprintf(key, sizeof(key), "k%d", i);
		if (world_put(&w, key, sent, 3000, 2) == 0) {
			const struct toy_object *o = world_object(&w, key);

			for (size_t j = 0; j < 2; j++)
				assert_memory_equal(w.lents[j]->bytes +
							    o->replicas[j].extents[0].offset_bytes,
						    sent, 3000);
			n_good++;
		} else {
			assert_null(toy_find(&w, span_of(key, strlen(key)), true));
		}
		world_fini(&w);
	}
	assert_true(n_good > 20);
}

static void
put__with_bad_arguments__answers_invalid_and_asks_nobody(void **state)
{
	struct world *w = *state;
	const struct iovec slice = {sent, 4};
	struct tiffin_put_options options = {.struct_bytes = sizeof(options)};

	assert_int_equal(tiffin_put(w->client, "", &slice, 1, NULL, NULL), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_put(w->client, "a", NULL, 1, NULL, NULL), TIFFIN_E_INVALID);
	options.replica_num = 9;
	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), TIFFIN_E_INVALID);
	options = (struct tiffin_put_options){.struct_bytes = sizeof(options), .flags = 128};
	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), TIFFIN_E_INVALID);
	options = (struct tiffin_put_options){
		.struct_bytes = sizeof(options), .replica_num = 4, .nof_replica_num = 5};
	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), TIFFIN_E_INVALID);
	options =
		(struct tiffin_put_options){.struct_bytes = sizeof(options), .n_preferred_nof = 1};
	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), TIFFIN_E_INVALID);
	options = (struct tiffin_put_options){.struct_bytes = 3};
	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), TIFFIN_E_INVALID);
	options = (struct tiffin_put_options){
		.struct_bytes = sizeof(options), .attr = sent, .attr_bytes = 4097};
	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), TIFFIN_E_INVALID);
	assert_int_equal(w->n_heard[MSG_put_start], 0);
}

static void
put__asks_for_the_copies_that_its_options_say(void **state)
{
	struct world *w = *state;
	const struct iovec slice = {sent, 4};
	const uint64_t nof_id = 77;
	struct tiffin_put_options options = {.struct_bytes = sizeof(options)};
	struct tiffin_put *put;

	assert_int_equal(tiffin_put(w->client, "a", &slice, 1, &options, NULL), 0);
	assert_int_equal(w->last_start.replica_num, 1);
	assert_int_equal(w->last_start.nof_replica_num, 0);

	options.replica_num = 1;
	options.nof_replica_num = 2;
	options.flags = TIFFIN_SAME_NODE;
	options.preferred_nof = &nof_id;
	options.n_preferred_nof = 1;
	assert_int_equal(tiffin_put(w->client, "b", &slice, 1, &options, NULL), 0);
	assert_int_equal(w->last_start.replica_num, 1);
	assert_int_equal(w->last_start.nof_replica_num, 2);
	assert_int_equal(w->last_start.flags, PUT_SAME_NODE);
	assert_int_equal(w->last_start.preferred_nof, 77);

	memset(&w->last_start, 0, sizeof(w->last_start));
	assert_int_equal(tiffin_put_begin(w->client, "c", 4, &options, &put), 0);
	options = (struct tiffin_put_options){0}; /* the stream has copies of its own */
	assert_int_equal(tiffin_put_write(put, 0, &slice, 1), 0);
	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), 0);
	assert_int_equal(w->last_start.nof_replica_num, 2);
	assert_int_equal(w->last_start.preferred_nof, 77);
}

static void
put_batch__puts_all_with_two_requests(void **state)
{
	struct world *w = *state;
	struct iovec slices[3] = {{sent, 100}, {sent + 100, 200}, {NULL, 0}};
	struct tiffin_item items[4] = {{.key = "a", .slices = &slices[0], .n_slices = 1},
				       {.key = "b", .slices = &slices[1], .n_slices = 1},
				       {.key = "c", .slices = &slices[2], .n_slices = 1},
				       {.key = NULL}};

	world_pattern(sent, 300, 8);

	assert_int_equal(tiffin_put_batch(w->client, items, 4, NULL), 0);

	assert_int_equal(items[0].result, 0);
	assert_int_equal(items[1].result, 0);
	assert_int_equal(items[2].result, 0);
	assert_int_equal(items[3].result, TIFFIN_E_INVALID);
	assert_int_equal(w->n_heard[MSG_put_start], 1);
	assert_int_equal(w->n_heard[MSG_put_end], 1);
	assert_int_equal(world_get(w, "b", seen, sizeof(seen), NULL), 0);
	assert_memory_equal(seen, sent + 100, 200);
}

/* While we were stopped between the grant and the first write, the room was granted to another. */
static void
lose_room(struct world *w, uint16_t type)
{
	if (type != MSG_query_segment)
		return;
	w->on_call = NULL;
	world_rejoin(w);
	memcpy(w->lents[0]->bytes, "other", 5);
}

static void
put__given_up_between_grant_and_write__writes_nothing_there_and_is_begun_again(void **state)
{
	struct world *w = *state;

	w->on_call = lose_room;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);

	assert_memory_equal(w->lents[0]->bytes, "other", 5);
	assert_int_equal(w->n_heard[MSG_put_start], 2);
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);
	assert_memory_equal(seen, "bytes", 5);
}

static void
put_batch__of_which_one_exists__puts_the_others(void **state)
{
	struct world *w = *state;
	struct iovec slice = {sent, 100};
	struct tiffin_item items[2] = {{.key = "a", .slices = &slice, .n_slices = 1},
				       {.key = "b", .slices = &slice, .n_slices = 1}};

	assert_int_equal(world_put(w, "a", "old", 3, 1), 0);

	assert_int_equal(tiffin_put_batch(w->client, items, 2, NULL), 0);

	assert_int_equal(items[0].result, TIFFIN_E_EXISTS);
	assert_int_equal(items[1].result, 0);
}

static void
ping__after_a_new_master__says_quiet_and_old_grants_are_refused(void **state)
{
	struct world *w = *state;
	struct writing_span span;
	struct writing_era era;

	era = writing_era(w->client);
	assert_true(writing_begin(w->client, &span, &era));
	w->session.master_epoch = 6;
	client_tick(w->client);
	assert_int_equal(w->quiet_epoch, 5);

	writing_finish(w->client, &span);
	client_tick(w->client);

	assert_int_equal(w->quiet_epoch, 6);
	assert_false(writing_begin(w->client, &span, &era));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(put__on_two_segments__writes_the_same_bytes_to_both),
		world_test(put__of_an_existing_key__answers_exists_and_changes_nothing),
		world_test(put__with_replace__takes_the_place),
		world_test(put__with_replace__first_gives_back_the_leases_of_gets_that_are_over),
		world_test(put__whose_segment_is_lost__is_revoked_as_not_quiet_and_tried_once_more),
		world_test(put__that_the_master_gave_up__is_revoked_as_quiet),
		world_test(put__when_the_books_cannot_be_written_for_a_moment__asks_again),
		world_test(put__whose_write_lease_ran_out_before_it_wrote__writes_nothing),
		cmocka_unit_test(put__under_random_faults__is_whole_or_an_error),
		world_test(put__with_bad_arguments__answers_invalid_and_asks_nobody),
		world_test(put__asks_for_the_copies_that_its_options_say),
		world_test(put_batch__puts_all_with_two_requests),
		world_test(
			put__given_up_between_grant_and_write__writes_nothing_there_and_is_begun_again),
		world_test(put_batch__of_which_one_exists__puts_the_others),
		world_test(ping__after_a_new_master__says_quiet_and_old_grants_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
