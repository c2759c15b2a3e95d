/* SPDX-License-Identifier: Apache-2.0 */

/*
 * walk.h -- the names of one directory, one after the other, in bounded memory.
 *
 * The master lists keys in the order of their bytes, where between "a" and
 * "a/..." may stand "a-b" and "a.c".  Only when "a/..." has come or was passed
 * is it known whether the name `a` is a file's or a directory's.  So files wait
 * on a stack until then, and names come in the order of (part + "/"):
 *
 *      keys   a   a-b   a.c/x   a/y   b          held   a        (a, a-b)  ...
 *      names      a-b   a.c     a     b
 *
 * What waits is always a prefix of what is read, so a walk can be begun behind
 * any name: its prefixes are asked for one by one.
 *
 * Between them come the names that only this mount knows: files that are being
 * written and not published, directories that lost their last key here.
 */
#ifndef FS_WALK_H
#define FS_WALK_H

#include "fs/fs.h"

struct fs_walk;

struct fs_found {
	char part[FS_KEY_ROOM];          /* position: begin the next walk behind it */
	char name[FS_PATH_NAME_MAX + 1]; /* as the path has it */
	bool is_dir;
	bool has_version; /* else only the name is known */
	struct fs_version version;
};

/*
 * fs_walk_open -- dir: a directory's key; after: a fs_found.part, or NULL for the start.
 *
 * result:  0 or -errno.
 * thread:  one at a time.
 */
int fs_walk_open(struct fs *fs, const char *dir, const char *after,
		 struct fs_walk **ret_walk) MUST_CHECK;
void fs_walk_close(struct fs_walk *walk);

/* fs_walk_next -- 1 and a name, 0 at the end, -errno. */
int fs_walk_next(struct fs_walk *walk, struct fs_found *ret_found) MUST_CHECK;

#endif
