/* SPDX-License-Identifier: Apache-2.0 */

/*
 * names.h -- making and removing names.
 *
 * mkdir makes a marker (marker.h), so an empty directory stays.  A directory of
 * other makers exists by its keys alone; when the last one is removed here it is
 * kept as long as the kernel remembers it, so that `rm -r` and `mv` find what
 * they expect, and is gone afterwards.
 */
#ifndef FS_NAMES_H
#define FS_NAMES_H

#include "fs/fs.h"

/*
 * fs_names_is_empty -- does nothing but its marker lie below a directory?
 *
 * result:  0, -ENOTEMPTY, -errno.
 */
int fs_names_is_empty(struct fs *fs, const char *dir) MUST_CHECK;

void fs_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fs_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void fs_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void fs_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name);
void fs_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		  const char *new_name, unsigned flags);

#endif
