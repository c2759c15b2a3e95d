/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ghost.h -- removed, replaced or moved away, but somebody still reads it under a lease.
 *
 * Nobody finds a ghost by its key, but who reads it may renew, and so goes on reading the version
 * or the copy that it began with, as long as it likes.  Its extents are claimed as those of a put
 * are (segment.h), for no books know them.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_GHOST_H
#define MASTER_GHOST_H

#include "master/master.h"

/* ghost_make -- this object, which nobody finds any more.  0 or -errno, then it is as it was. */
int ghost_make(struct master *master, struct object *object) MUST_CHECK;

/* ghost_make_of -- a ghost of that copy alone, with its extents and the round of leases it was told
 * under; the copy is the caller's to drop.  0 or -errno, then nothing has changed. */
int ghost_make_of(struct master *master, const struct object *object,
		  const struct replica *rep) MUST_CHECK;

/* ghost_drop -- one copy of a ghost goes (to rest); the ghost goes with its last. */
void ghost_drop(struct master *master, struct replica *rep);

/* ghost_end_rounds -- of that object's leases none can be renewed, also by none of its ghosts. */
void ghost_end_rounds(struct master *master, struct object *object);

/* ghost_sweep -- those whose leases are over go to rest; max_steps are looked at. */
void ghost_sweep(struct master *master, unsigned max_steps);

#endif
