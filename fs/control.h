/* SPDX-License-Identifier: Apache-2.0 */

/*
 * control.h -- the directory .tiffin in the root: the store, as files to be read.
 *
 *      .tiffin/NAME, .tiffin/NAME.json     control_file.c: a table; told anew at each open
 *      .tiffin/events                      control_events.c: grows, for tail -f
 *      .tiffin/by-segment/SEGMENT/LINK     control_segment.c: to each object with a copy there
 *
 * Its inodes are of a kind of their own, known by their lowest bit: a node of the files of the
 * store (node.h) lies at an even address.  Reading takes no lease, and nothing can be made here.
 *
 * Found by its name, but listed only with control=listed: find, du and rsync do not come in.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include "fs/fs.h"
#include "fs/tell.h"
#include "transfer/base/list.h"

#define FS_CONTROL_INO 0x7469666669ull /* the number that the directory shows */

enum fs_control_kind {
	CONTROL_ROOT,
	CONTROL_FILE,     /* of the table */
	CONTROL_SEGMENTS, /* by-segment */
	CONTROL_SEGMENT,  /* by-segment/SEGMENT */
	CONTROL_LINK,     /* by-segment/SEGMENT/LINK */
};

struct fs_control_entry;

/* thread: any; n_lookups of those made on the way under control->lock, all else never changes. */
struct fs_control_node {
	enum fs_control_kind kind;
	bool is_json;                         /* FILE */
	const struct fs_control_entry *entry; /* FILE */
	uint64_t segment_id;                  /* SEGMENT, LINK */
	char *text; /* owned.  SEGMENT: its name; LINK: where it leads to */
	uint64_t ino, n_lookups;
	struct list_link at; /* on control->made; the fixed ones are on none */
};

/* What is told of one thing. */
struct fs_control_entry {
	const char *name;
	bool is_list; /* many records */

	/* tell -- 0 or -errno.  NULL: events, which has a life of its own. */
	int (*tell)(struct fs *fs, struct fs_tell *tell);
};

/* The table, in the order in which it is listed; name NULL ends it. */
extern const struct fs_control_entry fs_control_entries[];

struct fs_control;

/* fs_control_new -- 0 or -ENOMEM. */
int fs_control_new(struct fs *fs, struct fs_control **ret_control) MUST_CHECK;
void fs_control_free(struct fs_control *control); /* NULL is fine */

/* fs_control_has -- does this number, given to the kernel, belong here? */
static inline bool
fs_control_has(fuse_ino_t ino)
{
	return ino != FUSE_ROOT_ID && (ino & 1) != 0;
}

/* fs_control_look -- the directory itself, as the root's look-up tells it. */
void fs_control_look(struct fs *fs, struct fuse_entry_param *ret_entry);

/* fs_control_forget -- the kernel gives a node back n times. */
void fs_control_forget(struct fs *fs, fuse_ino_t ino, uint64_t n);

/* What can be done here; NULL elsewhere: nothing. */
extern const struct fuse_lowlevel_ops fs_control_ops;

/* ---- for the files of this folder that are named above ---- */

/* fs_control_node_of -- needs: fs_control_has(). */
struct fs_control_node *fs_control_node_of(fuse_ino_t ino);

/* fs_control_make -- a node on the way, told to the kernel once.  takes: text.  NULL: no memory. */
struct fs_control_node *fs_control_make(struct fs_control *control, enum fs_control_kind kind,
					uint64_t segment_id, char *text);

/* fs_control_each_name -- of the directory itself.  A result of fn other than 0 ends it. */
int fs_control_each_name(int (*fn)(void *arg, const char *name, mode_t type), void *arg) MUST_CHECK;

void fs_control_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_control_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			struct fuse_file_info *fi);
void fs_control_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			    struct fuse_file_info *fi);
void fs_control_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
