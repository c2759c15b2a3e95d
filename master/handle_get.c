/* SPDX-License-Identifier: Apache-2.0 */

/* handle_get.c -- exist, get_replica_list, renew_lease, release_lease: what readers need. */
#include "master/books.h"
#include "master/handle.h"
#include "master/lease.h"
#include "transfer/base/num.h"

/* The objects asked for, in the request's arena; NULL: no memory. */
static struct object **
find_all(const struct peer *peer, const struct rec_key_only *keys, uint32_t n)
{
	struct master *master = peer->master;
	struct object **objects = arena_alloc(&master->arena, n + 1u, sizeof(struct object *));

	if (objects != NULL)
		books_find_all(master, peer->client->tenant, keys, n, objects);
	return objects;
}

/*
 * A promise is never longer than the master's own measure: a restart waits just so long.  Who only
 * looks gets none.
 */
static uint32_t
lease_len(const struct master *master, uint32_t wanted_ms)
{
	uint64_t most_ms = wanted_ms == LEASE_NONE ? 0 : master->limits.lease_ms;

	return (uint32_t)(wanted_ms == 0 ? most_ms : num_min(wanted_ms, most_ms));
}

/* ---- exist ---- */

/* lease_all -- a reader's promise for each; as uses they count like reads. */
static void
lease_all(struct master *master, struct object **objects, uint32_t n, uint32_t lease_ms)
{
	uint32_t n_used = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct object *object = objects[i];

		if (object == NULL || !object_is_readable(object))
			continue;
		(void)lease_grant(master, object, lease_ms); /* it ends by itself */
		if (lease_is_use(master, object))
			objects[n_used++] = object; /* among those looked at already */
	}
	while (n_used > 0)
		ages_use(objects[--n_used]);
}

int
handle_exist(struct peer *peer, const struct msg_exist *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_keys);
	struct object **objects = find_all(peer, msg->keys, msg->n_keys);

	if ((msg->flags & ~EXIST_LEASE) != 0 || msg->lease_ms == LEASE_NONE)
		return STATUS_INVALID;
	if (statuses == NULL || objects == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_keys; i++) {
		statuses[i] = STATUS_NOT_FOUND;
		if (objects[i] != NULL)
			statuses[i] =
				object_is_readable(objects[i]) ? STATUS_OK : STATUS_NOT_COMPLETE;
	}
	if ((msg->flags & EXIST_LEASE) != 0)
		lease_all(peer->master, objects, msg->n_keys,
			  lease_len(peer->master, msg->lease_ms));
	return handle_fates(out, statuses, msg->n_keys);
}

/* ---- get_replica_list ---- */

static bool
is_offered(const struct replica *rep)
{
	return rep->state == REPLICA_COMPLETE && segment_is_here(rep->segment);
}

static bool
is_doubtful(const struct segment *segment)
{
	return segment->state == SEGMENT_SUSPECT || segment->is_failing;
}

/* Copies whose provider is silent, or does not answer as others say, come last. */
static int
tell_copies(struct buf *out, const struct object *object, bool doubtful)
{
	int r = 0;

	object_each_replica(object, rep) {
		if (!is_offered(rep) || is_doubtful(rep->segment) != doubtful)
			continue;
		if (r == 0)
			r = codec_put_u64(out, rep->segment->id);
		if (r == 0)
			r = codec_put_u64(out, rep->segment->epoch);
		if (r == 0)
			r = codec_put_u32(out, rep->n_extents);
		for (uint32_t i = 0; i < rep->n_extents && r == 0; i++) {
			struct rec_extent rec = {replica_extents(rep)[i].offset_bytes,
						 replica_extents(rep)[i].len_bytes};

			r = rec_extent_encode(out, &rec);
		}
	}
	return r;
}

static int
tell_object(struct master *master, struct buf *out, struct object *object, uint32_t lease_ms)
{
	struct rec_object_place rec = {
		.status = STATUS_OK,
		.object_id = object->id,
		.len_bytes = object->len_bytes,
		.has_crc = object->has_crc,
		.crc = object->crc,
		.lease_ms = lease_ms,
		.lease_id = lease_ms > 0 ? lease_grant(master, object, lease_ms) : 0,
	};
	uint32_t n = 0;
	int r = rec_object_place_encode(out,
					&rec); /* ends in an empty list: its count is set below */

	object_each_replica(object, rep)
		n += is_offered(rep);
	if (r == 0)
		codec_list_end(out, buf_len(out) - sizeof(uint32_t), n);
	if (r == 0)
		r = tell_copies(out, object, /* doubtful= */ false);
	if (r == 0)
		r = tell_copies(out, object, /* doubtful= */ true);
	return r;
}

static int
tell_none(struct buf *out, uint32_t status)
{
	struct rec_object_place none = {.status = status};

	return rec_object_place_encode(out, &none);
}

int
handle_get_replica_list(struct peer *peer, const struct msg_get_replica_list *msg, struct buf *out)
{
	struct master *master = peer->master;
	uint32_t lease_ms = lease_len(master, msg->lease_ms);
	struct object **objects = find_all(peer, msg->keys, msg->n_keys);
	int r = objects == NULL ? CODEC_E_NO_MEMORY : codec_put_u32(out, msg->n_keys);
	uint32_t n_used = 0, n_missed = 0;

	for (uint32_t i = 0; i < msg->n_keys && r == 0; i++) {
		struct object *object = objects[i];

		n_missed += object == NULL || !object_is_readable(object);
		if (object == NULL) {
			r = tell_none(out, STATUS_NOT_FOUND);
		} else if (!object_is_readable(object)) {
			r = tell_none(out, STATUS_NOT_COMPLETE);
		} else {
			r = tell_object(master, out, object, lease_ms);
			if (lease_ms > 0 && lease_is_use(master, object))
				objects[n_used++] = object; /* among those told of already */
		}
	}
	while (n_used > 0) {
		struct object *object = objects[--n_used];

		ages_use(object);
		if (object->is_on_disk)
			promote_used(master, object);
	}
	if (lease_ms > 0) {
		counter_add(&master->counters.gets, msg->n_keys);
		counter_add(&master->counters.gets_missed, n_missed);
	}
	return handle_encoded(r);
}

/* ---- leases ---- */

int
handle_renew_lease(struct peer *peer, const struct msg_renew_lease *msg, struct buf *out)
{
	struct master *master = peer->master;
	uint32_t lease_ms = lease_len(master, msg->lease_ms);
	int r = codec_put_u32(out, msg->n_leases);

	for (uint32_t i = 0; i < msg->n_leases && r == 0; i++) {
		const struct rec_lease *lease = &msg->leases[i];
		struct rec_lease_fate fate = {STATUS_LEASE_EXPIRED, 0};

		if (lease_renew_of(master, lease->object_id, lease->lease_id, lease_ms))
			fate = (struct rec_lease_fate){STATUS_OK, lease_ms};
		r = rec_lease_fate_encode(out, &fate);
	}
	counter_add(&master->counters.leases_renewed, msg->n_leases);
	return handle_encoded(r);
}

int
handle_release_lease(struct peer *peer, const struct msg_release_lease *msg, struct buf *out)
{
	struct master *master = peer->master;

	(void)out;
	for (uint32_t i = 0; i < msg->n_leases; i++) {
		const struct rec_lease *lease = &msg->leases[i];

		lease_release_of(master, lease->object_id, lease->lease_id);
	}
	return STATUS_OK;
}
