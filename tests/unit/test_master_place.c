/* SPDX-License-Identifier: Apache-2.0 */

/* Where copies go: strategies, hosts, segments that have just joined. */
#include "master/place.h"
#include "tests/unit/master_world.h"

static const char *const strategies[] = {"random", "free_ratio_first", "local_first"};

static void
lend_medium(struct end *end, uint64_t segment_id, const char *host, uint64_t size_bytes,
	    enum medium medium)
{
	char name[32];
	struct rec_segment_lent lent = {
		.segment_id = segment_id,
		.segment_epoch = 1,
		.size_bytes = size_bytes,
		.medium = (uint8_t)medium,
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
lend(struct end *end, uint64_t segment_id, const char *host, uint64_t size_bytes)
{
	lend_medium(end, segment_id, host, size_bytes, MEDIUM_DRAM);
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

/* ---- nof copies ---- */

#define SEGMENTS 16

/* Where one object's copies went, and what became of it. */
struct told {
	uint32_t status;
	uint64_t object_id;
	unsigned n, on[SEGMENTS]; /* by segment id */
	char why[400];
};

static struct told
read_told(struct end *end, uint64_t request)
{
	struct rep_put_start rep = {0};
	struct told told = {.status = HEAR(end, request, put_start, &rep)};

	if (told.status != STATUS_OK)
		return told;
	told.status = rep.places[0].status;
	told.object_id = rep.places[0].object_id;
	told.n = rep.places[0].n_replicas;
	for (uint32_t i = 0; i < told.n; i++)
		told.on[rep.places[0].replicas[i].segment_id]++;
	snprintf(told.why, sizeof(told.why), "%.*s", (int)rep.why.len, (const char *)rep.why.at);
	return told;
}

/* A put of a MiB that is ended at once; fields of the request behind. */
#define PUT(end, key_, ...)                                                                        \
	({                                                                                         \
		struct rec_put put_ = {span_of(key_, strlen(key_)), MIB};                          \
		uint64_t id_ = SEND(end, put_start, .n_puts = 1, .puts = &put_, __VA_ARGS__);      \
		struct told told_;                                                                 \
                                                                                                   \
		world_turn((end)->world);                                                          \
		world_pass_ms((end)->world, 2500);                                                 \
		told_ = read_told(end, id_);                                                       \
		if (told_.object_id != 0)                                                          \
			assert_int_equal(end_finish(end, told_.object_id, MIB), STATUS_OK);        \
		told_;                                                                             \
	})

static void
nof_copies__go_to_nof_segments__and_others_never(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	lend(end, 1, "a", 64 * MIB);
	lend_medium(end, 2, "b", 64 * MIB, MEDIUM_NOF);
	lend_medium(end, 3, "c", 64 * MIB, MEDIUM_NOF);
	lend_medium(end, 4, "d", 64 * MIB, MEDIUM_FILE);
	for (size_t s = 0; s < array_len(strategies); s++) {
		struct told both, nof, many;

		choose(end, strategies[s]);
		both = PUT(end, "both", .flags = PUT_REPLACE, .replica_num = 1,
			   .nof_replica_num = 1);
		assert_int_equal(both.on[1], 1);
		assert_int_equal(both.on[2] + both.on[3], 1);
		nof = PUT(end, "nof", .flags = PUT_REPLACE, .nof_replica_num = 2);
		assert_int_equal(nof.on[2], 1);
		assert_int_equal(nof.on[3], 1);
		many = PUT(end, "many", .flags = PUT_REPLACE, .replica_num = 4);
		assert_int_equal(many.n, 1); /* what lies on disks came from memory (offload.h) */
		assert_int_equal(many.on[1], 1);
	}
}

static void
nof_copies__that_can_not_be_had__are_told_by_the_true_count(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct told told;

	lend(end, 1, "a", 64 * MIB);
	told = PUT(end, "k", .replica_num = 1, .nof_replica_num = 2);
	assert_int_equal(told.status, STATUS_OK);
	assert_int_equal(told.n, 1);
	lend_medium(end, 2, "b", 64 * MIB, MEDIUM_NOF);
	told = PUT(end, "l", .replica_num = 1, .nof_replica_num = 2);
	assert_int_equal(told.n, 2);
}

static void
nof_copies__demanded_in_vain__are_refused_with_the_reason(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct told told;

	lend(end, 1, "a", 64 * MIB);
	told = PUT(end, "k", .flags = PUT_STRICT, .replica_num = 1, .nof_replica_num = 1);
	assert_int_equal(told.status, STATUS_NO_SEGMENT);
	assert_non_null(
		strstr(told.why, "there is no segment of nof namespaces left: 0 of them are"));
	assert_int_equal(PUT(end, "k", .nof_replica_num = 1).status, STATUS_NO_SEGMENT);
	assert_int_equal(end_space(end).used_bytes, 0);
}

static void
copies__none_or_more_than_eight__are_invalid(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	lend(end, 1, "a", 64 * MIB);
	assert_int_equal(PUT(end, "k", .replica_num = 0).status, STATUS_INVALID);
	assert_int_equal(PUT(end, "k", .replica_num = 4, .nof_replica_num = 5).status,
			 STATUS_INVALID);
	assert_int_equal(PUT(end, "k", .replica_num = 1, .flags = 8).status, STATUS_INVALID);
}

/* Hard pins that fill the memory: nothing of it may go. */
static void
fill_with_pins(struct end *end, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char key[32];

		snprintf(key, sizeof(key), "pinned%u", i);
		assert_int_equal(PUT(end, key, .replica_num = 1, .pin = 2).status, STATUS_OK);
	}
}

static void
memory__that_stays_full__leaves_an_object_with_its_nof_copy(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct told told;

	lend(end, 1, "a", 4 * MIB);
	lend_medium(end, 2, "b", 64 * MIB, MEDIUM_NOF);
	fill_with_pins(end, 4);
	told = PUT(end, "k", .replica_num = 1, .nof_replica_num = 1);
	assert_int_equal(told.status, STATUS_OK);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.on[2], 1);
	told = PUT(end, "l", .flags = PUT_STRICT, .replica_num = 1, .nof_replica_num = 1);
	assert_int_equal(told.status, STATUS_NO_SPACE);
	assert_int_equal(PUT(end, "m", .replica_num = 1).status, STATUS_NO_SPACE);
}

static void
memory__that_can_be_made_free__is_waited_for(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	unsigned counts[2] = {0};
	struct told told;

	lend(end, 1, "a", 4 * MIB);
	put_many(end, 4, 1, counts, array_len(counts));
	lend_medium(end, 2, "b", 64 * MIB, MEDIUM_NOF);
	told = PUT(end, "k", .replica_num = 1, .nof_replica_num = 1);
	assert_int_equal(told.on[1], 1);
	assert_int_equal(told.on[2], 1);
}

static void
stream__begun_without_room__settles_for_its_nof_copy_too(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("s", 1), 0};
	struct rep_put_start started = {0};
	struct rep_put_extend grown = {0};
	uint64_t id;

