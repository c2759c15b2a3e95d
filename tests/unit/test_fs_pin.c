/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fs/pin.h"
#include "fs_fake.h"
#include "transfer/base/rand.h"

#define LEN 4096

static uint8_t bytes[LEN];
static struct fs_pin *pin;

static int
setup(void **state)
{
	(void)state;
	fake_clear();
	for (size_t i = 0; i < LEN; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	fake_store("k", bytes, LEN, NULL, 0);
	return fs_pin_open(&fake_client, "k", /* is_verified= */ true, &pin);
}

static int
teardown(void **state)
{
	(void)state;
	fs_pin_unref(pin);
	fake_clear();
	return 0;
}

static int
sum(size_t at, size_t len)
{
	struct iovec slice = {bytes + at, len};

	return fs_pin_sum(pin, at, &slice, 1);
}

static void
sums__of_right_bytes_in_any_order__are_fine(void **state)
{
	(void)state;
	assert_int_equal(sum(2048, 1024), 0);
	assert_int_equal(sum(0, 512), 0);
	assert_int_equal(sum(3072, 1024), 0);
	assert_int_equal(sum(1024, 1024), 0);
	assert_false(atomic_load(&pin->is_summed));
	assert_int_equal(sum(512, 512), 0);

	assert_true(atomic_load(&pin->is_summed));
	assert_int_equal(fs_pin_check(pin), 0);
}

static void
sums__with_one_wrong_byte__fail_with_the_last_piece_and_then_for_ever(void **state)
{
	struct iovec slice = {bytes, 16};
	uint64_t len;

	(void)state;
	bytes[1000] ^= 1;
	assert_int_equal(sum(0, 2048), 0);

	assert_int_equal(sum(2048, 2048), -EIO);
	assert_int_equal(fs_pin_check(pin), -EIO);
	assert_int_equal(fs_pin_read(pin, 0, &slice, &len), -EIO);
}

static void
sums__of_bytes_read_twice__count_once(void **state)
{
	(void)state;
	assert_int_equal(sum(0, 1024), 0);
	assert_int_equal(sum(0, 1024), 0);
	assert_int_equal(sum(512, 1024), 0);
	assert_int_equal(sum(1024, 3072), 0);

	assert_true(atomic_load(&pin->is_summed));
	assert_int_equal(fs_pin_check(pin), 0);
}

static void
sums__of_more_runs_than_can_be_kept__are_given_up(void **state)
{
	(void)state;
	bytes[1] ^= 1;
	for (size_t i = 0; i < FS_PIN_RUNS_MAX; i++)
		assert_int_equal(sum(i * 64, 32), 0);
	assert_false(atomic_load(&pin->is_summed));
	assert_int_equal(sum(FS_PIN_RUNS_MAX * 64, 32), 0);

	assert_true(atomic_load(&pin->is_summed));
	assert_int_equal(sum(0, LEN), 0);
}

static void
sums__of_random_pieces__find_every_changed_byte(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 9);
	for (int round = 0; round < 200; round++) {
		size_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
		bool is_wrong = round % 2 != 0;
		size_t at = rand_below(&rand, LEN);
		int r = 0;

		bytes[at] ^= (uint8_t)is_wrong;
		for (size_t i = 8; i > 1; i--) {
			size_t k = rand_below(&rand, i), swap = order[i - 1];

			order[i - 1] = order[k];
			order[k] = swap;
		}
		for (size_t i = 0; i < 8; i++)
			r = sum(order[i] * (LEN / 8), LEN / 8);
		assert_int_equal(r, is_wrong ? -EIO : 0);
		bytes[at] ^= (uint8_t)is_wrong;
		fs_pin_unref(pin);
		assert_int_equal(fs_pin_open(&fake_client, "k", true, &pin), 0);
	}
}

static void
pieces__whose_lease_is_lost__are_given_back(void **state)
{
	struct iovec slices[4];
	size_t n;

	(void)state;
	fake.has_lost_leases = true;
	assert_int_equal(fs_pin_borrow(pin, 0, LEN, slices, 4, &n), -EIO);
	assert_int_equal(fake.n_borrowed, 0);
	fake.has_lost_leases = false;

	assert_int_equal(fs_pin_borrow(pin, 0, LEN, slices, 4, &n), 0);
	assert_int_equal(fake.n_borrowed, n);
	fs_pin_return(pin, n);
	assert_int_equal(fake.n_borrowed, 0);
}

static void
borrow__at_and_beyond_the_end__gives_what_there_is(void **state)
{
	struct iovec slices[4];
	size_t n;

	(void)state;
	assert_int_equal(fs_pin_borrow(pin, LEN - 10, 100, slices, 4, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(slices[0].iov_len, 10);
	assert_int_equal(fs_pin_borrow(pin, LEN, 100, slices, 4, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(fs_pin_borrow(pin, UINT64_MAX, 100, slices, 4, &n), 0);
	assert_int_equal(n, 0);
}

static void
borrow__where_no_copy_is_near__gives_no_piece(void **state)
{
	struct iovec slices[4];
	size_t n = 9;

	(void)state;
	fake.has_no_borrow = true;

	assert_int_equal(fs_pin_borrow(pin, 0, 100, slices, 4, &n), 0);
	assert_int_equal(n, 0);
}

static void
pin__of_a_replaced_object__reads_its_own_bytes(void **state)
{
	uint8_t got[LEN];
	struct iovec slice = {got, sizeof(got)};
	uint64_t len;

	(void)state;
	fake_put("k", "other bytes");
	assert_int_equal(fs_pin_read(pin, 0, &slice, &len), 0);

	assert_int_equal(len, LEN);
	assert_memory_equal(got, bytes, LEN);
}

static void
open__of_a_missing_key__is_enoent(void **state)
{
	struct fs_pin *none = NULL;

	(void)state;
	assert_int_equal(fs_pin_open(&fake_client, "none", true, &none), -ENOENT);
	assert_null(none);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(sums__of_right_bytes_in_any_order__are_fine),
		TEST(sums__with_one_wrong_byte__fail_with_the_last_piece_and_then_for_ever),
		TEST(sums__of_bytes_read_twice__count_once),
		TEST(sums__of_more_runs_than_can_be_kept__are_given_up),
		TEST(sums__of_random_pieces__find_every_changed_byte),
		TEST(pieces__whose_lease_is_lost__are_given_back),
		TEST(borrow__at_and_beyond_the_end__gives_what_there_is),
		TEST(borrow__where_no_copy_is_near__gives_no_piece),
		TEST(pin__of_a_replaced_object__reads_its_own_bytes),
		TEST(open__of_a_missing_key__is_enoent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
