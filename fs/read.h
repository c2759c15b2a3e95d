/* SPDX-License-Identifier: Apache-2.0 */

/*
 * read.h -- bytes to the kernel.
 *
 * Where a copy lies on this host, the kernel copies from the segment itself: no
 * buffer of ours lies between.  The lease is looked at just before and just
 * after.  If it was lost in between, the bytes of that one reply are already
 * out; the kernel is told to drop its pages and every later read fails.
 */
#ifndef FS_READ_H
#define FS_READ_H

#include "fs/fs.h"

void fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fs_op_readlink(fuse_req_t req, fuse_ino_t ino);

#endif
