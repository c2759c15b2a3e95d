/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "transfer/base/rand.h"

static void
same_seed__tells_the_same_story(void **state)
{
	struct rand a, b;

	(void)state;
	rand_init(&a, 42);
	rand_init(&b, 42);

	for (int i = 0; i < 100; i++)
		assert_true(rand_u64(&a) == rand_u64(&b));
}

static void
neighbouring_seeds__tell_different_stories(void **state)
{
	struct rand a, b;

	(void)state;
	rand_init(&a, 0);
	rand_init(&b, 1);

	assert_true(rand_u64(&a) != rand_u64(&b));
}

/* From the state {1, 2, 3, 4} the published algorithm goes on like this. */
static void
sequence__is_that_of_xoshiro256_starstar(void **state)
{
	static const uint64_t want[] = {
		11520, 0, 1509978240, 1215971899390074240, 1216172134540287360,
	};
	struct rand rand = {{1, 2, 3, 4}};

	(void)state;
	for (size_t i = 0; i < array_len(want); i++)
		assert_true(rand_u64(&rand) == want[i]);
}

static void
seed__is_spread_by_splitmix64(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 0);

	assert_true(rand.s[0] == 0xe220a8397b1dcdafu);
	assert_true(rand.s[1] == 0x6e789e6aa1b965f4u);
}

static void
below__stays_below_and_meets_every_value(void **state)
{
	unsigned met[7] = {0};
	struct rand rand;

	(void)state;
	rand_init(&rand, 5);
	for (int i = 0; i < 7000; i++) {
		uint64_t v = rand_below(&rand, array_len(met));

		assert_true(v < array_len(met));
		met[v]++;
	}

	for (size_t i = 0; i < array_len(met); i++) {
		assert_true(met[i] > 850);
		assert_true(met[i] < 1150);
	}
}

static void
below__one__is_always_zero(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 5);
	for (int i = 0; i < 10; i++)
		assert_int_equal(rand_below(&rand, 1), 0);
}

/* Of three quarters of all numbers a careless product would give a third twice as often. */
static void
below__a_large_number__is_still_fair(void **state)
{
	const uint64_t n = 3ull << 62;
	unsigned low = 0;
	struct rand rand;

	(void)state;
	rand_init(&rand, 6);
	for (int i = 0; i < 9000; i++)
		low += rand_below(&rand, n) < n / 3;

	assert_true(low > 2800);
	assert_true(low < 3200);
}

static void
id__fits_into_63_bits_and_is_never_zero(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 7);
	for (int i = 0; i < 10000; i++) {
		uint64_t id = rand_id(&rand);

		assert_true(id > 0);
		assert_true(id <= INT64_MAX);
	}
}

static void
seed_of_the_kernel__is_new_each_time(void **state)
{
	struct rand a, b;

	(void)state;
	assert_int_equal(rand_init_os(&a), 0);
	assert_int_equal(rand_init_os(&b), 0);

	assert_true(rand_u64(&a) != rand_u64(&b));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_seed__tells_the_same_story),
		cmocka_unit_test(neighbouring_seeds__tell_different_stories),
		cmocka_unit_test(sequence__is_that_of_xoshiro256_starstar),
		cmocka_unit_test(seed__is_spread_by_splitmix64),
		cmocka_unit_test(below__stays_below_and_meets_every_value),
		cmocka_unit_test(below__one__is_always_zero),
		cmocka_unit_test(below__a_large_number__is_still_fair),
		cmocka_unit_test(id__fits_into_63_bits_and_is_never_zero),
		cmocka_unit_test(seed_of_the_kernel__is_new_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