	lend(end, 1, "a", 4 * MIB);
	lend_medium(end, 2, "b", 64 * MIB, MEDIUM_NOF);
	fill_with_pins(end, 4);
	assert_int_equal(ASK(end, put_start, &started, .replica_num = 1, .nof_replica_num = 1,
			     .n_puts = 1, .puts = &put),
			 STATUS_OK);
	id = SEND(end, put_extend, .object_id = started.places[0].object_id, .more_bytes = MIB);
	world_turn(w);
	world_pass_ms(w, 2500);
	assert_int_equal(HEAR(end, id, put_extend, &grown), STATUS_OK);
	assert_int_equal(grown.n_replicas, 1);
	assert_int_equal(grown.replicas[0].segment_id, 2);
}

static void
preferred_segments__come_first__each_kind_for_its_own(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_id memory[] = {{5}, {2}}, nof[] = {{1}, {6}};

	for (uint64_t id = 1; id <= 3; id++)
		lend(end, id, "a", 64 * MIB);
	for (uint64_t id = 4; id <= 6; id++)
		lend_medium(end, id, "b", 64 * MIB, MEDIUM_NOF);
	for (unsigned i = 0; i < 10; i++) {
		struct told told = PUT(end, "k", .flags = PUT_REPLACE, .replica_num = 1,
				       .nof_replica_num = 1, .n_preferred = 2, .preferred = memory,
				       .n_preferred_nof = 2, .preferred_nof = nof);

		assert_int_equal(told.n, 2);
		assert_int_equal(told.on[2], 1); /* 5 is a nof segment */
		assert_int_equal(told.on[6], 1); /* 1 is none */
	}
}

