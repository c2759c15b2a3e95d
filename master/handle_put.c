/* SPDX-License-Identifier: Apache-2.0 */

/* handle_put.c -- put_start, put_extend, put_end, put_revoke. */
#include <inttypes.h>
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "master/pin.h"
#include "master/place.h"
#include "master/quota.h"
#include "master/shortage.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

/* ---- what a writer is told: every extent with a token of its own ---- */

struct rec_grant
handle_grant(const struct put *put, const struct segment *segment, struct extent extent)
{
	const struct master *master = put->master;
	struct token token = {
		.client_id = put->client->id,
		.offset_bytes = extent.offset_bytes,
		.len_bytes = extent.len_bytes,
		.rights = TOKEN_WRITE | TOKEN_READ,
	};
	struct rec_grant rec = {.offset_bytes = extent.offset_bytes, .len_bytes = extent.len_bytes};

	segment_token(segment, &token, master->now_ms, master->limits.write_lease_ms);
	rec.until_ms = token.until_ms;
	memcpy(rec.mac.bytes, token.mac, sizeof(rec.mac.bytes));
	return rec;
}

static int
tell_extent(struct buf *out, const struct put *put, const struct segment *segment,
	    struct extent extent)
{
	struct rec_grant rec = handle_grant(put, segment, extent);

	return rec_grant_encode(out, &rec);
}

static int
tell_replicas(struct buf *out, const struct put *put)
{
	int r = codec_put_u32(out, put->object->n_replicas);

	object_each_replica(put->object, rep) {
		if (r == 0)
			r = codec_put_u64(out, rep->segment->id);
		if (r == 0)
			r = codec_put_u64(out, rep->segment->epoch);
		if (r == 0)
			r = codec_put_u32(out, rep->n_extents);
		for (uint32_t i = 0; i < rep->n_extents && r == 0; i++)
			r = tell_extent(out, put, rep->segment, replica_extents(rep)[i]);
	}
	return r;
}

/* ---- put_start ---- */

static uint32_t
status_of(int outcome)
{
	switch (outcome) {
	case PUT_E_EXISTS:
		return STATUS_EXISTS;
	case PUT_E_FULL:
		return STATUS_NO_SPACE;
	case PUT_E_AWAY:
		return STATUS_NOT_COMPLETE;
	case PUT_E_NO_SEGMENT:
		return STATUS_NO_SEGMENT;
	case PUT_E_QUOTA:
		return STATUS_QUOTA_EXCEEDED;
	default:
		return outcome < 0 ? STATUS_UNAVAILABLE : STATUS_OK;
	}
}

/*
 * No room for one item: send on their way what may go, less what is going already, and wait; unless
 * even empty segments would be too small for it, or nothing moves: nothing rests, nobody is
 * putting, nothing may go.
 *
 * all_bytes  of this and the items behind it there, so that the request need not come back for
 * each.
 */
static bool
make_room(struct master *master, uint64_t all_bytes, bool is_strict)
{
	const struct lack *lack = &master->lack;
	uint64_t wanted = num_min(all_bytes + all_bytes / 4, master->pool_bytes[lack->kind]);
	uint64_t coming, resting = shortage_resting(master, lack->kind, &coming);
	uint64_t going = 0;

	if (lack->kind == POOL_MEMORY)
		coming = num_add_sat(coming, master->offload.bytes);
	if (master->is_last_try || !shortage_may_fit(master, lack, is_strict ? lack->n : 1))
		return false;
	if (wanted > coming)
		going = evict_kind(master, lack->kind, wanted - coming, 4 * BATCH_MAX);
	if (going == 0 && resting == 0 && master->offload.n_offloads == 0 &&
	    list_is_empty(&master->puts))
		return false;
	store_want_sync(master->store);
	master->wants_room = true;
	return true;
}

struct started {
	struct put *put;
	uint32_t status;
};

static void
undo_all(struct master *master, struct started *started, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (started[i].put != NULL)
			put_undo(master, started[i].put);
}

