/* SPDX-License-Identifier: Apache-2.0 */

/* stat.h -- what the master's records of an object have in common, in the words of tiffin.h. */
#ifndef CORE_STAT_H
#define CORE_STAT_H

#include <string.h>

#include "core/tiffin.h"
#include "master/proto/codec.h"

/* stat_group -- the id of its group; one that is longer than it may be is cut. */
static inline void
stat_group(struct tiffin_stat *stat, struct span group)
{
	size_t len = group.len < TIFFIN_GROUP_MAX ? group.len : TIFFIN_GROUP_MAX;

	if (len > 0)
		memcpy(stat->group, group.at, len);
	stat->group[len] = '\0';
}

#endif
