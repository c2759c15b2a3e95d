/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Attributes go with the version: a published one's are changed at the master,
 * those of a working one are published with it.  A new length makes a working
 * version; when nobody has the file open for writing it is published at once.
 */
#include <errno.h>

#include "fs/errno.h"
#include "fs/killpriv.h"
#include "fs/lookup.h"
#include "fs/marker.h"
#include "fs/work.h"

#define TIMES                                                                                      \
	(FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |                     \
	 FUSE_SET_ATTR_MTIME_NOW)
#define TRIES_MAX 8 /* while others change the same directory */

#define OWNER (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)
#define KEPT  (FUSE_SET_ATTR_MODE | OWNER | TIMES)

static void
apply(struct fs *fs, const struct stat *stat, int to_set, struct fs_attr *attr)
{
	if ((to_set & FUSE_SET_ATTR_MODE) != 0)
		attr->mode = stat->st_mode & 07777;
	else if ((to_set & OWNER) != 0 && attr->kind == FS_ATTR_FILE)
		attr->mode = fs_killpriv_mode(attr->mode);
	if ((to_set & FUSE_SET_ATTR_UID) != 0)
		attr->uid = stat->st_uid;
	if ((to_set & FUSE_SET_ATTR_GID) != 0)
		attr->gid = stat->st_gid;
	if ((to_set & FUSE_SET_ATTR_ATIME) != 0)
		attr->atime = stat->st_atim;
	if ((to_set & FUSE_SET_ATTR_MTIME) != 0)
		attr->mtime = stat->st_mtim;
	if ((to_set & FUSE_SET_ATTR_ATIME_NOW) != 0)
		attr->atime = fs_now(fs);
	if ((to_set & FUSE_SET_ATTR_MTIME_NOW) != 0)
		attr->mtime = fs_now(fs);
	attr->ctime = fs_now(fs);
}

static int
set_len(struct fs *fs, struct fs_node *node, uint64_t len_bytes)
{
	int r = fs_work_begin(fs, node, /* keep_bytes= */ len_bytes);

	return r < 0 ? r : fs_work_truncate(fs, node, len_bytes);
}

/* set_published -- of a version that everybody sees; who has no path any more keeps it here. */
static int
set_published(struct fs *fs, struct fs_node *node, const struct stat *stat, int to_set)
{
	struct fs_xattrs xattrs = {0};
	struct fs_version version;
	char key[FS_KEY_ROOM];
	int r;

	r = fs_look_file(fs, node, &version);
	if (r < 0)
		return r;
	if (fs_node_is_linked(&fs->nodes, node)) {
		fs_node_key(&fs->nodes, node, key);
		r = fs_xattrs_fetch(fs->client, key, version.object_id, &xattrs);
		if (r == 0 && xattrs.has_attr)
			version.attr = xattrs.attr;
	}
	apply(fs, stat, to_set, &version.attr);
	if (xattrs.is_fetched) {
		if (r == 0)
			r = fs_xattrs_keep(fs->client, key, version.object_id, &version.attr,
					   &xattrs);
	}
	if (r == 0)
		fs_node_show(&fs->nodes, node, &version);
	return r == -ENOENT ? -ESTALE : r;
}

static int
set_file(fuse_req_t req, struct fs_node *node, const struct stat *stat, int to_set)
{
	struct fs *fs = fs_of(req);
	unsigned n_races = 0;
	int r = 0;

	assert(lock_held(&node->lock));

	if ((to_set & FUSE_SET_ATTR_SIZE) != 0) {
		struct fs_version version;

		r = fs_look_file(fs, node, &version); /* cut the newest */
		if (r == 0)
			r = set_len(fs, node, (uint64_t)stat->st_size);
		fs_killpriv(req, node);
	}
	if (r < 0)
		return r;
	if (node->work.put != NULL) {
		apply(fs, stat, to_set, &node->work.attr);
		node->work.is_dirty = true;
		return node->n_writers > 0 ? 0 : fs_work_commit(fs, node);
	}
	if ((to_set & KEPT) == 0)
		return 0;
	do {
		r = set_published(fs, node, stat, to_set);
	} while (fs_look_again(fs, node, r, &n_races));
	return r;
}

static int
set_dir(struct fs *fs, struct fs_node *node, const struct stat *stat, int to_set,
	struct fs_version *ret_version)
{
	struct fs_xattrs xattrs = {0};
	char key[FS_KEY_ROOM];
	int r;

	fs_node_key(&fs->nodes, node, key);
	r = fs_look_dir(fs, key, ret_version);
	if (r < 0)
		return r;
	apply(fs, stat, to_set, &ret_version->attr);
	if (key[0] == '\0') {
		lock_take(&fs->nodes.lock);
		fs->root_attr = ret_version->attr;
		lock_drop(&fs->nodes.lock);
		return 0;
	}
	if (fs_path_is_piece(key) || (to_set & KEPT) == 0)
		return 0; /* a piece of a name has nowhere to keep them */
	r = fs_xattrs_fetch(fs->client, key, /* object_id= */ 0, &xattrs);
	if (r == 0 && xattrs.has_attr) {
		ret_version->attr = xattrs.attr;
		apply(fs, stat, to_set, &ret_version->attr);
	}
	if (r == 0)
		r = fs_marker_set(fs, key, &ret_version->attr, &xattrs);
	fs_look_dir_changed(fs, node);
	return r;
}

void
fs_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *stat, int to_set,
	      struct fuse_file_info *fi)
{
	struct fs_node *node = fs_node_of(req, ino);
	struct fs *fs = fs_of(req);
	struct fs_version version;
	struct stat shown;
	int r;

	(void)fi;
	if (node->is_dir) {
		r = (to_set & FUSE_SET_ATTR_SIZE) != 0 ? -EISDIR : -EAGAIN;
		for (int tries = 0; r == -EAGAIN && tries < TRIES_MAX; tries++)
			r = set_dir(fs, node, stat, to_set, &version);
	} else {
		lock_take(&node->lock);
		r = set_file(req, node, stat, to_set);
		node->set_ns = clock_ns(fs->clock);
		if (r == 0)
			r = fs_look_file(fs, node, &version);
		else if (node->n_writers == 0)
			fs_work_drop(fs, node);
		lock_drop(&node->lock);
	}
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	fs_attr_show(&version.attr, node->ino, version.len_bytes, &shown);
	fuse_reply_attr(req, &shown, (double)fs->opts->attr_timeout / 1000);
}
