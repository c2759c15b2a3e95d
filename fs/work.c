/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/work.h"

#include <errno.h>

#include "fs/errno.h"
#include "fs/fs.h"
#include "fs/handle.h"
#include "fs/invalidate.h"
#include "fs/passthrough.h"
#include "fs/pin.h"
#include "fs/xattrs.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

static void
check(const struct fs_node *node)
{
	assert(lock_held(&node->lock));
	assert(!node->is_dir);
	assert(implies(node->work.broken != 0, node->work.put == NULL));
	assert(implies(node->work.is_dirty, node->work.put != NULL));
	assert(implies(node->work.is_blank, node->work.is_dirty));
	assert(implies(node->work.xattrs != NULL, node->work.put != NULL));
}

uint64_t
fs_work_len(const struct fs_node *node)
{
	check(node);
	return tiffin_put_len(node->work.put);
}

/* stop -- no put any more. */
static void
stop(struct fs *fs, struct fs_node *node)
{
	node->work.put = NULL;
	node->work.is_dirty = node->work.is_blank = false;
	free(take(&node->work.xattrs));
	fs_node_work(&fs->nodes, node, /* has_work= */ false, /* is_fresh= */ false);
}

static int
keep_xattrs(struct fs_node *node, const struct fs_xattrs *xattrs)
{
	if (node->work.xattrs == NULL && xattrs->len_bytes > 0)
		node->work.xattrs = malloc(sizeof(*xattrs));
	if (node->work.xattrs == NULL && xattrs->len_bytes > 0)
		return -ENOMEM;
	if (node->work.xattrs != NULL)
		*node->work.xattrs = *xattrs;
	node->work.attr.xattr_bytes = xattrs->len_bytes;
	return 0;
}

/* carry -- attributes of the version it begins as go over to it, with what users set on that. */
static int
carry(struct fs *fs, struct fs_node *node, const struct fs_attr *attr)
{
	struct fs_version shown;
	struct fs_xattrs xattrs;
	char key[FS_KEY_ROOM];
	int r;

	node->work.attr = *attr;
	node->work.attr.xattr_bytes = 0;
	if (attr->xattr_bytes == 0)
		return 0;
	fs_node_key(&fs->nodes, node, key);
	fs_node_shown(&fs->nodes, node, &shown);
	r = fs_xattrs_fetch(fs->client, key, shown.object_id, &xattrs);
	return r < 0 ? r : keep_xattrs(node, &xattrs);
}

int
fs_work_set_xattrs(struct fs *fs, struct fs_node *node, const struct fs_xattrs *xattrs)
{
	int r;

	check(node);
	r = keep_xattrs(node, xattrs);
	if (r < 0)
		return r;
	node->work.attr.ctime = fs_now(fs);
	node->work.is_dirty = true;
	return 0;
}

static void
touch(struct fs *fs, struct fs_node *node)
{
	node->work.attr.mtime = node->work.attr.ctime = fs_now(fs);
	node->work.is_dirty = true;
	node->work.is_blank = false;
}

/* spoil -- nothing of it will be published, and the kernel forgets what it has of it. */
static int
spoil(struct fs *fs, struct fs_node *node, int r)
{
	char key[FS_KEY_ROOM];
	bool was_fresh = node->is_fresh;

	fs_node_key(&fs->nodes, node, key);
	log_event(LOG_WARN, "fs_not_stored", "key=\"%s\" errno=%d why=\"%s\"", key, -r,
		  tiffin_why());
	tiffin_put_abort(node->work.put);
	stop(fs, node);
	node->work.broken = r;
	fs_invalidate_node(fs->invalidate, node);
	if (was_fresh)
		fs_node_detach(&fs->nodes, node);
	return r;
}

static int
begin(struct fs *fs, struct fs_node *node, uint64_t len_bytes, uint32_t flags)
{
	struct tiffin_put_options options = {
		.struct_bytes = sizeof(options),
		.replica_num = (uint32_t)fs->opts->replicas,
		.flags = fs_put_flags(fs, flags),
		.group = fs->opts->group,
	};
	struct fs_version shown;
	char key[FS_KEY_ROOM];
	int r;

	check(node);
	assert(node->work.put == NULL);
	if (node->work.broken != 0)
		return node->work.broken;
	r = fs_pass_yield(fs, node);
	if (r < 0)
		return r;
	if (!fs_node_is_linked(&fs->nodes, node) && !fs_node_is_removed(&fs->nodes, node))
		return -ESTALE; /* another version has its path */

	fs_node_key(&fs->nodes, node, key);
	fs_node_shown(&fs->nodes, node, &shown);
	r = fs_errno(tiffin_put_begin(fs->client, key, len_bytes, &options, &node->work.put));
	if (r < 0)
		return r;
	node->was_written = true;
	fs_node_work(&fs->nodes, node, /* has_work= */ true,
		     /* is_fresh= */ shown.object_id == 0);
	return 0;
}

