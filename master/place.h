/* SPDX-License-Identifier: Apache-2.0 */

/*
 * place.h -- which segments an object's copies go to.
 *
 * Preferred segments first, in their order.  Then the freer of two taken by chance
 * (Mitzenmacher 2001: nearly as even as looking at all), and only when neither has
 * room, each in turn.  Never two copies on one segment, nor on one host while
 * another has room.
 *
 * Whoever takes room takes it here: so here a tenant's quota is judged.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_PLACE_H
#define MASTER_PLACE_H

#include "master/master.h"

enum place_outcome {
	PLACE_E_FULL = 1,   /* segments there are, but no room in them */
	PLACE_E_NO_SEGMENT, /* none is left to choose from */
	PLACE_E_QUOTA,      /* its tenant may hold no more */
};

/*
 * place_replica -- one more INITIALIZED copy of room_bytes for object.
 *
 * result:  0, place_outcome, -ENOMEM; then nothing has changed.
 */
int place_replica(struct master *master, struct object *object, uint64_t room_bytes,
		  const uint64_t *preferred, size_t n_preferred) MUST_CHECK;

/* place_on -- as place_replica(), on that segment, which must have no copy of it.  0, PLACE_E_FULL,
 * -ENOMEM. */
int place_on(struct master *master, struct object *object, struct segment *segment,
	     uint64_t room_bytes) MUST_CHECK;

/* What a copy of an object that is there wants. */
struct copy_wish {
	const struct object *of;
	uint64_t from_id;     /* the copy that it takes the place of, 0: none */
	const uint64_t *only; /* segments it may go to */
	size_t n_only;        /* 0: any */
	uint8_t medium;       /* enum medium, 0: any */
};

/*
 * place_copy -- the extents of one more copy of wish->of, as a copy of `object`, which has none.
 *
 * Never on a segment that has one, nor on a host of one while there is a choice; the freer of all.
 * result:  0, place_outcome, -ENOMEM; then nothing has changed.
 */
int place_copy(struct master *master, struct object *object,
	       const struct copy_wish *wish) MUST_CHECK;

/* place_more -- more_bytes behind the extents of a copy, in its own segment.  0, PLACE_E_FULL,
 * PLACE_E_QUOTA, -ENOMEM. */
int place_more(struct master *master, struct replica *rep, uint64_t more_bytes) MUST_CHECK;

#endif
