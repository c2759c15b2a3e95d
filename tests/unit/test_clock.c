/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "transfer/base/clock.h"

static void
real_clock__never_goes_back(void **state)
{
	uint64_t before = clock_ns(clock_real());

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t now = clock_ns(clock_real());

		assert_true(now >= before);
		before = now;
	}
}

static void
real_clock__knows_the_century(void **state)
{
	(void)state;
	assert_true(clock_wall_ms(clock_real()) > 1700000000000u);
	assert_true(clock_wall_ms(clock_real()) < 4102444800000u);
}

static void
real_clock__has_moved_after_it_slept(void **state)
{
	uint64_t before = clock_ns(clock_real());

	(void)state;
	clock_real()->sleep_ns(clock_real(), 1000);

	assert_true(clock_ns(clock_real()) >= before + 1000);
}

static void
fake_clock__stands_still_until_told(void **state)
{
	struct clock_fake fake;

	(void)state;
	clock_fake_init(&fake, 1000);
	assert_int_equal(clock_ms(&fake.base), 1000);
	assert_int_equal(clock_ms(&fake.base), 1000);

	clock_fake_advance_ms(&fake, 250);

	assert_int_equal(clock_ms(&fake.base), 1250);
	assert_int_equal(clock_ns(&fake.base), 1250 * NS_PER_MS);
}

static void
fake_clock__moves_when_someone_sleeps(void **state)
{
	struct clock_fake fake;

	(void)state;
	clock_fake_init(&fake, 0);

	clock_sleep_ms(&fake.base, 86400000);

	assert_int_equal(clock_ms(&fake.base), 86400000);
}

static void
fake_wall__goes_with_the_fake_clock(void **state)
{
	struct clock_fake fake;

	(void)state;
	clock_fake_init(&fake, 0);
	fake.wall_at = 1700000000000u;

	clock_fake_advance_ms(&fake, 5);

	assert_int_equal(clock_wall_ms(&fake.base), 1700000000005u);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_clock__never_goes_back),
		cmocka_unit_test(real_clock__knows_the_century),
		cmocka_unit_test(real_clock__has_moved_after_it_slept),
		cmocka_unit_test(fake_clock__stands_still_until_told),
		cmocka_unit_test(fake_clock__moves_when_someone_sleeps),
		cmocka_unit_test(fake_wall__goes_with_the_fake_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
