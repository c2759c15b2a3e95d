/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/names.h"

#include <errno.h>
#include <string.h>

#include "fs/errno.h"
#include "fs/handle.h"
#include "fs/lookup.h"
#include "fs/marker.h"
#include "fs/walk.h"

static struct fs_attr
attr_of_asker(fuse_req_t req, enum fs_attr_kind kind, mode_t mode)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct timespec now = fs_now(fs_of(req));

	return (struct fs_attr){
		.kind = kind,
		.mode = mode & 07777,
		.uid = ctx->uid,
		.gid = ctx->gid,
		.mtime = now,
		.atime = now,
		.ctime = now,
	};
}

static void
reply_node(fuse_req_t req, struct fs_node *node, const struct fs_version *version)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry;

	fs_entry(fs, node, version, &entry);
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		fs_node_forget(&fs->nodes, node, 1);
	fs_node_unref(&fs->nodes, node);
}

/* ---- directories ---- */

void
fs_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fs *fs = fs_of(req);
	struct fs_version version = {.attr = attr_of_asker(req, FS_ATTR_DIR, mode)};
	struct fs_node *node;
	struct fs_step step;
	int r;

	r = fs_step_down(fs, fs_node_of(req, parent), name, &step);
	if (r == 0 && step.kind == FS_PATH_PIECE)
		r = -EEXIST; /* the beginning of a long name is always there */
	else if (r == 0 && step.dir[0] == '\0')
		r = step.kind == FS_PATH_SELF ? -EINVAL : -ENAMETOOLONG;
	if (r == 0)
		r = fs_marker_put(fs, step.dir, &version.attr, /* flags= */ 0);
	if (r == 0)
		r = fs_nodes_look(&fs->nodes, /* is_dir= */ true, step.dir, &node);
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	fs_node_show(&fs->nodes, node, &version);
	reply_node(req, node, &version);
}

static void
find_any(void *arg, struct fs_node *node)
{
	if (!node->is_dir && node->is_fresh)
		*(bool *)arg = true;
}

/* is_piece_empty -- keys that begin with its bytes may be shown beside it. */
static int
is_piece_empty(struct fs *fs, const char *dir)
{
	struct fs_walk *walk;
	struct fs_found found;
	int r = fs_walk_open(fs, dir, /* after= */ NULL, &walk);

	if (r < 0)
		return r;
	r = fs_walk_next(walk, &found);
	fs_walk_close(walk);
	return r == 1 ? -ENOTEMPTY : r;
}

int
fs_names_is_empty(struct fs *fs, const char *dir)
{
	bool is_found = false;
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	int r;

	if (fs_path_is_piece(dir))
		return is_piece_empty(fs, dir);
	fs_nodes_each_local(&fs->nodes, dir, find_any, &is_found);
	if (is_found)
		return -ENOTEMPTY;

	r = tiffin_list_open(fs->client, dir, '\0', /* after= */ NULL, &list);
	if (r < 0)
		return fs_errno(r);
	do {
		r = tiffin_list_next(list, &key, &stat);
	} while (r == 1 && strcmp(key, dir) == 0 && fs_is_marker(key, &stat));
	tiffin_list_close(list);
	return r == 1 ? -ENOTEMPTY : fs_errno(r);
}

static int
remove_dir(struct fs *fs, struct fs_node *parent, const struct fs_step *step)
{
	struct fs_node *node;
	int r;

	if (step->kind == FS_PATH_SELF || step->dir[0] == '\0')
		return -ENOTDIR;
	r = fs_names_is_empty(fs, step->dir);
	if (r == 0 && step->kind == FS_PATH_PLAIN)
		r = fs_marker_remove(fs, step->dir);
	if (r < 0)
		return r;

	node = fs_nodes_find(&fs->nodes, /* is_dir= */ true, step->dir);
	if (node != NULL) {
		fs_node_keep(&fs->nodes, node, false);
		fs_node_remove(&fs->nodes, node);
		fs_node_unref(&fs->nodes, node);
	}
	fs_node_keep(&fs->nodes, parent, true);
	return 0;
}

