/* SPDX-License-Identifier: Apache-2.0 */

/* Claims and chunks: a chunk is in the books as open, and that is synced, before a claim in it is
 * told. */
#include <errno.h>

#include "tests/unit/master_world.h"

/* An opener that counts. */
struct opened {
	unsigned n;
	int r;
	uint64_t batch;
};

static int
open_one(void *arg, struct segment *segment, uint32_t chunk, uint64_t *ret_batch)
{
	struct opened *opened = arg;

	(void)segment;
	(void)chunk;
	if (opened->r < 0)
		return opened->r;
	opened->n++;
	*ret_batch = opened->batch;
	return 0;
}

static struct segment *
segment_of(uint64_t size_bytes)
{
	struct segment_words words = {.id = 1,
				      .epoch = 1,
				      .size_bytes = size_bytes,
				      .name = (const uint8_t *)"s",
				      .host = (const uint8_t *)"h",
				      .endpoint = (const uint8_t *)"e",
				      .name_len = 1,
				      .host_len = 1,
				      .endpoint_len = 1};
	struct segment *segment;

	assert_int_equal(segment_new(&words, &segment), 0);
	return segment;
}

static void
first_claim__opens_its_chunk__the_second_does_not(void **state)
{
	struct segment *segment = segment_of(64 * MIB);
	struct opened opened = {.batch = 7};
	struct chunk_opener opener = {open_one, &opened};
	uint64_t batch = 0;

	(void)state;
	assert_int_equal(segment_claim(segment, (struct extent){0, 100}, &opener, &batch), 0);
	assert_int_equal(batch, 7);
	opened.batch = 9;
	assert_int_equal(segment_claim(segment, (struct extent){512, 100}, &opener, &batch), 0);

	assert_int_equal(batch, 7);
	assert_int_equal(opened.n, 1);
	assert_int_equal(segment->chunks[0].n_claims, 2);
	segment_free(segment);
}

static void
claim__across_the_border_of_chunks__is_counted_on_both(void **state)
{
	struct segment *segment = segment_of(64 * MIB);
	struct opened opened = {.batch = 7};
	struct chunk_opener opener = {open_one, &opened};
	struct extent extent = {segment->chunk_bytes - 1, 2};
	uint64_t batch = 0;

	(void)state;
	assert_int_equal(segment_claim(segment, extent, &opener, &batch), 0);
	assert_int_equal(opened.n, 2);
	assert_int_equal(segment->chunks[0].n_claims, 1);
	assert_int_equal(segment->chunks[1].n_claims, 1);
	segment_unclaim(segment, extent, 5);
	assert_int_equal(segment->chunks[1].n_claims, 0);
	assert_int_equal(segment->chunks[1].idle_since_ms, 5);
	assert_true(segment->chunks[1].is_open);
	segment_free(segment);
}

static void
claim__that_ends_with_the_chunk__does_not_open_the_next(void **state)
{
	struct segment *segment = segment_of(64 * MIB);
	struct opened opened = {.batch = 7};
	struct chunk_opener opener = {open_one, &opened};
	uint64_t batch = 0;

	(void)state;
	assert_int_equal(
		segment_claim(segment, (struct extent){0, segment->chunk_bytes}, &opener, &batch),
		0);
	assert_int_equal(opened.n, 1);
	segment_free(segment);
}

static void
chunk_that_cannot_be_opened__leaves_no_claim(void **state)
{
	struct segment *segment = segment_of(64 * MIB);
	struct opened opened = {.r = -ENOMEM};
	struct chunk_opener opener = {open_one, &opened};
	uint64_t batch = 0;

	(void)state;
	assert_int_equal(segment_claim(segment, (struct extent){0, 100}, &opener, &batch), -ENOMEM);
	assert_int_equal(segment->chunks[0].n_claims, 0);
	assert_false(segment->chunks[0].is_open);
	segment_free(segment);
}

/* ---- in the master ---- */

static void
put_start__is_answered_only_when_its_chunk_is_synced(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("k", 1), 4096};
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);
	world_turn_alone(w);
	assert_int_equal(end_status(end, id), NO_ANSWER);

	store_step(w->store);
	world_turn_alone(w);

	assert_int_equal(end_status(end, id), STATUS_OK);
	assert_true(w->master->progress.synced >= 1);
}

