/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lookup.h -- what is there: names to nodes, nodes to attributes.
 *
 * A name is a directory when keys lie below it, when it has a marker, or when
 * it was emptied here and is kept; otherwise it may be a file.
 */
#ifndef FS_LOOKUP_H
#define FS_LOOKUP_H

#include "fs/fs.h"

/*
 * fs_look_file -- the newest version of a file node: of the work under way, or the master's.
 *
 * needs:   node's lock.
 * result:  0; -ENOENT; -ESTALE: the path has another version now; -errno.
 */
int fs_look_file(struct fs *fs, struct fs_node *node, struct fs_version *ret_version) MUST_CHECK;

/* fs_look_dir -- attributes of a directory that exists: its marker's, or the mount's defaults. */
int fs_look_dir(struct fs *fs, const char *key, struct fs_version *ret_version) MUST_CHECK;

/*
 * fs_look_found -- the node of a file that the master told of.
 *
 * version  [in, out] as told; the working one's if it is being written here.
 * gives:   a reference.
 * result:  0 or -ENOMEM.
 */
int fs_look_found(struct fs *fs, const char *key, struct fs_version *version,
		  struct fs_node **ret_node) MUST_CHECK;

/*
 * fs_look_listed -- the same for one that a list told of, which may be some time ago.
 *
 * result:  0; -ESTALE: the node shows another version, and who knows which is newer; -ENOMEM.
 */
int fs_look_listed(struct fs *fs, const char *key, struct fs_version *version,
		   struct fs_node **ret_node) MUST_CHECK;

/* fs_look_version -- what a file's stat(2) shows of an object. */
void fs_look_version(struct fs *fs, const struct tiffin_stat *stat, struct fs_version *ret_version);

void fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *stat, int to_set,
		   struct fuse_file_info *fi);

/*
 * fs_look_again -- r says that another version has taken the path while this one was being changed:
 * is it worth trying once more?
 *
 * n_races  [in, out] 0 at first; a path that changes all the time is given up in the end.
 *
 * needs:   the node's lock.
 */
bool fs_look_again(struct fs *fs, const struct fs_node *node, int r, unsigned *n_races);

/*
 * What was answered may be under way to the kernel for a while, and is not taken up in the order in
 * which it was answered: the length of one version must not be taken for that of another.
 *
 * fs_look_may_show  may this inode stand for that version from now on?  Not while it is open; nor
 * just after its attributes were set here, for that answer is believed unconditionally.
 * fs_look_show      it does.
 * fs_look_settle    it is being opened: what the kernel may know of another version it forgets, and
 *                   what is under way is then too old for it.
 *
 * needs:   the node's lock.
 */
bool fs_look_may_show(struct fs *fs, const struct fs_node *node, uint64_t object_id);
void fs_look_show(struct fs *fs, struct fs_node *node, const struct fs_version *version);
void fs_look_settle(struct fs *fs, const struct fs_node *node);

/*
 * fs_look_known_dir -- a directory's attributes, of the master only when what was heard last is
 * older than attr_timeout, or the directory has changed since.
 *
 * The kernel asks after each name that is made or removed in it.
 *
 * gives:   *ret_left_ms: how long that is good.
 */
int fs_look_known_dir(struct fs *fs, struct fs_node *dir, struct fs_version *ret_version,
		      uint64_t *ret_left_ms) MUST_CHECK;

/* fs_look_dir_changed -- its attributes were changed here. */
void fs_look_dir_changed(struct fs *fs, struct fs_node *dir);

#endif
