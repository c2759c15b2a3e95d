/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops.h"

#include <errno.h>
#include <string.h>

#include "fs/control.h"
#include "fs/copy.h"
#include "fs/dir.h"
#include "fs/handle.h"
#include "fs/killpriv.h"
#include "fs/lookup.h"
#include "fs/names.h"
#include "fs/passthrough.h"
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
	struct fs *fs = userdata;

	want(conn,
	     FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS |
		     FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_DIO,
	     true);
	want(conn,
	     FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ |
		     FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_HANDLE_KILLPRIV |
		     FUSE_CAP_WRITEBACK_CACHE,
	     false);
	fs_killpriv_want(conn);
	conn->max_read = (unsigned)fs->opts->max_read; /* as the mount was told */
	conn->max_readahead = REQUEST_MAX;
	conn->max_write = REQUEST_MAX;
	/* Bytes read ahead must leave threads for names: their provider may not answer for long. */
	conn->max_background = (unsigned)num_max(fs->opts->max_threads / 2, (uint64_t)1);
	fs_pass_begin(fs, conn);
}

/*
 * ---- files of the store, and those of .tiffin ----
 *
 * X(operation, parameters behind the request, of which the first says where, arguments)
 *
 * What the control directory has no operation for is not permitted there.
 */
#define ROUTED(X)                                                                                  \
	X(getattr, (fuse_ino_t ino, struct fuse_file_info * fi), (ino, fi))                        \
	X(setattr, (fuse_ino_t ino, struct stat * stat, int to_set, struct fuse_file_info *fi),    \
	  (ino, stat, to_set, fi))                                                                 \
	X(readlink, (fuse_ino_t ino), (ino))                                                       \
	X(mknod, (fuse_ino_t ino, const char *name, mode_t mode, dev_t rdev),                      \
	  (ino, name, mode, rdev))                                                                 \
	X(mkdir, (fuse_ino_t ino, const char *name, mode_t mode), (ino, name, mode))               \
	X(unlink, (fuse_ino_t ino, const char *name), (ino, name))                                 \
	X(rmdir, (fuse_ino_t ino, const char *name), (ino, name))                                  \
	X(open, (fuse_ino_t ino, struct fuse_file_info * fi), (ino, fi))                           \
	X(create, (fuse_ino_t ino, const char *name, mode_t mode, struct fuse_file_info *fi),      \
	  (ino, name, mode, fi))                                                                   \
	X(read, (fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info * fi),              \
	  (ino, size, off, fi))                                                                    \
	X(write,                                                                                   \
	  (fuse_ino_t ino, const char *buf, size_t size, off_t off, struct fuse_file_info *fi),    \
	  (ino, buf, size, off, fi))                                                               \
	X(flush, (fuse_ino_t ino, struct fuse_file_info * fi), (ino, fi))                          \
	X(fsync, (fuse_ino_t ino, int datasync, struct fuse_file_info *fi), (ino, datasync, fi))   \
	X(release, (fuse_ino_t ino, struct fuse_file_info * fi), (ino, fi))                        \
	X(opendir, (fuse_ino_t ino, struct fuse_file_info * fi), (ino, fi))                        \
	X(readdir, (fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info * fi),           \
	  (ino, size, off, fi))                                                                    \
	X(readdirplus, (fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info * fi),       \
	  (ino, size, off, fi))                                                                    \
	X(releasedir, (fuse_ino_t ino, struct fuse_file_info * fi), (ino, fi))                     \
	X(fsyncdir, (fuse_ino_t ino, int datasync, struct fuse_file_info *fi),                     \
	  (ino, datasync, fi))                                                                     \
	X(getxattr, (fuse_ino_t ino, const char *name, size_t size), (ino, name, size))            \
	X(listxattr, (fuse_ino_t ino, size_t size), (ino, size))                                   \
	X(setxattr, (fuse_ino_t ino, const char *name, const char *value, size_t size, int flags), \
	  (ino, name, value, size, flags))                                                         \
	X(fallocate, (fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi),  \
	  (ino, mode, off, len, fi))                                                               \
	X(removexattr, (fuse_ino_t ino, const char *name), (ino, name))

