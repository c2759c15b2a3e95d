/* SPDX-License-Identifier: Apache-2.0 */

/*
 * stage.h -- where the small writes of a stream gather until they are worth a move.
 *
 *      object   0 ............ at_bytes ######## at_bytes + len_bytes ....
 *                                       stage: at most STAGE_BYTES
 */
#ifndef CORE_STAGE_H
#define CORE_STAGE_H

#include <sys/uio.h>

#include "transfer/base/base.h"

#define STAGE_BYTES (1u << 20)

struct stage {
	uint8_t *bytes; /* grows up to STAGE_BYTES; NULL at first */
	size_t cap;
	uint64_t at_bytes;
	size_t len_bytes;
};

void stage_fini(struct stage *stage);

/* stage_begin -- empty, at that offset of the object. */
void stage_begin(struct stage *stage, uint64_t at_bytes);

/*
 * stage_put -- take the bytes in, if they touch or overlap what is there and fit.
 *
 * result:  0; STAGE_E_ELSEWHERE: nothing was taken; -ENOMEM.
 */
enum stage_outcome { STAGE_E_ELSEWHERE = 1 };
int stage_put(struct stage *stage, uint64_t offset_bytes, const struct iovec *slices,
	      size_t n_slices, size_t len_bytes) MUST_CHECK;

/* stage_cut -- forget what lies at and beyond that offset. */
void stage_cut(struct stage *stage, uint64_t len_bytes);

/* stage_fill -- zeros behind what is there, up to that offset.  0, STAGE_E_ELSEWHERE: too far,
 * -ENOMEM. */
int stage_fill(struct stage *stage, uint64_t to_bytes) MUST_CHECK;

#endif
