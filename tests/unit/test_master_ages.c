/* SPDX-License-Identifier: Apache-2.0 */

/* In which order objects go: by age, once used or again, the weight between them, batches. */
#include "tests/unit/master_world.h"

enum { REPLACE = 1, N_KEYS = 4096 };

static struct end *
provider_of(struct world *w, uint64_t size_bytes)
{
	struct end *end = world_join(w, 11);

	assert_int_equal(end_mount(end, 1, 1, size_bytes), STATUS_OK);
	return end;
}

/* Room for len_bytes is made by a put of that length. */
static void
crowd(struct end *end, uint64_t len_bytes)
{
	struct rec_put put = {span_of("new", 3), len_bytes};
	uint64_t id = SEND(end, put_start, .replica_num = 1, .n_puts = 1, .puts = &put);

	world_pass_ms(end->world, 1000);
	assert_int_equal(end_status(end, id), STATUS_OK);
}

static void
object__used_at_all_times__is_younger_than_one_put_after_it(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB + 65536);

	end_put(end, "a", 1 * MIB);
	end_put(end, "b", 1 * MIB);
	end_put(end, "c", 1 * MIB);
	end_put(end, "d", 1 * MIB);
	world_pass_ms(end->world, 4500);
	end_ping(end);
	end_get(end, "a");
	world_pass_ms(end->world, 5500);
	end_ping(end);
	crowd(end, 3 * MIB / 2);

	assert_int_equal(end_exist(end, "a"), STATUS_OK);
	assert_int_equal(end_exist(end, "b"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "c"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "d"), STATUS_OK);
}

static void
look__that_reads_nothing__is_no_use(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB + 65536);
	struct rec_key_only a = {span_of("a", 1)};
	struct rep_stat rep = {0};

	end_put(end, "a", 2 * MIB);
	end_put(end, "b", 2 * MIB);
	world_pass_ms(end->world, 4500);
	assert_int_equal(end_exist(end, "a"), STATUS_OK);
	assert_int_equal(ASK(end, stat, &rep, .n_keys = 1, .keys = &a), STATUS_OK);
	crowd(end, 1 * MIB);

	assert_int_equal(end_exist(end, "a"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "b"), STATUS_OK);
}

/* Puts four objects by one request: a0 a1 a2 a3. */
static void
put_four(struct end *end)
{
	static const char *const names[] = {"a0", "a1", "a2", "a3"};
	struct rec_put_done done[4] = {0};
	struct rep_put_end rep = {0};
	uint32_t status;

	for (int i = 0; i < 4; i++)
		done[i] = (struct rec_put_done){
			.object_id = end_start(end, names[i], 1 * MIB, 0, &status),
			.len_bytes = 1 * MIB};
	assert_int_equal(ASK(end, put_end, &rep, .n_puts = 4, .puts = done), STATUS_OK);
}

static void
batch__that_was_put__goes_from_its_end(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB + 65536);

	put_four(end);
	crowd(end, 3 * MIB / 2);

	assert_int_equal(end_exist(end, "a0"), STATUS_OK);
	assert_int_equal(end_exist(end, "a1"), STATUS_OK);
	assert_int_equal(end_exist(end, "a2"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "a3"), STATUS_NOT_FOUND);
}

static void
batch__that_was_read__goes_from_its_end(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB + 65536);
	/* one that comes twice, and one that is not there */
	struct rec_key_only keys[] = {{span_of("a3", 2)}, {span_of("a2", 2)}, {span_of("x", 1)},
				      {span_of("a3", 2)}, {span_of("a1", 2)}, {span_of("a0", 2)}};
	struct rep_get_replica_list rep = {0};

	put_four(end);
	world_pass_ms(end->world, 4500);
	assert_int_equal(ASK(end, get_replica_list, &rep, .n_keys = 6, .keys = keys), STATUS_OK);
	world_pass_ms(end->world, 5500);
	end_ping(end);
	crowd(end, 3 * MIB / 2);

	assert_int_equal(end_exist(end, "a3"), STATUS_OK);
	assert_int_equal(end_exist(end, "a2"), STATUS_OK);
	assert_int_equal(end_exist(end, "a1"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "a0"), STATUS_NOT_FOUND);
}

static void
put__of_what_was_evicted__is_counted_as_a_regret__once(void **state)
{
	struct end *end = provider_of(*state, 4 * MIB + 65536);
	const struct master_counters *counters = &end->world->master->counters;

	end_put(end, "a", 2 * MIB);
	end_put(end, "b", 2 * MIB);
	crowd(end, 1 * MIB);
	assert_int_equal(end_exist(end, "a"), STATUS_NOT_FOUND);
	assert_int_equal(counter_get(&counters->regrets), 0);
	assert_int_not_equal(end_put(end, "a", 1000), 0);
	assert_int_equal(counter_get(&counters->regrets), 1);
	assert_int_equal(end_remove(end, "a", true), STATUS_OK);
	assert_int_not_equal(end_put(end, "a", 1000), 0);
	assert_int_equal(counter_get(&counters->regrets), 1);
}

/* ---- the lists alone ---- */

struct stock {
	struct tenants tenants;
	struct tenant *tenant;
	struct object *objects[N_KEYS];
	size_t n, n_slots;
	uint64_t n_hits;
	bool adapts;
};

static void
pool_open(struct stock *pool, size_t n_slots, bool adapts)
{
	*pool = (struct stock){.n_slots = n_slots, .adapts = adapts};
	tenants_init(&pool->tenants);
	assert_int_equal(
		tenants_add(&pool->tenants, 1, (const uint8_t *)"default", 7, &pool->tenant), 0);
}

