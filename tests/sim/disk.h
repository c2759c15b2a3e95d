/* SPDX-License-Identifier: Apache-2.0 */

/*
 * disk.h -- the disk of the master's books: real files, through a VFS of SQLite that can be ill.
 *
 *      DISK_FULL     no file may grow; reading, and writing over old bytes, goes on
 *      DISK_FAILING  nothing can be written or synced; of a write the first part may be there
 */
#ifndef TESTS_SIM_DISK_H
#define TESTS_SIM_DISK_H

#include <stdint.h>

#define DISK_VFS "sim"

enum disk_mood { DISK_WELL, DISK_FULL, DISK_FAILING };

/* disk_set -- from now on; registers the VFS the first time. */
void disk_set(enum disk_mood mood);

/* disk_sicken -- one that is well is in this mood for so long. */
void disk_sicken(enum disk_mood mood, uint64_t len_ns);

#endif
