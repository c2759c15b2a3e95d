/* SPDX-License-Identifier: Apache-2.0 */

/*
 * attr.h -- what a file system knows of a file beyond its bytes, kept with the object.
 *
 *      at   bytes   (little-endian)
 *       0     4     'T' 'F' 'S' and the version, 2
 *       4     1     kind: 0 file, 1 directory, 2 symbolic link
 *       5     1     0
 *       6     2     mode, its lowest 12 bits
 *       8     4     uid
 *      12     4     gid
 *      16     8     mtime, seconds since 1970, signed
 *      24     4     mtime, nanoseconds
 *      28     8     atime, seconds
 *      36     4     atime, nanoseconds
 *      40     8     ctime, seconds            from version 2 on; before, it is mtime
 *      48     4     ctime, nanoseconds
 *      52           what users set (xattrs.h), to the end
 *
 * Objects of other makers have none, or attributes of their own: those show the
 * defaults of the mount, and the time of their put.
 */
#ifndef FS_ATTR_H
#define FS_ATTR_H

#include <sys/stat.h>
#include <time.h>

#include "transfer/base/base.h"

#define FS_ATTR_BYTES    52 /* without what users set */
#define FS_ATTR_V1_BYTES 40

enum fs_attr_kind { FS_ATTR_FILE, FS_ATTR_DIR, FS_ATTR_LINK };

enum fs_attr_outcome { FS_ATTR_E_FOREIGN = 1 /* not ours, or of a version to come */ };

struct fs_attr {
	enum fs_attr_kind kind;
	mode_t mode; /* permissions, 07777 */
	uid_t uid;
	gid_t gid;
	struct timespec mtime, atime, ctime;
	size_t xattr_bytes; /* of what users set; decode counts them */
};

/* How files look that nobody gave attributes. */
struct fs_attr_defaults {
	uid_t uid;
	gid_t gid;
	mode_t umask;
};

/* fs_attr_encode -- all but what users set. */
void fs_attr_encode(const struct fs_attr *attr, uint8_t ret_bytes[FS_ATTR_BYTES]);

/* fs_attr_decode -- any bytes at all.  0, FS_ATTR_E_FOREIGN. */
int fs_attr_decode(const void *bytes, size_t len_bytes, struct fs_attr *ret_attr) MUST_CHECK;

/* fs_attr_default -- of a kind, made at a time. */
void fs_attr_default(const struct fs_attr_defaults *defaults, enum fs_attr_kind kind,
		     uint64_t at_ms, struct fs_attr *ret_attr);

/* fs_attr_show -- as stat(2) wants it. */
void fs_attr_show(const struct fs_attr *attr, uint64_t ino, uint64_t len_bytes,
		  struct stat *ret_stat);

#endif
