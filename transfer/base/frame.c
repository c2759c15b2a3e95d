/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/frame.h"

#include <string.h>

#include "transfer/base/crc.h"
#include "transfer/base/err.h"

/* Where each field begins; see the picture in frame.h. */
enum {
	AT_MAGIC = 0,
	AT_LENGTH = 4,
	AT_TYPE = 8,
	AT_FLAGS = 10,
	AT_STATUS = 12,
	AT_REQUEST_ID = 16,
	AT_CRC = 24,
	AT_ZERO = 28,
};

static void
put_uint(uint8_t *at, uint64_t v, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t
get_uint(const uint8_t *at, size_t n_bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n_bytes; i++)
		v |= (uint64_t)at[i] << (8 * i);
	return v;
}

/* frame_crc -- over all of it, as if the field of the crc were 0. */
static uint32_t
frame_crc(const uint8_t *frame, size_t len_bytes)
{
	static const uint8_t no_crc[AT_ZERO - AT_CRC];
	uint32_t crc;

	crc = crc_of(0, frame, AT_CRC);
	crc = crc_of(crc, no_crc, sizeof(no_crc));
	return crc_of(crc, frame + AT_ZERO, len_bytes - AT_ZERO);
}

/* A wrong beginning is told from the first bytes: nobody waits for the rest of nonsense. */
static int
judge_beginning(const uint8_t *bytes, size_t len_bytes)
{
	if (len_bytes < AT_LENGTH)
		return FRAME_E_SHORT;
	if (get_uint(bytes + AT_MAGIC, 4) != FRAME_MAGIC)
		return FRAME_E_BAD;
	if (len_bytes < AT_TYPE)
		return FRAME_E_SHORT;
	if (get_uint(bytes + AT_LENGTH, 4) > FRAME_PAYLOAD_MAX)
		return FRAME_E_BAD;
	return len_bytes < FRAME_HEADER_BYTES ? FRAME_E_SHORT : 0;
}

int
frame_peek(const uint8_t *bytes, size_t len_bytes, struct frame *ret_frame, size_t *ret_len_bytes)
{
	size_t frame_bytes;
	uint64_t flags;
	int r;

	r = judge_beginning(bytes, len_bytes);
	if (r != 0)
		return r;

	flags = get_uint(bytes + AT_FLAGS, 2);
	if ((flags & ~(uint64_t)(FRAME_REPLY | FRAME_MORE)) != 0 ||
	    get_uint(bytes + AT_ZERO, 4) != 0)
		return FRAME_E_BAD;
	frame_bytes = FRAME_HEADER_BYTES + get_uint(bytes + AT_LENGTH, 4);
	if (len_bytes < frame_bytes)
		return FRAME_E_SHORT;
	if (get_uint(bytes + AT_CRC, 4) != frame_crc(bytes, frame_bytes))
		return FRAME_E_BAD;

	*ret_frame = (struct frame){
		.type = (uint16_t)get_uint(bytes + AT_TYPE, 2),
		.flags = (uint16_t)flags,
		.status = (uint32_t)get_uint(bytes + AT_STATUS, 4),
		.request_id = get_uint(bytes + AT_REQUEST_ID, 8),
		.payload = {bytes + FRAME_HEADER_BYTES, bytes + frame_bytes},
	};
	*ret_len_bytes = frame_bytes;
	return 0;
}

int
frame_begin(struct buf *to, size_t *ret_at)
{
	static const uint8_t empty[FRAME_HEADER_BYTES];
	size_t at = buf_len(to);
	int r;

	r = buf_append(to, empty, sizeof(empty));
	if (r < 0)
		return err_up(r);
	*ret_at = at;
	return 0;
}

void
frame_end(struct buf *to, size_t at, const struct frame *header)
{
	uint8_t *frame = buf_first(to) + at;
	size_t frame_bytes = buf_len(to) - at;

	assert(at <= buf_len(to) && frame_bytes >= FRAME_HEADER_BYTES);
	assert(frame_bytes - FRAME_HEADER_BYTES <= FRAME_PAYLOAD_MAX);
	assert((header->flags & ~(FRAME_REPLY | FRAME_MORE)) == 0);

	put_uint(frame + AT_MAGIC, FRAME_MAGIC, 4);
	put_uint(frame + AT_LENGTH, frame_bytes - FRAME_HEADER_BYTES, 4);
	put_uint(frame + AT_TYPE, header->type, 2);
	put_uint(frame + AT_FLAGS, header->flags, 2);
	put_uint(frame + AT_STATUS, header->status, 4);
	put_uint(frame + AT_REQUEST_ID, header->request_id, 8);
	put_uint(frame + AT_ZERO, 0, 4);
	put_uint(frame + AT_CRC, frame_crc(frame, frame_bytes), 4);
}
