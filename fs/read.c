/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/read.h"

#include <errno.h>
#include <limits.h>

#include "fs/errno.h"
#include "fs/handle.h"
#include "fs/invalidate.h"
#include "fs/pin.h"
#include "transfer/base/num.h"

#define RUNS_MAX 16 /* pieces of segments in one reply */

/* reply_borrowed -- from the segment.  0; 1: not on this host, -errno: nothing was replied. */
static int
reply_borrowed(fuse_req_t req, struct fs_node *node, struct fs_pin *pin, uint64_t off, size_t size)
{
	struct fs *fs = fs_of(req);
	uint64_t ino = node->ino;
	struct iovec slices[RUNS_MAX];
	size_t n;
	int r;

	r = fs_pin_borrow(pin, off, size, slices, array_len(slices), &n);
	if (r < 0)
		return r;
	if (n == 0)
		return 1;
	if (fs->opts->verify_local)
		r = fs_pin_sum(pin, off, slices, n);
	if (r < 0) {
		fs_pin_return(pin, n);
		return r;
	}

	/* With the reply req is gone, and the node may be: the kernel can close and forget it. */
	fuse_reply_iov(req, slices, (int)n);
	if (fs_pin_check(pin) < 0)
		fs_invalidate_ino(fs->invalidate, ino);
	fs_pin_return(pin, n);
	return 0;
}

/* reply_copied -- through this thread's buffer. */
static int
reply_copied(fuse_req_t req, struct fs_pin *pin, uint64_t off, size_t size)
{
	struct iovec slice = {fs_buf(), num_min(size, (size_t)FS_BUF_BYTES)};
	uint64_t len_bytes;
	int r;

	if (slice.iov_base == NULL)
		return -ENOMEM;
	r = fs_pin_read(pin, off, &slice, &len_bytes);
	if (r < 0)
		return r;
	slice.iov_len = len_bytes;
	r = fs_pin_sum(pin, off, &slice, 1);
	if (r < 0)
		return r;
	fuse_reply_buf(req, slice.iov_base, slice.iov_len);
	return 0;
}

static int
reply_pinned(fuse_req_t req, struct fs_node *node, struct fs_pin *pin, uint64_t off, size_t size)
{
	int r = fs_pin_check(pin);

	if (r < 0)
		return r;
	if (off >= pin->stat.len_bytes) {
		fuse_reply_buf(req, NULL, 0);
		return 0;
	}
	r = reply_borrowed(req, node, pin, off, size);
	if (r > 0)
		r = reply_copied(req, pin, off, size);
	/* Bytes that did not come say nothing of the pages before; and the notice would wait for
	 * pages that other reads wait for. */
	if (r == -EIO && fs_pin_check(pin) < 0)
		fs_invalidate_node(fs_of(req)->invalidate, node);
	return r;
}

/* reply_working -- what was written and is not published. */
static int
reply_working(fuse_req_t req, struct fs_node *node, uint64_t off, size_t size)
{
	struct iovec slice = {fs_buf(), num_min(size, (size_t)FS_BUF_BYTES)};
	uint64_t len_bytes;
	int r;

	if (slice.iov_base == NULL)
		return -ENOMEM;
	r = fs_work_read(node, off, &slice, &len_bytes);
	if (r == 0)
		fuse_reply_buf(req, slice.iov_base, len_bytes);
	return r;
}

void
fs_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct fs_node *node = fs_handle_of(fi)->node;
	struct fs *fs = fs_of(req);
	struct fs_pin *pin = NULL;
	int r;

	(void)ino;
	lock_take(&node->lock);
	if (node->work.put != NULL)
		r = reply_working(req, node, (uint64_t)off, size);
	else
		r = fs_handle_pin(fs, node, &pin);
	lock_drop(&node->lock);

	if (pin != NULL) {
		r = reply_pinned(req, node, pin, (uint64_t)off, size);
		fs_pin_unref(pin);
	}
	if (r < 0)
		fs_reply(req, r);
}

void
fs_op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	char key[FS_KEY_ROOM];
	char target[PATH_MAX];
	struct iovec slice = {target, sizeof(target) - 1};
	uint64_t len_bytes;
	int r;

	fs_node_key(&fs->nodes, fs_node_of(req, ino), key);
	r = fs_errno(tiffin_get(fs->client, key, &slice, 1, &len_bytes));
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	target[len_bytes] = '\0';
	fuse_reply_readlink(req, target);
}
