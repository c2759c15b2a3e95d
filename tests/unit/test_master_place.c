/* SPDX-License-Identifier: Apache-2.0 */

/* Where copies go: strategies, hosts, segments that have just joined. */
#include "master/place.h"
#include "tests/unit/master_world.h"

static const char *const strategies[] = {"random", "free_ratio_first", "local_first"};

/* A segment on a host of its own, or on a shared one. */
static void
lend(struct end *end, uint64_t segment_id, const char *host, uint64_t size_bytes)
{
	char name[32];
	struct rec_segment_lent lent = {
		.segment_id = segment_id,
		.segment_epoch = 1,
		.size_bytes = size_bytes,
		.medium = MEDIUM_DRAM,
		.host = span_of(host, strlen(host)),
		.endpoint = span_of("shm:x", 5),
		.secret = {{WORLD_SECRET}},
	};
	struct rep_mount_segment rep = {0};

	lent.name =
		span_of(name, (size_t)snprintf(name, sizeof(name), "seg%u", (unsigned)segment_id));
	assert_int_equal(ASK(end, mount_segment, &rep, .n_segments = 1, .segments = &lent),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
}

static void
choose(struct end *end, const char *strategy)
{
	struct rec_setting_set what = {span_of("placement", 9),
				       span_of(strategy, strlen(strategy))};
	struct rep_settings rep = {0};

	assert_int_equal(ASK(end, settings, &rep, .n_sets = 1, .sets = &what), STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
}

/* Puts so many objects of a MiB with so many copies; counts[id]: copies on that segment. */
static void
put_many(struct end *end, unsigned n, unsigned n_copies, unsigned *counts, size_t n_counts)
{
	static unsigned serial;

	for (unsigned i = 0; i < n; i++) {
		char key[32];
		struct rec_put put = {.len_bytes = MIB};
		struct rec_put_done done = {.len_bytes = MIB};
		struct rep_put_start started = {0};
		struct rep_put_end ended = {0};

		put.key = span_of(key, (size_t)snprintf(key, sizeof(key), "k%u", serial++));
		assert_int_equal(ASK(end, put_start, &started, .replica_num = (uint8_t)n_copies,
				     .n_puts = 1, .puts = &put),
				 STATUS_OK);
		assert_int_equal(started.places[0].status, STATUS_OK);
		for (uint32_t c = 0; c < started.places[0].n_replicas; c++) {
			uint64_t id = started.places[0].replicas[c].segment_id;

			assert_true(id < n_counts);
			counts[id]++;
		}
		done.object_id = started.places[0].object_id;
		assert_int_equal(ASK(end, put_end, &ended, .n_puts = 1, .puts = &done), STATUS_OK);
		assert_int_equal(ended.fates[0].status, STATUS_OK);
	}
}

static void
random__takes_full_and_empty_segments_alike(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	unsigned counts[4] = {0};

	choose(end, "random");
	lend(end, 1, "a", 1024 * MIB);
	put_many(end, 500, 1, counts, array_len(counts));
	assert_int_equal(counts[1], 500);
	lend(end, 2, "b", 1024 * MIB);
	put_many(end, 400, 1, counts, array_len(counts));
	assert_in_range(counts[2], 150, 250);
}

static void
free_ratio_first__fills_the_emptier__by_ratio_and_not_by_bytes(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	unsigned counts[3] = {0};

	choose(end, "free_ratio_first");
	lend(end, 1, "a", 128 * MIB);
	lend(end, 2, "b", 512 * MIB);
	put_many(end, 320, 1, counts, array_len(counts));
	/* half of each, though two drawn by chance can't follow the sizes quite */
	assert_in_range(counts[1], 64, 88);
	assert_int_equal(counts[1] + counts[2], 320);
}

static void
segment__that_has_just_joined__gets_no_more_than_2_of_n(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	enum { N = 10, PUTS = 1000 };
	unsigned counts[N + 1] = {0}, most = PUTS * (2 * N - 1) / (N * N);

	choose(end, "free_ratio_first");
	for (unsigned i = 1; i < N; i++) {
		char host[8];

		snprintf(host, sizeof(host), "h%u", i);
		lend(end, i, host, 512 * MIB);
	}
	put_many(end, 900, 1, counts, array_len(counts));
	lend(end, N, "fresh", 4096 * MIB);
	put_many(end, PUTS, 1, counts, array_len(counts));
	/* it is the emptiest all the time: it gets all that the bound allows, within chance */
	assert_in_range(counts[N], most - 40, most + 40);
}

static void
local_first__takes_the_writers_host_while_it_has_room__then_others(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11); /* its host is "here" */
	unsigned counts[6] = {0};

	choose(end, "local_first");
	lend(end, 1, "a", 64 * MIB);
	lend(end, 2, "here", 16 * MIB);
	lend(end, 3, "z", 64 * MIB);
	lend(end, 4, "here", 16 * MIB);
	lend(end, 5, "hera", 64 * MIB);
	put_many(end, 32, 1, counts, array_len(counts));
	assert_int_equal(counts[2], 16);
	assert_int_equal(counts[4], 16);
	put_many(end, 30, 1, counts, array_len(counts));
	assert_int_equal(counts[1] + counts[3] + counts[5], 30);
}

static void
local_first__from_a_host_that_lends_nothing__goes_elsewhere(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	unsigned counts[3] = {0};

	choose(end, "local_first");
	lend(end, 1, "a", 64 * MIB);
	lend(end, 2, "z", 64 * MIB);
	put_many(end, 20, 1, counts, array_len(counts));
	assert_int_equal(counts[1] + counts[2], 20);
}

static void
copies__of_any_strategy__lie_on_hosts_that_differ_while_there_is_a_choice(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	for (uint64_t id = 1; id <= 4; id++)
		lend(end, id, "here", 256 * MIB);
	lend(end, 5, "other", 512 * MIB);
	for (size_t s = 0; s < array_len(strategies); s++) {
		unsigned counts[6] = {0};

		choose(end, strategies[s]);
		put_many(end, 100, 2, counts, array_len(counts));
		assert_int_equal(counts[5], 100); /* one of the two, each time */
		assert_int_equal(counts[1] + counts[2] + counts[3] + counts[4], 100);
	}
}

static void
copies__of_any_strategy__lie_on_segments_that_differ_always(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	for (uint64_t id = 1; id <= 3; id++)
		lend(end, id, "here", 256 * MIB);
	for (size_t s = 0; s < array_len(strategies); s++) {
		unsigned counts[4] = {0};

		choose(end, strategies[s]);
		put_many(end, 50, 3, counts, array_len(counts));
		for (uint64_t id = 1; id <= 3; id++)
			assert_int_equal(counts[id], 50);
		memset(counts, 0, sizeof(counts));
		put_many(end, 5, 8, counts, array_len(counts)); /* three, and that is told */
		assert_int_equal(counts[1] + counts[2] + counts[3], 15);
	}
}

/* What one story puts where, in a world of its own. */
static void
tell_story(const char *strategy, unsigned *counts, size_t n_counts)
{
	void *state;
	struct end *end;

	assert_int_equal(world_setup(&state), 0);
	end = world_join(state, 11);
	choose(end, strategy);
	lend(end, 1, "a", 256 * MIB);
	lend(end, 2, "here", 8 * MIB);
	lend(end, 3, "z", 256 * MIB);
	put_many(end, 100, 1, counts, n_counts);
	assert_int_equal(world_teardown(&state), 0);
}

static void
places__of_the_same_chance__are_the_same(void **state)
{
	(void)state;
	for (size_t s = 0; s < array_len(strategies); s++) {
		unsigned once[4] = {0}, again[4] = {0};

		tell_story(strategies[s], once, array_len(once));
		tell_story(strategies[s], again, array_len(again));
		assert_memory_equal(once, again, sizeof(once));
	}
}

static void
segment__mounted_again_from_another_host__is_found_there(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	unsigned counts[4] = {0};

	choose(end, "local_first");
	lend(end, 1, "a", 64 * MIB);
	lend(end, 2, "b", 64 * MIB);
	lend(end, 3, "here", 64 * MIB);
	lend(end, 3, "c", 64 * MIB);
	lend(end, 1, "here", 64 * MIB);
	put_many(end, 20, 1, counts, array_len(counts));
	assert_int_equal(counts[1], 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(random__takes_full_and_empty_segments_alike),
		WORLD_TEST(free_ratio_first__fills_the_emptier__by_ratio_and_not_by_bytes),
		WORLD_TEST(segment__that_has_just_joined__gets_no_more_than_2_of_n),
		WORLD_TEST(local_first__takes_the_writers_host_while_it_has_room__then_others),
		WORLD_TEST(local_first__from_a_host_that_lends_nothing__goes_elsewhere),
		WORLD_TEST(
			copies__of_any_strategy__lie_on_hosts_that_differ_while_there_is_a_choice),
		WORLD_TEST(copies__of_any_strategy__lie_on_segments_that_differ_always),
		cmocka_unit_test(places__of_the_same_chance__are_the_same),
		WORLD_TEST(segment__mounted_again_from_another_host__is_found_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
