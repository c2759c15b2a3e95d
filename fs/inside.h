/* SPDX-License-Identifier: Apache-2.0 */

/*
 * inside.h -- what the store knows of one file, as attributes user.tiffin.NAME.
 *
 * Looking takes no lease and is no use of the object.  A table has the names.
 */
#ifndef FS_INSIDE_H
#define FS_INSIDE_H

#include "fs/fs.h"

#define FS_INSIDE_PREFIX "user.tiffin."

/* fs_inside_name -- the n-th name, without the prefix; NULL: there are no more. */
const char *fs_inside_name(size_t n);

/*
 * fs_inside_get -- one of them, of a file or directory.
 *
 * needs:   node's lock.
 * gives:   *ret_text, to be freed by the caller.
 * result:  0; -ENODATA: no such name, or it says nothing of this node; -errno.
 */
int fs_inside_get(struct fs *fs, struct fs_node *node, const char *name, char **ret_text,
		  size_t *ret_len) MUST_CHECK;

/*
 * fs_inside_set -- the one that can be: "pin" = "hard", "soft", "soft 10m" or "none".
 *
 * needs:   node's lock.
 * result:  0; -EPERM: another name; -EINVAL: not such a value; -EBUSY: it is not published yet;
 * -errno.
 */
int fs_inside_set(struct fs *fs, struct fs_node *node, const char *name, const char *value,
		  size_t n_value) MUST_CHECK;

#endif
