/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "transfer/base/crc.h"
#include "transfer/base/rand.h"

/* bit_by_bit -- the definition, to check the fast way against. */
static uint32_t
bit_by_bit(const uint8_t *bytes, size_t n)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	return ~crc;
}

static void
fill(struct rand *rand, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)rand_u64(rand);
}

static void
sum__of_the_known_words__is_the_known_number(void **state)
{
	uint8_t zeros[32] = {0}, ones[32];

	(void)state;
	memset(ones, 0xff, sizeof(ones));

	assert_int_equal(crc_of(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(crc_of(0, zeros, sizeof(zeros)), 0x8a9136aau); /* RFC 3720, B.4 */
	assert_int_equal(crc_of(0, ones, sizeof(ones)), 0x62a8ab43u);
}

static void
sum__of_nothing__is_zero(void **state)
{
	(void)state;
	assert_int_equal(crc_of(0, "", 0), 0);
	assert_int_equal(crc_of(0xe3069283u, "", 0), 0xe3069283u);
	assert_int_equal(crc_copy(0, NULL, NULL, 0), 0);
}

static void
sum__of_any_length_and_place__is_the_definition(void **state)
{
	uint8_t bytes[2100];
	struct rand rand;

	(void)state;
	rand_init(&rand, 1);
	fill(&rand, bytes, sizeof(bytes));

	for (size_t start = 0; start < 16; start++) {
		size_t n = rand_below(&rand, 2000);

		assert_int_equal(crc_of(0, bytes + start, n), bit_by_bit(bytes + start, n));
	}
}

static void
sum__of_each_short_length__is_the_definition(void **state)
{
	uint8_t bytes[300];
	struct rand rand;

	(void)state;
	rand_init(&rand, 3);
	fill(&rand, bytes, sizeof(bytes));

	for (size_t n = 0; n <= 290; n++)
		assert_int_equal(crc_of(0, bytes + n % 8, n), bit_by_bit(bytes + n % 8, n));
}

static void
sum__goes_on_where_it_stopped(void **state)
{
	(void)state;
	assert_int_equal(crc_of(crc_of(0, "1234", 4), "56789", 5), 0xe3069283u);
}

static void
join__of_two_sums__is_the_sum_of_both(void **state)
{
	uint8_t bytes[4096];
	struct rand rand;

	(void)state;
	rand_init(&rand, 2);
	fill(&rand, bytes, sizeof(bytes));
	for (int i = 0; i < 500; i++) {
		size_t n_a = rand_below(&rand, sizeof(bytes));
		size_t n_b = rand_below(&rand, sizeof(bytes) - n_a + 1);
		uint32_t a = crc_of(0, bytes, n_a);
		uint32_t b = crc_of(0, bytes + n_a, n_b);

		assert_int_equal(crc_join(a, b, n_b), crc_of(0, bytes, n_a + n_b));
	}
}

static void
join__with_nothing__changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(crc_join(0xe3069283u, 0, 0), 0xe3069283u);
	assert_int_equal(crc_join(0, 0xe3069283u, 9), 0xe3069283u);
}

/* x^(2^31 - 1) is 1 modulo P: behind any multiple of so many bytes a sum comes back. */
static void
join__of_more_bytes_than_any_memory_has__still_adds_up(void **state)
{
	const uint64_t period = (1ull << 31) - 1;

	(void)state;
	assert_int_equal(crc_join(0xe3069283u, 0, period), 0xe3069283u);
	assert_int_equal(crc_join(0xe3069283u, 0, period << 33), 0xe3069283u);
	assert_int_not_equal(crc_join(0xe3069283u, 0, (period << 33) + 1), 0xe3069283u);
}

static void
join__is_associative(void **state)
{
	struct rand rand;

	(void)state;
	rand_init(&rand, 3);
	for (int i = 0; i < 200; i++) {
		uint32_t a = (uint32_t)rand_u64(&rand), b = (uint32_t)rand_u64(&rand);
		uint32_t c = (uint32_t)rand_u64(&rand);
		uint64_t n_b = rand_u64(&rand) >> 1, n_c = rand_u64(&rand) >> 1;

		assert_int_equal(crc_join(crc_join(a, b, n_b), c, n_c),
				 crc_join(a, crc_join(b, c, n_c), n_b + n_c));
	}
}

static void
copy__copies_and_sums(void **state)
{
	static uint8_t from[100003], to[100003];
	struct rand rand;

	(void)state;
	rand_init(&rand, 4);
	fill(&rand, from, sizeof(from));
	for (int i = 0; i < 20; i++) {
		size_t n = rand_below(&rand, sizeof(from) - 16);
		size_t at = rand_below(&rand, 16);
		uint32_t so_far = (uint32_t)rand_u64(&rand);

		memset(to, 0, sizeof(to));
		assert_int_equal(crc_copy(so_far, to + at, from, n), crc_of(so_far, from, n));
		assert_memory_equal(to + at, from, n);
		assert_int_equal(to[at + n], 0);
	}
}

#ifdef __x86_64__
#define IN_USE_AVX     (1u << 2)
#define IN_USE_AVX_512 (1u << 6)

/* tells_use -- can the processor say which registers are in use? */
static bool
tells_use(void)
{
	uint32_t a, b, c, d;

	return __builtin_cpu_supports("avx") && __get_cpuid_count(13, 1, &a, &b, &c, &d) &&
	       (a & (1u << 2)) != 0;
}

static uint32_t
in_use(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
	return low;
}
#endif

static void
sum__of_many_bytes__leaves_no_wide_register_in_use(void **state)
{
	(void)state;
#ifdef __x86_64__
	static uint8_t bytes[1 << 16];

	if (!tells_use())
		skip();
	crc_of(0, bytes, sizeof(bytes));
	assert_int_equal(in_use() & (IN_USE_AVX | IN_USE_AVX_512), 0);
#else
	skip();
#endif
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum__of_the_known_words__is_the_known_number),
		cmocka_unit_test(sum__of_nothing__is_zero),
		cmocka_unit_test(sum__of_any_length_and_place__is_the_definition),
		cmocka_unit_test(sum__of_each_short_length__is_the_definition),
		cmocka_unit_test(sum__goes_on_where_it_stopped),
		cmocka_unit_test(join__of_two_sums__is_the_sum_of_both),
		cmocka_unit_test(join__with_nothing__changes_nothing),
		cmocka_unit_test(join__of_more_bytes_than_any_memory_has__still_adds_up),
		cmocka_unit_test(join__is_associative),
		cmocka_unit_test(copy__copies_and_sums),
		cmocka_unit_test(sum__of_many_bytes__leaves_no_wide_register_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
