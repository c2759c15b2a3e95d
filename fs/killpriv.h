/* SPDX-License-Identifier: Apache-2.0 */

/*
 * killpriv.h -- whoever changes a program's bytes takes its set-user-id bit away.
 *
 * Either the kernel does that: then it asks for the attribute security.capability before each
 * write, which makes small writes half as fast.  Or we have told it at the beginning that we do
 * (FUSE_HANDLE_KILLPRIV_V2, Linux 5.11): then it asks once an inode, and again when it has
 * forgotten its attributes.  Not every libfuse can say so, hence greet(): it puts the word into
 * libfuse's answer to the kernel's greeting.
 *
 * The kernel says with a write whether the writer may keep the bits (CAP_FSETID); libfuse does not
 * hand that on, so here it is root who may.
 */
#ifndef FS_KILLPRIV_H
#define FS_KILLPRIV_H

#include "fs/fs.h"

/* fs_killpriv_want -- in the operation init. */
void fs_killpriv_want(struct fuse_conn_info *conn);

/*
 * fs_killpriv_greet -- the same, for a libfuse that doesn't know it.
 *
 * needs:   a session that is mounted and not served yet.
 * result:  0, or -errno: the kernel will do it, and ask.
 */
int fs_killpriv_greet(struct fuse_session *session) MUST_CHECK;

/* fs_killpriv_mode -- what remains of a mode when the owner changes, or somebody else writes. */
mode_t fs_killpriv_mode(mode_t mode);

/*
 * fs_killpriv -- req has changed bytes of the working version, if there is one.
 *
 * needs:   node's lock.
 */
void fs_killpriv(fuse_req_t req, struct fs_node *node);

#endif
