/* SPDX-License-Identifier: Apache-2.0 */

/*
 * vfs.h -- a disk for SQLite that fails when it is told to.
 *
 * Stands in front of the machine's own VFS under the name VFS_NAME and counts every
 * open, write, truncate, sync and delete of a file:
 *
 *      vfs_fail_at(n, 1, VFS_IO_ERROR)     the n-th from now fails (1: the next), then all is well
 *      vfs_fail_at(n, VFS_FOR_EVER, ...)   the n-th and all later: the process is as good as dead
 *
 * It also remembers which bytes were synced.  vfs_power_cut() leaves in each file what
 * was synced, and of the rest a part that chance chooses, sector by sector.
 *
 * thread:  one at a time.
 */
#ifndef TESTS_FAULT_VFS_H
#define TESTS_FAULT_VFS_H

#include "transfer/base/base.h"

#define VFS_NAME     "fault"
#define VFS_FOR_EVER UINT32_MAX

enum vfs_fault {
	VFS_IO_ERROR, /* the disk says so */
	VFS_FULL,     /* no room for more; reading, and writing over old bytes, goes on */
};

/* vfs_start -- register it, with nothing remembered and no fault ahead. */
void vfs_start(void);

/* vfs_stop -- forget everything. */
void vfs_stop(void);

void vfs_fail_at(uint32_t n, uint32_t len, enum vfs_fault fault);
void vfs_fail_next_sync(void);
void vfs_succeed(void);

/* vfs_n_ops -- counted since vfs_start(). */
uint32_t vfs_n_ops(void);

/* vfs_n_failed -- how many of them were made to fail. */
uint32_t vfs_n_failed(void);

/*
 * vfs_set_room -- the disk has so many bytes for all files opened through here, and for
 * the file at `other` (may be NULL).  0: no limit.
 */
void vfs_set_room(uint64_t len_bytes, const char *other);

/* vfs_power_cut -- needs: no file is open. */
void vfs_power_cut(uint64_t seed);

#endif