/* Copies of each object. */
static unsigned
n_copies(const struct msg_put_start *msg)
{
	return msg->replica_num + msg->nof_replica_num;
}

/* Of item i and those behind it what is to lie there, as far as each of them may ever fit. */
static uint64_t
bytes_from(const struct master *master, const struct msg_put_start *msg, uint32_t i,
	   enum pool_kind kind)
{
	uint64_t n = kind == POOL_NOF ? msg->nof_replica_num : msg->replica_num;
	uint64_t most_bytes = num_min(shortage_largest(master, kind), OBJECT_LEN_MAX), bytes = 0;

	for (; i < msg->n_puts; i++)
		if (msg->puts[i].len_bytes <= most_bytes)
			bytes += msg->puts[i].len_bytes * n;
	return bytes;
}

/* May some of it fit, if there were room? */
static bool
wants_room(const struct master *master, const struct msg_put_start *msg)
{
	return bytes_from(master, msg, 0, place_home(master, POOL_MEMORY)) > 0 ||
	       bytes_from(master, msg, 0, POOL_NOF) > 0;
}

/* So many keys are looked up together, that each waits for its memory while the others go on. */
#define LOOK_AT_ONCE 64

/*
 * find_some -- which of these keys have an object, in found[0..n).
 *
 * Within a put_start objects may leave the index, but none enters it: what is missing stays so.
 */
static void
find_some(const struct tenant *tenant, const struct rec_put *puts, uint32_t n, struct key **found)
{
	struct index_probe probes[LOOK_AT_ONCE];

	for (uint32_t i = 0; i < n; i++)
		probes[i] = (struct index_probe){puts[i].key.at, puts[i].key.len};
	index_get_all(tenant->index, probes, n, found);
}

/* Room of item i, all copies. */
static uint64_t
room_of(const struct msg_put_start *msg, uint32_t i)
{
	uint64_t len_bytes = num_min(msg->puts[i].len_bytes, OBJECT_LEN_MAX);

	return extent_room_bytes((struct extent){0, len_bytes}) * n_copies(msg);
}

/* Item i is over its tenant's quota: true: it may not be so in a moment.  Of several the first
 * asks. */
static bool
make_quota(struct peer *peer, const struct msg_put_start *msg, uint32_t i)
{
	struct quota_wish wish = {.one_bytes = room_of(msg, i), .n_objects = msg->n_puts - i};

	if (peer->master->why[0] != '\0')
		return false;
	for (uint32_t at = i; at < msg->n_puts; at++)
		wish.all_bytes = num_add_sat(wish.all_bytes, room_of(msg, at));
	if (quota_make_room(peer->master, peer->client->tenant, &wish))
		return true;
	quota_say_why(peer->master, peer->client->tenant, wish.one_bytes);
	return false;
}

static void
read_preferred(const struct rec_id *ids, uint32_t n, enum pool_kind kind, struct copies_wish *to)
{
	for (uint32_t i = 0; i < n; i++)
		to->preferred[kind][i] = ids[i].id;
	to->n_preferred[kind] = (uint8_t)n;
}

static struct copies_wish
read_copies(const struct msg_put_start *msg)
{
	struct copies_wish copies = {
		.n = {[POOL_MEMORY] = msg->replica_num, [POOL_NOF] = msg->nof_replica_num},
		.is_strict = (msg->flags & PUT_STRICT) != 0,
	};

	read_preferred(msg->preferred, msg->n_preferred, POOL_MEMORY, &copies);
	read_preferred(msg->preferred_nof, msg->n_preferred_nof, POOL_NOF, &copies);
	return copies;
}

/* Its first copy, if that is in memory, has shown where the others of the request are to go. */
static void
note_node(const struct put *put, struct copies_wish *copies)
{
	const struct segment *segment;

	if (copies->beside_id != 0 || put->object->replicas == NULL)
		return;
	segment = put->object->replicas->segment;
	if (pool_kind_of(segment) == POOL_MEMORY)
		copies->beside_id = segment->id;
}

