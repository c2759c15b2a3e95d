/* SPDX-License-Identifier: Apache-2.0 */

/*
 * dir.h -- directories as the kernel reads them.
 *
 * A position is a name, so entries that nobody touches come exactly once
 * whatever happens to their neighbours.  The kernel's cookie for it:
 *
 *      63                    31                     0
 *      | how many came before | hash of the name    |
 *
 * The last POSITIONS_MAX names are remembered; a cookie further back is found
 * by walking from the start to the name with its hash.
 *
 * Attributes come with the names (readdirplus), from the same list of the master.
 */
#ifndef FS_DIR_H
#define FS_DIR_H

#include "fs/walk.h"

void fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi);
void fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi);
void fs_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/*
 * The stream below the operations: names in order, each with the cookie of what follows it.
 */
struct fs_dir;

int fs_dir_open(struct fs *fs, const char *key, struct fs_dir **ret_dir) MUST_CHECK;
void fs_dir_close(struct fs_dir *dir);

/* fs_dir_seek -- to 0 or a cookie given before.  0 or -errno. */
int fs_dir_seek(struct fs_dir *dir, uint64_t cookie) MUST_CHECK;

/* fs_dir_next -- 1 and the name (kept until the next call), 0 at the end, -errno. */
int fs_dir_next(struct fs_dir *dir, const struct fs_found **ret_found,
		uint64_t *ret_cookie) MUST_CHECK;

/* fs_dir_unread -- the next fs_dir_next() gives the same again. */
void fs_dir_unread(struct fs_dir *dir);

#endif
