/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/marker.h"

#include <errno.h>

#include "fs/errno.h"

int
fs_marker_put(struct fs *fs, const char *key, const struct fs_attr *attr, uint32_t flags)
{
	uint8_t blob[FS_ATTR_BYTES];
	struct tiffin_put_options options = {
		.struct_bytes = sizeof(options),
		.replica_num = (uint32_t)fs->opts->replicas,
		.flags = flags,
		.attr = blob,
		.attr_bytes = sizeof(blob),
	};
	struct iovec nothing = {blob, 0};

	assert(attr->kind == FS_ATTR_DIR);
	fs_attr_encode(attr, blob);
	return fs_errno(tiffin_put(fs->client, key, &nothing, 1, &options, /* ret_id= */ NULL));
}

int
fs_marker_set(struct fs *fs, const char *key, const struct fs_attr *attr)
{
	uint8_t blob[FS_ATTR_BYTES];
	int r;

	fs_attr_encode(attr, blob);
	r = tiffin_set_attr(fs->client, key, /* object_id= */ 0, blob, sizeof(blob));
	if (r == TIFFIN_E_NOT_FOUND)
		return fs_marker_put(fs, key, attr, TIFFIN_REPLACE);
	return fs_errno(r);
}

int
fs_marker_remove(struct fs *fs, const char *key)
{
	int r = tiffin_remove(fs->client, key, TIFFIN_FORCE);

	return r == TIFFIN_E_NOT_FOUND ? 0 : fs_errno(r);
}
