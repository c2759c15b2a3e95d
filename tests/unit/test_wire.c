/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "transfer/base/crc.h"
#include "transfer/base/rand.h"
#include "transfer/wire.h"

static const struct wire_request some_request = {
	.kind = WIRE_WRITE,
	.id = 0x1122334455667788,
	.segment_id = 11,
	.segment_epoch = 12,
	.offset_bytes = UINT64_MAX,
	.len_bytes = 14,
	.token = {.client_id = 1,
		  .segment_id = 2,
		  .segment_epoch = 3,
		  .offset_bytes = 4,
		  .len_bytes = 5,
		  .until_ms = 6,
		  .rights = TOKEN_WRITE,
		  .mac = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
};

static const struct wire_reply some_reply = {
	.kind = WIRE_READ,
	.status = WIRE_DONE,
	.id = 77,
	.len_bytes = 1ull << 40,
	.file_bytes = 3,
	.fence = 4,
};

/* reseal -- make the sum right again after a change, so that only the change is judged. */
static void
reseal(uint8_t *bytes, size_t n_bytes, size_t at_crc)
{
	uint32_t crc;

	memset(bytes + at_crc, 0, 4);
	crc = crc_of(0, bytes, n_bytes);
	for (size_t i = 0; i < 4; i++)
		bytes[at_crc + i] = (uint8_t)(crc >> (8 * i));
}

static int
decode_changed_request(size_t at, uint8_t value)
{
	uint8_t bytes[WIRE_REQUEST_BYTES];
	struct wire_request got;

	wire_request_encode(&some_request, bytes);
	bytes[at] = value;
	reseal(bytes, sizeof(bytes), 116);
	return wire_request_decode(bytes, &got);
}

static int
decode_changed_reply(size_t at, uint8_t value)
{
	uint8_t bytes[WIRE_REPLY_BYTES];
	struct wire_reply got;

	wire_reply_encode(&some_reply, bytes);
	bytes[at] = value;
	reseal(bytes, sizeof(bytes), 40);
	return wire_reply_decode(bytes, &got);
}

static void
request__encoded_and_decoded__is_the_same(void **state)
{
	uint8_t bytes[WIRE_REQUEST_BYTES];
	struct wire_request got;

	(void)state;
	wire_request_encode(&some_request, bytes);

	assert_int_equal(wire_request_decode(bytes, &got), 0);

	assert_memory_equal(&got.token, &some_request.token, offsetof(struct token, mac) + 16);
	assert_int_equal(got.kind, some_request.kind);
	assert_int_equal(got.id, some_request.id);
	assert_int_equal(got.segment_id, some_request.segment_id);
	assert_int_equal(got.segment_epoch, some_request.segment_epoch);
	assert_int_equal(got.offset_bytes, some_request.offset_bytes);
	assert_int_equal(got.len_bytes, some_request.len_bytes);
}

static void
request__first_bytes__are_as_the_manual_says(void **state)
{
	static const uint8_t golden[16] = {'T',  'T',  'Q',  '1',  1,    2,    0,    0,
					   0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
	uint8_t bytes[WIRE_REQUEST_BYTES];

	(void)state;
	wire_request_encode(&some_request, bytes);

	assert_memory_equal(bytes, golden, sizeof(golden));
}

static void
request__with_any_bit_turned__is_bad(void **state)
{
	uint8_t bytes[WIRE_REQUEST_BYTES];
	struct wire_request got;

	(void)state;
	wire_request_encode(&some_request, bytes);

	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		assert_int_equal(wire_request_decode(bytes, &got), WIRE_E_BAD);
		bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
}

static void
request__of_another_version_kind_or_with_unknown_flags__is_bad(void **state)
{
	(void)state;
	assert_int_equal(decode_changed_request(4, 2), WIRE_E_BAD);
	assert_int_equal(decode_changed_request(5, WIRE_NONE), WIRE_E_BAD);
	assert_int_equal(decode_changed_request(5, WIRE_SHOW + 1), WIRE_E_BAD);
	assert_int_equal(decode_changed_request(6, WIRE_WRITABLE), WIRE_E_BAD); /* not with WRITE */
	assert_int_equal(decode_changed_request(7, 1), WIRE_E_BAD);
}

static void
request__write_that_cuts_one_sided_ones__keeps_its_flag_and_a_read_may_have_none(void **state)
{
	struct wire_request request = {.kind = WIRE_WRITE, .flags = WIRE_CUT, .id = 1}, got;
	uint8_t bytes[WIRE_REQUEST_BYTES];

	(void)state;
	wire_request_encode(&request, bytes);
	assert_int_equal(wire_request_decode(bytes, &got), 0);
	assert_int_equal(got.flags, WIRE_CUT);

	request.kind = WIRE_READ;
	wire_request_encode(&request, bytes);
	assert_int_equal(wire_request_decode(bytes, &got), WIRE_E_BAD);
}

static void
request__with_something_behind_the_sum__is_bad(void **state)
{
	(void)state;
	assert_int_equal(decode_changed_request(120, 1), WIRE_E_BAD);
	assert_int_equal(decode_changed_request(127, 1), WIRE_E_BAD);
}

static void
reply__encoded_and_decoded__is_the_same(void **state)
{
	uint8_t bytes[WIRE_REPLY_BYTES];
	struct wire_reply got;

	(void)state;
	wire_reply_encode(&some_reply, bytes);

	assert_int_equal(wire_reply_decode(bytes, &got), 0);

	assert_int_equal(got.kind, some_reply.kind);
	assert_int_equal(got.status, some_reply.status);
	assert_int_equal(got.id, some_reply.id);
	assert_int_equal(got.len_bytes, some_reply.len_bytes);
	assert_int_equal(got.file_bytes, some_reply.file_bytes);
	assert_int_equal(got.fence, some_reply.fence);
}

static void
reply__with_any_bit_turned__is_bad(void **state)
{
	uint8_t bytes[WIRE_REPLY_BYTES];
	struct wire_reply got;

	(void)state;
	wire_reply_encode(&some_reply, bytes);

	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		assert_int_equal(wire_reply_decode(bytes, &got), WIRE_E_BAD);
		bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
}

static void
reply__of_unknown_status_or_kind__is_bad(void **state)
{
	(void)state;
	assert_int_equal(decode_changed_reply(5, WIRE_SHOW + 1), WIRE_E_BAD);
	assert_int_equal(decode_changed_reply(6, WIRE_N_STATUS), WIRE_E_BAD);
	assert_int_equal(decode_changed_reply(7, 1), WIRE_E_BAD);
	assert_int_equal(decode_changed_reply(47, 1), WIRE_E_BAD);
}

static void
reply__that_announces_bytes_where_none_can_be__is_bad(void **state)
{
	(void)state;
	assert_int_equal(decode_changed_reply(5, WIRE_WRITE), WIRE_E_BAD);
	assert_int_equal(decode_changed_reply(6, WIRE_REFUSED), WIRE_E_BAD);
}

static void
reply__busy__answers_no_request_and_nothing_else_does(void **state)
{
	(void)state;
	assert_int_equal(decode_changed_reply(6, WIRE_BUSY), WIRE_E_BAD);
	assert_int_equal(decode_changed_reply(5, WIRE_NONE), WIRE_E_BAD);
}

static void
garbage__is_bad(void **state)
{
	uint8_t bytes[WIRE_REQUEST_BYTES];
	struct wire_request request;
	struct wire_reply reply;
	struct rand rand;

	(void)state;
	rand_init(&rand, 3);
	for (int i = 0; i < 10000; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)rand_u64(&rand);
		assert_int_equal(wire_request_decode(bytes, &request), WIRE_E_BAD);
		assert_int_equal(wire_reply_decode(bytes, &reply), WIRE_E_BAD);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request__encoded_and_decoded__is_the_same),
		cmocka_unit_test(request__first_bytes__are_as_the_manual_says),
		cmocka_unit_test(request__with_any_bit_turned__is_bad),
		cmocka_unit_test(request__of_another_version_kind_or_with_unknown_flags__is_bad),
		cmocka_unit_test(
			request__write_that_cuts_one_sided_ones__keeps_its_flag_and_a_read_may_have_none),
		cmocka_unit_test(request__with_something_behind_the_sum__is_bad),
		cmocka_unit_test(reply__encoded_and_decoded__is_the_same),
		cmocka_unit_test(reply__with_any_bit_turned__is_bad),
		cmocka_unit_test(reply__of_unknown_status_or_kind__is_bad),
		cmocka_unit_test(reply__that_announces_bytes_where_none_can_be__is_bad),
		cmocka_unit_test(reply__busy__answers_no_request_and_nothing_else_does),
		cmocka_unit_test(garbage__is_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