static void
chunk__without_claims_for_a_while__is_closed(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	const struct segment *segment;

	end_mount(end, 1, 1, 64 * MIB);
	assert_true(end_put(end, "k", 4096) != 0);
	segment = segment_find(w->master, 1);
	assert_int_equal(segment->open_chunks.n, 1);

	for (int i = 0; i < 70; i++) {
		world_pass_ms(w, 1000);
		end_ping(end);
	}

	assert_int_equal(segment->open_chunks.n, 0);
}

static void
chunk__of_a_put_under_way__stays_open(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_put_extend extended = {0};
	uint32_t status;
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	id = end_start(end, "k", 4096, 0, &status);
	for (int i = 0; i < 70; i++) {
		world_pass_ms(w, 1000);
		assert_int_equal(ASK(end, put_extend, &extended, .object_id = id), STATUS_OK);
	}

	assert_int_equal(segment_find(w->master, 1)->open_chunks.n, 1);
	assert_int_equal(end_finish(end, id, 4096), STATUS_OK);
}

static void
segment__mounted_under_a_name_in_use__is_refused(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 11), *b = world_join(w, 12);

	assert_int_equal(end_mount(a, 1, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_mount(b, 1, 1, 64 * MIB), STATUS_SEGMENT_EXISTS);
}

static void
segment__of_a_provider_that_hung_up__may_be_mounted_by_another(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 11), *b = world_join(w, 12);

	assert_int_equal(end_mount(a, 1, 1, 64 * MIB), STATUS_OK);
	end_put(a, "k", 4096);
	end_hang_up(a);

	assert_int_equal(end_mount(b, 1, 1, 64 * MIB), STATUS_OK);

	assert_int_equal(segment_find(w->master, 1)->client->id, 12);
	assert_int_equal(end_exist(b, "k"), STATUS_OK);
}

static void
segment__mounted_with_other_contents__loses_its_objects_first(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	end_put(end, "k", 4096);

	assert_int_equal(end_mount(end, 1, 2, 64 * MIB), STATUS_UNAVAILABLE);
	world_pass_ms(w, 200);
	assert_int_equal(end_mount(end, 1, 2, 64 * MIB), STATUS_OK);

	assert_int_equal(end_exist(end, "k"), STATUS_NOT_FOUND);
	assert_int_equal(end_space(end).used_bytes, 0);
}

static void
unmount(struct end *end, uint64_t segment_id)
{
	struct rec_id id = {segment_id};
	struct rep_unmount_segment rep;

	assert_int_equal(ASK(end, unmount_segment, &rep, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
}

static void
segment__unmounted_while_nobody_reads__is_mounted_again_at_once(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	end_put(end, "k", 4096);
	unmount(end, 1);
	world_pass_ms(w, 100);

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	assert_int_equal(end_exist(end, "k"), STATUS_NOT_FOUND);
}

static void
segment__unmounted_under_a_lease__is_mounted_again_when_that_is_over(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	end_put(end, "k", 4096);
	end_get(end, "k");
	unmount(end, 1);

	world_pass_ms(w, 4900);
	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_UNAVAILABLE);
	world_pass_ms(w, 400);
	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
}

static void
segment__unmounted_after_a_forced_removal__waits_for_its_readers_too(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
	end_put(end, "k", 4096);
	end_get(end, "k");
	assert_int_equal(end_remove(end, "k", true), STATUS_OK);
	unmount(end, 1);

	world_pass_ms(w, 4900);
	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_UNAVAILABLE);
	world_pass_ms(w, 400);
	assert_int_equal(end_mount(end, 1, 1, 64 * MIB), STATUS_OK);
}

static void
segment__that_breaks_the_rules__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 0, 1, 64 * MIB), STATUS_INVALID);
	assert_int_equal(end_mount(end, 1, 0, 64 * MIB), STATUS_INVALID);
	assert_int_equal(end_mount(end, 1, 1, 64 * MIB + 1), STATUS_INVALID);
	assert_int_equal(end_mount(end, 1, 1, 4096), STATUS_INVALID);
	assert_int_equal(end_mount(end, 1ull << 63, 1, 64 * MIB), STATUS_INVALID);
}

