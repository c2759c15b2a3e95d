/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/statfs.h"

#include <sys/statvfs.h>

#include "fs/errno.h"
#include "transfer/base/num.h"

#define UNIT_BYTES 4096u

/* Objects have no number fixed beforehand; this many more always seem possible. */
#define INODES_FREE (1ull << 32)

void
fs_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct tiffin_space space;
	uint64_t taken_bytes;
	struct statvfs st;
	int r;

	(void)ino;
	r = fs_errno(tiffin_space(fs_of(req)->client, &space));
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	taken_bytes = num_min(num_add_sat(space.used_bytes, space.resting_bytes), space.size_bytes);
	st = (struct statvfs){
		.f_bsize = UNIT_BYTES,
		.f_frsize = UNIT_BYTES,
		.f_blocks = space.size_bytes / UNIT_BYTES,
		.f_bfree = (space.size_bytes - taken_bytes) / UNIT_BYTES,
		.f_bavail = (space.size_bytes - taken_bytes) / UNIT_BYTES,
		.f_files = space.n_objects + INODES_FREE,
		.f_ffree = INODES_FREE,
		.f_favail = INODES_FREE,
		.f_namemax = FS_PATH_NAME_MAX,
	};
	fuse_reply_statfs(req, &st);
}
