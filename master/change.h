/* SPDX-License-Identifier: Apache-2.0 */

/*
 * change.h -- what has changed lately, for those who watch, and for those who come back to it.
 *
 *      number:   1 ...            first ............. committed ............ last
 *                forgotten        | kept, and may be told | kept, not to be told yet |
 *                                                                            <-- books_changed()
 *
 * Every change has a number, whether anybody watches or not: a position is a number within one
 * epoch of the master.  Who has heard all up to n has missed something that is not there any more
 * when n + 1 < first.  At most CHANGES_MAX of them, and CHANGES_BYTES_MAX, are kept; and none once
 * nobody has watched for CHANGES_KEPT_MS, so that a store without watchers pays for a number alone.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_CHANGE_H
#define MASTER_CHANGE_H

#include "transfer/base/base.h"

#define CHANGES_MAX       32768u /* a power of two */
#define CHANGES_BYTES_MAX (8u << 20)
#define CHANGES_KEPT_MS   60000u

struct object;

struct change {
	uint64_t batch, object_id, tenant_id;
	uint8_t kind;
	uint16_t key_len;
	uint8_t key[];
};

struct changes {
	struct change **ring; /* CHANGES_MAX; NULL: none are kept */
	uint64_t first;       /* the oldest that is kept; last + 1: none is */
	uint64_t last;
	uint64_t committed;  /* first - 1 .. last, but less while what is forgotten is not committed
			      */
	uint64_t gone_batch; /* of the newest that was forgotten before it was committed */
	size_t bytes;
	uint64_t keep_until_ms; /* when nobody watches */
};

void changes_init(struct changes *changes);
void changes_fini(struct changes *changes);

/* changes_keep -- from now on they are kept.  0 or -ENOMEM. */
int changes_keep(struct changes *changes) MUST_CHECK;

/* changes_add -- the newest; without memory it is forgotten at once, with all before it. */
void changes_add(struct changes *changes, const struct object *object, uint8_t kind,
		 uint64_t batch);

/* changes_commit -- all batches up to this one are. */
void changes_commit(struct changes *changes, uint64_t committed_batch);

/* changes_forget -- keep none any more. */
void changes_forget(struct changes *changes);

/* changes_at -- needs: first <= number <= last. */
static inline const struct change *
changes_at(const struct changes *changes, uint64_t number)
{
	assert(number >= changes->first && number <= changes->last);
	return changes->ring[number % CHANGES_MAX];
}

/* changes_has_missed -- who has heard all up to number can't be told all that came since. */
static inline bool
changes_has_missed(const struct changes *changes, uint64_t number)
{
	return number + 1 < changes->first || number > changes->last;
}

#endif