static void
same_node__keeps_the_first_copies_of_a_request_on_one_host(void **state)
{
	enum { N = 40 };
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	char keys[N][8];
	struct rec_put puts[N];
	struct rep_put_start rep = {0};
	uint64_t host = 0, other = 0;

	for (uint64_t id = 0; id < 12; id++) {
		char name[8];

		snprintf(name, sizeof(name), "h%u", (unsigned)(id / 3));
		lend(end, id + 1, name, 16 * MIB);
	}
	for (unsigned i = 0; i < N; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%u", i);
		puts[i] = (struct rec_put){span_of(keys[i], strlen(keys[i])), MIB};
	}
	assert_int_equal(ASK(end, put_start, &rep, .flags = PUT_SAME_NODE, .replica_num = 2,
			     .n_puts = N, .puts = puts),
			 STATUS_OK);
	host = (rep.places[0].replicas[0].segment_id - 1) / 3;
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(rep.places[i].n_replicas, 2);
		assert_int_equal((rep.places[i].replicas[0].segment_id - 1) / 3, host);
		assert_int_not_equal((rep.places[i].replicas[1].segment_id - 1) / 3, host);
		other |= 1u << (rep.places[i].replicas[1].segment_id - 1) / 3;
	}
	assert_int_not_equal(other & (other - 1), 0); /* second copies: on several */
}

static void
same_node__without_room__goes_elsewhere(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put puts[6];
	struct rep_put_start rep = {0};

	lend(end, 1, "a", 3 * MIB);
	lend(end, 2, "b", 3 * MIB);
	for (unsigned i = 0; i < 6; i++) {
		static const char keys[] = "abcdef";

		puts[i] = (struct rec_put){span_of(&keys[i], 1), MIB};
	}
	assert_int_equal(ASK(end, put_start, &rep, .flags = PUT_SAME_NODE, .replica_num = 1,
			     .n_puts = 6, .puts = puts),
			 STATUS_OK);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(rep.places[i].status, STATUS_OK);
	assert_int_equal(rep.places[1].replicas[0].segment_id,
			 rep.places[0].replicas[0].segment_id);
	assert_int_not_equal(rep.places[5].replicas[0].segment_id,
			     rep.places[0].replicas[0].segment_id);
}

/* Where a copy in place of the one on from_id would go; 0: nowhere. */
static uint64_t
moved_to(struct world *w, const char *key, uint64_t from_id)
{
	struct tenant *tenant = tenants_by_name(&w->master->tenants, (const uint8_t *)"default", 7);
	struct object *of = books_find(w->master, tenant, (const uint8_t *)key, strlen(key));
	struct copy_wish wish = {.of = of, .from_id = from_id};
	struct object *object;
	struct replica *rep;
	uint64_t to_id;
	int r;

	assert_non_null(of);
	assert_int_equal(object_new(tenant, 1ull << 40, (const uint8_t *)"x", 1, &object), 0);
	r = place_copy(w->master, object, &wish);
	if (r != 0) {
		object_free(object);
		return 0;
	}
	rep = object->replicas;
	to_id = rep->segment->id;
	for (uint32_t i = 0; i < rep->n_extents; i++)
		alloc_give(rep->segment->alloc, replica_extents(rep)[i]);
	replica_move(rep, REPLICA_FAILED);
	object_drop_replica(object, rep);
	object_free(object);
	return to_id;
}

static void
copy__that_takes_the_place_of_another__is_of_its_kind_while_there_is_a_choice(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	lend(end, 1, "a", 16 * MIB);
	lend_medium(end, 2, "b", 16 * MIB, MEDIUM_NOF);
	PUT(end, "k", .replica_num = 1, .nof_replica_num = 1);
	assert_int_equal(moved_to(w, "k", 1), 0);
	lend(end, 3, "c", 8 * MIB);
	assert_int_equal(moved_to(w, "k", 2), 3); /* better there than nowhere */
	lend_medium(end, 4, "d", 64 * MIB, MEDIUM_NOF);
	assert_int_equal(moved_to(w, "k", 2), 4);
	assert_int_equal(moved_to(w, "k", 1), 3); /* though 4 is freer */
	assert_int_equal(moved_to(w, "k", 0), 3);
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
		WORLD_TEST(nof_copies__go_to_nof_segments__and_others_never),
		WORLD_TEST(nof_copies__that_can_not_be_had__are_told_by_the_true_count),
		WORLD_TEST(nof_copies__demanded_in_vain__are_refused_with_the_reason),
		WORLD_TEST(copies__none_or_more_than_eight__are_invalid),
		WORLD_TEST(memory__that_stays_full__leaves_an_object_with_its_nof_copy),
		WORLD_TEST(memory__that_can_be_made_free__is_waited_for),
		WORLD_TEST(stream__begun_without_room__settles_for_its_nof_copy_too),
		WORLD_TEST(preferred_segments__come_first__each_kind_for_its_own),
		WORLD_TEST(same_node__keeps_the_first_copies_of_a_request_on_one_host),
		WORLD_TEST(same_node__without_room__goes_elsewhere),
		WORLD_TEST(
			copy__that_takes_the_place_of_another__is_of_its_kind_while_there_is_a_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
