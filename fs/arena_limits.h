/* SPDX-License-Identifier: Apache-2.0 */

/* arena_limits.h -- how large an arena may be where this process runs. */
#ifndef FS_ARENA_LIMITS_H
#define FS_ARENA_LIMITS_H

#include "transfer/base/base.h"

/*
 * fs_arena_bound -- what was asked for, but no more than an eighth of the machine's memory and a
 * quarter of what the control groups of this process allow it.
 */
uint64_t fs_arena_bound(uint64_t wanted_bytes);

/* fs_arena_group_max -- the least "memory.max" from a group up to the root; group: "/a/b", in root.
 */
uint64_t fs_arena_group_max(const char *root, const char *group);

#endif
