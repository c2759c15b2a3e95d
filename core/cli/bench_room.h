/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_room.h -- room in one segment to measure transfers in: a put that nobody will ever see.
 *
 *      segment   |......|######## room ########|.........|      others' bytes are not touched
 *
 * It is held by a put like any other, under its write lease, so whatever happens to this process,
 * the master knows how to get the room back.  The room's byte i is the pattern's byte i.
 *
 * thread:  one.
 */
#ifndef CORE_CLI_BENCH_ROOM_H
#define CORE_CLI_BENCH_ROOM_H

#include "core/put_stream.h"

struct bench_room {
	struct tiffin_client *client;
	struct tiffin_put *put; /* the turn is ours */
	const struct target_desc *desc;
	uint64_t at_bytes, len_bytes; /* in the segment */
};

enum bench_room_outcome {
	BENCH_ROOM_E_ELSEWHERE = 1, /* the segment has no such room in one run */
};

/*
 * bench_room_open -- and fill it with the pattern.
 *
 * key      of the put that holds it.
 * pattern  len_bytes.
 * result:  0, BENCH_ROOM_E_ELSEWHERE, TIFFIN_E_*.
 */
int bench_room_open(struct bench_room *room, struct tiffin_client *client, const char *key,
		    uint64_t segment_id, const struct iovec *pattern) MUST_CHECK;

/* bench_room_close -- NULL `put` is nothing. */
void bench_room_close(struct bench_room *room);

/* bench_room_token -- to read, or to write it; good until the next bench_room_begin(). */
const struct token *bench_room_token(const struct bench_room *room, enum op_kind kind);

/*
 * bench_room_begin -- ops may be under way until bench_room_finish(): the lease was looked after.
 *
 * result:  0 or TIFFIN_E_*; then no op may be begun.
 */
int bench_room_begin(struct bench_room *room, struct writing_span *span) MUST_CHECK;

/* bench_room_finish -- all have completed.  is_quiet: no write among them was lost, which might
 * still arrive: then the room could be used again only after a fence. */
void bench_room_finish(struct bench_room *room, struct writing_span *span, bool is_quiet);

#endif
