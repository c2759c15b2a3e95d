/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/space_bar.h"

#include <string.h>

#include "transfer/base/num.h"

void
space_bar(char bar[SPACE_BAR_WIDTH + 1], const struct tiffin_space *space)
{
	double size = space->size_bytes > 0 ? (double)space->size_bytes : 1;
	size_t n_used = (size_t)((double)space->used_bytes / size * SPACE_BAR_WIDTH);
	size_t n_resting = (size_t)((double)space->resting_bytes / size * SPACE_BAR_WIDTH);

	n_used = num_min(n_used, SPACE_BAR_WIDTH);
	n_resting = num_min(n_resting, SPACE_BAR_WIDTH - n_used);
	memset(bar, '-', SPACE_BAR_WIDTH);
	memset(bar, '#', n_used);
	memset(bar + n_used, '~', n_resting);
	bar[SPACE_BAR_WIDTH] = '\0';
}
