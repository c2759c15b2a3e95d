/* SPDX-License-Identifier: Apache-2.0 */

/* handle_segment.c -- mount_segment, unmount_segment, query_segment. */
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/err.h"

int
handle_fates(struct buf *out, const uint32_t *statuses, uint32_t n)
{
	int r = codec_put_u32(out, n);

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = codec_put_u32(out, statuses[i]);
	return handle_encoded(r);
}

static bool
is_sound(const struct rec_segment_lent *lent)
{
	return lent->segment_id != 0 && lent->segment_id <= INT64_MAX && lent->segment_epoch != 0 &&
	       lent->segment_epoch <= INT64_MAX && segment_size_is_sound(lent->size_bytes) &&
	       lent->medium >= MEDIUM_DRAM && lent->medium <= MEDIUM_NOF &&
	       lent->former_lease_ms <= LEASE_MS_MAX;
}

static int
mount_one(struct peer *peer, const struct rec_segment_lent *lent)
{
	int r;

	if (!is_sound(lent))
		return STATUS_INVALID;
	r = segment_mount(peer->master, peer->client, lent);
	if (r == MOUNT_E_EXISTS)
		return STATUS_SEGMENT_EXISTS;
	if (r == MOUNT_E_LATER)
		return STATUS_UNAVAILABLE;
	return r < 0 ? err_up(r) : STATUS_OK;
}

int
handle_mount_segment(struct peer *peer, const struct msg_mount_segment *msg, struct buf *out)
{
	uint32_t statuses[SEGMENTS_MAX];

	for (uint32_t i = 0; i < msg->n_segments; i++) {
		int r = mount_one(peer, &msg->segments[i]);

		statuses[i] = r < 0 ? STATUS_UNAVAILABLE : (uint32_t)r;
	}
	return handle_fates(out, statuses, msg->n_segments);
}

int
handle_unmount_segment(struct peer *peer, const struct msg_unmount_segment *msg, struct buf *out)
{
	uint32_t statuses[SEGMENTS_MAX];

	for (uint32_t i = 0; i < msg->n_segments; i++) {
		struct segment *segment = segment_find(peer->master, msg->segments[i].id);

		statuses[i] = STATUS_OK;
		if (segment == NULL || segment->state == SEGMENT_LEAVING)
			statuses[i] = STATUS_SEGMENT_NOT_FOUND;
		else if (segment->client != peer->client)
			statuses[i] = STATUS_NOT_YOURS;
		else
			segment_leave(peer->master, segment);
	}
	return handle_fates(out, statuses, msg->n_segments);
}

/* ---- query ---- */

/* A read token lasts four write leases: long enough to be asked for rarely, short enough to be
 * forgotten. */
static uint64_t
token_ms(const struct master *master)
{
	return 4 * master->limits.write_lease_ms;
}

/* As SEGMENT_STATE tells it: a drain, and a rest, show while all is well otherwise. */
static uint8_t
shown_state(const struct segment *segment)
{
	static const uint8_t drains[] = {SEGMENT_OK, 5, 6};

	if (segment->state == SEGMENT_OK && segment->drain == DRAIN_NONE && segment->is_failing)
		return 7;
	return segment->state == SEGMENT_OK ? drains[segment->drain] : (uint8_t)segment->state;
}

static int
tell_segment(struct peer *peer, struct buf *out, const struct segment *segment)
{
	const struct master *master = peer->master;
	struct token token = {
		.client_id = peer->client->id,
		.rights = TOKEN_READ | TOKEN_MAP,
	};
	struct rec_segment_state rec = {
		.status = STATUS_OK,
		.segment_id = segment->id,
		.segment_epoch = segment->epoch,
		.size_bytes = segment->size_bytes,
		.used_bytes = segment_used_bytes(segment),
		.resting_bytes = segment->resting_bytes,
		.hole_bytes = alloc_hole_bytes(segment->alloc),
		.client_id = segment->client == NULL ? 0 : segment->client->id,
		.medium = segment->medium,
		.state = shown_state(segment),
		.name = span_of(segment->name, strlen(segment->name)),
		.host = span_of(segment->host, strlen(segment->host)),
		.endpoint = span_of(segment->endpoint, strlen(segment->endpoint)),
	};

	if (segment_is_here(segment)) {
		segment_token(segment, &token, master->now_ms, token_ms(master));
		rec.token_ms = token_ms(master);
		rec.until_ms = token.until_ms;
		memcpy(rec.mac.bytes, token.mac, sizeof(rec.mac.bytes));
	}
	return handle_encoded(rec_segment_state_encode(out, &rec));
}

static int
compare_segments(const void *a, const void *b)
{
	uint64_t x = (*(struct segment *const *)a)->id, y = (*(struct segment *const *)b)->id;

	return (x > y) - (x < y);
}

static int
tell_all(struct peer *peer, struct buf *out, uint64_t after_id)
{
	struct master *master = peer->master;
	struct segment **all = arena_alloc(&master->arena, master->segments.n + 1, sizeof(*all));
	size_t at, n = 0;
	uint32_t n_told = 0;

	if (all == NULL || codec_list_begin(out, &at) != 0)
		return STATUS_UNAVAILABLE;
	list_each(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		if (segment->id > after_id)
			all[n++] = segment;
	}
	qsort(all, n, sizeof(*all), compare_segments);
	for (size_t i = 0; i < n && n_told < BATCH_MAX; i++, n_told++) {
		int status = tell_segment(peer, out, all[i]);

		if (status != STATUS_OK)
			return status;
	}
	codec_list_end(out, at, n_told);
	return STATUS_OK;
}

int
handle_query_segment(struct peer *peer, const struct msg_query_segment *msg, struct buf *out)
{
	if (msg->n_segments == 0)
		return tell_all(peer, out, msg->after_id);

	if (codec_put_u32(out, msg->n_segments) != 0)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_segments; i++) {
		const struct segment *segment = segment_find(peer->master, msg->segments[i].id);
		struct rec_segment_state none = {.status = STATUS_SEGMENT_NOT_FOUND,
						 .segment_id = msg->segments[i].id};
		int status = segment == NULL ? handle_encoded(rec_segment_state_encode(out, &none))
					     : tell_segment(peer, out, segment);

		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}