/* One that is refused: counted, and why, as far as the status does not tell. */
static void
note_refusal(struct master *master, int outcome)
{
	switch (outcome) {
	case PUT_E_FULL:
		counter_add(&master->counters.puts_no_space, 1);
		shortage_say_full(master);
		event_words(master, EVENT_put_refused, master->why);
		break;
	case PUT_E_QUOTA:
		counter_add(&master->counters.puts_over_quota, 1);
		event_words(master, EVENT_put_over_quota, master->why);
		break;
	case PUT_E_NO_SEGMENT:
		counter_add(&master->counters.puts_no_segment, 1);
		shortage_say_none(master);
		event_words(master, EVENT_put_no_segment, master->why);
		break;
	default:
		break;
	}
}

/* One item.  0; HANDLE_PARK: there may be room in a moment; STATUS_TOO_MANY. */
static int
start_one(struct peer *peer, const struct msg_put_start *msg, uint32_t i, struct put_wish *wish,
	  struct started *ret)
{
	struct master *master = peer->master;
	struct copies_wish copies = *wish->copies;
	int r;

	if (wish->len_bytes > OBJECT_LEN_MAX) {
		ret->status = STATUS_INVALID;
		return 0;
	}
	r = put_open(master, peer->client, wish, &ret->put);
	if (r == PUT_E_TOO_MANY) {
		why_refused(master,
			    "at most %d puts of one client may be under way without room; "
			    "write to some of them, or end them",
			    EMPTY_PUTS_MAX);
		return STATUS_TOO_MANY;
	}
	if (r == PUT_E_FULL &&
	    make_room(master, bytes_from(master, msg, i, master->lack.kind), copies.is_strict))
		return HANDLE_PARK;
	if (r == PUT_E_QUOTA && make_quota(peer, msg, i))
		return HANDLE_PARK;
	if (r == PUT_E_FULL && copies.n[POOL_NOF] > 0 && !copies.is_strict) {
		copies.settles = true;
		wish->copies = &copies;
		r = put_open(master, peer->client, wish, &ret->put);
	}
	ret->status = status_of(r);
	note_refusal(master, r);
	return 0;
}

/* Every item, or HANDLE_PARK with none begun. */
static int
start_all(struct peer *peer, const struct msg_put_start *msg, struct started *started)
{
	bool replaces = (msg->flags & PUT_REPLACE) != 0;
	struct copies_wish copies = read_copies(msg);
	struct key *found[LOOK_AT_ONCE];

	for (uint32_t i = 0; i < msg->n_puts; i++) {
		struct put_wish wish = {
			.key = msg->puts[i].key.at,
			.key_len = msg->puts[i].key.len,
			.len_bytes = msg->puts[i].len_bytes,
			.copies = &copies,
			.group = msg->n_groups == 0 ? (struct span){0} : msg->groups[i].id,
			.replaces = replaces,
			.pin = msg->pin,
			.pin_ttl_ms = (uint32_t)msg->pin_ttl_ms,
		};
		int r;

		if (!replaces && i % LOOK_AT_ONCE == 0)
			find_some(peer->client->tenant, &msg->puts[i],
				  num_min(msg->n_puts - i, LOOK_AT_ONCE), found);
		wish.is_new = !replaces && found[i % LOOK_AT_ONCE] == NULL;
		r = start_one(peer, msg, i, &wish, &started[i]);
		if (r != 0) {
			undo_all(peer->master, started, i);
			return r;
		}
		if ((msg->flags & PUT_SAME_NODE) != 0 && started[i].put != NULL)
			note_node(started[i].put, &copies);
	}
	return STATUS_OK;
}

static bool
has_groups(const struct msg_put_start *msg)
{
	for (uint32_t i = 0; i < msg->n_groups; i++)
		if (msg->groups[i].id.len > GROUP_MAX)
			return false;
	return msg->n_groups == 0 || msg->n_groups == msg->n_puts;
}

