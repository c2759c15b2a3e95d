/* SPDX-License-Identifier: Apache-2.0 */

/*
 * failing.h -- segments that peers report as failing rest.
 *
 * A client whose read or write on a segment got no answer names it in its next ping
 * (core/where.h).  From then on no new data goes there and readers are offered it last, until
 * nobody has named it for limits.failing_rest_ms.
 *
 * The word of one client is enough, for it may be the only one.  So what it can do by it is
 * bounded: of those that new data may go to, by pool, at most half rest for this reason.  A client
 * that is cut off itself names them all, and most of them stay; the only one of a pool always does.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_FAILING_H
#define MASTER_FAILING_H

#include "master/master.h"

/* failing_named -- by a client: these did not answer it. */
void failing_named(struct master *master, const struct client *client, const struct rec_id *ids,
		   uint32_t n);

/* failing_sweep -- one that was not named for long enough is as good as any. */
void failing_sweep(struct master *master, struct segment *segment);

#endif
