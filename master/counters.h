/* SPDX-License-Identifier: Apache-2.0 */

/* counters.h -- what tiffin-master counts (counters.def). */
#ifndef MASTER_COUNTERS_H
#define MASTER_COUNTERS_H

#include "transfer/base/counters.h"

struct master_counters {
#define COUNTER(field, kind, unit, help) COUNTER_FIELD(field, kind, unit, help)
#include "master/counters.def"
#undef COUNTER
};

extern const struct counter_def master_counter_defs[];
extern const size_t n_master_counter_defs;

/* master_counter -- the i-th of master_counter_defs. */
uint64_t master_counter(const struct master_counters *counters, size_t i);

#endif