#define UNPACK(...) __VA_ARGS__

#define X(op, parameters, arguments)                                                               \
	static void route_##op(fuse_req_t req, UNPACK parameters)                                  \
	{                                                                                          \
		if (!fs_control_has(ino))                                                          \
			fs_op_##op(req, UNPACK arguments);                                         \
		else if (fs_control_ops.op != NULL)                                                \
			fs_control_ops.op(req, UNPACK arguments);                                  \
		else                                                                               \
			fs_reply(req, -EPERM);                                                     \
	}
ROUTED(X)
#undef X

static void
route_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry;

	if (fs_control_has(parent)) {
		fs_control_ops.lookup(req, parent, name);
	} else if (fs->control != NULL && parent == FUSE_ROOT_ID &&
		   strcmp(name, FS_PATH_CONTROL) == 0) {
		fs_control_look(fs, &entry);
		fuse_reply_entry(req, &entry);
	} else {
		fs_op_lookup(req, parent, name);
	}
}

static void
route_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	if (fs_control_has(parent))
		fs_reply(req, -EPERM);
	else
		fs_op_symlink(req, target, parent, name);
}

static void
route_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	     const char *new_name, unsigned flags)
{
	if (fs_control_has(parent) || fs_control_has(new_parent))
		fs_reply(req, -EPERM);
	else
		fs_op_rename(req, parent, name, new_parent, new_name, flags);
}

static void
route_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in,
		      fuse_ino_t ino_out, off_t off_out, struct fuse_file_info *fi_out, size_t len,
		      int flags)
{
	if (fs_control_has(ino_in) || fs_control_has(ino_out))
		fs_reply(req, -EOPNOTSUPP); /* the kernel copies by reading and writing */
	else
		fs_op_copy_file_range(req, ino_in, off_in, fi_in, ino_out, off_out, fi_out, len,
				      flags);
}

static void
route_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	if (fs_control_has(ino))
		fs_control_forget(fs_of(req), ino, n);
	else
		fs_node_forget(&fs_of(req)->nodes, fs_node_of(req, ino), n);
	fuse_reply_none(req);
}

static void
route_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < n; i++) {
		if (fs_control_has(forgets[i].ino))
			fs_control_forget(fs_of(req), forgets[i].ino, forgets[i].nlookup);
		else
			fs_node_forget(&fs_of(req)->nodes, fs_node_of(req, forgets[i].ino),
				       forgets[i].nlookup);
	}
	fuse_reply_none(req);
}

const struct fuse_lowlevel_ops fs_ops = {
	.init = op_init,
	.lookup = route_lookup,
	.forget = route_forget,
	.forget_multi = route_forget_multi,
	.symlink = route_symlink,
	.rename = route_rename,
	.copy_file_range = route_copy_file_range,
	.fallocate = route_fallocate,
	.link = fs_op_link,
	.statfs = fs_op_statfs,
	.getattr = route_getattr,
	.setattr = route_setattr,
	.readlink = route_readlink,
	.mknod = route_mknod,
	.mkdir = route_mkdir,
	.unlink = route_unlink,
	.rmdir = route_rmdir,
	.open = route_open,
	.create = route_create,
	.read = route_read,
	.write = route_write,
	.flush = route_flush,
	.fsync = route_fsync,
	.release = route_release,
	.opendir = route_opendir,
	.readdir = route_readdir,
	.readdirplus = route_readdirplus,
	.releasedir = route_releasedir,
	.fsyncdir = route_fsyncdir,
	.getxattr = route_getxattr,
	.listxattr = route_listxattr,
	.setxattr = route_setxattr,
	.removexattr = route_removexattr,
};
