/* SPDX-License-Identifier: Apache-2.0 */
#include "core/provider_options.h"

static const struct option_def defs[] = {
#define OPTION(kind, field, unit, def, min, max, help)                                             \
	{#field, OPTION_##kind, unit, def, min, max, offsetof(struct provider_options, field),     \
	 help},
#include "core/provider_options.def"
#undef OPTION
};

const struct options_list provider_options_list = {
	.section = "provider", .defs = defs, .n = array_len(defs)};
