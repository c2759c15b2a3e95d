/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/errno.h"
#include "fs/invalidate.h"
#include "fs/killpriv.h"
#include "fs/lookup.h"
#include "fs/passthrough.h"
#include "fs/pin.h"
#include "transfer/base/log.h"

#define RACES_MAX 8

/* ---- pins ---- */

int
fs_handle_pin(struct fs *fs, struct fs_node *node, struct fs_pin **ret_pin)
{
	struct fs_version shown;
	char key[FS_KEY_ROOM];
	struct fs_pin *pin;
	int r;

	assert(lock_held(&node->lock));

	if (node->pin != NULL) {
		*ret_pin = fs_pin_ref(node->pin);
		return 0;
	}
	if (!fs_node_is_linked(&fs->nodes, node))
		return -ESTALE;

	fs_node_key(&fs->nodes, node, key);
	fs_node_shown(&fs->nodes, node, &shown);
	r = fs_pin_open(fs->client, key, fs->opts->verify != 0, &pin);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	if (pin->stat.object_id != shown.object_id) {
		fs_pin_unref(pin);
		fs_node_detach(&fs->nodes, node);
		return -ESTALE;
	}
	node->pin = pin;
	*ret_pin = fs_pin_ref(pin);
	return 0;
}

/* show_pinned -- nobody has the node open: from now on it stands for what was pinned. */
static int
show_pinned(struct fs *fs, struct fs_node *node, const char *key, const struct fs_pin *pin)
{
	uint8_t blob[TIFFIN_ATTR_MAX];
	struct fs_version newest;
	struct tiffin_stat stat;
	int r;

	r = tiffin_stat(fs->client, key, &stat, blob);
	if (r < 0 && r != TIFFIN_E_NOT_FOUND)
		return fs_errno(r);
	if (r < 0 || stat.object_id != pin->stat.object_id)
		return -ESTALE; /* changed again */
	fs_look_version(fs, &stat, &newest);
	fs_look_show(fs, node, &newest);
	return 0;
}

/* gone -- no object is there: it was removed, or a directory has the name, which the kernel will
 * find. */
static int
gone(struct fs *fs, const char *key)
{
	struct tiffin_stat stat = {0};
	int r = tiffin_stat(fs->client, key, &stat, /* attr_buf= */ NULL);

	return r == TIFFIN_E_NOT_FOUND && !stat.is_prefix ? -ENOENT : -ESTALE;
}

/*
 * follow -- a reader got the node of a path just before another file took that path.
 *
 * Had he come a moment later he had got that file: so he gets it, in the node that he has.  The
 * kernel looks a path up anew but once, and where files are replaced all the time that may not do.
 */
static int
follow(struct fs *fs, struct fs_node *node)
{
	char key[FS_KEY_ROOM];
	struct fs_pin *pin;
	int r = -ESTALE;

	fs_node_key(&fs->nodes, node, key);
	for (int tries = 0; tries < RACES_MAX && r == -ESTALE; tries++) {
		r = fs_pin_open(fs->client, key, fs->opts->verify != 0, &pin);
		if (r < 0)
			return r == -ENOENT ? gone(fs, key) : r;
		if (!fs_look_may_show(fs, node, pin->stat.object_id)) {
			fs_pin_unref(pin);
			return -ESTALE;
		}
		r = show_pinned(fs, node, key, pin);
		if (r < 0)
			fs_pin_unref(pin);
		else
			node->pin = pin;
	}
	return r;
}

/*
 * pin_newest -- what the master has now.
 *
 * -ESTALE makes the kernel look the path up anew: the node stands for an older version, and
 * somebody has that open.
 */
static int
pin_newest(struct fs *fs, struct fs_node *node, bool is_writer)
{
	struct fs_version shown;
	char key[FS_KEY_ROOM];
	struct fs_pin *pin;
	int r;

	if (!fs_node_is_linked(&fs->nodes, node) && node->pin != NULL)
		return 0;
	if (!fs_node_is_linked(&fs->nodes, node))
		return is_writer ? -ESTALE : follow(fs, node);

	fs_node_key(&fs->nodes, node, key);
	fs_node_shown(&fs->nodes, node, &shown);
	r = fs_pin_open(fs->client, key, fs->opts->verify != 0, &pin);
	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	if (pin->stat.object_id != shown.object_id) {
		r = -ESTALE;
		if (fs_look_may_show(fs, node, pin->stat.object_id))
			r = show_pinned(fs, node, key, pin);
		else
			fs_node_detach(&fs->nodes, node);
	}
	if (r < 0 || node->pin != NULL) {
		fs_pin_unref(pin);
		return r;
	}
	node->pin = pin;
	return 0;
}

