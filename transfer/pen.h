/* SPDX-License-Identifier: Apache-2.0 */

/* pen.h -- integers of 1 to 8 bytes, little-endian, one behind the other: a pen writes, an eye
 * reads.
 */
#ifndef TRANSFER_PEN_H
#define TRANSFER_PEN_H

#include "transfer/base/base.h"

static inline void
pen_uint(uint8_t **pen, uint64_t v, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++)
		*(*pen)++ = (uint8_t)(v >> (8 * i));
}

static inline uint64_t
eye_uint(const uint8_t **eye, size_t n_bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n_bytes; i++)
		v |= (uint64_t) * (*eye)++ << (8 * i);
	return v;
}

#endif
