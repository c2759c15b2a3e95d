/* SPDX-License-Identifier: Apache-2.0 */

/*
 * toy_master.h -- the little master of core_world.h: a few objects, one after the other in each
 * segment, and a link that asks it in the caller's own thread.  struct world has its books, what it
 * heard and what it is told to do.
 */
#ifndef TESTS_TOY_MASTER_H
#define TESTS_TOY_MASTER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/client.h"
#include "core/mount.h"
#include "core/writing.h"
#include "transfer/base/frame.h"
#include "transfer/base/num.h"
#include "transfer/fault.h"
#include "transfer/lent.h"
#include "transfer/transport.h"

#define WORLD_SEGMENTS 2
#define WORLD_SIZE     (8ull << 20)
#define WORLD_OBJECTS  32
#define WORLD_LEASE_MS 5000
#define WORLD_WRITE_MS 30000
#define WORLD_TOKEN_MS 60000

struct toy_object {
	char key[TIFFIN_KEY_MAX + 1];
	uint64_t object_id, len_bytes;
	uint32_t crc;
	bool is_there, is_complete;
	uint32_t n_replicas;
	struct {
		size_t segment;
		uint32_t n_extents;
		struct rec_extent extents[16];
	} replicas[WORLD_SEGMENTS];
};

struct world {
	struct link link;
	struct clock_fake clock;
	struct rand rand;
	struct engine *engine;
	struct lent *lents[WORLD_SEGMENTS];
	struct tiffin_client *client;

	/* the little master's books */
	struct toy_object objects[WORLD_OBJECTS];
	uint64_t next_id;
	uint64_t used_bytes[WORLD_SEGMENTS];
	struct link_session session;

	/* what it heard */
	unsigned n_heard[64];
	bool was_quiet;
	uint32_t n_released;
	uint64_t last_fenced, quiet_epoch;
	uint32_t n_writers;    /* that the last mount named */
	uint64_t former_epoch; /* as the last mount told */
	struct {
		uint8_t replica_num, nof_replica_num, flags;
		uint64_t preferred_nof; /* the first */
		char group[32];         /* of the first object */
	} last_start;

	/* what it is told to do */
	int link_outcome;       /* of every call, until set back */
	uint32_t refuse_status; /* of the next request of refuse_type */
	uint16_t refuse_type;
	bool forgets_leases; /* renew_lease: LEASE_EXPIRED */
	bool is_away;        /* get_replica_list: NOT_COMPLETE, until the clock is there */
	uint64_t back_at_ns;
	uint64_t fence_id, fence_client;
	void (*on_call)(struct world *w, uint16_t type); /* before the answer */
	uint32_t (*serve_more)(struct world *w, uint16_t type, struct cursor in,
			       struct arena *arena, struct buf *out); /* other requests */
};

static inline struct toy_object *
toy_find(struct world *w, struct span key, bool complete)
{
	for (size_t i = 0; i < WORLD_OBJECTS; i++) {
		struct toy_object *o = &w->objects[i];

		if (o->is_there && o->is_complete == complete && strlen(o->key) == key.len &&
		    memcmp(o->key, key.at, key.len) == 0)
			return o;
	}
	return NULL;
}

static inline struct toy_object *
toy_find_id(struct world *w, uint64_t id)
{
	for (size_t i = 0; i < WORLD_OBJECTS; i++)
		if (w->objects[i].is_there && w->objects[i].object_id == id)
			return &w->objects[i];
	return NULL;
}

static inline void
toy_grow(struct world *w, struct toy_object *o, uint64_t len)
{
	for (uint32_t i = 0; i < o->n_replicas && len > 0; i++) {
		size_t s = o->replicas[i].segment;

		assert_true(w->used_bytes[s] + len <= WORLD_SIZE);
		assert_true(o->replicas[i].n_extents < 16);
		o->replicas[i].extents[o->replicas[i].n_extents++] =
			(struct rec_extent){w->used_bytes[s], len};
		w->used_bytes[s] += len;
	}
}

static inline void
toy_grant(struct world *w, const struct toy_object *o, struct arena *arena,
	  struct rec_target_replica **ret)
{
	struct rec_target_replica *all =
		arena_alloc(arena, o->n_replicas, sizeof(struct rec_target_replica));

