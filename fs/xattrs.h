/* SPDX-License-Identifier: Apache-2.0 */

/*
 * xattrs.h -- what users hang on a file by setxattr(2), behind its attributes (attr.h).
 *
 *      | name length | value length | name | value |  the next ...
 *      |      1      |  2, little   |      |       |
 *
 * Names are kept without "user.", 1..255 bytes, each once, in the order in which
 * they were set.  All of a file's fit into FS_XATTRS_MAX bytes.
 *
 * Everything but fs_xattrs_fetch() and fs_xattrs_keep() is pure.
 */
#ifndef FS_XATTRS_H
#define FS_XATTRS_H

#include "core/tiffin.h"
#include "fs/attr.h"

#define FS_XATTRS_MAX     (TIFFIN_ATTR_MAX - FS_ATTR_BYTES)
#define FS_XATTR_NAME_MAX 255

struct fs_xattrs {
	size_t len_bytes;
	uint8_t bytes[FS_XATTRS_MAX];

	/* as it was fetched: what is kept takes the place of that, and of nothing else */
	bool is_fetched, is_there;
	bool has_attr;
	struct fs_attr attr;
	size_t former_bytes;
	uint8_t former[TIFFIN_ATTR_MAX];
};

struct fs_xattr {
	const char *name; /* n_name bytes, not ended by NUL */
	size_t n_name;
	const uint8_t *value;
	size_t n_value;
};

/* fs_xattrs_are_sound -- are these bytes such a list?  Any bytes at all. */
bool fs_xattrs_are_sound(const uint8_t *bytes, size_t len_bytes);

/* fs_xattrs_next -- the one at *at, which moves on; 0 at first.  false: that was all. */
bool fs_xattrs_next(const struct fs_xattrs *list, size_t *at, struct fs_xattr *ret_xattr);

/* fs_xattrs_find -- false: there is none of that name. */
bool fs_xattrs_find(const struct fs_xattrs *list, const char *name, struct fs_xattr *ret_xattr);

/*
 * fs_xattrs_set -- flags: XATTR_CREATE, XATTR_REPLACE or 0.
 *
 * result:  0; -EEXIST, -ENODATA: as the flags say; -ENOSPC: no room; -ERANGE: the name is too long.
 *          Then nothing has changed.
 */
int fs_xattrs_set(struct fs_xattrs *list, const char *name, const void *value, size_t n_value,
		  int flags) MUST_CHECK;

/* fs_xattrs_remove -- 0, -ENODATA. */
int fs_xattrs_remove(struct fs_xattrs *list, const char *name) MUST_CHECK;

/* What the master keeps with an object: attributes, and this list. */
struct fs_blob {
	size_t len_bytes;
	uint8_t bytes[TIFFIN_ATTR_MAX];
};

/* fs_blob_make -- xattrs NULL: none. */
void fs_blob_make(const struct fs_attr *attr, const struct fs_xattrs *xattrs,
		  struct fs_blob *ret_blob);

/*
 * fs_xattrs_fetch -- those that the master has of an object now, if it still is that version.
 *
 * object_id  0: any version.
 * gives:     an empty list when there is no such object; the attributes as they are now.
 * result:    0 or -errno.
 */
int fs_xattrs_fetch(struct tiffin_client *client, const char *key, uint64_t object_id,
		    struct fs_xattrs *ret_list) MUST_CHECK;

/* fs_blob_keep -- in place of what the list was fetched from.  Result as below. */
int fs_blob_keep(struct tiffin_client *client, const char *key, uint64_t object_id,
		 const struct fs_blob *blob, const struct fs_xattrs *list) MUST_CHECK;

/*
 * fs_xattrs_keep -- attributes and list, in place of those of that version; attr->xattr_bytes
 * follows.
 *
 * result:  0; -ENOENT: it is not that version any more; -EAGAIN: another has changed them since the
 *          list was fetched; -errno.
 */
int fs_xattrs_keep(struct tiffin_client *client, const char *key, uint64_t object_id,
		   struct fs_attr *attr, const struct fs_xattrs *list) MUST_CHECK;

#endif
