/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/crc.h"
#include "transfer/base/frame.h"
#include "transfer/base/rand.h"

static void
append_frame(struct buf *to, const struct frame *header, const void *payload, size_t len_bytes)
{
	size_t at;

	assert_int_equal(frame_begin(to, &at), 0);
	assert_int_equal(buf_append(to, payload, len_bytes), 0);
	frame_end(to, at, header);
}

static const struct frame sample = {
	.type = 0x1234,
	.flags = FRAME_REPLY | FRAME_MORE,
	.status = 0xdeadbeef,
	.request_id = 0x0123456789abcdef,
};

/* seal -- put the right sum on bytes that were changed by hand. */
static void
seal(struct buf *buf)
{
	uint8_t *at = buf_first(buf);
	uint32_t crc;

	memset(at + 24, 0, 4);
	crc = crc_of(0, at, buf_len(buf));
	for (size_t i = 0; i < 4; i++)
		at[24 + i] = (uint8_t)(crc >> (8 * i));
}

static void
frame__comes_back_as_it_was_written(void **state)
{
	struct frame frame;
	struct buf buf;
	size_t len;

	(void)state;
	buf_init(&buf);
	append_frame(&buf, &sample, "payload", 7);

	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);

	assert_int_equal(len, FRAME_HEADER_BYTES + 7);
	assert_int_equal(frame.type, sample.type);
	assert_int_equal(frame.flags, sample.flags);
	assert_int_equal(frame.status, sample.status);
	assert_true(frame.request_id == sample.request_id);
	assert_int_equal(cursor_left(&frame.payload), 7);
	assert_memory_equal(frame.payload.at, "payload", 7);
	buf_fini(&buf);
}

static void
frame__has_the_layout_of_the_picture(void **state)
{
	static const uint8_t want[24] = {
		'T',  'I',  'F',  '1',  3,    0,    0,    0,    0x34, 0x12, 3,    0,
		0xef, 0xbe, 0xad, 0xde, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
	};
	struct buf buf;

	(void)state;
	buf_init(&buf);
	append_frame(&buf, &sample, "abc", 3);

	assert_memory_equal(buf_first(&buf), want, sizeof(want));
	assert_memory_equal(buf_first(&buf) + 28, "\0\0\0\0abc", 7);
	buf_fini(&buf);
}

static void
frames__in_a_row__are_found_one_after_the_other(void **state)
{
	struct frame frame, second = {.type = 2};
	struct buf buf;
	size_t len;

	(void)state;
	buf_init(&buf);
	append_frame(&buf, &sample, "first", 5);
	append_frame(&buf, &second, "", 0);

	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);
	buf_consume(&buf, len);
	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);
	assert_int_equal(frame.type, 2);
	assert_int_equal(cursor_left(&frame.payload), 0);
	assert_int_equal(len, buf_len(&buf));
	buf_fini(&buf);
}

static void
frame__begun_behind_consumed_bytes__lands_in_the_right_place(void **state)
{
	struct frame frame;
	struct buf buf;
	size_t len;

	(void)state;
	buf_init(&buf);
	append_frame(&buf, &sample, "first", 5);
	buf_consume(&buf, 20);
	append_frame(&buf, &sample, "second", 6);

	buf_consume(&buf, FRAME_HEADER_BYTES + 5 - 20);
	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);
	assert_memory_equal(frame.payload.at, "second", 6);
	buf_fini(&buf);
}

static void
frame__of_which_a_part_has_come__is_short(void **state)
{
	struct frame frame = {.type = 77};
	size_t len = 99;
	struct buf buf;

	(void)state;
	buf_init(&buf);
	append_frame(&buf, &sample, "payload", 7);

	for (size_t n = 0; n < buf_len(&buf); n++)
		assert_int_equal(frame_peek(buf_first(&buf), n, &frame, &len), FRAME_E_SHORT);
	assert_int_equal(frame.type, 77);
	assert_int_equal(len, 99);
	buf_fini(&buf);
}

