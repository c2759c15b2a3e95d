/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_wire.h -- what is said in the private data of an RDMA connection, and on it.
 *
 *      client                                       provider
 *        | connect: hello, with a token ------------->|  judged as on TCP (serve.h)
 *        |<------- accept: welcome (where, which keys)|     or: reject with a status
 *        | RDMA READ, RDMA WRITE .................... |  its processor does not hear of them
 *        | SEND: wire.h's request SHOW, a token ----->|  before the first byte under that token
 *        |<-------------- SEND: wire.h's reply, status|
 *
 *      hello     0    1      2     4      12      20    22    28     34  40   56
 *                |vers|rights| life|client|segment|epoch|until|offset|len|mac |
 *      welcome   0    1        2    8       16   24          32         96
 *                |vers|n pieces|zero|address|size|piece size |16 rkeys  |
 *      refusal   0    1      2
 *                |vers|status|
 *
 * All that a connection request may carry is 56 bytes.  So of the epoch only the low 16 bits are
 * told: the provider knows its own, and a token signed for another one is no genuine token here.
 * `life` numbers the connections that a client has at once to one segment with the same rights:
 * when it begins anew, those of every other life are cut before the new one is accepted.
 */
#ifndef TRANSFER_RDMA_WIRE_H
#define TRANSFER_RDMA_WIRE_H

#include "transfer/base/token.h"
#include "transfer/wire.h"

#define RDMA_HELLO_BYTES   56
#define RDMA_WELCOME_BYTES 96
#define RDMA_REFUSAL_BYTES 2
#define RDMA_PIECES_MAX    16 /* a device may register less than a segment at once */

struct rdma_hello {
	uint16_t life;
	uint16_t epoch_low;
	struct token token; /* decoded: segment_epoch is 0, to be filled in by who knows it */
};

/* Where a segment lies in the provider's address space: byte i is at address + i. */
struct rdma_welcome {
	uint64_t address, size_bytes;
	uint64_t piece_bytes; /* byte i is under rkeys[i / piece_bytes] */
	uint32_t n_pieces;
	uint32_t rkeys[RDMA_PIECES_MAX];
};

enum rdma_wire_outcome { RDMA_WIRE_E_BAD = 1 };

/* rdma_hello_encode -- needs: offset, length and end of the token are below 2^48. */
void rdma_hello_encode(const struct rdma_hello *hello, uint8_t ret[RDMA_HELLO_BYTES]);
void rdma_welcome_encode(const struct rdma_welcome *welcome, uint8_t ret[RDMA_WELCOME_BYTES]);
void rdma_refusal_encode(enum wire_status status, uint8_t ret[RDMA_REFUSAL_BYTES]);

/* rdma_*_decode -- of len_bytes that came; what stands behind is the fabric's padding.
 * 0 or RDMA_WIRE_E_BAD. */
int rdma_hello_decode(const uint8_t *bytes, size_t len_bytes, struct rdma_hello *ret) MUST_CHECK;
int rdma_welcome_decode(const uint8_t *bytes, size_t len_bytes,
			struct rdma_welcome *ret) MUST_CHECK;
int rdma_refusal_decode(const uint8_t *bytes, size_t len_bytes,
			enum wire_status *ret_status) MUST_CHECK;

#endif
