/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put_stream.h -- an object in the making, written piece by piece.
 *
 *      0              filled                len                room
 *      |== written ====|-- never written ----|                  |     in the granted room
 *               |#### stage ####|                                     small writes, not moved yet
 *
 *      filled  below it every byte of the room is ours; above it lie somebody's old bytes, so
 *              whatever is skipped is filled with zeros before filled passes it
 *      sum     of [0, filled), as long as nothing below filled is written again; else the bytes
 *              are read back once at the end
 *
 * Nothing is asked of the master before the stage overflows: a small object costs what
 * tiffin_put() costs.
 *
 * thread:  one at a time; the beat thread extends the write lease when is_busy is not set.
 *          is_busy and `at` are guarded by the client's lock; the rest belongs to whoever set it.
 */
#ifndef CORE_PUT_STREAM_H
#define CORE_PUT_STREAM_H

#include "core/client.h"
#include "core/stage.h"
#include "core/writing.h"

#define PUT_MAGIC 0x74707574u

struct tiffin_put {
	unsigned magic;
	struct tiffin_client *client;
	struct list_link at; /* in client->puts */
	bool is_busy;

	char *key;
	struct tiffin_put_options options;
	uint64_t preferred[TIFFIN_REPLICAS_MAX], preferred_nof[TIFFIN_REPLICAS_MAX];
	char group[TIFFIN_GROUP_MAX + 1];
	uint8_t *attr;
	uint64_t first_room_bytes;

	int failed; /* TIFFIN_E_*: it can't become an object any more */
	uint64_t len_bytes, filled_bytes;
	bool is_summed;
	uint32_t crc;
	struct stage stage;
	bool is_started;
	struct writing writing;
};

/* put_stream_take, put_stream_drop -- from one to the other the stream is ours; waits for the beat.
 */
void put_stream_take(struct tiffin_put *put);
void put_stream_drop(struct tiffin_put *put);

/* put_stream_renew -- extend the write lease of streams that lie idle; busy ones do it themselves.
 */
void put_stream_renew(struct tiffin_client *client);

/*
 * The following need the turn; result: 0 or TIFFIN_E_*.
 *
 * put_stream_room   room in the segments up to end_bytes; asks for the first if there is none
 * put_stream_write  bytes at an offset, into the stage or through it into the room
 * put_stream_flush  the stage into the room
 * put_stream_zeros  zeros from filled up to end_bytes
 * put_stream_read   a part (writing.h) of the room back; needs: it lies below filled
 * put_stream_sum    the sum of all bytes, reading them back when it is not known
 */
int put_stream_room(struct tiffin_put *put, uint64_t end_bytes, uint64_t until_ns);
int put_stream_write(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		     size_t n_slices, uint64_t until_ns);
int put_stream_flush(struct tiffin_put *put, uint64_t until_ns);
int put_stream_zeros(struct tiffin_put *put, uint64_t end_bytes, uint64_t until_ns);
int put_stream_read(struct tiffin_put *put, const struct op *part, uint64_t until_ns);
int put_stream_sum(struct tiffin_put *put, uint64_t until_ns);

#endif
