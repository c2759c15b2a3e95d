/* SPDX-License-Identifier: Apache-2.0 */

/*
 * master_world.h -- a master with a real store, a clock that stands still, and peers without
 * sockets.
 *
 *      struct world *w = *state;                          made by world_setup(), master_check()ed
 * at the end struct end *writer = world_join(w, 11);            hello and join are done struct
 * rep_stat rep; status = ASK(writer, stat, &rep, .n_keys = 1, .keys = &key);
 *
 * ASK sends, lets the master turn and the store commit, and decodes the answer; SEND leaves the
 * turning to the test.  What an answer points to lives until the end's next one.
 */
#ifndef TESTS_UNIT_MASTER_WORLD_H
#define TESTS_UNIT_MASTER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "master/books.h"
#include "master/place.h"

#define MIB          (1ull << 20)
#define NO_ANSWER    100000u
#define WORLD_ENDS   16
#define WORLD_SECRET 7

struct end {
	struct world *world;
	struct peer *peer; /* NULL: hung up */
	uint64_t client_id, last_request;
	struct buf in;      /* all frames that came, in order */
	struct arena arena; /* of the last decoded answer */
};

struct world {
	char dir[64], path[128];
	struct clock_fake clock;
	struct rand rand;
	struct master_limits limits;
	struct store *store; /* the master's */
	struct master *master;
	struct end ends[WORLD_ENDS];
	size_t n_ends;
	char why[512];
};

/* ---- the master ---- */

/* Gives what went wrong, 0: nothing. */
static inline int
world_open(struct world *w)
{
	struct store_config config = {
		.path = w->path,
		.clock = &w->clock.base,
		.is_inline = true,
		.wal_cap_bytes = 1 << 20,
		.sync_every_ms = 100,
		.lease_ms = w->limits.lease_ms,
	};
	struct master_config master = {
		.clock = &w->clock.base, .rand = &w->rand, .limits = w->limits};
	struct store *store = NULL;
	int r = store_open(&config, &store, w->why, sizeof(w->why));

	if (r != 0)
		return r;
	w->store = store;
	r = master_new(&master, &store, &w->master, w->why, sizeof(w->why));
	if (r != 0)
		store_close(store);
	return r;
}

static inline void
world_close(struct world *w)
{
	for (size_t i = 0; i < w->n_ends; i++)
		w->ends[i].peer = NULL; /* freed with the master */
	master_free(w->master);
	w->master = NULL;
}

static inline int
world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	snprintf(w->dir, sizeof(w->dir), "/tmp/tiffin-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/master.db", w->dir);
	clock_fake_init(&w->clock, 1000000);
	rand_init(&w->rand, 1);
	w->limits = (struct master_limits){
		.lease_ms = 5000,
		.write_lease_ms = 30000,
		.ping_ms = 1000,
		.client_ttl_ms = 10000,
		.client_grace_ms = 5000,
		.put_wait_ms = 2000,
		.failing_rest_ms = 10000,
		.evict_high_pct = 100,
		.evict_low_pct = 90,
		.evict_soft_pins = 1,
		.placement = PLACEMENT_FREE_RATIO_FIRST,
		.offload = OFFLOAD_AUTO,
		.promote_uses = 2,
	};
	assert_int_equal(world_open(w), 0);
	*state = w;
	return 0;
}

