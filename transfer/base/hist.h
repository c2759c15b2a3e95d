/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hist.h -- how long things took: counts by powers of two.
 *
 *      bucket 0     up to 1024 ns
 *      bucket k     up to 1024 * 2^k ns, k up to HIST_BUCKETS - 2 (17 s)
 *      the last     longer
 *
 * thread:  the owner's.
 */
#ifndef TRANSFER_BASE_HIST_H
#define TRANSFER_BASE_HIST_H

#include "transfer/base/base.h"

#define HIST_BUCKETS 26

struct hist {
	uint64_t n[HIST_BUCKETS];
	uint64_t n_all, sum_ns;
};

/* hist_bucket_of -- where len_ns counts. */
static inline unsigned
hist_bucket_of(uint64_t len_ns)
{
	uint64_t steps = len_ns == 0 ? 0 : (len_ns - 1) >> 10;
	unsigned bucket = steps == 0 ? 0 : 64 - (unsigned)__builtin_clzll(steps);

	return bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1;
}

/* hist_top_ns -- the longest that counts in this bucket; UINT64_MAX: the last has no end. */
static inline uint64_t
hist_top_ns(unsigned bucket)
{
	return bucket == HIST_BUCKETS - 1 ? UINT64_MAX : (uint64_t)1024 << bucket;
}

static inline void
hist_add(struct hist *hist, uint64_t len_ns)
{
	hist->n[hist_bucket_of(len_ns)]++;
	hist->n_all++;
	hist->sum_ns += len_ns;
}

/* hist_quantile_ns -- no more than this took `share` (0..1) of them; the top of a bucket.  0: there
 * are none. */
uint64_t hist_quantile_ns(const struct hist *hist, double share);

#endif
