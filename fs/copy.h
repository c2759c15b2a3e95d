/* SPDX-License-Identifier: Apache-2.0 */

/*
 * copy.h -- bytes from one file of the mount into another, and room made beforehand.
 *
 * A copy goes from the pinned version straight into the working one, without passing through the
 * kernel and the program that wants it; 64 MiB a call at most, so that none takes for ever.
 */
#ifndef FS_COPY_H
#define FS_COPY_H

#include "fs/fs.h"

void fs_op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
			   struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
			   struct fuse_file_info *fi_out, size_t len, int flags);

/* fs_op_fallocate -- mode 0 alone: what lies beyond the end is zeros that have their room. */
void fs_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
		     struct fuse_file_info *fi);

/* ---- for tests: the same without a kernel ---- */

/* A place in an open file. */
struct fs_place {
	struct fs_node *node;
	uint64_t at_bytes;
};

/*
 * fs_copy -- up to len_bytes.
 *
 * needs:   no lock held.
 * gives:   *ret_n: how many, 0 at the end of `from`.
 * result:  0; -errno, when none was copied.
 */
int fs_copy(struct fs *fs, struct fs_place from, struct fs_place to, uint64_t len_bytes,
	    uint64_t *ret_n) MUST_CHECK;

/* fs_reserve -- as fallocate(2), mode 0.  needs: node's lock.  0 or -errno. */
int fs_reserve(struct fs *fs, struct fs_node *node, uint64_t end_bytes) MUST_CHECK;

#endif