static uint64_t
hash_of(unsigned key)
{
	return map_hash(&key, sizeof(key), 1);
}

static unsigned
key_of(const struct object *object)
{
	unsigned key;

	memcpy(&key, object->key.bytes, sizeof(key));
	return key;
}

static void
pool_drop(struct stock *pool, struct object *object)
{
	pool->objects[key_of(object)] = NULL;
	pool->n--;
	ages_leave(object);
	object_free(object);
}

static void
pool_close(struct stock *pool)
{
	for (unsigned key = 0; key < N_KEYS; key++)
		if (pool->objects[key] != NULL)
			pool_drop(pool, pool->objects[key]);
	tenants_fini(&pool->tenants);
}

/* It is asked for; when it is not there it is put, and another one goes. */
static void
pool_use(struct stock *pool, unsigned key)
{
	struct ages *ages = &pool->tenant->ages;
	struct object **at = &pool->objects[key];

	if (*at != NULL) {
		pool->n_hits++;
		ages_use(*at);
		return;
	}
	if (pool->adapts)
		ages_regret(ages, hash_of(key));
	if (pool->n == pool->n_slots) {
		struct ages_walk walk = ages_walk(ages, false, false);
		struct object *object = ages_next(&walk);

		ages_let_go(ages, hash_of(key_of(object)), object->is_again, pool->n);
		pool_drop(pool, object);
	}
	assert_int_equal(object_new(pool->tenant, key + 1, (const uint8_t *)&key, sizeof(key), at),
			 0);
	(*at)->len_bytes = 1;
	ages_enter(*at);
	pool->n++;
}

/* A set that is wanted again and again, and among it much that is wanted once. */
static uint64_t
hits_with_scans(bool adapts)
{
	struct stock pool;
	struct rand rand;
	unsigned scan = 0;
	uint64_t n_hits;

	pool_open(&pool, 256, adapts);
	rand_init(&rand, 7);
	for (int i = 0; i < 300000; i++) {
		if (i % 2 == 0)
			pool_use(&pool, (unsigned)rand_below(&rand, 300));
		else
			pool_use(&pool, 300 + scan++ % (N_KEYS - 300));
	}
	n_hits = pool.n_hits;
	pool_close(&pool);
	return n_hits;
}

static void
weight__under_scans__moves_to_keep_what_is_used_again(void **state)
{
	(void)state;
	assert_true(hits_with_scans(true) > hits_with_scans(false) * 5 / 4);
}

static void
regret__of_each_kind__moves_the_weight_its_way__within_bounds(void **state)
{
	struct ages ages;

	(void)state;
	ages_init(&ages);
	for (uint64_t i = 1; i < 200000; i++) {
		ages_let_go(&ages, i << 32 | i, true, 1000);
		assert_true(ages_regret(&ages, i << 32 | i));
	}
	assert_true(ages.weight == 8);
	for (uint64_t i = 1; i < 200000; i++) {
		ages_let_go(&ages, i << 32 | i, false, 1000);
		assert_true(ages_regret(&ages, i << 32 | i));
	}
	assert_true(ages.weight == 1);
	ages_fini(&ages);
}

static void
what_went__is_forgotten_when_half_as_many_as_there_are_went_after_it(void **state)
{
	struct ages ages;
	unsigned n_known = 0;

	(void)state;
	ages_init(&ages);
	for (unsigned i = 0; i < 10000; i++)
		ages_let_go(&ages, hash_of(i), false, 2000);
	for (unsigned i = 0; i < 9000; i++)
		assert_false(ages_regret(&ages, hash_of(i)));
	for (unsigned i = 9000; i < 10000; i++)
		n_known += ages_regret(&ages, hash_of(i));
	assert_in_range(n_known, 950, 1000);
	assert_in_range(ages_ram_bytes(&ages), 1000 * 8, 1000 * 8 * 4);
	ages_fini(&ages);
}

static void
walk__that_spares_all__ends_when_each_was_looked_at_once(void **state)
{
	struct stock pool;
	struct ages_walk walk;
	struct object *object;
	bool seen[10] = {false};
	unsigned n = 0;

	(void)state;
	pool_open(&pool, 10, true);
	for (unsigned key = 0; key < 10; key++)
		pool_use(&pool, key);
	for (unsigned key = 0; key < 10; key += 3)
		pool_use(&pool, key);
	walk = ages_walk(&pool.tenant->ages, false, false);
	while ((object = ages_next(&walk)) != NULL) {
		assert_false(seen[key_of(object)]);
		seen[key_of(object)] = true;
		ages_spare(object);
		n++;
	}
	assert_int_equal(n, 10);
	pool_close(&pool);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(object__used_at_all_times__is_younger_than_one_put_after_it),
		WORLD_TEST(look__that_reads_nothing__is_no_use),
		WORLD_TEST(batch__that_was_put__goes_from_its_end),
		WORLD_TEST(batch__that_was_read__goes_from_its_end),
		WORLD_TEST(put__of_what_was_evicted__is_counted_as_a_regret__once),
		cmocka_unit_test(weight__under_scans__moves_to_keep_what_is_used_again),
		cmocka_unit_test(regret__of_each_kind__moves_the_weight_its_way__within_bounds),
		cmocka_unit_test(
			what_went__is_forgotten_when_half_as_many_as_there_are_went_after_it),
		cmocka_unit_test(walk__that_spares_all__ends_when_each_was_looked_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
