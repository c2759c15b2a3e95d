/* SPDX-License-Identifier: Apache-2.0 */

/*
 * core_world.h -- a client with a little master and real segments, all in the test's own thread.
 *
 *      client --link--> little master: a few objects, one after the other in each segment
 *             --engine--> segments lent to the client's own engine
 *
 * The clock stands still until the test moves it.
 *
 *      static void
 *      get__of_a_missing_key__answers_not_found(void **state)
 *      {
 *              struct world *w = *state;
 *              ...
 *      }
 *      ... world_test(get__of_a_missing_key__answers_not_found),
 */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

#include "tests/unit/toy_master.h"

/* world_init -- with faults in front of the copies, if a plan is given. */
static inline void
world_init(struct world *w, const struct fault_plan *plan)
{
	const struct lent_config config = {.size_bytes = WORLD_SIZE};
	struct transport *t;
	struct link *link = &w->link;
	struct client_world world;

	*w = (struct world){.link = {&toy_ops}, .next_id = 100};
	w->session = (struct link_session){.master_epoch = 5,
					   .lease_ms = WORLD_LEASE_MS,
					   .write_lease_ms = WORLD_WRITE_MS,
					   .ping_ms = 1000,
					   .n_joins = 1,
					   .fresh_join = 1};
	clock_fake_init(&w->clock, 1000000);
	rand_init(&w->rand, 42);
	assert_int_equal(engine_new(&w->clock.base, &w->engine), 0);
	assert_int_equal(transport_local_new(&t), 0);
	if (plan != NULL)
		assert_int_equal(transport_fault_new(&t, plan, &t), 0);
	engine_add(w->engine, &t);
	for (size_t i = 0; i < WORLD_SEGMENTS; i++) {
		assert_int_equal(lent_open(&config, &w->rand, &w->lents[i]), 0);
		assert_int_equal(engine_lend(w->engine, w->lents[i]), 0);
		memset(w->lents[i]->bytes, 0xee, WORLD_SIZE); /* old bytes of others */
	}
	world = (struct client_world){.clock = &w->clock.base,
				      .client_id = 9,
				      .seed = 1,
				      .link_taken = &link,
				      .engine_taken = &(struct engine *){w->engine},
				      .name = "test",
				      .master = "unix:/the/master"};
	assert_int_equal(tiffin_client_new(&world, &w->client), 0);
	client_tick(w->client); /* has seen the first join */
	memset(w->n_heard, 0, sizeof(w->n_heard));
	clock_fake_advance_ms(&w->clock, 60000);
}

static inline void
world_fini(struct world *w)
{
	for (size_t i = 0; i < WORLD_SEGMENTS; i++)
		engine_unlend(w->engine, w->lents[i]);
	tiffin_client_free(w->client);
	for (size_t i = 0; i < WORLD_SEGMENTS; i++)
		lent_close(w->lents[i]);
}

/* ---- a world for each test: its *state ---- */

static inline int
world_setup(void **state)
{
	struct world *w = malloc(sizeof(*w));

	assert_non_null(w);
	world_init(w, NULL);
	*state = w;
	return 0;
}

static inline int
world_teardown(void **state)
{
	world_fini(*state);
	free(*state);
	return 0;
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)

/* ---- what tests do in it ---- */

static inline void
world_pattern(uint8_t *bytes, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + seed);
}

static inline int
world_put(struct world *w, const char *key, const void *bytes, size_t len, uint32_t n_replicas)
{
	const struct iovec slice = {(void *)bytes, len};
	const struct tiffin_put_options options = {.struct_bytes = sizeof(options),
						   .replica_num = n_replicas};

	return tiffin_put(w->client, key, &slice, 1, &options, NULL);
}

/* world_put_pattern -- an object of world_pattern(), which is left in bytes. */
static inline void
world_put_pattern(struct world *w, const char *key, uint8_t *bytes, size_t len, uint32_t n_replicas)
{
	world_pattern(bytes, len, 3);
	assert_int_equal(world_put(w, key, bytes, len, n_replicas), 0);
}

static inline int
world_get(struct world *w, const char *key, void *bytes, size_t cap, uint64_t *ret_len)
{
	const struct iovec slice = {bytes, cap};

	return tiffin_get(w->client, key, &slice, 1, ret_len);
}

/* world_rejoin -- the master has given us up meanwhile, and what it granted us. */
static inline void
world_rejoin(struct world *w)
{
	w->session.n_joins++;
	w->session.fresh_join = w->session.n_joins;
	w->session.was_known = false;
	for (size_t i = 0; i < WORLD_OBJECTS; i++)
		w->objects[i].is_there &= w->objects[i].is_complete;
}

/* world_object -- the little master's record of a complete object. */
static inline struct toy_object *
world_object(struct world *w, const char *key)
{
	struct toy_object *o = toy_find(w, span_of(key, strlen(key)), true);

	assert_non_null(o);
	return o;
}

#endif
