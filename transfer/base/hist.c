/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/hist.h"

uint64_t
hist_quantile_ns(const struct hist *hist, double share)
{
	uint64_t wanted = (uint64_t)(share * (double)hist->n_all);
	uint64_t seen = 0;

	assert(share >= 0 && share <= 1);
	if (hist->n_all == 0)
		return 0;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += hist->n[i];
		if (seen > 0 && seen >= wanted)
			return hist_top_ns(i);
	}
	return UINT64_MAX;
}
