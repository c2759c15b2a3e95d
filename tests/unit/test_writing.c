/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core_world.h"

#include "core/ask.h"
#include "core/put.h"
#include "core/writing.h"

static uint64_t
far_ns(struct world *w)
{
	return clock_ns(&w->clock.base) + 1000 * NS_PER_MS;
}

static void
begin(struct world *w, uint8_t n_replicas, uint64_t len_bytes, struct writing *ret_writing)
{
	const struct tiffin_put_options options = {.struct_bytes = sizeof(options),
						   .replica_num = n_replicas};
	struct writing_granted granted = {.asked_ns = clock_ns(&w->clock.base),
					  .era = writing_era(w->client)};
	const struct rec_put put = {span_of("a", 1), len_bytes};
	const struct put_list list = {.puts = &put, .n = 1};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_put_start rep;

	ask_init(&ask, w->client);
	assert_int_equal(put_start(&ask, &options, &list, far_ns(w), &rep), 0);
	granted.object_id = rep.places[0].object_id;
	granted.replicas = rep.places[0].replicas;
	granted.n_replicas = rep.places[0].n_replicas;
	granted.write_lease_ms = rep.write_lease_ms;
	assert_int_equal(writing_init(ret_writing, w->client, &granted, far_ns(w)), 0);
}

static void
extension__that_tells_of_fewer_copies__leaves_alone_what_waiting_ops_point_at(void **state)
{
	struct world *w = *state;
	const struct iovec slice = {(char[5]){"bytes"}, 5};
	const struct op part = {.len_bytes = 5, .slices = &slice, .n_slices = 1};
	struct writing writing;
	struct moves moves;
	uint64_t until;
	size_t n_crc;

	begin(w, 2, 5, &writing);
	moves_init(&moves);
	writing_add_ops(&writing, &moves, &part, &n_crc);
	assert_int_equal(moves.n, 2);

	w->objects[0].n_replicas = 1; /* the other's segment has left meanwhile */
	assert_int_equal(writing_extend(&writing, 0, far_ns(w)), 0);

	assert_int_equal(writing.n_replicas, 1);
	assert_int_equal(writing.room_bytes, 5);
	for (size_t i = 0; i < moves.n; i++)
		assert_int_equal(moves.ops[i].token->len_bytes, 5);
	until = far_ns(w);
	assert_int_equal(moves_wave(w->client, &moves, 0, &until), 2);
	assert_int_equal(writing_note(&writing, &moves, 0, 2), OP_DONE);
	assert_true(writing.is_quiet);
	moves_fini(&moves);
	writing_fini(&writing);
}

static void
fence_of_ourselves__is_done_when_the_writes_of_before_have_ended(void **state)
{
	struct world *w = *state;
	struct writing_span before, after;
	struct writing_era era;

	era = writing_era(w->client);
	assert_true(writing_fence(w->client, 1));
	assert_true(writing_begin(w->client, &before, &era));

	assert_false(writing_fence(w->client, 2));
	assert_true(writing_begin(w->client, &after, &era));
	writing_finish(w->client, &before);

	assert_true(writing_fence(w->client, 2));
	assert_false(writing_fence(w->client, 3));
	writing_finish(w->client, &after);
	assert_true(writing_fence(w->client, 3));
}

static void
grant__of_before_a_join_that_was_new_to_the_master__is_void(void **state)
{
	struct world *w = *state;
	struct writing_span span;
	struct writing_era before, after;

	before = writing_era(w->client);
	w->session.n_joins++; /* a line that broke voids nothing */
	assert_true(writing_begin(w->client, &span, &before));
	writing_finish(w->client, &span);

	world_rejoin(w);
	after = writing_era(w->client);

	assert_false(writing_begin(w->client, &span, &before));
	assert_true(writing_begin(w->client, &span, &after));
	writing_finish(w->client, &span);
}

static void
piece_of_a_stream__under_a_grant_that_is_void__is_not_written(void **state)
{
	struct world *w = *state;
	uint8_t old[64 << 10];
	const struct iovec slice = {old, sizeof(old)};
	struct tiffin_put *put;

	memset(old, 0x11, sizeof(old));
	assert_int_equal(tiffin_put_begin(w->client, "a", 1 << 20, NULL, &put), 0);
	for (size_t i = 0; i < 20; i++) /* more than gathers before the first is written */
		assert_int_equal(tiffin_put_write(put, i * sizeof(old), &slice, 1), 0);
	memset(w->lents[0]->bytes, 0xee, WORLD_SIZE);
	world_rejoin(w);

	assert_int_equal(tiffin_put_commit(put, NULL, 0, NULL), TIFFIN_E_LEASE);

	for (size_t i = 0; i < WORLD_SIZE; i++)
		assert_int_equal(w->lents[0]->bytes[i], 0xee);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(
			extension__that_tells_of_fewer_copies__leaves_alone_what_waiting_ops_point_at),
		world_test(grant__of_before_a_join_that_was_new_to_the_master__is_void),
		world_test(piece_of_a_stream__under_a_grant_that_is_void__is_not_written),
		world_test(fence_of_ourselves__is_done_when_the_writes_of_before_have_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
