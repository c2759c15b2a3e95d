/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mountpoint.h -- the directory that a mount goes onto, and what is in the way there.
 *
 *      FREE    a directory that answers
 *      DEAD    a mount without its daemon: ENOTCONN
 *      HUNG    a mount of ours that says nothing: its daemon is stopped, or was killed while one
 *              of its threads waits in the kernel for somebody who waits for the daemon
 *
 * Who asks a hung mount for anything hangs with it, and no signal helps.  So a child asks, and is
 * left behind when it does not come back; ending the mount's connection sets it free.
 */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include <sys/types.h>

#include "transfer/base/base.h"

enum fs_mountpoint { FS_MOUNTPOINT_FREE, FS_MOUNTPOINT_DEAD, FS_MOUNTPOINT_HUNG };

/* How long an answer may take; a daemon that lives asks at most the master for it. */
#define FS_MOUNTPOINT_MS 10000

/*
 * fs_mountpoint_look -- ends after limit_ms, whatever is there.
 *
 * result:  0; -ENOTDIR, or why the directory can't be reached; -ETIMEDOUT: something that is not
 *          a mount of ours does not answer.
 */
int fs_mountpoint_look(const char *dir, int limit_ms, enum fs_mountpoint *ret_state) MUST_CHECK;

/* fs_mountpoint_dev -- of the topmost mount there; asks nobody who may hang.  0: not known. */
dev_t fs_mountpoint_dev(const char *dir);

/*
 * fs_mountpoint_detach -- take the topmost mount away, and end all who wait for it.
 *
 * result:  0; -EPERM, -EBUSY: it is another user's, or fusermount3(1) refuses.
 */
int fs_mountpoint_detach(const char *dir) MUST_CHECK;

/*
 * fs_mountpoint_abort -- end the connection of the FUSE mount on that device: nobody answers any
 * more, and who waits in the kernel gets an error.
 *
 * needs:   it is not over yet, or another mount may have its number.
 * dir      where it is mounted, for root's other way to do it; what else may be there is left
 *          alone.
 */
void fs_mountpoint_abort(const char *dir, dev_t dev);

#endif
