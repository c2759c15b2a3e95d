/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choose.h"

static unsigned
rank_of(const struct choice *choice)
{
	const unsigned step = NEAR_ELSEWHERE + 1u;

	return (choice->has_failed ? 2 * step : 0) + (choice->is_on_disk ? step : 0) +
	       choice->nearness;
}

void
choose_order(const struct choice *choices, size_t n, unsigned turn, size_t *ret_order)
{
	for (size_t i = 0; i < n; i++) {
		size_t candidate = (turn % n + i) % n, at = i;

		/* Insertion keeps equals in the order in which they come: rotated. */
		while (at > 0 &&
		       rank_of(&choices[ret_order[at - 1]]) > rank_of(&choices[candidate])) {
			ret_order[at] = ret_order[at - 1];
			at--;
		}
		ret_order[at] = candidate;
	}
}
