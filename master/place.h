/* SPDX-License-Identifier: Apache-2.0 */

/*
 * place.h -- which segments an object's copies go to.
 *
 *      wished for by name          in their order
 *      beside                      those of one host, if the wish or local_first names one
 *      by the strategy             one or two drawn by chance
 *      each in turn                only when what was drawn has no room
 *
 * random draws one.  free_ratio_first draws two and takes that with the larger part of it free
 * (Mitzenmacher 2001: nearly as even as looking at all of them).  So with n segments to choose from
 * none is drawn in more than 2/n - 1/n^2 of all cases: one that has just joined, and is empty, gets
 * no more than that part of what is put, as long as others have room.
 *
 * Never two copies on one segment, nor on one host while another has room, whatever the strategy
 * says; only who names segments may have two copies on a host.
 *
 * Cost: a draw looks at two segments; with local_first some log2(n) host names come before it.
 * Whoever takes room takes it here: so here a tenant's quota is judged.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_PLACE_H
#define MASTER_PLACE_H

#include "master/master.h"

/* The words of the option `placement` (options.def), in this order. */
enum placement { PLACEMENT_RANDOM, PLACEMENT_FREE_RATIO_FIRST, PLACEMENT_LOCAL_FIRST };

/* place_home -- copies go to memory; while there is none, to disks. */
enum pool_kind place_home(const struct master *master, enum pool_kind wanted);

/* What one more copy of an object in the making wants. */
struct place_wish {
	uint64_t room_bytes;
	enum pool_kind pool;
	const uint64_t *preferred; /* ids of segments to take first, if they are of the pool */
	size_t n_preferred;
	const char *beside; /* a host whose segments come next; NULL: none */
};

enum place_outcome {
	PLACE_E_FULL = 1,   /* segments there are, but no room in them */
	PLACE_E_NO_SEGMENT, /* none is left to choose from */
	PLACE_E_QUOTA,      /* its tenant may hold no more */
};

/*
 * place_replica -- one more INITIALIZED copy of object, the last of its list.
 *
 * result:  0, place_outcome, -ENOMEM; then nothing has changed.
 */
int place_replica(struct master *master, struct object *object,
		  const struct place_wish *wish) MUST_CHECK;

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
 * Never on a segment that has one, nor on a host of one while there is a choice; the freest of all.
 * What takes the place of a nof copy is one, too, and what doesn't is none, while there is a
 * choice. result:  0, place_outcome, -ENOMEM; then nothing has changed.
 */
int place_copy(struct master *master, struct object *object,
	       const struct copy_wish *wish) MUST_CHECK;

/* place_more -- more_bytes behind the extents of a copy, in its own segment.  0, PLACE_E_FULL,
 * PLACE_E_QUOTA, -ENOMEM. */
int place_more(struct master *master, struct replica *rep, uint64_t more_bytes) MUST_CHECK;

#endif
