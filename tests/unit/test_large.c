/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "transfer/base/large.h"

#define MIB ((size_t)1 << 20)

static void
memory__of_any_length__is_zeroes_and_may_be_written_to_its_end(void **state)
{
	static const size_t lens[] = {1,       4096,        MIB,         4 * MIB - 1,
				      4 * MIB, 4 * MIB + 1, 7 * MIB + 3, 16 * MIB};

	(void)state;
	for (size_t i = 0; i < array_len(lens); i++) {
		uint8_t *bytes = large_new(lens[i]);

		assert_non_null(bytes);
		for (size_t at = 0; at < lens[i]; at += at + 4096 < lens[i] ? 4095 : 1)
			assert_int_equal(bytes[at], 0);
		bytes[0] = bytes[lens[i] - 1] = 1;
		large_free(bytes, lens[i]);
	}
}

static void
memory__that_is_large__begins_a_large_page(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		void *memory = large_new(5 * MIB);

		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % (2 * MIB), 0);
		large_free(memory, 5 * MIB);
	}
}

static void
memory__more_than_there_can_be__is_refused(void **state)
{
	(void)state;
	assert_null(large_new(SIZE_MAX));
	assert_null(large_new(SIZE_MAX - 2 * MIB));
	assert_null(large_new(SIZE_MAX / 2));
}

static void
memory__none__may_be_freed(void **state)
{
	(void)state;
	large_free(NULL, 0);
	large_free(NULL, 8 * MIB);
}

int
main(void)
{
	static const struct CMUnitTest all[] = {
		cmocka_unit_test(memory__of_any_length__is_zeroes_and_may_be_written_to_its_end),
		cmocka_unit_test(memory__that_is_large__begins_a_large_page),
		cmocka_unit_test(memory__more_than_there_can_be__is_refused),
		cmocka_unit_test(memory__none__may_be_freed),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
