/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/marker.h"

#include <errno.h>

#include "fs/errno.h"

static int
put(struct fs *fs, const char *key, const struct fs_blob *blob, uint32_t flags)
{
	struct tiffin_put_options options = {
		.struct_bytes = sizeof(options),
		.replica_num = (uint32_t)fs->opts->replicas,
		.flags = flags,
		.attr = blob->bytes,
		.attr_bytes = blob->len_bytes,
	};
	struct iovec nothing = {NULL, 0};

	return fs_errno(tiffin_put(fs->client, key, &nothing, 1, &options, /* ret_id= */ NULL));
}

int
fs_marker_put(struct fs *fs, const char *key, const struct fs_attr *attr, uint32_t flags)
{
	struct fs_blob blob;

	assert(attr->kind == FS_ATTR_DIR);
	fs_blob_make(attr, /* xattrs= */ NULL, &blob);
	return put(fs, key, &blob, flags);
}

int
fs_marker_set(struct fs *fs, const char *key, const struct fs_attr *attr,
	      const struct fs_xattrs *xattrs)
{
	struct fs_blob blob;
	int r;

	fs_blob_make(attr, xattrs, &blob);
	r = fs_blob_keep(fs->client, key, /* object_id= */ 0, &blob, xattrs);
	if (r != -ENOENT)
		return r;
	if (!xattrs->is_fetched)
		return put(fs, key, &blob, TIFFIN_REPLACE);
	r = xattrs->is_there ? -EEXIST : put(fs, key, &blob, /* flags= */ 0);
	return r == -EEXIST ? -EAGAIN : r; /* made, or removed, since it was fetched */
}

int
fs_marker_remove(struct fs *fs, const char *key)
{
	int r = tiffin_remove(fs->client, key, TIFFIN_FORCE);

	return r == TIFFIN_E_NOT_FOUND ? 0 : fs_errno(r);
}
