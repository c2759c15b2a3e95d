/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/attr.h"

#include <string.h>

#include "fs/xattrs.h"

#define NS_MAX    999999999u
#define BLOCK_LEN 512u /* of st_blocks */

static const uint8_t magic[3] = {'T', 'F', 'S'};

enum version { VERSION_1 = 1, VERSION = 2 };

static void
put_le(uint8_t *to, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t
get_le(const uint8_t *from, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)from[i] << (8 * i);
	return v;
}

static void
put_time(uint8_t *to, const struct timespec *t)
{
	assert(t->tv_nsec >= 0 && t->tv_nsec <= (long)NS_MAX);

	put_le(to, (uint64_t)(int64_t)t->tv_sec, 8);
	put_le(to + 8, (uint64_t)t->tv_nsec, 4);
}

static bool
get_time(const uint8_t *from, struct timespec *ret_time)
{
	uint64_t ns = get_le(from + 8, 4);

	if (ns > NS_MAX)
		return false;
	ret_time->tv_sec = (time_t)(int64_t)get_le(from, 8);
	ret_time->tv_nsec = (long)ns;
	return true;
}

void
fs_attr_encode(const struct fs_attr *attr, uint8_t ret_bytes[FS_ATTR_BYTES])
{
	assert((attr->mode & ~(mode_t)07777) == 0);

	memcpy(ret_bytes, magic, sizeof(magic));
	ret_bytes[3] = VERSION;
	ret_bytes[4] = (uint8_t)attr->kind;
	ret_bytes[5] = 0;
	put_le(ret_bytes + 6, attr->mode, 2);
	put_le(ret_bytes + 8, attr->uid, 4);
	put_le(ret_bytes + 12, attr->gid, 4);
	put_time(ret_bytes + 16, &attr->mtime);
	put_time(ret_bytes + 28, &attr->atime);
	put_time(ret_bytes + 40, &attr->ctime);
}

/* get_rest -- what version 2 has beyond 1. */
static bool
get_rest(const uint8_t *at, size_t len_bytes, struct fs_attr *ret_attr)
{
	if (at[3] == VERSION_1) {
		ret_attr->ctime = ret_attr->mtime;
		return len_bytes == FS_ATTR_V1_BYTES;
	}
	if (at[3] != VERSION || len_bytes < FS_ATTR_BYTES || len_bytes > TIFFIN_ATTR_MAX ||
	    !get_time(at + 40, &ret_attr->ctime))
		return false;
	ret_attr->xattr_bytes = len_bytes - FS_ATTR_BYTES;
	return fs_xattrs_are_sound(at + FS_ATTR_BYTES, ret_attr->xattr_bytes);
}

int
fs_attr_decode(const void *bytes, size_t len_bytes, struct fs_attr *ret_attr)
{
	const uint8_t *at = bytes;
	struct fs_attr attr = {0};

	if (len_bytes < FS_ATTR_V1_BYTES || memcmp(at, magic, sizeof(magic)) != 0)
		return FS_ATTR_E_FOREIGN;
	if (at[4] > FS_ATTR_LINK || at[5] != 0)
		return FS_ATTR_E_FOREIGN;

	attr.kind = (enum fs_attr_kind)at[4];
	attr.mode = (mode_t)get_le(at + 6, 2);
	attr.uid = (uid_t)get_le(at + 8, 4);
	attr.gid = (gid_t)get_le(at + 12, 4);
	if ((attr.mode & ~(mode_t)07777) != 0)
		return FS_ATTR_E_FOREIGN;
	if (!get_time(at + 16, &attr.mtime) || !get_time(at + 28, &attr.atime) ||
	    !get_rest(at, len_bytes, &attr))
		return FS_ATTR_E_FOREIGN;

	*ret_attr = attr;
	return 0;
}

void
fs_attr_default(const struct fs_attr_defaults *defaults, enum fs_attr_kind kind, uint64_t at_ms,
		struct fs_attr *ret_attr)
{
	static const mode_t modes[] = {
		[FS_ATTR_FILE] = 0666,
		[FS_ATTR_DIR] = 0777,
		[FS_ATTR_LINK] = 0777,
	};
	struct timespec at = {.tv_sec = (time_t)(at_ms / 1000),
			      .tv_nsec = (long)(at_ms % 1000) * 1000000};

	*ret_attr = (struct fs_attr){
		.kind = kind,
		.mode = kind == FS_ATTR_LINK ? modes[kind] : modes[kind] & ~defaults->umask & 0777,
		.uid = defaults->uid,
		.gid = defaults->gid,
		.mtime = at,
		.atime = at,
		.ctime = at,
	};
}

void
fs_attr_show(const struct fs_attr *attr, uint64_t ino, uint64_t len_bytes, struct stat *ret_stat)
{
	static const mode_t types[] = {
		[FS_ATTR_FILE] = S_IFREG,
		[FS_ATTR_DIR] = S_IFDIR,
		[FS_ATTR_LINK] = S_IFLNK,
	};

	*ret_stat = (struct stat){
		.st_ino = ino,
		.st_mode = types[attr->kind] | attr->mode,
		.st_nlink = 1, /* of a directory: "not counted", which find and others know */
		.st_uid = attr->uid,
		.st_gid = attr->gid,
		.st_size = attr->kind == FS_ATTR_DIR ? 0 : (off_t)len_bytes,
		.st_blksize = 1 << 20,
		.st_blocks = attr->kind == FS_ATTR_DIR ? 0
						       : (blkcnt_t)(len_bytes / BLOCK_LEN +
								    (len_bytes % BLOCK_LEN != 0)),
		.st_atim = attr->atime,
		.st_mtim = attr->mtime,
		.st_ctim = attr->ctime,
	};
}
