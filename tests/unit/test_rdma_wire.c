/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "transfer/rdma_wire.h"

static const struct rdma_hello some_hello = {
	.life = 0x1234,
	.epoch_low = 0x5678,
	.token = {.client_id = 0x1122334455667788,
		  .segment_id = 0x2233445566778899,
		  .offset_bytes = (1ull << 44) - 4096,
		  .len_bytes = 4096,
		  .until_ms = 0x0000123456789abc,
		  .rights = TOKEN_WRITE | TOKEN_READ,
		  .mac = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
};

static const struct rdma_welcome some_welcome = {
	.address = 0x7f0000001000,
	.size_bytes = 200ull << 20,
	.piece_bytes = 64ull << 20,
	.n_pieces = 4,
	.rkeys = {0x11, 0x22, 0x33, 0x44556677},
};

static void
hello__encoded_and_decoded__is_the_same(void **state)
{
	uint8_t bytes[RDMA_HELLO_BYTES + 8] = {0}; /* a fabric may pad */
	struct rdma_hello got;

	(void)state;
	rdma_hello_encode(&some_hello, bytes);

	assert_int_equal(rdma_hello_decode(bytes, sizeof(bytes), &got), 0);

	assert_int_equal(got.life, some_hello.life);
	assert_int_equal(got.epoch_low, some_hello.epoch_low);
	assert_int_equal(got.token.client_id, some_hello.token.client_id);
	assert_int_equal(got.token.segment_id, some_hello.token.segment_id);
	assert_int_equal(got.token.segment_epoch, 0);
	assert_int_equal(got.token.offset_bytes, some_hello.token.offset_bytes);
	assert_int_equal(got.token.len_bytes, some_hello.token.len_bytes);
	assert_int_equal(got.token.until_ms, some_hello.token.until_ms);
	assert_int_equal(got.token.rights, some_hello.token.rights);
	assert_memory_equal(got.token.mac, some_hello.token.mac, TOKEN_MAC_BYTES);
}

static void
hello__fits_the_private_data_of_a_connection_request(void **state)
{
	(void)state;
	assert_int_equal(RDMA_HELLO_BYTES, 56);
}

static void
hello__too_short_of_another_version_or_of_nobody__is_bad(void **state)
{
	uint8_t bytes[RDMA_HELLO_BYTES];
	struct rdma_hello got, nobody = some_hello;

	(void)state;
	rdma_hello_encode(&some_hello, bytes);
	assert_int_equal(rdma_hello_decode(bytes, sizeof(bytes) - 1, &got), RDMA_WIRE_E_BAD);
	bytes[0]++;
	assert_int_equal(rdma_hello_decode(bytes, sizeof(bytes), &got), RDMA_WIRE_E_BAD);

	nobody.token.client_id = 0;
	rdma_hello_encode(&nobody, bytes);
	assert_int_equal(rdma_hello_decode(bytes, sizeof(bytes), &got), RDMA_WIRE_E_BAD);
	nobody = some_hello;
	nobody.token.segment_id = 0;
	rdma_hello_encode(&nobody, bytes);
	assert_int_equal(rdma_hello_decode(bytes, sizeof(bytes), &got), RDMA_WIRE_E_BAD);
}

static void
welcome__encoded_and_decoded__is_the_same(void **state)
{
	uint8_t bytes[196] = {0};
	struct rdma_welcome got;

	(void)state;
	rdma_welcome_encode(&some_welcome, bytes);

	assert_int_equal(rdma_welcome_decode(bytes, sizeof(bytes), &got), 0);

	assert_int_equal(got.address, some_welcome.address);
	assert_int_equal(got.size_bytes, some_welcome.size_bytes);
	assert_int_equal(got.piece_bytes, some_welcome.piece_bytes);
	assert_int_equal(got.n_pieces, some_welcome.n_pieces);
	assert_memory_equal(got.rkeys, some_welcome.rkeys, sizeof(got.rkeys));
}

/* decode_welcome -- of some_welcome, changed. */
static int
decode_welcome(struct rdma_welcome welcome)
{
	uint8_t bytes[RDMA_WELCOME_BYTES];
	struct rdma_welcome got;

	rdma_welcome_encode(&welcome, bytes);
	return rdma_welcome_decode(bytes, sizeof(bytes), &got);
}

static void
welcome__whose_pieces_do_not_make_the_segment__is_bad(void **state)
{
	struct rdma_welcome w;

	(void)state;
	w = some_welcome, w.n_pieces = 3;
	assert_int_equal(decode_welcome(w), RDMA_WIRE_E_BAD);
	w = some_welcome, w.n_pieces = 5;
	assert_int_equal(decode_welcome(w), RDMA_WIRE_E_BAD);
	w = some_welcome, w.piece_bytes = 0;
	assert_int_equal(decode_welcome(w), RDMA_WIRE_E_BAD);
	w = some_welcome, w.size_bytes = 0;
	assert_int_equal(decode_welcome(w), RDMA_WIRE_E_BAD);
	w = some_welcome, w.address = UINT64_MAX - w.size_bytes + 1;
	assert_int_equal(decode_welcome(w), RDMA_WIRE_E_BAD);
	w = some_welcome, w.size_bytes = w.piece_bytes = UINT64_MAX / 2, w.n_pieces = 1,
	w.address = 1;
	assert_int_equal(decode_welcome(w), 0);
}

static void
welcome__too_short_with_too_many_pieces_or_with_something_between__is_bad(void **state)
{
	uint8_t bytes[RDMA_WELCOME_BYTES];
	struct rdma_welcome got;

	(void)state;
	rdma_welcome_encode(&some_welcome, bytes);
	assert_int_equal(rdma_welcome_decode(bytes, sizeof(bytes) - 1, &got), RDMA_WIRE_E_BAD);
	bytes[1] = RDMA_PIECES_MAX + 1;
	assert_int_equal(rdma_welcome_decode(bytes, sizeof(bytes), &got), RDMA_WIRE_E_BAD);
	bytes[1] = 0;
	assert_int_equal(rdma_welcome_decode(bytes, sizeof(bytes), &got), RDMA_WIRE_E_BAD);
	bytes[1] = 4;
	bytes[7] = 1;
	assert_int_equal(rdma_welcome_decode(bytes, sizeof(bytes), &got), RDMA_WIRE_E_BAD);
}

static void
refusal__says_why_and_never_that_all_is_well(void **state)
{
	uint8_t bytes[RDMA_REFUSAL_BYTES + 100] = {0};
	enum wire_status status;

	(void)state;
	for (enum wire_status one = WIRE_DONE; one < WIRE_N_STATUS; one++) {
		rdma_refusal_encode(one, bytes);
		if (one == WIRE_DONE) {
			assert_int_equal(rdma_refusal_decode(bytes, sizeof(bytes), &status),
					 RDMA_WIRE_E_BAD);
			continue;
		}
		assert_int_equal(rdma_refusal_decode(bytes, sizeof(bytes), &status), 0);
		assert_int_equal(status, one);
	}
	rdma_refusal_encode(WIRE_N_STATUS, bytes);
	assert_int_equal(rdma_refusal_decode(bytes, sizeof(bytes), &status), RDMA_WIRE_E_BAD);
	assert_int_equal(rdma_refusal_decode(bytes, 1, &status), RDMA_WIRE_E_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello__encoded_and_decoded__is_the_same),
		cmocka_unit_test(hello__fits_the_private_data_of_a_connection_request),
		cmocka_unit_test(hello__too_short_of_another_version_or_of_nobody__is_bad),
		cmocka_unit_test(welcome__encoded_and_decoded__is_the_same),
		cmocka_unit_test(welcome__whose_pieces_do_not_make_the_segment__is_bad),
		cmocka_unit_test(
			welcome__too_short_with_too_many_pieces_or_with_something_between__is_bad),
		cmocka_unit_test(refusal__says_why_and_never_that_all_is_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
