/* SPDX-License-Identifier: Apache-2.0 */

/*
 * alloc.h -- which bytes of a segment are whose.
 *
 * Runs of bytes lie one behind the other without gaps; two neighbours are never
 * both free (they are joined at once):
 *
 *     0      taken        free       taken  free        size
 *     |######|############|..........|######|............|
 *
 * Free runs hang in size classes (two-level segregated fit, Masmano et al. 2004):
 * taking and giving back are O(1).  All of it lies in the master's memory, none in
 * the segment.  Lengths are rounded up to ALLOC_GRAIN.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_ALLOC_H
#define MASTER_ALLOC_H

#include "master/extent.h"

/* extent_room_bytes -- what it takes up of its segment. */
static inline uint64_t
extent_room_bytes(struct extent extent)
{
	return (extent.len_bytes + ALLOC_GRAIN - 1) / ALLOC_GRAIN * ALLOC_GRAIN;
}

struct alloc;

enum alloc_outcome {
	ALLOC_E_FULL = 1, /* no free run (or not so many) of that length */
	ALLOC_E_TAKEN,    /* alloc_take_all: some byte would be taken twice */
};

/* alloc_new -- needs: size_bytes is a multiple of ALLOC_GRAIN, > 0. */
int alloc_new(uint64_t size_bytes, struct alloc **ret_alloc) MUST_CHECK;
void alloc_free(struct alloc *alloc);

/*
 * alloc_take -- one run of len_bytes.
 *
 * needs:   len_bytes > 0.
 * gives:   *ret_extent: its len_bytes is the one asked for; what rounding added belongs to it too.
 * result:  0, ALLOC_E_FULL, -ENOMEM; then nothing has changed.
 */
int alloc_take(struct alloc *alloc, uint64_t len_bytes, struct extent *ret_extent) MUST_CHECK;

/*
 * alloc_take_pieces -- len_bytes in as few runs as can be had, longest first, at most cap.
 *
 * For when alloc_take() says full though the bytes are there.
 * result:  0 with ret[0..*ret_n) in the order of the object's bytes; ALLOC_E_FULL; -ENOMEM.
 */
int alloc_take_pieces(struct alloc *alloc, uint64_t len_bytes, struct extent *ret, size_t cap,
		      size_t *ret_n) MUST_CHECK;

/*
 * alloc_take_all -- exactly these runs, n of them in any order (recovery); it costs one pass.
 *
 * needs:   nothing was taken before.
 * gives:   extents in the order of their offsets; with ALLOC_E_TAKEN *ret_bad: one that is empty,
 *          shares bytes with another, or does not lie in the segment.
 * result:  0, -ENOMEM, ALLOC_E_TAKEN; then nothing is taken.
 */
int alloc_take_all(struct alloc *alloc, struct extent *extents, size_t n,
		   struct extent *ret_bad) MUST_CHECK;

/* alloc_give -- needs: extent was taken as such, whole. Never fails. */
void alloc_give(struct alloc *alloc, struct extent extent);

/*
 * alloc_shrink -- the end of a taken run is given back.
 *
 * needs:   0 < len_bytes <= extent.len_bytes.
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int alloc_shrink(struct alloc *alloc, struct extent extent, uint64_t len_bytes) MUST_CHECK;

/*
 * alloc_take_gaps -- take every free run in [from, to), cut to it (where chunks must rest).
 *
 * needs:   from, to are multiples of ALLOC_GRAIN; to may lie behind the end.
 *          took() leaves alloc alone.
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int alloc_take_gaps(struct alloc *alloc, uint64_t from_bytes, uint64_t to_bytes,
		    void (*took)(void *arg, struct extent extent), void *arg) MUST_CHECK;

uint64_t alloc_size_bytes(const struct alloc *alloc);
uint64_t alloc_used_bytes(const struct alloc *alloc); /* with rounding */
uint64_t alloc_hole_bytes(const struct alloc *alloc); /* the longest free run, exactly */
size_t alloc_n_runs(const struct alloc *alloc);
size_t alloc_ram_bytes(const struct alloc *alloc);

/* alloc_check -- walk all runs and classes and assert every law (tests). */
void alloc_check(const struct alloc *alloc);

DEFINE_CLEANUP(struct alloc, alloc_free);

#endif
