/* SPDX-License-Identifier: Apache-2.0 */

/* num.h -- sums that cannot wrap, and numbers as people write them. */
#ifndef TRANSFER_BASE_NUM_H
#define TRANSFER_BASE_NUM_H

#include "transfer/base/base.h"

/* num_add, num_mul -- false when the true result does not fit; then *ret is untouched. */
static inline bool
num_add(uint64_t a, uint64_t b, uint64_t *ret)
{
	uint64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*ret = sum;
	return true;
}

static inline bool
num_mul(uint64_t a, uint64_t b, uint64_t *ret)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*ret = product;
	return true;
}

/* num_add_sat -- the sum, or the largest number. */
static inline uint64_t
num_add_sat(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* num_range_fits -- does [offset, offset + len) lie within [0, size)?  Any values at all. */
static inline bool
num_range_fits(uint64_t offset, uint64_t len, uint64_t size)
{
	return len <= size && offset <= size - len;
}

/* num_align_up -- needs: align is a power of two; the result fits. */
static inline uint64_t
num_align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

#define num_min(a, b) ((a) < (b) ? (a) : (b))
#define num_max(a, b) ((a) > (b) ? (a) : (b))

enum num_outcome {
	NUM_E_NOT_A_NUMBER = 1,
	NUM_E_UNIT,  /* a unit that is not known, or not of this kind */
	NUM_E_RANGE, /* does not fit 64 bits */
};

/* num_parse -- plain decimal digits.  0, NUM_E_NOT_A_NUMBER, NUM_E_RANGE. */
int num_parse(const char *text, uint64_t *ret) MUST_CHECK;

/* num_parse_bytes -- "4096", "64KiB", "1.5GiB", "2MB" (10^6), "1g" (2^30), "1T". */
int num_parse_bytes(const char *text, uint64_t *ret) MUST_CHECK;

/* num_parse_ms -- "5000" (ms), "250ms", "5s", "1.5s", "30m", "1h", "2d". */
int num_parse_ms(const char *text, uint64_t *ret) MUST_CHECK;

/* num_parse_word -- which of the words (blank between) it is, from 0.  0, NUM_E_NOT_A_NUMBER. */
int num_parse_word(const char *words, const char *text, uint64_t *ret) MUST_CHECK;

/* num_show_bytes, num_show_ms -- "1.5 GiB", "2.0 s".  Gives buf; 32 bytes are enough. */
const char *num_show_bytes(char *buf, size_t cap, uint64_t bytes);
const char *num_show_ms(char *buf, size_t cap, uint64_t ms);

/* num_show_word -- the word of that number, "?" when there are fewer.  Gives buf. */
const char *num_show_word(char *buf, size_t cap, uint64_t number, const char *words);

#endif
