/* SPDX-License-Identifier: Apache-2.0 */

/* rand.h -- chance, from a seed: the same seed, the same story.  Not for secrets (token.h). */
#ifndef TRANSFER_BASE_RAND_H
#define TRANSFER_BASE_RAND_H

#include "transfer/base/base.h"

/* xoshiro256**, seeded by splitmix64 (Blackman and Vigna, 2018).  One owner thread. */
struct rand {
	uint64_t s[4];
};

void rand_init(struct rand *rand, uint64_t seed);

/* rand_init_os -- a seed from the kernel.  0 or -errno. */
int rand_init_os(struct rand *rand) MUST_CHECK;

uint64_t rand_u64(struct rand *rand);

/* rand_below -- 0..n-1, every value equally likely.  needs: n > 0. */
uint64_t rand_below(struct rand *rand, uint64_t n);

/* rand_id -- 1..2^63-1: fits SQLite's INTEGER, never 0. */
uint64_t rand_id(struct rand *rand);

#endif
