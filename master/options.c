/* SPDX-License-Identifier: Apache-2.0 */
#include "master/options.h"

static const struct option_def defs[] = {
#define OPTION(kind, field, unit, def, min, max, help)                                             \
	{#field, OPTION_##kind, unit, def, min, max, offsetof(struct master_options, field), help},
#include "master/options.def"
#undef OPTION
};

const struct options_list master_options_list = {
	.section = "master", .defs = defs, .n = array_len(defs)};
