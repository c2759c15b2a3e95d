/* SPDX-License-Identifier: Apache-2.0 */

/* space_bar.h -- how full a store is: '#' used, '~' resting, '-' free. */
#ifndef CORE_CLI_SPACE_BAR_H
#define CORE_CLI_SPACE_BAR_H

#include "core/tiffin.h"

#define SPACE_BAR_WIDTH 30

/* space_bar -- ended by NUL; a store without segments is free. */
void space_bar(char bar[SPACE_BAR_WIDTH + 1], const struct tiffin_space *space);

#endif
