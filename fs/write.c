/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/write.h"

#include "fs/handle.h"
#include "fs/invalidate.h"
#include "fs/killpriv.h"

/* place -- where a write goes: to the end, if the handle only appends. */
static uint64_t
place(struct fs *fs, const struct fs_handle *handle, const struct fuse_file_info *fi, uint64_t off)
{
	uint64_t end = fs_work_len(handle->node);

	if (!handle->is_append || fi->writepage || off == end)
		return off;
	fs_invalidate_node(fs->invalidate, handle->node); /* the kernel took another end for it */
	return end;
}

void
fs_op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
	    struct fuse_file_info *fi)
{
	const struct fs_handle *handle = fs_handle_of(fi);
	struct iovec slice = {(void *)(uintptr_t)bytes, size};
	struct fs_node *node = handle->node;
	struct fs *fs = fs_of(req);
	int r;

	(void)ino;
	lock_take(&node->lock);
	r = fs_work_begin(fs, node, /* keep_bytes= */ UINT64_MAX);
	if (r == 0)
		r = fs_work_write(fs, node, place(fs, handle, fi, (uint64_t)off), &slice);
	fs_killpriv(req, node);
	lock_drop(&node->lock);

	if (r < 0)
		fs_reply(req, r);
	else
		fuse_reply_write(req, size);
}