	for (uint32_t i = 0; i < o->n_replicas; i++) {
		const struct lent *lent = w->lents[o->replicas[i].segment];
		uint32_t n = o->replicas[i].n_extents;

		all[i].segment_id = lent->segment_id;
		all[i].segment_epoch = lent->epoch;
		all[i].n_grants = n;
		all[i].grants = arena_alloc(arena, num_max(n, 1u), sizeof(struct rec_grant));
		for (uint32_t j = 0; j < n; j++) {
			all[i].grants[j].offset_bytes = o->replicas[i].extents[j].offset_bytes;
			all[i].grants[j].len_bytes = o->replicas[i].extents[j].len_bytes;
			all[i].grants[j].until_ms = clock_ms(&w->clock.base) + WORLD_WRITE_MS;
		}
	}
	*ret = all;
}

static inline uint32_t
toy_put_start(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct msg_put_start msg;
	struct rep_put_start rep = {.write_lease_ms = WORLD_WRITE_MS};

	assert_int_equal(msg_put_start_decode(in, arena, &msg), 0);
	w->last_start.replica_num = msg.replica_num;
	w->last_start.nof_replica_num = msg.nof_replica_num;
	w->last_start.flags = msg.flags;
	w->last_start.group[0] = '\0';
	if (msg.n_groups > 0)
		snprintf(w->last_start.group, sizeof(w->last_start.group), "%.*s",
			 (int)msg.groups[0].id.len, (const char *)msg.groups[0].id.at);
	w->last_start.preferred_nof = msg.n_preferred_nof > 0 ? msg.preferred_nof[0].id : 0;
	rep.n_places = msg.n_puts;
	rep.places = arena_alloc(arena, msg.n_puts, sizeof(*rep.places));
	for (uint32_t i = 0; i < msg.n_puts; i++) {
		struct toy_object *o = NULL;

		if ((msg.flags & PUT_REPLACE) == 0 && toy_find(w, msg.puts[i].key, true) != NULL) {
			rep.places[i].status = STATUS_EXISTS;
			continue;
		}
		for (size_t at = 0; o == NULL; at++) {
			assert_true(at < WORLD_OBJECTS);
			o = w->objects[at].is_there ? NULL : &w->objects[at];
		}
		*o = (struct toy_object){.object_id = w->next_id++, .is_there = true};
		memcpy(o->key, msg.puts[i].key.at, msg.puts[i].key.len);
		o->n_replicas = num_min(msg.replica_num, (uint8_t)WORLD_SEGMENTS);
		for (uint32_t j = 0; j < o->n_replicas; j++)
			o->replicas[j].segment = j;
		toy_grow(w, o, msg.puts[i].len_bytes);
		rep.places[i].object_id = o->object_id;
		rep.places[i].n_replicas = o->n_replicas;
		toy_grant(w, o, arena, &rep.places[i].replicas);
	}
	assert_int_equal(rep_put_start_encode(out, &rep), 0);
	return STATUS_OK;
}

static inline uint32_t
toy_put_extend(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct rep_put_extend rep = {.write_lease_ms = WORLD_WRITE_MS};
	struct msg_put_extend msg;
	struct toy_object *o;

	assert_int_equal(msg_put_extend_decode(in, arena, &msg), 0);
	o = toy_find_id(w, msg.object_id);
	if (o == NULL)
		return STATUS_NOT_FOUND;
	toy_grow(w, o, msg.more_bytes);
	rep.n_replicas = o->n_replicas;
	toy_grant(w, o, arena, &rep.replicas);
	assert_int_equal(rep_put_extend_encode(out, &rep), 0);
	return STATUS_OK;
}

static inline void
toy_fates(uint32_t n, const uint32_t *statuses, struct arena *arena, struct buf *out)
{
	struct rep_put_end rep = {.n_fates = n};

	rep.fates = arena_alloc(arena, num_max(n, 1u), sizeof(*rep.fates));
	for (uint32_t i = 0; i < n; i++)
		rep.fates[i].status = statuses[i];
	assert_int_equal(rep_put_end_encode(out, &rep), 0);
}

static inline uint32_t
toy_put_end(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	uint32_t statuses[BATCH_MAX] = {0};
	struct msg_put_end msg;

	assert_int_equal(msg_put_end_decode(in, arena, &msg), 0);
	for (uint32_t i = 0; i < msg.n_puts; i++) {
		struct toy_object *o = toy_find_id(w, msg.puts[i].object_id), *old;

		if (o == NULL) {
			statuses[i] = STATUS_NOT_FOUND;
			continue;
		}
		old = toy_find(w, span_of(o->key, strlen(o->key)), true);
		if (old != NULL)
			old->is_there = false;
		o->is_complete = true;
		o->len_bytes = msg.puts[i].len_bytes;
		o->crc = msg.puts[i].crc;
	}
	toy_fates(msg.n_puts, statuses, arena, out);
	return STATUS_OK;
}

