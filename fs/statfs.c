/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/statfs.h"

#include <sys/statvfs.h>

#include "fs/errno.h"
#include "transfer/base/num.h"

#define UNIT_BYTES 4096u

/* Objects have no number fixed beforehand; this many more always seem possible. */
#define INODES_FREE (1ull << 32)

/* free_bytes -- a tenant sees a store as large as its quota, but never more free than there is. */
static uint64_t
free_bytes(const struct tiffin_space *space)
{
	uint64_t taken =
		num_min(num_add_sat(space->used_bytes, space->resting_bytes), space->size_bytes);
	uint64_t left = space->size_bytes - taken;

	if (space->quota_bytes == 0)
		return left;
	return num_min(left, space->quota_bytes - num_min(space->tenant_bytes, space->quota_bytes));
}

static uint64_t
size_bytes(const struct tiffin_space *space)
{
	return space->quota_bytes == 0 ? space->size_bytes
				       : num_min(space->size_bytes, space->quota_bytes);
}

static uint64_t
free_files(const struct tiffin_space *space)
{
	if (space->quota_objects == 0)
		return INODES_FREE;
	return space->quota_objects - num_min(space->tenant_objects, space->quota_objects);
}

void
fs_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct tiffin_space space;
	struct statvfs st;
	int r;

	(void)ino;
	r = fs_errno(tiffin_space(fs_of(req)->client, &space));
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	st = (struct statvfs){
		.f_bsize = UNIT_BYTES,
		.f_frsize = UNIT_BYTES,
		.f_blocks = size_bytes(&space) / UNIT_BYTES,
		.f_bfree = free_bytes(&space) / UNIT_BYTES,
		.f_bavail = free_bytes(&space) / UNIT_BYTES,
		.f_files = space.tenant_objects + free_files(&space),
		.f_ffree = free_files(&space),
		.f_favail = free_files(&space),
		.f_namemax = FS_PATH_NAME_MAX,
	};
	fuse_reply_statfs(req, &st);
}
