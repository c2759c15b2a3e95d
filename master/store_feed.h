/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_feed.h -- records on their way from the thread that reads rows to the one that builds.
 *
 *      reader    feed_add() ... feed_end()
 *                    |
 *                    v   a few journals, filled and emptied in turn
 *      builder   feed_drain()
 *
 * Each sees all records in the order in which they were added.  A reader that is ahead waits until
 * a journal is empty again; a builder that gives up sends the reader home.
 */
#ifndef MASTER_STORE_FEED_H
#define MASTER_STORE_FEED_H

#include "master/journal.h"
#include "transfer/base/lock.h"

#define FEED_JOURNALS 4
#define FEED_BYTES    (256u << 10) /* a journal so long is handed over */

struct feed {
	struct lock lock;    /* what follows, but for the journals */
	pthread_cond_t cond; /* any of it has changed */
	size_t n_filled, n_emptied;
	bool is_over;                           /* nothing will be added any more */
	bool is_off;                            /* nobody wants more */
	struct journal journals[FEED_JOURNALS]; /* n_emptied .. n_filled are the builder's */
};

void feed_init(struct feed *feed);
void feed_fini(struct feed *feed);

/* feed_add -- arg: the feed.  0; -ENOMEM; -ECANCELED: the builder has given up.  thread: the
 * reader's. */
int feed_add(void *arg, const struct record *record) MUST_CHECK;

/* feed_end -- no more will come, for whatever reason.  thread: the reader's. */
void feed_end(struct feed *feed);

/*
 * feed_drain -- call fn for every record, until feed_end() or until fn gives anything but 0.
 *
 * result:  0, or what fn gave.
 * thread:  the builder's.
 */
int feed_drain(struct feed *feed, int (*fn)(void *arg, const struct record *record),
	       void *arg) MUST_CHECK;

#endif