static inline uint32_t
toy_put_revoke(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	uint32_t statuses[BATCH_MAX] = {0};
	struct msg_put_revoke msg;

	assert_int_equal(msg_put_revoke_decode(in, arena, &msg), 0);
	w->was_quiet = msg.is_quiet != 0;
	for (uint32_t i = 0; i < msg.n_puts; i++) {
		struct toy_object *o = toy_find_id(w, msg.puts[i].id);

		if (o != NULL && !o->is_complete)
			o->is_there = false;
	}
	toy_fates(msg.n_puts, statuses, arena, out);
	return STATUS_OK;
}

static inline void
toy_place(struct world *w, const struct toy_object *o, struct arena *arena,
	  struct rec_object_place *ret)
{
	*ret = (struct rec_object_place){.status = STATUS_OK,
					 .object_id = o->object_id,
					 .len_bytes = o->len_bytes,
					 .has_crc = 1,
					 .crc = o->crc,
					 .lease_id = 77,
					 .lease_ms = WORLD_LEASE_MS,
					 .n_replicas = o->n_replicas};
	ret->replicas = arena_alloc(arena, o->n_replicas, sizeof(*ret->replicas));
	for (uint32_t j = 0; j < o->n_replicas; j++) {
		const struct lent *lent = w->lents[o->replicas[j].segment];

		ret->replicas[j].segment_id = lent->segment_id;
		ret->replicas[j].segment_epoch = lent->epoch;
		ret->replicas[j].n_extents = o->replicas[j].n_extents;
		ret->replicas[j].extents = (struct rec_extent *)o->replicas[j].extents;
	}
}

static inline uint32_t
toy_get(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct msg_get_replica_list msg;
	struct rep_get_replica_list rep = {0};

	assert_int_equal(msg_get_replica_list_decode(in, arena, &msg), 0);
	rep.n_objects = msg.n_keys;
	rep.objects = arena_alloc(arena, msg.n_keys, sizeof(*rep.objects));
	for (uint32_t i = 0; i < msg.n_keys; i++) {
		const struct toy_object *o = toy_find(w, msg.keys[i].key, true);

		if (o == NULL)
			rep.objects[i].status = STATUS_NOT_FOUND;
		else if (w->is_away && clock_ns(&w->clock.base) < w->back_at_ns)
			rep.objects[i].status = STATUS_NOT_COMPLETE;
		else
			toy_place(w, o, arena, &rep.objects[i]);
	}
	assert_int_equal(rep_get_replica_list_encode(out, &rep), 0);
	return STATUS_OK;
}

static inline uint32_t
toy_renew(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct msg_renew_lease msg;
	struct rep_renew_lease rep = {0};

	assert_int_equal(msg_renew_lease_decode(in, arena, &msg), 0);
	rep.n_fates = msg.n_leases;
	rep.fates = arena_alloc(arena, msg.n_leases, sizeof(*rep.fates));
	for (uint32_t i = 0; i < msg.n_leases; i++) {
		rep.fates[i].status = w->forgets_leases ? STATUS_LEASE_EXPIRED : STATUS_OK;
		rep.fates[i].lease_ms = WORLD_LEASE_MS;
	}
	assert_int_equal(rep_renew_lease_encode(out, &rep), 0);
	return STATUS_OK;
}

static inline uint32_t
toy_query_segment(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct msg_query_segment msg;
	struct rec_segment_state state = {.status = STATUS_SEGMENT_NOT_FOUND};
	struct rep_query_segment rep = {.n_segments = 1, .segments = &state};

	assert_int_equal(msg_query_segment_decode(in, arena, &msg), 0);
	assert_int_equal(msg.n_segments, 1);
	for (size_t i = 0; i < WORLD_SEGMENTS; i++) {
		const struct lent *lent = w->lents[i];

		if (lent->segment_id != msg.segments[0].id)
			continue;
		state = (struct rec_segment_state){
			.status = STATUS_OK,
			.segment_id = lent->segment_id,
			.segment_epoch = lent->epoch,
			.size_bytes = lent->size_bytes,
			.name = span_of("seg", 3),
			.host = span_of("elsewhere", 9),
			.endpoint = span_of("unix:/nowhere", 13),
			.token_ms = WORLD_TOKEN_MS,
			.until_ms = clock_ms(&w->clock.base) + WORLD_TOKEN_MS,
		};
	}
	assert_int_equal(rep_query_segment_encode(out, &rep), 0);
	return STATUS_OK;
}

