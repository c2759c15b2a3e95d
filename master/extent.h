/* SPDX-License-Identifier: Apache-2.0 */

/* extent.h -- a run of bytes in a segment. */
#ifndef MASTER_EXTENT_H
#define MASTER_EXTENT_H

#include "transfer/base/num.h"

#define ALLOC_GRAIN 512 /* bytes: what direct I/O on any disk takes */

struct extent {
	uint64_t offset_bytes, len_bytes;
};

/* extent_grains -- so many are taken for an extent of that length. */
static inline uint64_t
extent_grains(uint64_t len_bytes)
{
	return num_align_up(len_bytes, ALLOC_GRAIN) / ALLOC_GRAIN;
}

/* extents_sort -- by offset, in a time that grows with n alone.  0 or -ENOMEM, then nothing has
 * changed. */
int extents_sort(struct extent *extents, size_t n) MUST_CHECK;

/*
 * extents_gaps -- how many gaps there are before, between and behind them, in a segment of that
 * size.
 *
 * needs:   they are sorted.
 * gives:   n; or the first one that is empty, does not begin at a grain, does not lie in the
 * segment, or shares a grain with the one before it: then *ret_n_gaps is of no meaning.
 */
size_t extents_gaps(const struct extent *extents, size_t n, uint64_t size_bytes,
		    size_t *ret_n_gaps);

#endif