void
fs_handle_let_go(struct fs *fs, struct fs_node *node)
{
	struct fs_pin *pin;

	assert(lock_held(&node->lock));

	if (node->n_opens > 0 && node->work.put == NULL && node->pin == NULL &&
	    fs_handle_pin(fs, node, &pin) == 0)
		fs_pin_unref(pin);
}

/* ---- open and create ---- */

/* ready -- the node, locked, as an open with these flags wants it. */
static int
ready(struct fs *fs, struct fs_node *node, int flags)
{
	bool is_writer = (flags & O_ACCMODE) != O_RDONLY;
	struct fs_version shown;

	if (is_writer && node->work.broken != 0)
		return node->work.broken;
	if (is_writer && fs_pass_yield(fs, node) < 0)
		return -ESTALE;
	if (is_writer && (flags & O_TRUNC) != 0) {
		fs_node_shown(&fs->nodes, node, &shown);
		return fs_work_begin_empty(fs, node,
					   node->work.put != NULL ? &node->work.attr : &shown.attr,
					   TIFFIN_REPLACE);
	}
	return node->work.put != NULL ? 0 : pin_newest(fs, node, is_writer);
}

/* settle -- after a handle has gone, or never came. */
static void
settle(struct fs *fs, struct fs_node *node)
{
	int r;

	assert(lock_held(&node->lock));

	if (node->n_writers == 0 && fs_node_is_linked(&fs->nodes, node)) {
		r = fs_work_commit(
			fs, node); /* its failure has been logged, and nobody is left to tell */
		if (r != 0 || node->work.put != NULL)
			fs_work_drop(fs, node);
	}
	if (node->n_opens == 0) {
		fs_work_drop(fs, node);
		fs_pin_unref(take(&node->pin));
	}
}

static void
handle_close(struct fs *fs, struct fs_handle *handle)
{
	struct fs_node *node = handle->node;

	fs_open_remove(fs, &handle->open);
	lock_take(&node->lock);
	node->n_opens--;
	node->n_writers -= handle->is_writer;
	settle(fs, node);
	lock_drop(&node->lock);
	fs_node_unref(&fs->nodes, node);
	free(handle);
}

/* handle_end -- the kernel is gone and will not release it. */
static void
handle_end(struct fs *fs, struct fs_open *open)
{
	handle_close(fs, container_of(open, struct fs_handle, open));
}

static struct fs_handle *
handle_new(struct fs *fs, struct fs_node *node, int flags)
{
	struct fs_handle *handle = calloc(1, sizeof(*handle));

	if (handle == NULL)
		return NULL;
	*handle = (struct fs_handle){
		.node = node,
		.is_writer = (flags & O_ACCMODE) != O_RDONLY,
		.is_append = (flags & O_APPEND) != 0,
	};
	fs_node_ref(&fs->nodes, node);
	fs_open_add(fs, &handle->open, handle_end);
	return handle;
}

/* handle_cancel -- it did not come to an open. */
static void
handle_cancel(struct fs *fs, struct fs_handle *handle)
{
	fs_open_remove(fs, &handle->open);
	fs_node_unref(&fs->nodes, handle->node);
	free(handle);
}

void
fs_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node = fs_node_of(req, ino);
	struct fs_handle *handle = handle_new(fs, node, fi->flags);
	int r;

	if (handle == NULL) {
		fs_reply(req, -ENOMEM);
		return;
	}

	lock_take(&node->lock);
	r = ready(fs, node, fi->flags);
	if (r == 0 && (fi->flags & O_TRUNC) != 0)
		fs_killpriv(req, node);
	if (r == 0) {
		fs_look_settle(fs, node);
		node->n_opens++;
		node->n_writers += handle->is_writer;
		if (!fs_pass_open(fs, node, fi))
			fi->keep_cache = fs_node_keep_pages(&fs->nodes, node);
	} else {
		settle(fs, node);
	}
	lock_drop(&node->lock);

	if (r < 0) {
		handle_cancel(fs, handle);
		fs_reply(req, r);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)handle;
	fi->noflush = !handle->is_writer; /* its close has nothing to tell us */
	if (fuse_reply_open(req, fi) == -ENOENT)
		handle_close(fs, handle);
}

