/* SPDX-License-Identifier: Apache-2.0 */

/* statfs.h -- room: that of all segments; objects are the inodes. */
#ifndef FS_STATFS_H
#define FS_STATFS_H

#include "fs/fs.h"

void fs_op_statfs(fuse_req_t req, fuse_ino_t ino);

#endif
