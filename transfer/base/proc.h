/* SPDX-License-Identifier: Apache-2.0 */

/* proc.h -- processes of this host: one is told from a later one with its number by when it began.
 */
#ifndef TRANSFER_BASE_PROC_H
#define TRANSFER_BASE_PROC_H

#include <sys/types.h>

#include "transfer/base/base.h"

/* proc_start_ticks -- when the process was started, in clock ticks since boot; 0: there is none. */
uint64_t proc_start_ticks(pid_t pid);

#endif