static bool
is_sound(const struct msg_put_start *msg)
{
	return n_copies(msg) >= 1 && n_copies(msg) <= REPLICAS_MAX &&
	       (msg->flags & ~(PUT_REPLACE | PUT_STRICT | PUT_SAME_NODE)) == 0 &&
	       pin_is_sound(msg->pin, msg->pin_ttl_ms) && has_groups(msg);
}

/* The words behind the places. */
static int
tell_why(struct buf *out, const char *why)
{
	size_t len = strlen(why);
	int r = codec_put_u16(out, (uint16_t)len);

	return r != 0 || buf_append(out, why, len) == 0 ? r : CODEC_E_NO_MEMORY;
}

int
handle_put_start(struct peer *peer, const struct msg_put_start *msg, struct buf *out)
{
	struct master *master = peer->master;
	struct started *started = arena_alloc(&master->arena, msg->n_puts + 1u, sizeof(*started));
	size_t head = buf_len(out);
	int r;

	if (started == NULL)
		return STATUS_UNAVAILABLE;
	if (!is_sound(msg))
		return STATUS_INVALID;
	if (parked_goes_first(master) && wants_room(master, msg)) {
		master->wants_room = true;
		return HANDLE_PARK;
	}
	r = start_all(peer, msg, started);
	if (r != STATUS_OK)
		return r;

	r = codec_put_u32(out, (uint32_t)master->limits.write_lease_ms);
	if (r == 0)
		r = codec_put_u32(out, msg->n_puts);
	for (uint32_t i = 0; i < msg->n_puts && r == 0; i++) {
		const struct put *put = started[i].put;

		r = codec_put_u32(out, started[i].status);
		if (r == 0)
			r = codec_put_u64(out, put == NULL ? 0 : put->object->id);
		if (r == 0)
			r = put == NULL ? codec_put_u32(out, 0) : tell_replicas(out, put);
		if (buf_len(out) - head > FRAME_PAYLOAD_MAX)
			r = STATUS_TOO_MANY; /* of many pieces: ask for fewer objects at once */
	}
	if (r == 0)
		r = tell_why(out, master->why);
	if (r != 0)
		undo_all(master, started, msg->n_puts);
	return r == STATUS_TOO_MANY ? r : handle_encoded(r);
}

/* ---- put_extend ---- */

/* The put, if it is this client's; else NULL and why. */
static struct put *
find_put(struct peer *peer, uint64_t object_id, uint32_t *ret_status)
{
	struct put *put = object_id == 0 ? NULL : map_get(&peer->master->puts_by_id, object_id);

	*ret_status = STATUS_OK;
	if (put == NULL)
		*ret_status = STATUS_NOT_FOUND;
	else if (put->client != peer->client)
		*ret_status = STATUS_NOT_YOURS;
	return *ret_status == STATUS_OK ? put : NULL;
}

static bool
make_more_quota(struct peer *peer, const struct put *put, uint64_t more_bytes)
{
	uint64_t bytes =
		extent_room_bytes((struct extent){0, more_bytes}) * copies_wanted(&put->copies);
	struct quota_wish wish = {.one_bytes = bytes, .all_bytes = bytes};

	if (quota_make_room(peer->master, put->object->tenant, &wish))
		return true;
	quota_say_why(peer->master, put->object->tenant, bytes);
	return false;
}

