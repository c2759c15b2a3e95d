/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a connection does with bytes: look for a frame, then decode by type.
 *
 * Laws: a frame lies within the bytes it was found in; no prefix of a good frame is
 * taken for one; a frame made from any header and payload is found again as it was.
 */
#include "tests/fuzz/form.h"
#include "transfer/base/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* decode_by_type -- as master and client do. */
static void
decode_by_type(const struct frame *frame)
{
	bool is_reply = (frame->flags & FRAME_REPLY) != 0;
	const struct form *form = form_find(frame->type, is_reply);

	if (is_reply && frame->status != 0) {
		struct span why = why_decode(frame->payload);

		assert(why.len <= TEXT_MAX);
		return;
	}
	if (form != NULL)
		form_check(form, frame->payload);
}

/* read_all -- frame after frame, until one is short or bad. */
static void
read_all(const uint8_t *bytes, size_t n_bytes)
{
	struct frame frame;
	size_t len_bytes;

	while (frame_peek(bytes, n_bytes, &frame, &len_bytes) == 0) {
		assert(len_bytes >= FRAME_HEADER_BYTES && len_bytes <= n_bytes);
		assert(frame.payload.at == bytes + FRAME_HEADER_BYTES);
		assert(frame.payload.end == bytes + len_bytes);
		decode_by_type(&frame);
		bytes += len_bytes;
		n_bytes -= len_bytes;
	}
}

/* make -- a frame with a right crc, from bytes that have none: the fuzzer can't guess it. */
static void
make(struct buf *to, const struct frame *header, const uint8_t *payload, size_t n_bytes)
{
	size_t at;
	int r;

	r = frame_begin(to, &at);
	assert(r == 0);
	r = buf_append(to, payload, n_bytes);
	assert(r == 0);
	frame_end(to, at, header);
}

static void
make_and_find(const struct frame *header, const uint8_t *payload, size_t n_bytes)
{
	struct buf buf;
	struct frame found;
	size_t len_bytes;
	int r;

	buf_init(&buf);
	make(&buf, header, payload, n_bytes);

	r = frame_peek(buf_first(&buf), buf_len(&buf) - 1, &found, &len_bytes);
	assert(r == FRAME_E_SHORT);
	r = frame_peek(buf_first(&buf), buf_len(&buf), &found, &len_bytes);
	assert(r == 0 && len_bytes == buf_len(&buf));
	assert(found.type == header->type && found.flags == header->flags);
	assert(found.status == header->status && found.request_id == header->request_id);
	assert(cursor_left(&found.payload) == n_bytes);
	read_all(buf_first(&buf), buf_len(&buf));

	buf_fini(&buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct frame header = {0};

	read_all(bytes, n_bytes);
	if (n_bytes < 4 || n_bytes > FRAME_PAYLOAD_MAX)
		return 0;

	header.type = bytes[0];
	header.flags = bytes[1] & (FRAME_REPLY | FRAME_MORE);
	header.status = bytes[2];
	header.request_id = bytes[3] * UINT64_C(0x0101010101010101);
	make_and_find(&header, bytes + 4, n_bytes - 4);
	return 0;
}
