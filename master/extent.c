/* SPDX-License-Identifier: Apache-2.0 */

/* Sorted from the lowest digit to the highest, each time keeping the order of before. */
#include "master/extent.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"

#define DIGIT_BITS 11
#define N_DIGITS   (1u << DIGIT_BITS)

static size_t
digit_of(struct extent extent, unsigned shift)
{
	return (size_t)(extent.offset_bytes >> shift) & (N_DIGITS - 1);
}

/* sort_digit -- by one digit, into `to`. */
static void
sort_digit(const struct extent *from, size_t n, unsigned shift, struct extent *to)
{
	size_t at[N_DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[digit_of(from[i], shift)]++;
	for (size_t digit = 0; digit < N_DIGITS; digit++) {
		size_t count = at[digit];

		at[digit] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[digit_of(from[i], shift)]++] = from[i];
}

int
extents_sort(struct extent *extents, size_t n)
{
	struct extent *spare, *from = extents, *to;
	uint64_t bits = 0;
	bool is_sorted = true;

	for (size_t i = 0; i < n; i++) {
		bits |= extents[i].offset_bytes;
		is_sorted = is_sorted &&
			    (i == 0 || extents[i - 1].offset_bytes <= extents[i].offset_bytes);
	}
	if (is_sorted)
		return 0;
	spare = malloc(n * sizeof(*spare));
	if (spare == NULL)
		return err_new(-ENOMEM);

	to = spare;
	for (unsigned shift = (unsigned)__builtin_ctzll(bits); shift < 64 && bits >> shift != 0;
	     shift += DIGIT_BITS) {
		struct extent *swap = from;

		sort_digit(from, n, shift, to);
		from = to;
		to = swap;
	}
	if (from != extents)
		memcpy(extents, from, n * sizeof(*extents));
	free(spare);
	return 0;
}

static bool
lies_inside(struct extent extent, uint64_t size_bytes)
{
	return extent.len_bytes > 0 && extent.offset_bytes % ALLOC_GRAIN == 0 &&
	       num_range_fits(extent.offset_bytes, extent.len_bytes, size_bytes);
}

size_t
extents_gaps(const struct extent *extents, size_t n, uint64_t size_bytes, size_t *ret_n_gaps)
{
	uint64_t end_bytes = 0;

	*ret_n_gaps = 0;
	for (size_t i = 0; i < n; i++) {
		if (!lies_inside(extents[i], size_bytes) || extents[i].offset_bytes < end_bytes)
			return i;
		*ret_n_gaps += extents[i].offset_bytes > end_bytes;
		end_bytes =
			extents[i].offset_bytes + extent_grains(extents[i].len_bytes) * ALLOC_GRAIN;
	}
	*ret_n_gaps += end_bytes < size_bytes;
	return n;
}
