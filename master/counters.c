/* SPDX-License-Identifier: Apache-2.0 */
#include "master/counters.h"

const struct counter_def master_counter_defs[] = {
#define COUNTER(field, kind, unit, help)                                                           \
	{#field, COUNTER_##kind, unit, offsetof(struct master_counters, field), help},
#include "master/counters.def"
#undef COUNTER
};
const size_t n_master_counter_defs = array_len(master_counter_defs);

uint64_t
master_counter(const struct master_counters *counters, size_t i)
{
	assert(i < n_master_counter_defs);
	return counter_get((const _Atomic uint64_t *)(const void *)((const char *)counters +
								    master_counter_defs[i].at));
}
