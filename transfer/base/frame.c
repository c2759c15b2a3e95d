/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/frame.h"

#include <endian.h>
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

#define GET(bits)                                                                                  \
	static uint##bits##_t get_u##bits(const uint8_t *at)                                       \
	{                                                                                          \
		uint##bits##_t le;                                                                 \
                                                                                                   \
		memcpy(&le, at, sizeof(le));                                                       \
		return le##bits##toh(le);                                                          \
	}
GET(16)
GET(32)
GET(64)
#undef GET

#define PUT(bits)                                                                                  \
	static void put_u##bits(uint8_t *at, uint##bits##_t v)                                     \
	{                                                                                          \
		v = htole##bits(v);                                                                \
		memcpy(at, &v, sizeof(v));                                                         \
	}
PUT(32)
PUT(64)
#undef PUT

/* sum_of -- over all of it, as if the field of the crc were 0 (as the one behind it is). */
static uint32_t
sum_of(const uint8_t *header, const uint8_t *payload, size_t payload_bytes)
{
	static const uint8_t zeros[FRAME_HEADER_BYTES - AT_CRC];
	uint32_t crc = crc_of(0, header, AT_CRC);

	crc = crc_of(crc, zeros, sizeof(zeros));
	return crc_of(crc, payload, payload_bytes);
}

/* A wrong beginning is told from the first bytes: nobody waits for the rest of nonsense. */
static int
judge_beginning(const uint8_t *bytes, size_t len_bytes)
{
	if (len_bytes < AT_LENGTH)
		return FRAME_E_SHORT;
	if (get_u32(bytes + AT_MAGIC) != FRAME_MAGIC)
		return FRAME_E_BAD;
	if (len_bytes < AT_TYPE)
		return FRAME_E_SHORT;
	if (get_u32(bytes + AT_LENGTH) > FRAME_PAYLOAD_MAX)
		return FRAME_E_BAD;
	return len_bytes < FRAME_HEADER_BYTES ? FRAME_E_SHORT : 0;
}

int
frame_peek(const uint8_t *bytes, size_t len_bytes, struct frame *ret_frame, size_t *ret_len_bytes)
{
	size_t frame_bytes;
	unsigned flags;
	int r;

	r = judge_beginning(bytes, len_bytes);
	if (r != 0)
		return r;

	flags = get_u16(bytes + AT_FLAGS);
	if ((flags & ~(unsigned)(FRAME_REPLY | FRAME_MORE)) != 0 || get_u32(bytes + AT_ZERO) != 0)
		return FRAME_E_BAD;
	frame_bytes = FRAME_HEADER_BYTES + get_u32(bytes + AT_LENGTH);
	if (len_bytes < frame_bytes)
		return FRAME_E_SHORT;
	if (get_u32(bytes + AT_CRC) !=
	    sum_of(bytes, bytes + FRAME_HEADER_BYTES, frame_bytes - FRAME_HEADER_BYTES))
		return FRAME_E_BAD;

	*ret_frame = (struct frame){
		.type = get_u16(bytes + AT_TYPE),
		.flags = (uint16_t)flags,
		.status = get_u32(bytes + AT_STATUS),
		.request_id = get_u64(bytes + AT_REQUEST_ID),
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
	uint8_t bytes[FRAME_HEADER_BYTES] = {0};

	assert(at <= buf_len(to) && frame_bytes >= FRAME_HEADER_BYTES);
	assert(frame_bytes - FRAME_HEADER_BYTES <= FRAME_PAYLOAD_MAX);
	assert((header->flags & ~(FRAME_REPLY | FRAME_MORE)) == 0);

	/* In the words in which it is summed: a load waits for the stores it is put together from.
	 */
	put_u64(bytes + AT_MAGIC, FRAME_MAGIC | (uint64_t)(frame_bytes - FRAME_HEADER_BYTES)
							<< (8 * AT_LENGTH));
	put_u64(bytes + AT_TYPE, header->type |
					 (uint64_t)header->flags << (8 * (AT_FLAGS - AT_TYPE)) |
					 (uint64_t)header->status << (8 * (AT_STATUS - AT_TYPE)));
	put_u64(bytes + AT_REQUEST_ID, header->request_id);
	put_u32(bytes + AT_CRC,
		sum_of(bytes, frame + FRAME_HEADER_BYTES, frame_bytes - FRAME_HEADER_BYTES));
	memcpy(frame, bytes, sizeof(bytes));
}
