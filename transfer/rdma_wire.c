/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_wire.h"

#include <string.h>

#include "transfer/base/num.h"
#include "transfer/pen.h"

#define VERSION 1
#define LIMIT   (1ull << 48)

void
rdma_hello_encode(const struct rdma_hello *hello, uint8_t ret[RDMA_HELLO_BYTES])
{
	const struct token *token = &hello->token;
	uint8_t *pen = ret;

	assert(token->until_ms < LIMIT && token->offset_bytes < LIMIT && token->len_bytes < LIMIT);
	assert(token->rights <= UINT8_MAX);

	pen_uint(&pen, VERSION, 1);
	pen_uint(&pen, token->rights, 1);
	pen_uint(&pen, hello->life, 2);
	pen_uint(&pen, token->client_id, 8);
	pen_uint(&pen, token->segment_id, 8);
	pen_uint(&pen, hello->epoch_low, 2);
	pen_uint(&pen, token->until_ms, 6);
	pen_uint(&pen, token->offset_bytes, 6);
	pen_uint(&pen, token->len_bytes, 6);
	for (size_t i = 0; i < TOKEN_MAC_BYTES; i++)
		pen_uint(&pen, token->mac[i], 1);
	assert(pen == ret + RDMA_HELLO_BYTES);
}

int
rdma_hello_decode(const uint8_t *bytes, size_t len_bytes, struct rdma_hello *ret)
{
	const uint8_t *eye = bytes;
	struct rdma_hello hello = {0};

	if (len_bytes < RDMA_HELLO_BYTES || eye_uint(&eye, 1) != VERSION)
		return RDMA_WIRE_E_BAD;
	hello.token.rights = (uint32_t)eye_uint(&eye, 1);
	hello.life = (uint16_t)eye_uint(&eye, 2);
	hello.token.client_id = eye_uint(&eye, 8);
	hello.token.segment_id = eye_uint(&eye, 8);
	hello.epoch_low = (uint16_t)eye_uint(&eye, 2);
	hello.token.until_ms = eye_uint(&eye, 6);
	hello.token.offset_bytes = eye_uint(&eye, 6);
	hello.token.len_bytes = eye_uint(&eye, 6);
	for (size_t i = 0; i < TOKEN_MAC_BYTES; i++)
		hello.token.mac[i] = (uint8_t)eye_uint(&eye, 1);
	if (hello.token.client_id == 0 || hello.token.segment_id == 0)
		return RDMA_WIRE_E_BAD;
	*ret = hello;
	return 0;
}

void
rdma_welcome_encode(const struct rdma_welcome *welcome, uint8_t ret[RDMA_WELCOME_BYTES])
{
	uint8_t *pen = ret;

	assert(welcome->n_pieces > 0 && welcome->n_pieces <= RDMA_PIECES_MAX);

	memset(ret, 0, RDMA_WELCOME_BYTES);
	pen_uint(&pen, VERSION, 1);
	pen_uint(&pen, welcome->n_pieces, 1);
	pen_uint(&pen, 0, 6);
	pen_uint(&pen, welcome->address, 8);
	pen_uint(&pen, welcome->size_bytes, 8);
	pen_uint(&pen, welcome->piece_bytes, 8);
	for (size_t i = 0; i < welcome->n_pieces; i++)
		pen_uint(&pen, welcome->rkeys[i], 4);
}

int
rdma_welcome_decode(const uint8_t *bytes, size_t len_bytes, struct rdma_welcome *ret)
{
	const uint8_t *eye = bytes;
	struct rdma_welcome welcome = {0};

	if (len_bytes < RDMA_WELCOME_BYTES || eye_uint(&eye, 1) != VERSION)
		return RDMA_WIRE_E_BAD;
	welcome.n_pieces = (uint32_t)eye_uint(&eye, 1);
	if (welcome.n_pieces == 0 || welcome.n_pieces > RDMA_PIECES_MAX || eye_uint(&eye, 6) != 0)
		return RDMA_WIRE_E_BAD;
	welcome.address = eye_uint(&eye, 8);
	welcome.size_bytes = eye_uint(&eye, 8);
	welcome.piece_bytes = eye_uint(&eye, 8);
	/* The pieces cover the segment, and no more of them than it takes. */
	if (welcome.size_bytes == 0 || welcome.piece_bytes == 0 ||
	    (welcome.size_bytes - 1) / welcome.piece_bytes + 1 != welcome.n_pieces ||
	    welcome.address > UINT64_MAX - welcome.size_bytes)
		return RDMA_WIRE_E_BAD;
	for (size_t i = 0; i < welcome.n_pieces; i++)
		welcome.rkeys[i] = (uint32_t)eye_uint(&eye, 4);
	*ret = welcome;
	return 0;
}

void
rdma_refusal_encode(enum wire_status status, uint8_t ret[RDMA_REFUSAL_BYTES])
{
	ret[0] = VERSION;
	ret[1] = (uint8_t)status;
}

int
rdma_refusal_decode(const uint8_t *bytes, size_t len_bytes, enum wire_status *ret_status)
{
	if (len_bytes < RDMA_REFUSAL_BYTES || bytes[0] != VERSION || bytes[1] == WIRE_DONE ||
	    bytes[1] >= WIRE_N_STATUS)
		return RDMA_WIRE_E_BAD;
	*ret_status = (enum wire_status)bytes[1];
	return 0;
}
