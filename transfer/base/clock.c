/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/clock.h"

#include <errno.h>
#include <time.h>

#include "transfer/base/num.h"

static uint64_t
read_ns(clockid_t id)
{
	struct timespec ts;
	int r = clock_gettime(id, &ts);

	assert(r == 0);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t
real_now_ns(const struct clock *clock)
{
	(void)clock;
	return read_ns(CLOCK_BOOTTIME);
}

static uint64_t
real_wall_ms(const struct clock *clock)
{
	(void)clock;
	return read_ns(CLOCK_REALTIME) / NS_PER_MS;
}

static void
real_sleep_ns(const struct clock *clock, uint64_t len_ns)
{
	uint64_t until_ns = num_add_sat(real_now_ns(clock), len_ns);
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / NS_PER_S),
		.tv_nsec = (long)(until_ns % NS_PER_S),
	};
	int r;

	do {
		r = clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL);
	} while (r == EINTR);
	assert(r == 0);
}

const struct clock *
clock_real(void)
{
	static const struct clock real = {
		.now_ns = real_now_ns,
		.wall_ms = real_wall_ms,
		.sleep_ns = real_sleep_ns,
	};

	return &real;
}

/*
 * The fake's time is read and moved with atomic steps, because a test may move
 * it while threads of the thing under test look at it.
 */
static uint64_t
fake_now_ns(const struct clock *clock)
{
	const struct clock_fake *fake = container_of(clock, const struct clock_fake, base);

	return __atomic_load_n(&fake->ns, __ATOMIC_RELAXED);
}

static uint64_t
fake_wall_ms(const struct clock *clock)
{
	const struct clock_fake *fake = container_of(clock, const struct clock_fake, base);

	return fake->wall_at + fake_now_ns(clock) / NS_PER_MS;
}

static void
fake_sleep_ns(const struct clock *clock, uint64_t len_ns)
{
	struct clock_fake *fake = container_of(clock, struct clock_fake, base);

	__atomic_add_fetch(&fake->ns, len_ns, __ATOMIC_RELAXED);
}

void
clock_fake_init(struct clock_fake *fake, uint64_t start_ms)
{
	*fake = (struct clock_fake){
		.base = {.now_ns = fake_now_ns, .wall_ms = fake_wall_ms, .sleep_ns = fake_sleep_ns},
		.ns = start_ms * NS_PER_MS,
	};
}

void
clock_fake_advance_ms(struct clock_fake *fake, uint64_t len_ms)
{
	fake_sleep_ns(&fake->base, len_ms * NS_PER_MS);
}
