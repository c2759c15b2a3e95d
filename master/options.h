/* SPDX-License-Identifier: Apache-2.0 */

/* options.h -- the settings of tiffin-master (options.def). */
#ifndef MASTER_OPTIONS_H
#define MASTER_OPTIONS_H

#include "transfer/base/options.h"

struct master_options {
#define OPTION(kind, field, unit, def, min, max, help) OPTION_FIELD_##kind(field)
#include "master/options.def"
#undef OPTION
};

extern const struct options_list master_options_list;

#endif
