/* SPDX-License-Identifier: Apache-2.0 */

/* provider_options.h -- the settings of tiffin-provider (provider_options.def). */
#ifndef CORE_PROVIDER_OPTIONS_H
#define CORE_PROVIDER_OPTIONS_H

#include "transfer/base/options.h"

struct provider_options {
#define OPTION(kind, field, unit, def, min, max, help) OPTION_FIELD_##kind(field)
#include "core/provider_options.def"
#undef OPTION
};

extern const struct options_list provider_options_list;

#endif
