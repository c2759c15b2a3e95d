/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/choose.h"

static void
order__puts_the_nearest_first(void **state)
{
	const struct choice choices[3] = {
		{.nearness = NEAR_ELSEWHERE}, {.nearness = NEAR_PROCESS}, {.nearness = NEAR_HOST}};
	size_t order[3];

	(void)state;
	for (unsigned turn = 0; turn < 7; turn++) {
		choose_order(choices, 3, turn, order);

		assert_int_equal(order[0], 1);
		assert_int_equal(order[1], 2);
		assert_int_equal(order[2], 0);
	}
}

static void
order__puts_failed_ones_last_even_if_near(void **state)
{
	const struct choice choices[3] = {{.nearness = NEAR_PROCESS, .has_failed = true},
					  {.nearness = NEAR_ELSEWHERE},
					  {.nearness = NEAR_HOST, .has_failed = true}};
	size_t order[3];

	(void)state;
	choose_order(choices, 3, 2, order);

	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 0);
	assert_int_equal(order[2], 2);
}

static void
order__puts_those_on_disks_behind_those_in_memory(void **state)
{
	const struct choice choices[3] = {{.nearness = NEAR_PROCESS, .is_on_disk = true},
					  {.nearness = NEAR_ELSEWHERE, .has_failed = true},
					  {.nearness = NEAR_ELSEWHERE}};
	size_t order[3];

	(void)state;
	choose_order(choices, 3, 1, order);

	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 0);
	assert_int_equal(order[2], 1);
}

static void
order__gives_each_equal_its_turn(void **state)
{
	const struct choice choices[4] = {{.nearness = NEAR_ELSEWHERE},
					  {.nearness = NEAR_ELSEWHERE},
					  {.nearness = NEAR_ELSEWHERE},
					  {.nearness = NEAR_ELSEWHERE}};
	unsigned n_first[4] = {0};
	size_t order[4];

	(void)state;
	for (unsigned turn = 0; turn < 40; turn++) {
		choose_order(choices, 4, turn, order);
		n_first[order[0]]++;
	}

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(n_first[i], 10);
}

static void
order__names_every_copy_once(void **state)
{
	struct choice choices[8];
	size_t order[8];
	unsigned seen;

	(void)state;
	for (unsigned pattern = 0; pattern < 256; pattern++) {
		for (size_t i = 0; i < 8; i++)
			choices[i] = (struct choice){(pattern >> i) % 3, (pattern >> i) % 5 == 0,
						     (pattern >> i) % 2};
		choose_order(choices, 8, pattern, order);

		seen = 0;
		for (size_t i = 0; i < 8; i++)
			seen |= 1u << order[i];
		assert_int_equal(seen, 255);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order__puts_the_nearest_first),
		cmocka_unit_test(order__puts_failed_ones_last_even_if_near),
		cmocka_unit_test(order__puts_those_on_disks_behind_those_in_memory),
		cmocka_unit_test(order__gives_each_equal_its_turn),
		cmocka_unit_test(order__names_every_copy_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
