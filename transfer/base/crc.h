/* SPDX-License-Identifier: Apache-2.0 */

/*
 * crc.h -- CRC-32C (Castagnoli) as RFC 3720 writes it: "123456789" has 0xe3069283.
 *
 * Sums of parts can be put together without seeing the bytes again, so slices,
 * extents and pieces written out of order need no second pass.  The arithmetic
 * is ISA-L's (32 GB/s a core where the processor can fold carry-less products).
 * thread:  any.
 */
#ifndef TRANSFER_BASE_CRC_H
#define TRANSFER_BASE_CRC_H

#include "transfer/base/base.h"

/* crc_of -- the sum of `so_far`'s bytes followed by these.  The sum of nothing is 0. */
uint32_t crc_of(uint32_t so_far, const void *bytes, size_t len_bytes);

/* crc_join -- the sum of A followed by B, from their sums and B's length.  O(log len). */
uint32_t crc_join(uint32_t crc_a, uint32_t crc_b, uint64_t len_b_bytes);

/* crc_copy -- copy and sum in one pass over the cache.  Areas may not overlap. */
uint32_t crc_copy(uint32_t so_far, void *to, const void *from, size_t len_bytes);

#endif