int
handle_put_extend(struct peer *peer, const struct msg_put_extend *msg, struct buf *out)
{
	struct master *master = peer->master;
	uint32_t status;
	struct put *put = find_put(peer, msg->object_id, &status);
	uint64_t room;
	int r;

	if (put == NULL)
		return (int)status;
	if (!num_add(put->room_bytes, msg->more_bytes, &room) || room > OBJECT_LEN_MAX ||
	    (put->is_copy && msg->more_bytes > 0))
		return STATUS_INVALID;
	r = put_grow(master, put, msg->more_bytes);
	if (r == PUT_E_FULL &&
	    make_room(master, msg->more_bytes * copies_wanted(&put->copies), put->copies.is_strict))
		return HANDLE_PARK;
	if (r == PUT_E_QUOTA && make_more_quota(peer, put, msg->more_bytes))
		return HANDLE_PARK;
	if (r == PUT_E_FULL && put->room_bytes == 0 && !put->copies.is_strict) {
		put->copies.settles = true;
		r = put_grow(master, put, msg->more_bytes);
	}
	note_refusal(master, r);
	if (r != 0)
		return (int)status_of(r);

	r = codec_put_u32(out, (uint32_t)master->limits.write_lease_ms);
	return handle_encoded(r != 0 ? r : tell_replicas(out, put));
}

/* ---- put_end, put_revoke ---- */

/* foresee_ends -- the memory of some puts' places in the index is called for, all at once. */
static void
foresee_ends(const struct peer *peer, const struct rec_put_done *recs, uint32_t n)
{
	const struct master *master = peer->master;
	struct index_probe probes[LOOK_AT_ONCE];
	size_t n_probes = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = recs[i].object_id;
		const struct put *put = id == 0 ? NULL : map_get(&master->puts_by_id, id);

		if (put == NULL || put->client != peer->client)
			continue;
		map_foresee(&master->objects, id);
		probes[n_probes++] =
			(struct index_probe){put->object->key.bytes, put->object->key.len_bytes};
	}
	index_foresee_puts(peer->client->tenant->index, probes, n_probes);
}

static uint32_t
end_one(struct peer *peer, const struct rec_put_done *rec, uint64_t now_wall_ms)
{
	struct master *master = peer->master;
	struct put_done done = {
		.len_bytes = rec->len_bytes,
		.put_at_ms = now_wall_ms,
		.attr = rec->attr.at,
		.attr_len = (uint16_t)rec->attr.len,
		.crc = rec->crc,
		.has_crc = rec->has_crc != 0,
	};
	uint32_t status;
	struct put *put = find_put(peer, rec->object_id, &status);

	/* Ended before, and the master was restarted since: the same answer. */
	if (put == NULL && rec->object_id != 0) {
		struct object *object = map_get(&master->objects, rec->object_id);

		if (object != NULL && object->tenant == peer->client->tenant &&
		    object->len_bytes == rec->len_bytes && object->crc == rec->crc) {
			books_hold(master, object->batch);
			return STATUS_OK;
		}
	}
	if (put == NULL)
		return status;
	if (done.len_bytes > put->room_bytes || put->is_copy) /* that ends with report_task */
		return STATUS_INVALID;
	return status_of(put_close(master, put, &done));
}

int
handle_put_end(struct peer *peer, const struct msg_put_end *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_puts);
	uint64_t now_wall_ms = clock_wall_ms(peer->master->clock);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	ages_batch_begin(&peer->client->tenant->ages);
	for (uint32_t i = 0; i < msg->n_puts; i++) {
		if (i % LOOK_AT_ONCE == 0)
			foresee_ends(peer, &msg->puts[i], num_min(msg->n_puts - i, LOOK_AT_ONCE));
		statuses[i] = end_one(peer, &msg->puts[i], now_wall_ms);
	}
	ages_batch_end(&peer->client->tenant->ages);
	return handle_fates(out, statuses, msg->n_puts);
}

int
handle_put_revoke(struct peer *peer, const struct msg_put_revoke *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_puts);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_puts; i++) {
		struct put *put = find_put(peer, msg->puts[i].id, &statuses[i]);

		if (put == NULL)
			continue;
		put_fail(peer->master, put, msg->is_quiet != 0);
		peer->master->has_new_room |= msg->is_quiet != 0;
		counter_add(&peer->master->counters.puts_revoked, 1);
	}
	return handle_fates(out, statuses, msg->n_puts);
}
