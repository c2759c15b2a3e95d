/* SPDX-License-Identifier: Apache-2.0 */

/*
 * stand.h -- one answer of the master by which a version is read, and its lease.
 *
 *      look --> stand --lease over, or no copy there answers--> look again
 *                 |                                                |
 *                 |            the same version: another stand <---+---> another, or none: lost
 *                 v                                                      for good
 *              read by it
 *
 * It does not change, and lives as long as anybody reads by it.  So when one of several copies is
 * lost, or all of them have moved, readers go on; what was read by a stand counts only if its own
 * lease held until the last byte had come, else it is read again by the next one.
 *
 * Borrowed bytes lie where they lie: when that copy is none any more the version goes on, but
 * tiffin_view_check() fails until all that was borrowed is given back.
 *
 * thread:  any.  Of a view fields below `lock` are touched only with it held.
 */
#ifndef CORE_STAND_H
#define CORE_STAND_H

#include "core/client.h"
#include "core/ask.h"
#include "transfer/base/lock.h"

struct stand {
	struct stand *next; /* among the former ones */
	unsigned n_users;   /* with the view's lock */
	struct ask ask;     /* place lives in its reply */
	const struct rec_object_place *place;
	struct kept kept;
	struct spot *borrowed[REPLICAS_MAX]; /* with the view's lock; mapped as long as bytes may be
						borrowed there */
};

#define VIEW_MAGIC 0x74766965u

struct tiffin_view {
	unsigned magic;
	struct tiffin_client *client;
	char *key;
	struct tiffin_stat stat;

	struct lock lock; /* LOCK_core_view */
	struct stand *now;
	struct stand *former; /* that are in use still */
	uint64_t n_borrows;
	bool is_lost;        /* for good */
	bool has_lost_bytes; /* some that were borrowed */
};

/* stand_first -- the master is asked, and the view stands.  0 or TIFFIN_E_*. */
int stand_first(struct tiffin_view *view);

/* stand_end -- nobody reads any more: all are given back.  Of a view that never stood: nothing. */
void stand_end(struct tiffin_view *view);

/* stand_use -- the one to read by, until stand_drop().  0 or TIFFIN_E_LEASE. */
int stand_use(struct tiffin_view *view, struct stand **ret_stand);
void stand_drop(struct tiffin_view *view, struct stand *stand);

/* stand_holds -- does its lease run?  One that ran out may still be won back: the object may be
 * just the same. */
bool stand_holds(const struct tiffin_view *view, const struct stand *stand);

/*
 * stand_look_again -- the one in use is of no use: where is the version now?
 *
 * gives:   *ret_moved: its copies lie elsewhere than the stand says.
 * result:  0, or TIFFIN_E_LEASE.
 */
int stand_look_again(struct tiffin_view *view, struct stand *stand, bool *ret_moved);

/* stand_over -- TIFFIN_E_LEASE, and why. */
int stand_over(const struct tiffin_view *view);

/* stand_free_former -- those that nobody reads by, and nobody borrows from.  needs: the lock. */
void stand_free_former(struct tiffin_view *view);

#endif
