/* SPDX-License-Identifier: Apache-2.0 */

/*
 * control_segment.h -- .tiffin/by-segment/SEGMENT/NAME: what lies where.
 *
 *      segment p1, key a/b          .tiffin/by-segment/p1/a%2Fb -> ../../../a/b
 *
 * The name is the key, as one name; only keys of this mount are told.
 */
#ifndef FS_CONTROL_SEGMENT_H
#define FS_CONTROL_SEGMENT_H

#include "fs/fs.h"

/*
 * fs_segment_name -- any bytes as one name: '/' is %2F, '%' %25, "." and ".." are %2E and %2E%2E.
 *
 * What is longer than a name is cut, and ends in "%~" and the id, in 16 hexadecimal digits.
 */
void fs_segment_name(const char *bytes, uint64_t id, char ret_name[FS_PATH_NAME_MAX + 1]);

/*
 * fs_segment_read_name -- the bytes of a name.
 *
 * gives:   *ret_id: 0 for a whole one; else what was cut off is to be found by it.
 * result:  0; -ENOENT: nothing has such a name.
 */
int fs_segment_read_name(const char *name, char ret_bytes[FS_KEY_ROOM],
			 uint64_t *ret_id) MUST_CHECK;

/* fs_segment_find -- the segment of a name.  0, -ENOENT, -errno. */
int fs_segment_find(struct fs *fs, const char *name, uint64_t *ret_segment_id) MUST_CHECK;

/* fs_segment_link -- where NAME leads to.  gives: *ret_target.  0, -ENOENT, -errno. */
int fs_segment_link(struct fs *fs, uint64_t segment_id, const char *name,
		    char **ret_target) MUST_CHECK;

#endif
