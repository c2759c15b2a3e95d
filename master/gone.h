/* SPDX-License-Identifier: Apache-2.0 */

/*
 * gone.h -- keys that have lost their object, as long as a restart would bring it back.
 *
 *      removed, renamed, evicted --> gone --its batch is committed--> (forgotten)
 *
 * "Not found" may be told of such a key only when that is so: otherwise somebody hears of a
 * removal, and after a crash the object is there again.  Nearly always there is nothing here, and a
 * miss costs nothing.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_GONE_H
#define MASTER_GONE_H

#include "transfer/base/map.h"
#include "transfer/base/vec.h"

struct gone_key {
	uint64_t hash, batch;
};

struct gone {
	struct map batches;         /* hash of the key -> the latest batch that took it away */
	VEC(struct gone_key) queue; /* in the order of their batches, from `first` on */
	size_t first;
	uint64_t unsure_batch; /* memory ran out: any key may have gone with it */
};

void gone_init(struct gone *gone);
void gone_fini(struct gone *gone);

/* gone_add -- needs: batches do not fall from call to call. */
void gone_add(struct gone *gone, uint64_t hash, uint64_t batch);

/* gone_batch -- the batch to wait for before that key is said to be missing; 0: none. */
uint64_t gone_batch(const struct gone *gone, uint64_t hash);

/* gone_last -- the batch to wait for before a list without some key is told; 0: none. */
uint64_t gone_last(const struct gone *gone);

/* gone_settle -- batches up to this one are committed. */
void gone_settle(struct gone *gone, uint64_t committed);

static inline bool
gone_is_empty(const struct gone *gone)
{
	return gone->batches.n == 0 && gone->unsure_batch == 0;
}

#endif
