/* SPDX-License-Identifier: Apache-2.0 */

/*
 * clock.h -- the only source of time, and the only way to wait for it.
 *
 * A program hands out the real clock, a test or the simulation its own.  The
 * real one is CLOCK_BOOTTIME: it goes on while a machine sleeps, so a promise
 * of five seconds is over after five seconds, whoever slept.  It is never
 * compared with another machine's.  `wall_ms` is for people and for files'
 * times alone; nothing is ever decided by it.
 */
#ifndef TRANSFER_BASE_CLOCK_H
#define TRANSFER_BASE_CLOCK_H

#include "transfer/base/base.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

struct clock {
	uint64_t (*now_ns)(const struct clock *clock);
	uint64_t (*wall_ms)(const struct clock *clock); /* since 1970, UTC */
	void (*sleep_ns)(const struct clock *clock, uint64_t len_ns);
};

/* clock_real -- the machine's.  Lives for ever; any thread. */
const struct clock *clock_real(void);

static inline uint64_t
clock_ns(const struct clock *clock)
{
	return clock->now_ns(clock);
}

static inline uint64_t
clock_ms(const struct clock *clock)
{
	return clock->now_ns(clock) / NS_PER_MS;
}

static inline uint64_t
clock_wall_ms(const struct clock *clock)
{
	return clock->wall_ms(clock);
}

static inline void
clock_sleep_ms(const struct clock *clock, uint64_t len_ms)
{
	clock->sleep_ns(clock, len_ms * NS_PER_MS);
}

/* A test's clock: stands still until it is told to move; sleeping moves it. */
struct clock_fake {
	struct clock base;
	uint64_t ns;      /* now_ns */
	uint64_t wall_at; /* wall_ms at ns == 0 */
};

void clock_fake_init(struct clock_fake *fake, uint64_t start_ms);
void clock_fake_advance_ms(struct clock_fake *fake, uint64_t len_ms);

#endif
