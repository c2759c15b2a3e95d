/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/buf.h"
#include "transfer/base/rand.h"

static void
bytes__come_out_in_the_order_they_went_in(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf);
	assert_int_equal(buf_append(&buf, "hello ", 6), 0);
	assert_int_equal(buf_append(&buf, "world", 5), 0);

	buf_consume(&buf, 4);

	assert_int_equal(buf_len(&buf), 7);
	assert_memory_equal(buf_first(&buf), "o world", 7);
	buf_fini(&buf);
}

static void
buf__after_any_sequence__holds_what_was_not_consumed(void **state)
{
	uint8_t next_in = 0, next_out = 0, bytes[700];
	struct rand rand;
	struct buf buf;

	(void)state;
	rand_init(&rand, 7);
	buf_init(&buf);
	for (int step = 0; step < 5000; step++) {
		size_t n = rand_below(&rand, sizeof(bytes));

		for (size_t i = 0; i < n; i++)
			bytes[i] = next_in++;
		assert_int_equal(buf_append(&buf, bytes, n), 0);

		n = rand_below(&rand, buf_len(&buf) + 1);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(buf_first(&buf)[i], next_out++);
		buf_consume(&buf, n);
	}
	buf_fini(&buf);
}

static void
steady_traffic__does_not_let_it_grow(void **state)
{
	uint8_t bytes[600] = {0};
	struct buf buf;
	size_t cap;

	(void)state;
	buf_init(&buf);
	assert_int_equal(buf_append(&buf, bytes, 100), 0);
	assert_int_equal(buf_append(&buf, bytes, 600), 0);
	buf_consume(&buf, 600);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(buf_append(&buf, bytes, 600), 0);
		buf_consume(&buf, 600);
	}
	cap = buf.cap;

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(buf_append(&buf, bytes, 600), 0);
		buf_consume(&buf, 600);
	}

	assert_int_equal(buf_len(&buf), 100);
	assert_int_equal(buf.cap, cap);
	buf_fini(&buf);
}

static void
consume__of_all__starts_again_at_the_front(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf);
	assert_int_equal(buf_append(&buf, "abc", 3), 0);

	buf_consume(&buf, 3);

	assert_int_equal(buf.start, 0);
	assert_int_equal(buf_len(&buf), 0);
	buf_fini(&buf);
}

static void
append__of_nothing__to_an_empty_one__is_fine(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf);
	assert_int_equal(buf_append(&buf, NULL, 0), 0);
	buf_consume(&buf, 0);
	assert_int_equal(buf_len(&buf), 0);
	buf_fini(&buf);
}

static void
append__without_memory__is_refused_and_changes_nothing(void **state)
{
	uint8_t bytes[2000] = {0};
	struct buf buf;

	(void)state;
	buf_init(&buf);
	assert_int_equal(buf_append(&buf, "abc", 3), 0);

	allocs_fail_after(0);
	assert_int_equal(buf_append(&buf, bytes, sizeof(bytes)), -ENOMEM);
	allocs_succeed();

	assert_int_equal(buf_len(&buf), 3);
	assert_memory_equal(buf_first(&buf), "abc", 3);
	buf_fini(&buf);
}

static void
reserve__of_more_than_an_address_can_hold__is_refused(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf);
	assert_int_equal(buf_append(&buf, "abc", 3), 0);

	assert_int_equal(buf_reserve(&buf, SIZE_MAX), -ENOMEM);
	assert_int_equal(buf_reserve(&buf, PTRDIFF_MAX), -ENOMEM);
	assert_memory_equal(buf_first(&buf), "abc", 3);
	buf_fini(&buf);
}

static void
cursor__knows_what_is_left(void **state)
{
	const uint8_t bytes[10] = {0};
	struct cursor c = {bytes + 3, bytes + 10};

	(void)state;
	assert_int_equal(cursor_left(&c), 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes__come_out_in_the_order_they_went_in),
		cmocka_unit_test(buf__after_any_sequence__holds_what_was_not_consumed),
		cmocka_unit_test(steady_traffic__does_not_let_it_grow),
		cmocka_unit_test(consume__of_all__starts_again_at_the_front),
		cmocka_unit_test(append__of_nothing__to_an_empty_one__is_fine),
		cmocka_unit_test(append__without_memory__is_refused_and_changes_nothing),
		cmocka_unit_test(reserve__of_more_than_an_address_can_hold__is_refused),
		cmocka_unit_test(cursor__knows_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
