/* SPDX-License-Identifier: Apache-2.0 */

/*
 * frame.h -- the envelope of every control message.
 *
 *      0      4       8      10     12        16              24      28      32
 *      | TIF1 | length | type | flags | status  | request id    | crc   | zero  | payload...
 *      |      of payload      |       |         |               | 32C of all else
 *
 * All integers little-endian.  The crc covers header (with crc = 0) and payload.
 * A reply repeats type and request id and has FRAME_REPLY; `status` is then the
 * fate of the whole request (master/proto/status.def), else 0.
 */
#ifndef TRANSFER_BASE_FRAME_H
#define TRANSFER_BASE_FRAME_H

#include "transfer/base/buf.h"

#define FRAME_HEADER_BYTES 32
#define FRAME_PAYLOAD_MAX  (16u << 20)
#define FRAME_MAGIC        0x31464954u /* "TIF1" */

enum frame_flags {
	FRAME_REPLY = 1,
	FRAME_MORE = 2, /* a watch: more replies to this request follow */
};

struct frame {
	uint16_t type, flags;
	uint32_t status;
	uint64_t request_id;
	struct cursor payload; /* into the buffer it was read from */
};

enum frame_outcome {
	FRAME_E_SHORT = 1, /* not all there yet */
	FRAME_E_BAD,       /* magic, length, flags or crc are wrong: hang up */
};

/*
 * frame_peek -- look for one whole frame at the start of bytes.
 *
 * gives:   *ret_frame, whose payload points into bytes; *ret_len_bytes, what it takes up.
 * result:  0, FRAME_E_SHORT, FRAME_E_BAD.
 */
int frame_peek(const uint8_t *bytes, size_t len_bytes, struct frame *ret_frame,
	       size_t *ret_len_bytes) MUST_CHECK;

/*
 * frame_begin -- append room for a header; the payload is appended to `to` by the caller.
 * frame_end   -- write the header of the frame that began at `at`, with length and crc.
 *
 *      size_t at;
 *      frame_begin(&out, &at);  ...append payload...  frame_end(&out, at, &frame);
 *
 * `at` counts from buf_first(), so the buffer may move while it grows, but may not be consumed.
 */
int frame_begin(struct buf *to, size_t *ret_at) MUST_CHECK;
void frame_end(struct buf *to, size_t at, const struct frame *header);

#endif
