/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/bench_room.h"

/* grant -- the run of the segment in which the room lies. */
static const struct writing_grant *
grant(const struct bench_room *room)
{
	return &room->put->writing.replicas[0].grants[0];
}

/* settle -- is what was granted what was wanted? */
static int
settle(struct bench_room *room, uint64_t segment_id, uint64_t len_bytes)
{
	const struct writing_replica *replica = &room->put->writing.replicas[0];

	if (replica->spot->target->desc.segment_id != segment_id ||
	    grant(room)->token.len_bytes < len_bytes)
		return BENCH_ROOM_E_ELSEWHERE;
	room->desc = &replica->spot->target->desc;
	room->at_bytes = grant(room)->token.offset_bytes;
	room->len_bytes = len_bytes;
	return 0;
}

int
bench_room_open(struct bench_room *room, struct tiffin_client *client, const char *key,
		uint64_t segment_id, const struct iovec *pattern)
{
	const struct tiffin_put_options options = {
		.struct_bytes = sizeof(options), .preferred = &segment_id, .n_preferred = 1};
	uint64_t until_ns = client_until(client);
	int r;

	*room = (struct bench_room){.client = client};
	r = tiffin_put_begin(client, key, pattern->iov_len, &options, &room->put);
	if (r < 0)
		return r;
	put_stream_take(room->put);
	r = put_stream_room(room->put, pattern->iov_len, until_ns);
	if (r == 0)
		r = settle(room, segment_id, pattern->iov_len);
	if (r == 0)
		r = put_stream_write(room->put, 0, pattern, 1, client_until(client));
	if (r == 0)
		r = put_stream_flush(room->put, client_until(client));
	if (r != 0)
		bench_room_close(room);
	return r;
}

void
bench_room_close(struct bench_room *room)
{
	if (room->put == NULL)
		return;
	put_stream_drop(room->put);
	tiffin_put_abort(room->put);
	room->put = NULL;
}

const struct token *
bench_room_token(const struct bench_room *room, enum op_kind kind)
{
	return kind == OP_READ ? &room->put->writing.replicas[0].spot->token : &grant(room)->token;
}

int
bench_room_begin(struct bench_room *room, struct writing_span *span)
{
	int r = put_stream_room(room->put, room->len_bytes, client_until(room->client));

	if (r < 0)
		return r;
	if (!writing_holds(&room->put->writing) ||
	    !writing_begin(room->client, span, &room->put->writing.era))
		return TIFFIN_E_LEASE;
	return 0;
}

void
bench_room_finish(struct bench_room *room, struct writing_span *span, bool is_quiet)
{
	room->put->writing.is_quiet &= is_quiet;
	writing_finish(room->client, span);
}
