/* SPDX-License-Identifier: Apache-2.0 */

/*
 * marker.h -- the object "a/b/" that keeps the directory a/b, and its attributes.
 *
 * It has no bytes.  A directory also exists as long as a key lies below it; then
 * it needs no marker, and shows the mount's defaults.
 */
#ifndef FS_MARKER_H
#define FS_MARKER_H

#include "fs/fs.h"
#include "fs/xattrs.h"

/* fs_marker_put -- without what users set.  flags: TIFFIN_REPLACE or 0.  0, -EEXIST, -errno. */
int fs_marker_put(struct fs *fs, const char *key, const struct fs_attr *attr,
		  uint32_t flags) MUST_CHECK;

/* fs_marker_set -- new attributes, of a marker that may not be there yet.  0 or -errno. */
int fs_marker_set(struct fs *fs, const char *key, const struct fs_attr *attr,
		  const struct fs_xattrs *xattrs) MUST_CHECK;

/* fs_marker_remove -- 0, also when there was none; -errno. */
int fs_marker_remove(struct fs *fs, const char *key) MUST_CHECK;

#endif
