/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lease.h -- what readers were promised: until then the bytes they were told of stay.
 *
 *      grant --> [ a round runs ] --all given back, or its time is over--> (none)
 *                   |      ^
 *                   renew--+
 *
 * A round is what was granted while an earlier promise still ran (fields: object.h).  One who holds
 * it may renew; who comes late, or names another round, holds nothing.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_LEASE_H
#define MASTER_LEASE_H

#include "master/master.h"

static inline bool
lease_runs(const struct object *object, uint64_t now_ms)
{
	return object->lease_until_ms > now_ms;
}

/* lease_grant -- a promise of len_ms from now.  Gives the round for renew and release. */
uint32_t lease_grant(struct master *master, struct object *object, uint64_t len_ms);

/* lease_renew -- false: the promise had ended, the object may have been read by nobody since. */
bool lease_renew(struct master *master, struct object *object, uint32_t lease_id, uint64_t len_ms);
void lease_release(struct master *master, struct object *object, uint32_t lease_id);

/* lease_renew_of, lease_release_of -- of the object or ghost of that id, whichever has that round.
 */
bool lease_renew_of(struct master *master, uint64_t object_id, uint32_t lease_id, uint64_t len_ms);
void lease_release_of(struct master *master, uint64_t object_id, uint32_t lease_id);

/* lease_stretch -- it stays for len_ms from now, at least. */
void lease_stretch(const struct master *master, struct object *object, uint64_t len_ms);

/*
 * lease_break -- nobody may renew any more by what was granted up to now.
 *
 * Their promises run on, and can't be given back early.
 */
void lease_break(const struct master *master, struct object *object);

#endif
