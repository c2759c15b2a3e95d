/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mount.h -- the life of one mount, from the first word to the master to the last of the kernel.
 *
 *      open ---> READY ---> serve ---> close
 *       |          |          ends on umount, SIGTERM, SIGINT, SIGHUP
 *       |          told once a stat of the mounted directory came back through the kernel
 *       +-- fails: one line on standard error and a status; nothing is left mounted
 */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

#include "fs/options.h"
#include "transfer/base/base.h"

/* As mount(8) has them, and one more. */
enum fs_exit {
	FS_EXIT_OK = 0,
	FS_EXIT_USAGE = 1,
	FS_EXIT_SYSTEM = 2,
	FS_EXIT_MASTER = 3,
	FS_EXIT_MOUNT = 32,
};

struct fs_mount;

/*
 * fs_mount_open -- join the master, clear the way, mount.
 *
 * needs:   SIGTERM, SIGINT and SIGHUP blocked: threads of the library must not get them.
 * gives:   *ret_mount on FS_EXIT_OK.
 * result:  enum fs_exit, with one line in why.
 */
int fs_mount_open(const struct fs_options *opts, struct fs_mount **ret_mount, char *why,
		  size_t why_cap) MUST_CHECK;

/*
 * fs_mount_serve -- answer the kernel until somebody unmounts or a signal comes.
 *
 * ready    called once, from another thread, when the mount can be used.
 * result:  enum fs_exit.
 */
int fs_mount_serve(struct fs_mount *mount, void (*ready)(void *arg), void *arg) MUST_CHECK;

/* fs_mount_close -- unmount if need be, leave the master.  What was not closed is not stored. */
void fs_mount_close(struct fs_mount *mount);

#endif
