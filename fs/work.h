/* SPDX-License-Identifier: Apache-2.0 */

/*
 * work.h -- the working version of a file: what was written and is not published yet.
 *
 *                 first write, truncate, create
 *       (none) ----------------------------------> BEGUN ---- a write fails -----> BROKEN
 *          ^                                         |                               |
 *          |          flush, fsync: commit           |   (a failed commit, too)      |
 *          +-----------------------------------------+<------------------------------+
 *                                                       the last writer has closed
 *
 * BEGUN   a put of one's own; every handle of the node reads and writes it.  It starts empty, or
 *         as a copy of the bytes that the node stands for.
 *
 * BROKEN  nothing of it will ever be published; every write, flush and fsync says why.
 *
 * `echo x >file` closes once before it writes, for the shell moves the descriptor.  So a file in
 * which nothing was written yet is published by its last close (or fsync) only: nobody sees it
 * empty, nor finds it so when the write fails.
 */
#ifndef FS_WORK_H
#define FS_WORK_H

#include <sys/uio.h>

#include "fs/attr.h"
#include "transfer/base/base.h"

struct fs;
struct fs_node;
struct fs_xattrs;
struct tiffin_put;

struct fs_work {
	struct tiffin_put *put;   /* NULL: none */
	struct fs_attr attr;      /* published with it */
	struct fs_xattrs *xattrs; /* owned, published with it, attr.xattr_bytes long; NULL: none */
	bool is_dirty;            /* has something to publish */
	bool is_blank;            /* made or cut to nothing by open, not written since */
	int broken;               /* -errno; 0: whole */
};

/* All of these need the node's lock, and give 0 or -errno. */

/* fs_work_begin_empty -- a new file, or an old one cut to nothing.  flags: of the put. */
int fs_work_begin_empty(struct fs *fs, struct fs_node *node, const struct fs_attr *attr,
			uint32_t flags) MUST_CHECK;

/* fs_work_begin -- unless there is one: a copy of the first keep_bytes of what was there. */
int fs_work_begin(struct fs *fs, struct fs_node *node, uint64_t keep_bytes) MUST_CHECK;

int fs_work_write(struct fs *fs, struct fs_node *node, uint64_t offset_bytes,
		  const struct iovec *slice) MUST_CHECK;
int fs_work_read(struct fs_node *node, uint64_t offset_bytes, const struct iovec *slice,
		 uint64_t *ret_len_bytes) MUST_CHECK;
int fs_work_truncate(struct fs *fs, struct fs_node *node, uint64_t len_bytes) MUST_CHECK;

/* fs_work_commit -- publish it, if there is anything to publish and a path to publish it at. */
int fs_work_commit(struct fs *fs, struct fs_node *node) MUST_CHECK;

/* fs_work_spoil -- what was written is not what was meant: nothing of it will be published. */
void fs_work_spoil(struct fs *fs, struct fs_node *node, int r);

/* fs_work_drop -- it was never there. */
void fs_work_drop(struct fs *fs, struct fs_node *node);

/* fs_work_set_xattrs -- publish these with it. */
int fs_work_set_xattrs(struct fs *fs, struct fs_node *node,
		       const struct fs_xattrs *xattrs) MUST_CHECK;

uint64_t fs_work_len(const struct fs_node *node);

#endif
