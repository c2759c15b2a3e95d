/* SPDX-License-Identifier: Apache-2.0 */

/* memory.h -- what this machine has, as /proc/meminfo and the cgroup say. */
#ifndef CORE_CLI_MEMORY_H
#define CORE_CLI_MEMORY_H

#include "transfer/base/base.h"

/* memory_free_bytes -- that could be used without swapping, within our cgroup's limit; 0: not
 * known. */
uint64_t memory_free_bytes(void);

/* memory_field -- of /proc/meminfo, like "HugePages_Free"; false when there is none. */
bool memory_field(const char *name, uint64_t *ret_value);

#endif