/* is_taken_by_marker -- "a/%_" is the key "a/": not a file's as long as it keeps the directory. */
static int
judge_marker(struct fs *fs, const char *key)
{
	uint8_t blob[TIFFIN_ATTR_MAX];
	struct tiffin_stat stat;
	int r;

	if (key[strlen(key) - 1] != '/')
		return 0;
	r = tiffin_stat(fs->client, key, &stat, blob);
	if (r == TIFFIN_E_NOT_FOUND)
		return 0;
	if (r == 0)
		return fs_is_marker(key, &stat) ? -EINVAL : 0;
	return fs_errno(r);
}

/* fresh_node -- for a key under which nothing is published, as far as the kernel knows. */
static int
fresh_node(struct fs *fs, const char *key, struct fs_node **ret_node)
{
	struct fs_node *old = fs_nodes_find(&fs->nodes, /* is_dir= */ false, key);

	if (old != NULL) {
		bool is_ours;

		lock_take(&old->lock);
		is_ours = old->work.put != NULL;
		if (!is_ours)
			fs_node_detach(&fs->nodes, old);
		lock_drop(&old->lock);
		fs_node_unref(&fs->nodes, old);
		if (is_ours)
			return -ESTALE; /* the kernel looks again, and finds it */
	}
	return fs_nodes_look(&fs->nodes, /* is_dir= */ false, key, ret_node);
}

/* begin_new -- a working version of nothing, owned by whoever asks. */
static int
begin_new(fuse_req_t req, struct fs_node *node, mode_t mode, int flags)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct fs *fs = fs_of(req);
	struct fs_attr attr = {
		.kind = FS_ATTR_FILE,
		.mode = mode & 07777,
		.uid = ctx->uid,
		.gid = ctx->gid,
		.mtime = fs_now(fs),
		.atime = fs_now(fs),
		.ctime = fs_now(fs),
	};

	return fs_work_begin_empty(fs, node, &attr, (flags & O_EXCL) != 0 ? 0 : TIFFIN_REPLACE);
}

/* create -- gives: *ret_handle and, in *ret_version, what to tell the kernel. */
static int
create(fuse_req_t req, const char *key, mode_t mode, int flags, struct fs_handle **ret_handle)
{
	struct fs *fs = fs_of(req);
	struct fs_node *node;
	int r;

	r = judge_marker(fs, key);
	if (r == 0)
		r = fresh_node(fs, key, &node);
	if (r < 0)
		return r;

	*ret_handle = handle_new(fs, node,
				 flags | O_RDWR); /* its close publishes, however it was opened */
	lock_take(&node->lock);
	r = *ret_handle == NULL ? -ENOMEM : begin_new(req, node, mode, flags);
	if (r == 0) {
		node->n_opens++;
		node->n_writers++;
		fs_node_keep_pages(&fs->nodes, node);
	}
	lock_drop(&node->lock);

	if (r < 0) {
		fs_node_detach(&fs->nodes, node);
		if (*ret_handle != NULL)
			handle_cancel(fs, *ret_handle);
	}
	fs_node_unref(&fs->nodes, node);
	return r;
}

void
fs_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	     struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry;
	struct fs_version version = {0};
	struct fs_handle *handle = NULL;
	struct fs_step step;
	int r;

	r = fs_step_down(fs, fs_node_of(req, parent), name, &step);
	if (r == 0)
		r = step.file[0] == '\0' ? -EINVAL
					 : create(req, step.file, mode, fi->flags, &handle);
	if (r < 0) {
		fs_reply(req, r);
		return;
	}

	version.attr = handle->node->work.attr; /* nobody else knows the node yet */
	fs_entry(fs, handle->node, &version, &entry);
	fi->fh = (uint64_t)(uintptr_t)handle;
	if (fuse_reply_create(req, &entry, fi) == -ENOENT) {
		fs_node_forget(&fs->nodes, handle->node, 1);
		handle_close(fs, handle);
	}
}

/* ---- flush and release ---- */

static int
publish(struct fs *fs, struct fs_handle *handle, bool is_flush)
{
	struct fs_node *node = handle->node;
	int r = 0;

	if (!handle->is_writer)
		return 0;
	lock_take(&node->lock);
	if (!is_flush || !node->work.is_blank)
		r = fs_work_commit(fs, node);
	lock_drop(&node->lock);
	return r;
}

void
fs_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fs_reply(req, publish(fs_of(req), fs_handle_of(fi), /* is_flush= */ true));
}

void
fs_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	fs_reply(req, publish(fs_of(req), fs_handle_of(fi), /* is_flush= */ false));
}

void
fs_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	handle_close(fs_of(req), fs_handle_of(fi));
	fs_reply(req, 0);
}