static inline uint32_t
toy_ping(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct rec_fence fence = {w->fence_id, w->fence_client};
	struct rep_ping rep = {.master_epoch = w->session.master_epoch, .fences = &fence};
	struct msg_ping msg;

	assert_int_equal(msg_ping_decode(in, arena, &msg), 0);
	w->quiet_epoch = msg.quiet_epoch;
	for (uint32_t i = 0; i < msg.n_fenced; i++) {
		w->last_fenced = msg.fenced[i].id;
		if (msg.fenced[i].id == w->fence_id)
			w->fence_id = 0;
	}
	rep.n_fences = w->fence_id != 0;
	assert_int_equal(rep_ping_encode(out, &rep), 0);
	return STATUS_OK;
}

static inline uint32_t
toy_remove(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	uint32_t statuses[BATCH_MAX] = {0};
	struct msg_remove msg;

	assert_int_equal(msg_remove_decode(in, arena, &msg), 0);
	for (uint32_t i = 0; i < msg.n_keys; i++) {
		struct toy_object *o = toy_find(w, msg.keys[i].key, true);

		if (o == NULL)
			statuses[i] = STATUS_NOT_FOUND;
		else
			o->is_there = false;
	}
	toy_fates(msg.n_keys, statuses, arena, out);
	return STATUS_OK;
}

static inline uint32_t
toy_mount(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct msg_mount_segment msg;
	const uint32_t ok[SEGMENTS_MAX] = {0};

	assert_int_equal(msg_mount_segment_decode(in, arena, &msg), 0);
	w->n_writers = msg.segments[0].n_writers;
	w->former_epoch = msg.segments[0].former_epoch;
	toy_fates(msg.n_segments, ok, arena, out);
	return STATUS_OK;
}

static inline uint32_t
toy_serve(struct world *w, uint16_t type, struct cursor in, struct arena *arena, struct buf *out)
{
	switch (type) {
	case MSG_put_start:
		return toy_put_start(w, in, arena, out);
	case MSG_put_extend:
		return toy_put_extend(w, in, arena, out);
	case MSG_put_end:
		return toy_put_end(w, in, arena, out);
	case MSG_put_revoke:
		return toy_put_revoke(w, in, arena, out);
	case MSG_get_replica_list:
		return toy_get(w, in, arena, out);
	case MSG_renew_lease:
		return toy_renew(w, in, arena, out);
	case MSG_query_segment:
		return toy_query_segment(w, in, arena, out);
	case MSG_ping:
		return toy_ping(w, in, arena, out);
	case MSG_remove:
		return toy_remove(w, in, arena, out);
	case MSG_mount_segment:
		return toy_mount(w, in, arena, out);
	default:
		return w->serve_more != NULL ? w->serve_more(w, type, in, arena, out)
					     : STATUS_INVALID;
	}
}

static inline int
toy_call(struct link *link, uint16_t type, const struct buf *payload, uint64_t until_ns,
	 struct link_reply *ret_reply)
{
	struct world *w = container_of(link, struct world, link);
	const struct cursor in = {buf_first(payload), buf_behind(payload)};

	(void)until_ns;
	w->n_heard[type]++;
	if (w->on_call != NULL)
		w->on_call(w, type);
	if (w->link_outcome != 0)
		return w->link_outcome;

	link_reply_init(ret_reply);
	if (w->refuse_type == type) {
		ret_reply->status = w->refuse_status;
		w->refuse_type = 0;
	} else {
		ret_reply->status = toy_serve(w, type, in, ret_reply->arena, &ret_reply->bytes);
	}
	ret_reply->cluster_id = w->session.cluster_id;
	ret_reply->payload.at = buf_first(&ret_reply->bytes);
	ret_reply->payload.end = buf_behind(&ret_reply->bytes);
	return 0;
}

static inline void
toy_post(struct link *link, uint16_t type, const struct buf *payload)
{
	struct world *w = container_of(link, struct world, link);
	const struct cursor in = {buf_first(payload), buf_behind(payload)};
	struct msg_release_lease msg;
	struct arena arena;

	w->n_heard[type]++;
	arena_init(&arena);
	if (type == MSG_put_revoke) {
		struct buf out;

		buf_init(&out);
		(void)toy_put_revoke(w, in, &arena, &out);
		buf_fini(&out);
	} else {
		assert_int_equal(type, MSG_release_lease);
		assert_int_equal(msg_release_lease_decode(in, &arena, &msg), 0);
		w->n_released += msg.n_leases;
	}
	arena_fini(&arena);
}

static inline void
toy_session(struct link *link, struct link_session *ret_session)
{
	*ret_session = container_of(link, struct world, link)->session;
}

static inline void
toy_nothing(struct link *link)
{
	(void)link;
}

static const struct link_ops toy_ops = {.call = toy_call,
					.post = toy_post,
					.session = toy_session,
					.stop = toy_nothing,
					.free = toy_nothing};

#endif
