/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include "fs/dir.h"
#include "fs/handle.h"
#include "fs/lookup.h"
#include "fs/names.h"
#include "fs/read.h"
#include "fs/statfs.h"
#include "fs/write.h"
#include "fs/xattr.h"
#include "transfer/base/num.h"

#define REQUEST_MAX (1u << 20) /* of one read, write or readahead */

static void
want(struct fuse_conn_info *conn, unsigned caps, bool is_wanted)
{
	if (is_wanted)
		conn->want |= conn->capable & caps;
	else
		conn->want &= ~caps;
}

/*
 * Always readdirplus: asking for attributes one by one makes du nine times slower.  No splice: it
 * is slower than copying.  What is old we tell the kernel ourselves (invalidate.h), so it need not
 * guess from times; but a length that changed drops pages, hence no EXPLICIT_INVAL_DATA.
 */
static void
op_init(void *userdata, struct fuse_conn_info *conn)
{
	const struct fs *fs = userdata;

	want(conn,
	     FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS |
		     FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_DIO,
	     true);
	want(conn,
	     FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ |
		     FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_HANDLE_KILLPRIV |
		     FUSE_CAP_WRITEBACK_CACHE,
	     false);
	conn->max_read = (unsigned)fs->opts->max_read; /* as the mount was told */
	conn->max_readahead = REQUEST_MAX;
	conn->max_write = REQUEST_MAX;
	/* Bytes read ahead must leave threads for names: their provider may not answer for long. */
	conn->max_background = (unsigned)num_max(fs->opts->max_threads / 2, (uint64_t)1);
}

const struct fuse_lowlevel_ops fs_ops = {
	.init = op_init,
	.lookup = fs_op_lookup,
	.forget = fs_op_forget,
	.forget_multi = fs_op_forget_multi,
	.getattr = fs_op_getattr,
	.setattr = fs_op_setattr,
	.readlink = fs_op_readlink,
	.mknod = fs_op_mknod,
	.mkdir = fs_op_mkdir,
	.unlink = fs_op_unlink,
	.rmdir = fs_op_rmdir,
	.symlink = fs_op_symlink,
	.rename = fs_op_rename,
	.link = fs_op_link,
	.open = fs_op_open,
	.create = fs_op_create,
	.read = fs_op_read,
	.write = fs_op_write,
	.flush = fs_op_flush,
	.fsync = fs_op_fsync,
	.release = fs_op_release,
	.opendir = fs_op_opendir,
	.readdir = fs_op_readdir,
	.readdirplus = fs_op_readdirplus,
	.releasedir = fs_op_releasedir,
	.fsyncdir = fs_op_fsyncdir,
	.statfs = fs_op_statfs,
	.getxattr = fs_op_getxattr,
	.listxattr = fs_op_listxattr,
	.setxattr = fs_op_setxattr,
	.removexattr = fs_op_removexattr,
};