void
fs_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs_node *in = fs_node_of(req, parent);
	struct fs *fs = fs_of(req);
	struct fs_step step;
	int r = fs_step_down(fs, in, name, &step);

	fs_reply(req, r == 0 ? remove_dir(fs, in, &step) : r == -EINVAL ? -ENOENT : r);
}

/* ---- files ---- */

static int
remove_file(struct fs *fs, const char *key)
{
	struct fs_node *node = fs_nodes_find(&fs->nodes, /* is_dir= */ false, key);
	bool was_fresh = false;
	int r;

	if (node == NULL) {
		r = fs_errno(tiffin_remove(fs->client, key, TIFFIN_FORCE));
		return r;
	}

	lock_take(&node->lock);
	was_fresh = node->work.put != NULL;
	fs_handle_let_go(fs, node);
	fs_node_leaving(&fs->nodes, node, true);
	r = tiffin_remove(fs->client, key, TIFFIN_FORCE);
	if (r == TIFFIN_E_NOT_FOUND && was_fresh)
		r = 0;
	if (r == 0)
		fs_node_remove(&fs->nodes, node);
	else if (r == TIFFIN_E_NOT_FOUND)
		fs_node_detach(&fs->nodes, node);
	fs_node_leaving(&fs->nodes, node, false);
	lock_drop(&node->lock);
	fs_node_unref(&fs->nodes, node);
	return fs_errno(r);
}

void
fs_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs_node *in = fs_node_of(req, parent);
	struct fs *fs = fs_of(req);
	struct fs_step step;
	int r = fs_step_down(fs, in, name, &step);

	if (r == -EINVAL)
		r = -ENOENT;
	if (r == 0)
		r = step.file[0] == '\0' ? -EISDIR : remove_file(fs, step.file);
	if (r == 0)
		fs_node_keep(&fs->nodes, in, true);
	fs_reply(req, r);
}

/* put_whole -- a small object with attributes, and its node. */
static int
put_whole(struct fs *fs, const char *key, struct iovec slice, const struct fs_attr *attr,
	  struct fs_node **ret_node)
{
	uint8_t blob[FS_ATTR_BYTES];
	struct tiffin_put_options options = {
		.struct_bytes = sizeof(options),
		.replica_num = (uint32_t)fs->opts->replicas,
		.flags = fs_put_flags(fs, 0),
		.attr = blob,
		.attr_bytes = sizeof(blob),
	};
	struct fs_version version = {.len_bytes = slice.iov_len, .attr = *attr};
	int r;

	if (key[0] == '\0' || key[strlen(key) - 1] == '/')
		return -EINVAL; /* would be taken for, or take the place of, a marker */
	fs_attr_encode(attr, blob);
	r = fs_errno(tiffin_put(fs->client, key, &slice, 1, &options, &version.object_id));
	return r < 0 ? r : fs_look_found(fs, key, &version, ret_node);
}

static void
make_whole(fuse_req_t req, fuse_ino_t parent, const char *name, struct iovec slice,
	   const struct fs_attr *attr)
{
	struct fs *fs = fs_of(req);
	struct fs_version version;
	struct fs_node *node;
	struct fs_step step;
	int r;

	r = fs_step_down(fs, fs_node_of(req, parent), name, &step);
	if (r == 0)
		r = put_whole(fs, step.file, slice, attr, &node);
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	fs_node_shown(&fs->nodes, node, &version);
	reply_node(req, node, &version);
}

void
fs_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct fs_attr attr = attr_of_asker(req, FS_ATTR_LINK, 0777);
	struct iovec slice = {(void *)(uintptr_t)target, strlen(target)};

	make_whole(req, parent, name, slice, &attr);
}

void
fs_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct fs_attr attr = attr_of_asker(req, FS_ATTR_FILE, mode);
	struct iovec slice = {(void *)(uintptr_t) "", 0};

	(void)rdev;
	if (!S_ISREG(mode))
		fs_reply(req, -EPERM); /* an object is bytes: no devices, pipes or sockets */
	else
		make_whole(req, parent, name, slice, &attr);
}

void
fs_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
	(void)ino;
	(void)new_parent;
	(void)new_name;
	fs_reply(req, -EPERM); /* an object has one key */
}
