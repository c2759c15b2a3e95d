/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The data protocol's headers.  The first byte says which: even a request, odd a reply.
 *
 * Law: what the decoder takes for a header encodes to the very same bytes.  The
 * fuzzer can't guess a crc, so each input is tried as it is, and once more repaired.
 */
#include "transfer/wire.h"

#include <string.h>

#include "transfer/base/crc.h"

#define AT_REQUEST_CRC 116
#define AT_REPLY_CRC   40

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void
check_request(const uint8_t bytes[WIRE_REQUEST_BYTES])
{
	struct wire_request request;
	uint8_t again[WIRE_REQUEST_BYTES];

	if (wire_request_decode(bytes, &request) != 0)
		return;
	wire_request_encode(&request, again);
	assert(memcmp(again, bytes, sizeof(again)) == 0);
}

static void
check_reply(const uint8_t bytes[WIRE_REPLY_BYTES])
{
	struct wire_reply reply;
	uint8_t again[WIRE_REPLY_BYTES];

	if (wire_reply_decode(bytes, &reply) != 0)
		return;
	wire_reply_encode(&reply, again);
	assert(memcmp(again, bytes, sizeof(again)) == 0);
}

/* repair -- put the right crc where it belongs. */
static void
repair(uint8_t *header, size_t n_bytes, size_t at_crc)
{
	uint32_t crc;

	memset(header + at_crc, 0, 4);
	crc = crc_of(0, header, n_bytes);
	for (size_t i = 0; i < 4; i++)
		header[at_crc + i] = (uint8_t)(crc >> (8 * i));
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	uint8_t header[WIRE_REQUEST_BYTES] = {0};

	if (n_bytes == 0 || n_bytes > 1 + sizeof(header))
		return 0;
	memcpy(header, bytes + 1, n_bytes - 1);

	if (bytes[0] % 2 == 0) {
		check_request(header);
		repair(header, WIRE_REQUEST_BYTES, AT_REQUEST_CRC);
		check_request(header);
	} else {
		check_reply(header);
		repair(header, WIRE_REPLY_BYTES, AT_REPLY_CRC);
		check_reply(header);
	}
	return 0;
}
