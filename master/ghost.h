/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ghost.h -- removed, replaced or moved away, but somebody still reads it under a lease.
 *
 * Nobody finds a ghost by its key, but who reads it may renew, and so goes on reading the version
 * or the copy that it began with, as long as it likes.  Its extents are claimed as those of a put
 * are (segment.h), for no books know them.
 *
 * An object that moves on and on under its readers leaves a ghost each time, and its removal leaves
 * the last one:
 *
 *      copies told     A B   |  B C   |  C D   |  D
 *      round             1   |    2   |    3   |  4
 *                     A moves   B moves   C leaves    the object is removed
 *      ghosts            A(1)     B(2)     C(3)      D(4)
 *
 * Who was told in round 1 may be reading A or B, and holds no promise on C.  The master does not
 * know which, so by a round is kept what was parted from in that round or later, and the object
 * itself.  (That keeps C as well: for as long as the reader of round 1 goes on.)  When a copy goes
 * for good, with its segment, nobody renews by a round in which it may have been told.
 *
 * So of the ghosts of one id no older one outlives a younger one, but for those whose readers gave
 * back what they held.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_GHOST_H
#define MASTER_GHOST_H

#include "master/master.h"

#define GHOSTS_MAX 8 /* of one id, by copies that part; its removal is one more */

/* All ghosts of one id; master.ghosts has them. */
struct ghosts {
	unsigned n;                        /* 1..GHOSTS_MAX + 1 */
	struct object *at[GHOSTS_MAX + 1]; /* oldest first */
};

/* ghost_make -- this object, which nobody finds any more.  0 or -ENOMEM, then it is as it was. */
int ghost_make(struct master *master, struct object *object) MUST_CHECK;

/*
 * ghost_make_of -- a ghost of that copy alone, with its extents and the round of leases it was told
 * under; the copy is the caller's to drop.
 *
 * needs:   ghost_has_room().
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int ghost_make_of(struct master *master, const struct object *object, const struct replica *rep,
		  bool is_of_move) MUST_CHECK;

/* ghost_has_room -- may one more copy of it part, and its readers go on? */
bool ghost_has_room(const struct master *master, const struct object *object);

/* ghost_drop -- one copy of a ghost goes (to rest); the ghost goes with its last. */
void ghost_drop(struct master *master, struct replica *rep);

/* ghost_end_rounds -- of that object's leases none can be renewed, also by none of its ghosts. */
void ghost_end_rounds(struct master *master, struct object *object);

/*
 * ghost_renew -- by a round of one of that id's ghosts; object: who lives under that id, or NULL.
 *
 * result:  false: none has that round, or its promise had ended.
 */
bool ghost_renew(struct master *master, uint64_t object_id, struct object *object,
		 uint32_t lease_id, uint64_t len_ms);
void ghost_release(struct master *master, uint64_t object_id, uint32_t lease_id);

/* ghost_sweep -- those whose leases are over go to rest; max_steps are looked at. */
void ghost_sweep(struct master *master, unsigned max_steps);

/* ghosts_check -- the laws above, of every id.  Gives how many ghosts there are. */
size_t ghosts_check(const struct master *master);

/* ghosts_free -- all of them, when the master ends. */
void ghosts_free(struct master *master);

#endif