/* A flipped bit in the length may also make it wait for more; it must never be taken for good. */
static void
frame__with_any_one_bit_flipped__is_never_accepted(void **state)
{
	struct frame frame;
	struct buf buf;
	size_t len;

	(void)state;
	buf_init(&buf);
	append_frame(&buf, &sample, "payload", 7);

	for (size_t bit = 0; bit < buf_len(&buf) * 8; bit++) {
		uint8_t *byte = buf_first(&buf) + bit / 8;

		*byte = (uint8_t)(*byte ^ 1u << bit % 8);
		assert_int_not_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);
		*byte = (uint8_t)(*byte ^ 1u << bit % 8);
	}
	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);
	buf_fini(&buf);
}

static void
wrong_beginning__is_bad_from_the_first_bytes(void **state)
{
	static const uint8_t too_long[] = {'T', 'I', 'F', '1', 1, 0, 0, 1};
	struct frame frame;
	size_t len;

	(void)state;
	assert_int_equal(frame_peek((const uint8_t *)"GET ", 4, &frame, &len), FRAME_E_BAD);
	assert_int_equal(frame_peek(too_long, sizeof(too_long), &frame, &len), FRAME_E_BAD);
}

static void
largest_payload__passes(void **state)
{
	uint8_t *payload = calloc(1, FRAME_PAYLOAD_MAX);
	struct frame frame;
	struct buf buf;
	size_t len;

	(void)state;
	assert_non_null(payload);
	buf_init(&buf);
	append_frame(&buf, &sample, payload, FRAME_PAYLOAD_MAX);

	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);
	assert_int_equal(cursor_left(&frame.payload), FRAME_PAYLOAD_MAX);
	buf_fini(&buf);
	free(payload);
}

static void
frame__with_unknown_flags_or_a_filled_zero__is_bad_though_the_sum_is_right(void **state)
{
	struct frame frame;
	struct buf buf;
	size_t len;

	(void)state;
	buf_init(&buf);
	append_frame(&buf, &sample, "payload", 7);

	buf_first(&buf)[10] |= 4;
	seal(&buf);
	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), FRAME_E_BAD);

	buf_first(&buf)[10] = FRAME_REPLY;
	seal(&buf);
	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), 0);

	buf_first(&buf)[28] = 1;
	seal(&buf);
	assert_int_equal(frame_peek(buf_first(&buf), buf_len(&buf), &frame, &len), FRAME_E_BAD);
	buf_fini(&buf);
}

static void
noise__is_never_accepted(void **state)
{
	uint8_t bytes[200];
	struct frame frame;
	struct rand rand;
	size_t len;

	(void)state;
	rand_init(&rand, 11);
	for (int round = 0; round < 2000; round++) {
		size_t n = rand_below(&rand, sizeof(bytes));

		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)rand_u64(&rand);
		memcpy(bytes, "TIF1", 4);
		bytes[5] = bytes[6] = bytes[7] = 0; /* often a length that fits */
		assert_int_not_equal(frame_peek(bytes, n, &frame, &len), 0);
	}
}

static void
begin__without_memory__is_refused(void **state)
{
	struct buf buf;
	size_t at = 99;

	(void)state;
	buf_init(&buf);

	allocs_fail_after(0);
	assert_int_equal(frame_begin(&buf, &at), -ENOMEM);
	allocs_succeed();

	assert_int_equal(at, 99);
	buf_fini(&buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame__comes_back_as_it_was_written),
		cmocka_unit_test(frame__has_the_layout_of_the_picture),
		cmocka_unit_test(frames__in_a_row__are_found_one_after_the_other),
		cmocka_unit_test(frame__begun_behind_consumed_bytes__lands_in_the_right_place),
		cmocka_unit_test(frame__of_which_a_part_has_come__is_short),
		cmocka_unit_test(frame__with_any_one_bit_flipped__is_never_accepted),
		cmocka_unit_test(wrong_beginning__is_bad_from_the_first_bytes),
		cmocka_unit_test(largest_payload__passes),
		cmocka_unit_test(
			frame__with_unknown_flags_or_a_filled_zero__is_bad_though_the_sum_is_right),
		cmocka_unit_test(noise__is_never_accepted),
		cmocka_unit_test(begin__without_memory__is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
