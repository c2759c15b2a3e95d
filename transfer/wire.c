/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/wire.h"

#include <string.h>

#include "transfer/base/crc.h"
#include "transfer/pen.h"

#define MAGIC_REQUEST 0x31515454u /* "TTQ1" */
#define MAGIC_REPLY   0x31525454u /* "TTR1" */

#define AT_REQUEST_CRC 116
#define AT_REPLY_CRC   40

static void
token_encode(const struct token *token, uint8_t **pen)
{
	pen_uint(pen, token->client_id, 8);
	pen_uint(pen, token->segment_id, 8);
	pen_uint(pen, token->segment_epoch, 8);
	pen_uint(pen, token->offset_bytes, 8);
	pen_uint(pen, token->len_bytes, 8);
	pen_uint(pen, token->until_ms, 8);
	pen_uint(pen, token->rights, 4);
	for (size_t i = 0; i < TOKEN_MAC_BYTES; i++)
		pen_uint(pen, token->mac[i], 1);
}

static void
token_decode(const uint8_t **eye, struct token *ret)
{
	*ret = (struct token){0};
	ret->client_id = eye_uint(eye, 8);
	ret->segment_id = eye_uint(eye, 8);
	ret->segment_epoch = eye_uint(eye, 8);
	ret->offset_bytes = eye_uint(eye, 8);
	ret->len_bytes = eye_uint(eye, 8);
	ret->until_ms = eye_uint(eye, 8);
	ret->rights = (uint32_t)eye_uint(eye, 4);
	for (size_t i = 0; i < TOKEN_MAC_BYTES; i++)
		ret->mac[i] = (uint8_t)eye_uint(eye, 1);
}

/* The crc stands in the header that it covers: there it counts as zero, and zeros follow it. */
static uint32_t
header_crc(const uint8_t *bytes, size_t n_bytes, size_t at_crc)
{
	static const uint8_t zero[4];
	uint32_t crc = crc_of(0, bytes, at_crc);

	crc = crc_of(crc, zero, sizeof(zero));
	return crc_of(crc, bytes + at_crc + 4, n_bytes - at_crc - 4);
}

static bool
tail_is_right(const uint8_t *bytes, size_t n_bytes, size_t at_crc)
{
	const uint8_t *eye = bytes + at_crc;

	if (eye_uint(&eye, 4) != header_crc(bytes, n_bytes, at_crc))
		return false;
	for (; eye < bytes + n_bytes; eye++)
		if (*eye != 0)
			return false;
	return true;
}

void
wire_request_encode(const struct wire_request *request, uint8_t ret[WIRE_REQUEST_BYTES])
{
	uint8_t *pen = ret;

	memset(ret, 0, WIRE_REQUEST_BYTES);
	pen_uint(&pen, MAGIC_REQUEST, 4);
	pen_uint(&pen, WIRE_VERSION, 1);
	pen_uint(&pen, request->kind, 1);
	pen_uint(&pen, request->flags, 2);
	pen_uint(&pen, request->id, 8);
	pen_uint(&pen, request->segment_id, 8);
	pen_uint(&pen, request->segment_epoch, 8);
	pen_uint(&pen, request->offset_bytes, 8);
	pen_uint(&pen, request->len_bytes, 8);
	token_encode(&request->token, &pen);
	assert(pen == ret + AT_REQUEST_CRC);
	pen_uint(&pen, header_crc(ret, WIRE_REQUEST_BYTES, AT_REQUEST_CRC), 4);
}

/* flags_of -- those that a request of this kind may have. */
static unsigned
flags_of(enum wire_kind kind)
{
	switch (kind) {
	case WIRE_MAP:
		return WIRE_WRITABLE;
	case WIRE_WRITE:
		return WIRE_CUT;
	default:
		return 0;
	}
}

int
wire_request_decode(const uint8_t bytes[WIRE_REQUEST_BYTES], struct wire_request *ret)
{
	const uint8_t *eye = bytes;
	struct wire_request request = {0};
	uint64_t kind;

	if (eye_uint(&eye, 4) != MAGIC_REQUEST || eye_uint(&eye, 1) != WIRE_VERSION)
		return WIRE_E_BAD;
	if (!tail_is_right(bytes, WIRE_REQUEST_BYTES, AT_REQUEST_CRC))
		return WIRE_E_BAD;

	kind = eye_uint(&eye, 1);
	if (kind < WIRE_READ || kind > WIRE_SHOW)
		return WIRE_E_BAD;
	request.kind = (enum wire_kind)kind;
	request.flags = (uint16_t)eye_uint(&eye, 2);
	if ((request.flags & ~flags_of(request.kind)) != 0)
		return WIRE_E_BAD;

	request.id = eye_uint(&eye, 8);
	request.segment_id = eye_uint(&eye, 8);
	request.segment_epoch = eye_uint(&eye, 8);
	request.offset_bytes = eye_uint(&eye, 8);
	request.len_bytes = eye_uint(&eye, 8);
	token_decode(&eye, &request.token);
	assert(eye == bytes + AT_REQUEST_CRC);

	*ret = request;
	return 0;
}

void
wire_reply_encode(const struct wire_reply *reply, uint8_t ret[WIRE_REPLY_BYTES])
{
	uint8_t *pen = ret;

	memset(ret, 0, WIRE_REPLY_BYTES);
	pen_uint(&pen, MAGIC_REPLY, 4);
	pen_uint(&pen, WIRE_VERSION, 1);
	pen_uint(&pen, reply->kind, 1);
	pen_uint(&pen, reply->status, 2);
	pen_uint(&pen, reply->id, 8);
	pen_uint(&pen, reply->len_bytes, 8);
	pen_uint(&pen, reply->file_bytes, 8);
	pen_uint(&pen, reply->fence, 8);
	assert(pen == ret + AT_REPLY_CRC);
	pen_uint(&pen, header_crc(ret, WIRE_REPLY_BYTES, AT_REPLY_CRC), 4);
}

int
wire_reply_decode(const uint8_t bytes[WIRE_REPLY_BYTES], struct wire_reply *ret)
{
	const uint8_t *eye = bytes;
	struct wire_reply reply = {0};
	uint64_t kind, status;

	if (eye_uint(&eye, 4) != MAGIC_REPLY || eye_uint(&eye, 1) != WIRE_VERSION)
		return WIRE_E_BAD;
	if (!tail_is_right(bytes, WIRE_REPLY_BYTES, AT_REPLY_CRC))
		return WIRE_E_BAD;

	kind = eye_uint(&eye, 1);
	status = eye_uint(&eye, 2);
	if (kind > WIRE_SHOW || status >= WIRE_N_STATUS)
		return WIRE_E_BAD;
	if ((kind == WIRE_NONE) != (status == WIRE_BUSY))
		return WIRE_E_BAD;
	reply.kind = (enum wire_kind)kind;
	reply.status = (enum wire_status)status;
	reply.id = eye_uint(&eye, 8);
	reply.len_bytes = eye_uint(&eye, 8);
	reply.file_bytes = eye_uint(&eye, 8);
	reply.fence = eye_uint(&eye, 8);
	if (reply.len_bytes != 0 && (kind != WIRE_READ || status != WIRE_DONE))
		return WIRE_E_BAD;

	*ret = reply;
	return 0;
}
