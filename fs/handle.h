/* SPDX-License-Identifier: Apache-2.0 */

/*
 * handle.h -- one open file: its node, and what it may do.
 *
 * open pins the version that is there; every read of it gives bytes of that version.
 * close, fsync: publish what was written and say whether that worked.  release only cleans up.
 */
#ifndef FS_HANDLE_H
#define FS_HANDLE_H

#include "fs/fs.h"

struct fs_handle {
	struct fs_open open;
	struct fs_node *node;
	bool is_writer, is_append;
};

static inline struct fs_handle *
fs_handle_of(const struct fuse_file_info *fi)
{
	return (struct fs_handle *)(uintptr_t)fi->fh;
}

/* fs_handle_pin -- the pin of its node, made if need be.  needs: node's lock.  0 or -errno. */
int fs_handle_pin(struct fs *fs, struct fs_node *node, struct fs_pin **ret_pin) MUST_CHECK;

/* fs_handle_let_go -- its path is taken away: who has it open goes on with what it is now.  needs:
 * lock. */
void fs_handle_let_go(struct fs *fs, struct fs_node *node);

void fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		  struct fuse_file_info *fi);
void fs_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
