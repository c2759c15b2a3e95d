/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sketch.h -- how often was this seen lately?  An estimate in fixed memory (count-min).
 *
 *      key --hash--> row 0  |..3.......|
 *                    row 1  |......5...|      the estimate is the least of the four: 3
 *                    row 2  |.7........|      never too small, rarely too large
 *                    row 3  |........3.|
 *
 * Counts stop at 15.  When as many sightings were counted as `width` * 8, all are halved, so that
 * what was popular long ago makes way (as TinyLFU does, Einziger and others 2017).
 *
 * thread:  any; racing sightings may be counted once.  The memory may be shared by processes.
 */
#ifndef TRANSFER_BASE_SKETCH_H
#define TRANSFER_BASE_SKETCH_H

#include <stdatomic.h>

#include "transfer/base/base.h"

#define SKETCH_ROWS      4
#define SKETCH_COUNT_MAX 15
#define SKETCH_WIDTH_MIN 64

/* Lies wherever its owner has sketch_bytes() of zeros for it. */
struct sketch {
	uint32_t width; /* a power of two */
	_Atomic uint32_t n_seen;
	_Atomic uint8_t counts[]; /* SKETCH_ROWS rows of width */
};

/* sketch_bytes -- of memory for a sketch of this width (a power of two, at least SKETCH_WIDTH_MIN).
 */
size_t sketch_bytes(uint32_t width);

/* sketch_init -- needs: memory of zeros. */
void sketch_init(struct sketch *sketch, uint32_t width);

/* sketch_see -- count a sighting.  result: the estimate with it, 1..SKETCH_COUNT_MAX. */
unsigned sketch_see(struct sketch *sketch, uint64_t key);

/* sketch_of -- the estimate, 0..SKETCH_COUNT_MAX. */
unsigned sketch_of(const struct sketch *sketch, uint64_t key);

#endif
