/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lends.h -- the lent segments of this process, by id, and who is touching them right now.
 *
 *      lends_add --> held and dropped, as often as anyone moves bytes
 *      lends_leave   from now on nobody can hold it
 *      lends_wait    the last one has dropped it: it may be unmapped
 *
 * thread:  any.
 */
#ifndef TRANSFER_LENDS_H
#define TRANSFER_LENDS_H

#include "transfer/base/lock.h"
#include "transfer/base/map.h"
#include "transfer/lent.h"

/* One lent segment in the table. */
struct lends_row {
	struct lent *lent; /* borrowed */
	unsigned n_users;
	bool is_leaving;
};

struct lends {
	struct lock lock; /* LOCK_xfer_lends; guards all */
	pthread_cond_t dropped;
	struct map rows; /* segment id -> struct lends_row */
};

void lends_init(struct lends *lends);
void lends_fini(struct lends *lends);

enum lends_outcome { LENDS_E_EXISTS = 1 };

/* lends_add -- 0, LENDS_E_EXISTS (that id is there already), -ENOMEM. */
int lends_add(struct lends *lends, struct lent *lent) MUST_CHECK;

/* lends_hold -- the segment, or NULL.  Give it back with lends_drop(). */
struct lends_row *lends_hold(struct lends *lends, uint64_t segment_id);
void lends_drop(struct lends *lends, struct lends_row *row);

/* lends_leave, lends_wait -- take it out of the table, see above.  A segment that is not in it is
 * no harm. */
void lends_leave(struct lends *lends, const struct lent *lent);
void lends_wait(struct lends *lends, const struct lent *lent);

/* lends_fence -- raise the fence word of a segment, if it is there. */
void lends_fence(struct lends *lends, uint64_t segment_id);

#endif
