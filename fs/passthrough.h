/* SPDX-License-Identifier: Apache-2.0 */

/*
 * passthrough.h -- files that the kernel reads by itself, without a request.
 *
 * Where libfuse, kernel and privilege allow it, the first open of a version copies its bytes into a
 * file of this mount's own memory (arena.h: huge pages, no path leads there) and answers with that
 * file.  The copy is whole and its sum right before the open is answered, so no lease is needed any
 * more: the store may move or evict the object, and who has it open, or mapped, reads on.
 *
 *      open ---> written here? writers? too short or long? no room? ----> reads come to us (read.c)
 *        |                                                                 until the last close
 *        +---> in the arena already, or copied into it ------------------> reads stay in the kernel
 *                                                                          until the last close
 *
 * An inode is read in one of the two ways while it is open; the kernel gives EIO for a mixture.  A
 * writer must be seen by us, so it can't share an inode that is read the other way: the path gets a
 * new inode (fs_pass_yield()), and who had the file open before goes on with the version that it
 * opened.  A file that was written through this mount is not read so at all, as long as the kernel
 * remembers it: what `tail -f` waits for comes.
 *
 * Working versions have no part in it: how long a file will be is not known, room in the arena
 * can't be promised, and the way of reading and writing can't be changed when it ends.
 *
 * passthrough_none.c stands in where libfuse has no passthrough (before 3.17).
 *
 * thread: any, but begin and end: when nothing else goes on.
 */
#ifndef FS_PASSTHROUGH_H
#define FS_PASSTHROUGH_H

#include "fs/arena.h"
#include "fs/fs.h"

/* fs_pass_begin -- as the kernel begins; fs->pass stays NULL when it can't be. */
void fs_pass_begin(struct fs *fs, struct fuse_conn_info *conn);

/* fs_pass_end -- needs: no file is open. */
void fs_pass_end(struct fs *fs);

/*
 * fs_pass_open -- a node that is pinned, or has a working version, is being opened, and counted as
 * open already.
 *
 * needs:   node's lock; it is let go of while bytes are copied, for names don't wait for bytes.  So
 *          at most a quarter of all threads copy; a copy that takes a second is given up.
 * gives:   true: fi is filled in, and the kernel reads by itself.
 */
bool fs_pass_open(struct fs *fs, struct fs_node *node, struct fuse_file_info *fi) MUST_CHECK;

/*
 * fs_pass_yield -- somebody wants to write.
 *
 * needs:   node's lock.
 * result:  0; -ESTALE: the kernel reads it by itself, the path has a new inode from now on.
 */
int fs_pass_yield(struct fs *fs, struct fs_node *node) MUST_CHECK;

/* fs_pass_tell -- NULL: it is in use; else why not, and zeros. */
const char *fs_pass_tell(struct fs *fs, struct fs_arena_limits *ret_limits,
			 struct fs_arena_counts *ret_counts);

#endif
