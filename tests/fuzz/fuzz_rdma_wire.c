/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is said in the private data of an RDMA connection.  The first byte says which: 0 a hello, 1
 * a welcome, 2 a refusal; the rest is what came, of any length.  (The SHOWs that follow are the
 * data protocol's: fuzz_wire.)
 *
 * Laws: what the decoder takes encodes to the very same bytes, padding behind them apart; a welcome
 * that is taken names a key for every byte of the segment, and no address wraps.
 */
#include "transfer/rdma_wire.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void
check_hello(const uint8_t *bytes, size_t n_bytes)
{
	uint8_t again[RDMA_HELLO_BYTES];
	struct rdma_hello hello;

	if (rdma_hello_decode(bytes, n_bytes, &hello) != 0)
		return;
	rdma_hello_encode(&hello, again);
	assert(memcmp(again, bytes, sizeof(again)) == 0);
}

static void
check_welcome(const uint8_t *bytes, size_t n_bytes)
{
	uint8_t again[RDMA_WELCOME_BYTES];
	struct rdma_welcome welcome;

	if (rdma_welcome_decode(bytes, n_bytes, &welcome) != 0)
		return;
	assert(welcome.address + welcome.size_bytes >= welcome.address);
	assert((welcome.size_bytes - 1) / welcome.piece_bytes < welcome.n_pieces);
	assert(welcome.n_pieces <= RDMA_PIECES_MAX);
	rdma_welcome_encode(&welcome, again);
	/* What stands in the places of keys that there are not is nobody's. */
	assert(memcmp(again, bytes,
		      RDMA_WELCOME_BYTES - 4 * (RDMA_PIECES_MAX - welcome.n_pieces)) == 0);
}

static void
check_refusal(const uint8_t *bytes, size_t n_bytes)
{
	uint8_t again[RDMA_REFUSAL_BYTES];
	enum wire_status status;

	if (rdma_refusal_decode(bytes, n_bytes, &status) != 0)
		return;
	assert(status != WIRE_DONE);
	rdma_refusal_encode(status, again);
	assert(memcmp(again, bytes, sizeof(again)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	if (n_bytes == 0)
		return 0;
	switch (bytes[0] % 3) {
	case 0:
		check_hello(bytes + 1, n_bytes - 1);
		break;
	case 1:
		check_welcome(bytes + 1, n_bytes - 1);
		break;
	default:
		check_refusal(bytes + 1, n_bytes - 1);
	}
	return 0;
}