static inline int
world_teardown(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".reserve"};
	struct world *w = *state;
	char path[160];

	if (w->master != NULL) {
		master_check(w->master);
		world_close(w);
	}
	for (size_t i = 0; i < w->n_ends; i++) {
		buf_fini(&w->ends[i].in);
		arena_fini(&w->ends[i].arena);
	}
	for (size_t i = 0; i < array_len(suffixes); i++) {
		snprintf(path, sizeof(path), "%s%s", w->path, suffixes[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(w->dir), 0);
	free(w);
	return 0;
}

/* ---- time ---- */

static inline void
world_collect(struct world *w)
{
	while (master_dirty(w->master) != NULL)
		;
	for (size_t i = 0; i < w->n_ends; i++) {
		struct end *end = &w->ends[i];

		if (end->peer == NULL || buf_len(&end->peer->out) == 0)
			continue;
		assert_int_equal(
			buf_append(&end->in, buf_first(&end->peer->out), buf_len(&end->peer->out)),
			0);
		buf_clear(&end->peer->out);
	}
}

/* The master's turn, without the store's. */
static inline uint64_t
world_turn_alone(struct world *w)
{
	uint64_t wait_ms = master_turn(w->master);

	master_check(w->master);
	world_collect(w);
	return wait_ms;
}

/* Turns until what was asked is committed, and synced where somebody waits for that. */
static inline void
world_turn(struct world *w)
{
	for (int i = 0; i < 2; i++) {
		world_turn_alone(w);
		store_step(w->store);
	}
	world_turn_alone(w);
}

/* Time passes as in a loop that is never late. */
static inline void
world_pass_ms(struct world *w, uint64_t len_ms)
{
	while (len_ms > 0) {
		uint64_t step_ms = len_ms < 50 ? len_ms : 50;

		clock_fake_advance_ms(&w->clock, step_ms);
		len_ms -= step_ms;
		world_turn(w);
	}
}

/* ---- peers ---- */

static inline struct end *
world_connect(struct world *w)
{
	struct end *end = &w->ends[w->n_ends++];

	assert_true(w->n_ends <= WORLD_ENDS);
	*end = (struct end){.world = w};
	buf_init(&end->in);
	arena_init(&end->arena);
	assert_int_equal(master_peer_new(w->master, true, &end->peer), 0);
	return end;
}

static inline void
end_hang_up(struct end *end)
{
	master_peer_free(end->peer);
	end->peer = NULL;
}

/* Send under a request id of one's own choice. */
static inline void
end_send_as(struct end *end, uint64_t request_id, uint16_t type, const struct buf *payload)
{
	struct frame frame = {
		.type = type,
		.request_id = request_id,
		.payload = {buf_first(payload), buf_behind(payload)},
	};

	master_receive(end->peer, &frame);
}

static inline uint64_t
end_send(struct end *end, uint16_t type, struct buf *payload)
{
	end_send_as(end, ++end->last_request, type, payload);
	buf_fini(payload);
	return end->last_request;
}

/* How many answers to this request have come; *ret_frame is the last of them. */
static inline unsigned
end_answers(struct end *end, uint64_t request_id, struct frame *ret_frame)
{
	size_t at = 0, len;
	struct frame frame = {0};
	unsigned n = 0;

	*ret_frame = (struct frame){0};
	while (at < buf_len(&end->in)) {
		assert_int_equal(
			frame_peek(buf_first(&end->in) + at, buf_len(&end->in) - at, &frame, &len),
			0);
		if (frame.request_id == request_id) {
			*ret_frame = frame;
			n++;
		}
		at += len;
	}
	return n;
}

/* The answer's status, NO_ANSWER: none has come. */
static inline uint32_t
end_status(struct end *end, uint64_t request_id)
{
	struct frame frame = {0};

	return end_answers(end, request_id, &frame) == 0 ? NO_ANSWER : frame.status;
}

#define SEND(end, name, ...)                                                                       \
	({                                                                                         \
		struct msg_##name msg_ = {__VA_ARGS__};                                            \
		struct buf payload_;                                                               \
                                                                                                   \
		buf_init(&payload_);                                                               \
		assert_int_equal(msg_##name##_encode(&payload_, &msg_), 0);                        \
		end_send((end), MSG_##name, &payload_);                                            \
	})

/* Gives the status; *rep is filled when that is OK. */
#define HEAR(end, id, name, rep)                                                                   \
	({                                                                                         \
		struct frame frame_;                                                               \
		uint32_t status_ = NO_ANSWER;                                                      \
                                                                                                   \
		arena_reset(&(end)->arena);                                                        \
		if (end_answers((end), (id), &frame_) > 0)                                         \
			status_ = frame_.status;                                                   \
		if (status_ == STATUS_OK)                                                          \
			assert_int_equal(                                                          \
				rep_##name##_decode(frame_.payload, &(end)->arena, (rep)), 0);     \
		status_;                                                                           \
	})

#define ASK(end, name, rep, ...)                                                                   \
	({                                                                                         \
		uint64_t id_ = SEND(end, name, __VA_ARGS__);                                       \
                                                                                                   \
		world_turn((end)->world);                                                          \
		HEAR(end, id_, name, rep);                                                         \
	})

/* Gives the status of the join. */
static inline uint32_t
end_join(struct end *end, uint64_t client_id, const char *tenant)
{
	struct rep_hello hello = {0};
	struct rep_join join = {0};

	end->client_id = client_id;
	assert_int_equal(ASK(end, hello, &hello, .version = PROTO_VERSION), STATUS_OK);
	return ASK(end, join, &join, .client_id = client_id, .name = span_of("end", 3),
		   .host = span_of("here", 4), .tenant = span_of(tenant, strlen(tenant)),
		   .now_ms = clock_ms(&end->world->clock.base));
}

static inline struct end *
world_join_as(struct world *w, uint64_t client_id, const char *tenant)
{
	struct end *end = world_connect(w);

	end->last_request = 1000 * w->n_ends;
	assert_int_equal(end_join(end, client_id, tenant), STATUS_OK);
	return end;
}

static inline struct end *
world_join_again(struct world *w, uint64_t client_id)
{
	return world_join_as(w, client_id, "default");
}

static inline struct end *
world_join(struct world *w, uint64_t client_id)
{
	return world_join_again(w, client_id);
}

/* ---- tenants ---- */

static inline uint32_t
end_tenant_put(struct end *end, const char *name, uint8_t flags, uint64_t bytes, uint64_t objects)
{
	struct rec_tenant_set set = {span_of(name, strlen(name)), flags, bytes, objects};
	struct rep_tenant_put rep = {0};
	uint32_t status = ASK(end, tenant_put, &rep, .n_tenants = 1, .tenants = &set);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

static inline const struct tenant *
world_tenant(const struct world *w, const char *name)
{
	const struct tenant *tenant =
		tenants_by_name(&w->master->tenants, (const uint8_t *)name, strlen(name));

	assert_non_null(tenant);
	return tenant;
}

static inline uint32_t
end_ping(struct end *end)
{
	struct rep_ping rep = {0};

	return ASK(end, ping, &rep, .now_ms = clock_ms(&end->world->clock.base));
}

/* ---- what most stories begin with ---- */

static inline uint32_t
end_mount_on(struct end *end, enum medium medium, uint64_t segment_id, uint64_t epoch,
	     uint64_t size_bytes)
{
	char name[32];
	struct rec_segment_lent lent = {
		.segment_id = segment_id,
		.segment_epoch = epoch,
		.size_bytes = size_bytes,
		.medium = (uint8_t)medium,
		.host = span_of("here", 4),
		.endpoint = span_of("shm:x", 5),
		.secret = {{WORLD_SECRET}},
	};
	struct rep_mount_segment rep = {0};
	uint32_t status;

	lent.name =
		span_of(name, (size_t)snprintf(name, sizeof(name), "seg%u", (unsigned)segment_id));
	status = ASK(end, mount_segment, &rep, .n_segments = 1, .segments = &lent);
	return status == STATUS_OK ? rep.fates[0].status : status;
}

static inline uint32_t
end_mount(struct end *end, uint64_t segment_id, uint64_t epoch, uint64_t size_bytes)
{
	return end_mount_on(end, MEDIUM_DRAM, segment_id, epoch, size_bytes);
}

/* The put's object id; 0 when the item was refused (*ret_status tells). */
static inline uint64_t
end_start(struct end *end, const char *key, uint64_t len_bytes, uint8_t flags, uint32_t *ret_status)
{
	struct rec_put put = {span_of(key, strlen(key)), len_bytes};
	struct rep_put_start rep = {0};

	*ret_status = ASK(end, put_start, &rep, .replica_num = 1, .flags = flags, .n_puts = 1,
			  .puts = &put);
	if (*ret_status != STATUS_OK)
		return 0;
	*ret_status = rep.places[0].status;
	return rep.places[0].object_id;
}

static inline uint32_t
end_finish(struct end *end, uint64_t object_id, uint64_t len_bytes)
{
	struct rec_put_done done = {.object_id = object_id, .len_bytes = len_bytes};
	struct rep_put_end rep = {0};
	uint32_t status = ASK(end, put_end, &rep, .n_puts = 1, .puts = &done);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

static inline uint32_t
end_revoke(struct end *end, uint64_t object_id, bool is_quiet)
{
	struct rec_id id = {object_id};
	struct rep_put_revoke rep = {0};
	uint32_t status =
		ASK(end, put_revoke, &rep, .is_quiet = is_quiet, .n_puts = 1, .puts = &id);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

/* Put whole; gives the object id, 0 when it failed. */
static inline uint64_t
end_put(struct end *end, const char *key, uint64_t len_bytes)
{
	uint32_t status;
	uint64_t id = end_start(end, key, len_bytes, 1 /* REPLACE */, &status);

	return id != 0 && end_finish(end, id, len_bytes) == STATUS_OK ? id : 0;
}

static inline uint32_t
end_exist(struct end *end, const char *key)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_exist rep = {0};
	uint32_t status = ASK(end, exist, &rep, .n_keys = 1, .keys = &only);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

/* Under a lease. */
static inline struct rec_object_place
end_get(struct end *end, const char *key)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_get_replica_list rep = {0};
	uint32_t status = ASK(end, get_replica_list, &rep, .n_keys = 1, .keys = &only);

	return status == STATUS_OK ? rep.objects[0] : (struct rec_object_place){.status = status};
}

static inline uint32_t
end_remove(struct end *end, const char *key, bool force)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_remove rep = {0};
	uint32_t status = ASK(end, remove, &rep, .force = force, .n_keys = 1, .keys = &only);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

static inline uint32_t
end_renew(struct end *end, uint64_t object_id, uint32_t lease_id)
{
	struct rec_lease lease = {object_id, lease_id};
	struct rep_renew_lease rep = {0};
	uint32_t status = ASK(end, renew_lease, &rep, .n_leases = 1, .leases = &lease);

	return status == STATUS_OK ? rep.fates[0].status : status;
}

static inline uint32_t
end_release(struct end *end, uint64_t object_id, uint32_t lease_id)
{
	struct rec_lease lease = {object_id, lease_id};
	struct rep_release_lease rep;

	return ASK(end, release_lease, &rep, .n_leases = 1, .leases = &lease);
}

static inline struct rep_space
end_space(struct end *end)
{
	struct rep_space rep = {0};

	assert_int_equal(ASK(end, space, &rep), STATUS_OK);
	return rep;
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#endif
