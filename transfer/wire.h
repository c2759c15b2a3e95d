/* SPDX-License-Identifier: Apache-2.0 */

/*
 * wire.h -- the data protocol: fixed headers, then nothing but the bytes themselves.
 *
 *      client                                 provider
 *        | request READ  ---------------------->|
 *        |<---------------- reply, bytes -------|
 *        | request WRITE, bytes --------------->|  all bytes are taken in, then
 *        |<---------------- reply --------------|  answered, accepted or not
 *        | request MAP (Unix socket) ---------->|
 *        |<---------------- reply + descriptor -|
 *        | request SHOW (RDMA) ---------------->|  one more token, see rdma_wire.h
 *        |<---------------- reply --------------|
 *
 * Requests may be sent one behind the other without waiting; replies come in the
 * same order.  One connection speaks for one client (token.client_id).
 *
 *      request   0     4    5    6     8    16       24     32      40   48      116  120    128
 *                |magic|vers|kind|flags| id | segment|epoch | offset|len | token |crc |  zero |
 *      reply     0     4    5    6      8    16    24          32      40   44    48
 *                |magic|vers|kind|status| id | len |file size | fence |crc | zero |
 *      token     client 8, segment 8, epoch 8, offset 8, len 8, until 8, rights 4, mac 16
 *
 * All integers little-endian.  crc is CRC-32C of the whole header with crc = 0.
 */
#ifndef TRANSFER_WIRE_H
#define TRANSFER_WIRE_H

#include "transfer/base/base.h"
#include "transfer/base/token.h"

#define WIRE_REQUEST_BYTES 128
#define WIRE_REPLY_BYTES   48
#define WIRE_VERSION       1

enum wire_kind {
	WIRE_NONE, /* a reply that answers no request: WIRE_BUSY */
	WIRE_READ,
	WIRE_WRITE,
	WIRE_MAP,
	WIRE_SHOW,
};

enum wire_flags {
	WIRE_WRITABLE = 1, /* MAP: for writing too */
	WIRE_CUT = 2, /* WRITE: one-sided writes of this client may be under way; cut them first */
};

enum wire_status {
	WIRE_DONE,
	WIRE_REFUSED, /* unknown segment, other epoch, or the token does not allow it */
	WIRE_OUTSIDE, /* the range is not within the segment */
	WIRE_IO,      /* the medium failed */
	WIRE_BUSY,    /* too many connections; the peer hangs up */
	WIRE_CANT,    /* MAP, SHOW: not on this connection, use READ and WRITE */
	WIRE_N_STATUS,
};

struct wire_request {
	enum wire_kind kind;
	uint16_t flags;
	uint64_t id;
	uint64_t segment_id, segment_epoch;
	uint64_t offset_bytes, len_bytes;
	struct token token;
};

struct wire_reply {
	enum wire_kind kind;
	enum wire_status status;
	uint64_t id;
	uint64_t len_bytes;  /* what follows this header */
	uint64_t file_bytes; /* MAP: size of the file behind the descriptor */
	uint64_t fence;      /* MAP: the fence word at this time */
};

enum wire_outcome {
	WIRE_E_BAD = 1, /* not of this protocol, or damaged: hang up */
};

void wire_request_encode(const struct wire_request *request, uint8_t ret[WIRE_REQUEST_BYTES]);
void wire_reply_encode(const struct wire_reply *reply, uint8_t ret[WIRE_REPLY_BYTES]);

/* wire_request_decode, wire_reply_decode -- strict.  0 or WIRE_E_BAD. */
int wire_request_decode(const uint8_t bytes[WIRE_REQUEST_BYTES],
			struct wire_request *ret) MUST_CHECK;
int wire_reply_decode(const uint8_t bytes[WIRE_REPLY_BYTES], struct wire_reply *ret) MUST_CHECK;

#endif