static void
unmount__by_another_client__is_refused(void **state)
{
	struct world *w = *state;
	struct end *a = world_join(w, 11), *b = world_join(w, 12);
	struct rec_id id = {1}, none = {2};
	struct rep_unmount_segment rep = {0};

	end_mount(a, 1, 1, 64 * MIB);
	assert_int_equal(ASK(b, unmount_segment, &rep, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_NOT_YOURS);
	assert_int_equal(ASK(a, unmount_segment, &rep, .n_segments = 1, .segments = &none),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_SEGMENT_NOT_FOUND);
	assert_int_equal(ASK(a, unmount_segment, &rep, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
}

/* So many objects on segment 1, which leaves from the next turn on. */
static void
leave_with(struct world *w, unsigned n_objects)
{
	struct end *end = world_join(w, 11);
	char key[16];

	end_mount(end, 1, 1, 64 * MIB);
	for (unsigned i = 0; i < n_objects; i++) {
		snprintf(key, sizeof(key), "key-%u", i);
		end_put(end, key, 4096);
	}
	segment_leave(w->master, segment_find(w->master, 1));
	clock_fake_advance_ms(&w->clock, 1);
}

/* How many objects are fewer after a turn of the master alone. */
static uint64_t
gone_in_a_turn(struct world *w)
{
	uint64_t before = counter_get(&w->master->counters.objects);

	world_turn_alone(w);
	return before - counter_get(&w->master->counters.objects);
}

static void
segment__that_leaves_with_many_objects__lets_others_in_after_a_few(void **state)
{
	struct world *w = *state;
	uint64_t sum = 0;

	leave_with(w, 200);
	gone_in_a_turn(w);
	store_step(w->store);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t n = gone_in_a_turn(w);

		assert_in_range(n, 0, 64);
		sum += n;
	}
	assert_int_equal(sum, 200);
}

static void
segment__that_leaves__hardly_holds_up_whoever_asks_in_the_same_turn(void **state)
{
	struct world *w = *state;
	struct end *other = world_join(w, 12);

	leave_with(w, 200);
	gone_in_a_turn(w);
	store_step(w->store);
	SEND(other, ping);
	assert_in_range(gone_in_a_turn(w), 1, 4);
}

/* One record for all of them: what others put meanwhile does not wait behind thousands. */
static void
segment__that_leaves__takes_one_record_for_all_that_lies_there(void **state)
{
	struct world *w = *state;
	struct store_counts before, after;

	leave_with(w, 2000);
	store_counts(w->store, &before);
	gone_in_a_turn(w);
	for (unsigned i = 0; i < 100; i++) {
		store_step(w->store);
		gone_in_a_turn(w);
	}
	store_counts(w->store, &after);
	assert_int_equal(counter_get(&w->master->counters.objects), 0);
	assert_int_equal(counter_get(&w->master->counters.objects_lost), 2000);
	assert_in_range(after.n_records - before.n_records, 1, 4); /* and the segment's own end */
}

/* A restart would bring them back. */
static void
segment__that_leaves__keeps_its_objects_until_the_books_have_given_them_up(void **state)
{
	struct world *w = *state;

	leave_with(w, 100);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(gone_in_a_turn(w), 0);
	store_step(w->store);
	assert_in_range(gone_in_a_turn(w), 1, 64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_claim__opens_its_chunk__the_second_does_not),
		cmocka_unit_test(claim__across_the_border_of_chunks__is_counted_on_both),
		cmocka_unit_test(claim__that_ends_with_the_chunk__does_not_open_the_next),
		cmocka_unit_test(chunk_that_cannot_be_opened__leaves_no_claim),
		WORLD_TEST(put_start__is_answered_only_when_its_chunk_is_synced),
		WORLD_TEST(chunk__without_claims_for_a_while__is_closed),
		WORLD_TEST(chunk__of_a_put_under_way__stays_open),
		WORLD_TEST(segment__mounted_under_a_name_in_use__is_refused),
		WORLD_TEST(segment__of_a_provider_that_hung_up__may_be_mounted_by_another),
		WORLD_TEST(segment__mounted_with_other_contents__loses_its_objects_first),
		WORLD_TEST(segment__unmounted_while_nobody_reads__is_mounted_again_at_once),
		WORLD_TEST(segment__unmounted_under_a_lease__is_mounted_again_when_that_is_over),
		WORLD_TEST(segment__unmounted_after_a_forced_removal__waits_for_its_readers_too),
		WORLD_TEST(segment__that_leaves_with_many_objects__lets_others_in_after_a_few),
		WORLD_TEST(segment__that_leaves__hardly_holds_up_whoever_asks_in_the_same_turn),
		WORLD_TEST(segment__that_leaves__takes_one_record_for_all_that_lies_there),
		WORLD_TEST(
			segment__that_leaves__keeps_its_objects_until_the_books_have_given_them_up),
		WORLD_TEST(segment__that_breaks_the_rules__is_refused),
		WORLD_TEST(unmount__by_another_client__is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
