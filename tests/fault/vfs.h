/* SPDX-License-Identifier: Apache-2.0 */

/*
 * vfs.h -- a disk for SQLite that lies in memory and fails when it is told to.
 *
 * It goes by the name VFS_NAME and counts every open, write, truncate, sync and delete of a file:
 *
 *      vfs_fail_at(n, 1, VFS_IO_ERROR)     the n-th from now fails (1: the next), then all is well
 *      vfs_fail_at(n, VFS_FOR_EVER, ...)   the n-th and all later: the process is as good as dead
 *
 * It also remembers which bytes were synced.  vfs_power_cut() leaves in each file what
 * was synced, and of the rest a part that chance chooses, sector by sector.
 *
 * A child of fork() has a disk of its own, as it was at that moment, and so are all who had files
 * open.  With vfs_before_op() a story need be told only once, and branches at every op.
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

/* vfs_before_op -- fn is called before each op, n is its number from 1; it may tell that it fails.
 * NULL: nobody is. */
void vfs_before_op(void (*fn)(uint32_t n));

/* vfs_n_ops -- counted since vfs_start(). */
uint32_t vfs_n_ops(void);

/* vfs_n_failed -- how many of them were made to fail. */
uint32_t vfs_n_failed(void);

/*
 * vfs_set_room -- the disk has so many bytes for all files opened through here, and for
 * the file at `other` (may be NULL).  0: no limit.
 */
void vfs_set_room(uint64_t len_bytes, const char *other);

/* vfs_used_bytes -- of that. */
uint64_t vfs_used_bytes(void);

/* vfs_death -- of whoever has files open: they are not used again, not to close them either. */
void vfs_death(void);

/* vfs_power_cut -- a death, and what was not synced is at the mercy of chance. */
void vfs_power_cut(uint64_t seed);

/* vfs_hash -- of the names and bytes of all files. */
uint64_t vfs_hash(void);

#endif
