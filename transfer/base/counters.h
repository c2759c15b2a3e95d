/* SPDX-License-Identifier: Apache-2.0 */

/*
 * counters.h -- what a program counts, as a list: COUNTER(field, kind, unit, help).
 *
 *      kind   TOTAL   only grows        GAUGE   goes up and down
 *
 * Fields are _Atomic uint64_t; relaxed order is enough, for nothing is decided
 * by them.  One thread counts, so that no cache is locked; any may read.  The same
 * list feeds the struct, `tiffin status`, metrics and the manual.
 */
#ifndef TRANSFER_BASE_COUNTERS_H
#define TRANSFER_BASE_COUNTERS_H

#include <stdatomic.h>

#include "transfer/base/base.h"

enum counter_kind { COUNTER_TOTAL, COUNTER_GAUGE };

struct counter_def {
	const char *name;
	enum counter_kind kind;
	const char *unit;
	size_t at;
	const char *help;
};

#define COUNTER_FIELD(field, kind, unit, help) _Atomic uint64_t field;

static inline void
counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

static inline void
counter_sub(_Atomic uint64_t *counter, uint64_t n)
{
	counter_add(counter, 0 - n);
}

static inline uint64_t
counter_get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