int
fs_work_begin_empty(struct fs *fs, struct fs_node *node, const struct fs_attr *attr, uint32_t flags)
{
	int r;

	check(node);
	if (node->work.put != NULL)
		return fs_work_truncate(fs, node, 0);
	r = begin(fs, node, 0, flags);
	if (r < 0)
		return r;
	r = carry(fs, node, attr);
	if (r < 0)
		return spoil(fs, node, r);
	touch(fs, node);
	node->work.is_blank = (flags & TIFFIN_REPLACE) != 0; /* who may lose a race hears of it */
	return 0;
}

/* copy_up -- the first len_bytes of a version, as they are. */
static int
copy_up(struct fs_node *node, struct fs_pin *pin, uint64_t len_bytes)
{
	uint64_t at = 0;
	void *buf = fs_buf();
	int r;

	if (buf == NULL)
		return -ENOMEM;
	while (at < len_bytes) {
		struct iovec slice = {buf, num_min(len_bytes - at, (uint64_t)FS_BUF_BYTES)};
		uint64_t got;

		r = fs_pin_read(pin, at, &slice, &got);
		if (r < 0)
			return r;
		if (got == 0)
			return -EIO;
		slice.iov_len = got;
		r = fs_pin_sum(pin, at, &slice, 1);
		if (r == 0)
			r = fs_errno(tiffin_put_write(node->work.put, at, &slice, 1));
		if (r < 0)
			return r;
		at += got;
	}
	return fs_pin_check(pin);
}

int
fs_work_begin(struct fs *fs, struct fs_node *node, uint64_t keep_bytes)
{
	struct fs_version shown;
	struct fs_pin *pin;
	uint64_t len_bytes;
	int r;

	check(node);
	if (node->work.put != NULL || node->work.broken != 0)
		return node->work.broken;

	r = fs_handle_pin(fs, node, &pin);
	if (r < 0)
		return r;
	len_bytes = num_min(keep_bytes, pin->stat.len_bytes);
	r = begin(fs, node, len_bytes, TIFFIN_REPLACE);
	if (r == 0) {
		fs_node_shown(&fs->nodes, node, &shown);
		r = carry(fs, node, &shown.attr);
		if (r == 0)
			r = copy_up(node, pin, len_bytes);
		if (r < 0)
			r = spoil(fs, node, r);
	}
	fs_pin_unref(pin);
	return r;
}

int
fs_work_write(struct fs *fs, struct fs_node *node, uint64_t offset_bytes, const struct iovec *slice)
{
	int r;

	check(node);
	if (node->work.broken != 0)
		return node->work.broken;
	r = fs_errno(tiffin_put_write(node->work.put, offset_bytes, slice, 1));
	if (r < 0)
		return spoil(fs, node, r);
	touch(fs, node);
	return 0;
}

int
fs_work_read(struct fs_node *node, uint64_t offset_bytes, const struct iovec *slice,
	     uint64_t *ret_len_bytes)
{
	check(node);
	return fs_errno(tiffin_put_read(node->work.put, offset_bytes, slice, 1, ret_len_bytes));
}

int
fs_work_truncate(struct fs *fs, struct fs_node *node, uint64_t len_bytes)
{
	int r;

	check(node);
	if (node->work.broken != 0)
		return node->work.broken;
	r = fs_errno(tiffin_put_truncate(node->work.put, len_bytes));
	if (r < 0)
		return spoil(fs, node, r);
	touch(fs, node);
	return 0;
}

int
fs_work_commit(struct fs *fs, struct fs_node *node)
{
	struct fs_version version = {.attr = node->work.attr};
	struct fs_blob blob;
	int r;

	check(node);
	if (node->work.broken != 0)
		return node->work.broken;
	if (!node->work.is_dirty || !fs_node_is_linked(&fs->nodes, node))
		return 0;

	fs_blob_make(&node->work.attr, node->work.xattrs, &blob);
	version.len_bytes = tiffin_put_len(node->work.put);
	r = fs_errno(tiffin_put_commit(take(&node->work.put), blob.bytes, blob.len_bytes,
				       &version.object_id));
	free(take(&node->work.xattrs));
	node->work.is_dirty = node->work.is_blank = false;
	if (r < 0)
		return spoil(fs, node, r);

	fs_node_published(&fs->nodes, node, &version);
	fs_pin_unref(take(&node->pin));
	return 0;
}

void
fs_work_spoil(struct fs *fs, struct fs_node *node, int r)
{
	check(node);
	if (node->work.put != NULL)
		spoil(fs, node, r);
}

void
fs_work_drop(struct fs *fs, struct fs_node *node)
{
	check(node);
	if (node->work.put != NULL) {
		tiffin_put_abort(node->work.put);
		stop(fs, node);
	}
	node->work.broken = 0;
}
