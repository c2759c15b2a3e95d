/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fs.h -- one mount.
 *
 *      kernel --/dev/fuse--> ops.c --> lookup dir names rename read write    one function an
 * operation |     |      |            | v     v      v            v node  path   attr       pin
 * work     what they know ^                       |    | invalidate <-- changes --- core/tiffin.h
 * <----------------+----+
 *
 * Functions of this folder give 0 or a negative errno, which is what the kernel
 * is told; err.h's trails are not kept, for most of them are ordinary answers.
 */
#ifndef FS_FS_H
#define FS_FS_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <string.h>

#include "core/tiffin.h"
#include "fs/attr.h"
#include "fs/node.h"
#include "fs/options.h"
#include "transfer/base/clock.h"

struct fs_control;
struct fs_invalidate;
struct fs_pass;

/* What the kernel has open: a file or a directory, until it says release or is gone. */
struct fs_open {
	struct list_link at; /* nodes.lock */
	void (*close)(struct fs *fs, struct fs_open *open);
};

/* thread: any; `root_attr` and `opens` change under nodes.lock. */
struct fs {
	const struct fs_options *opts;
	const struct clock *clock;
	struct tiffin_client *client;
	struct fuse_session *session;
	struct fs_invalidate *invalidate;
	struct fs_control *control; /* NULL: there is no .tiffin */
	struct fs_pass *pass;       /* set when the kernel begins; NULL: all reads come to us */
	char root_key[FS_KEY_ROOM]; /* "" or ends in '/' */
	struct fs_attr_defaults defaults;
	struct fs_attr root_attr; /* of a root whose directory can't have a marker */
	uint64_t started_ms;      /* wall: the time of directories that nobody made */
	struct fs_nodes nodes;
	struct list opens;
	_Atomic bool is_greeted; /* set once, by whoever answers the kernel's first request */
};

/* fs_open_add, fs_open_remove -- on the list of what is open; close is how it ends without a
 * release. */
void fs_open_add(struct fs *fs, struct fs_open *open,
		 void (*close)(struct fs *fs, struct fs_open *open));
void fs_open_remove(struct fs *fs, struct fs_open *open);

/* fs_open_close_all -- the kernel is gone. */
void fs_open_close_all(struct fs *fs);

/* fs_now -- for mtime. */
struct timespec fs_now(const struct fs *fs);

/* fs_put_flags -- of a put, the mount's pin included. */
static inline uint32_t
fs_put_flags(const struct fs *fs, uint32_t flags)
{
	return flags | (fs->opts->pin == FS_PIN_HARD   ? TIFFIN_HARD_PIN
			: fs->opts->pin == FS_PIN_SOFT ? TIFFIN_SOFT_PIN
						       : 0u);
}

/* fs_buf -- this thread's buffer of FS_BUF_BYTES, touched before use; NULL: no memory. */
#define FS_BUF_BYTES (1u << 20)
void *fs_buf(void);

/* fs_attr_of -- attributes of an object as the master tells them, or the mount's defaults. */
void fs_attr_of(const struct fs *fs, const struct tiffin_stat *stat, enum fs_attr_kind otherwise,
		struct fs_attr *ret_attr);

/* fs_is_marker -- does a key that ends in '/' with these attributes stand for a directory? */
bool fs_is_marker(const char *key, const struct tiffin_stat *stat);

/* fs_in_mount -- a key or directory as path.h wants it: without the mount's prefix. */
static inline const char *
fs_in_mount(const struct fs *fs, const char *key)
{
	return key + strlen(fs->root_key);
}

/* fs_key_make -- dir, bytes and tail in one.  0, -ENAMETOOLONG. */
int fs_key_make(const char *dir, const char *bytes, const char *tail,
		char ret_key[FS_KEY_ROOM]) MUST_CHECK;

/* fs_step -- what a name in a directory means: the key of a file, and of a directory. */
struct fs_step {
	enum fs_path_kind kind;
	char file[FS_KEY_ROOM]; /* "" when it can't be a file */
	char dir[FS_KEY_ROOM];  /* "" when it can't be a directory */
};

/*
 * fs_step_down -- for a look-up and for making something alike.
 *
 * result:  0; -EINVAL: no key has such a path; -ENAMETOOLONG.
 */
int fs_step_down(struct fs *fs, struct fs_node *parent, const char *name,
		 struct fs_step *ret_step) MUST_CHECK;

/* fs_entry -- what the kernel is told of a node; it is told once more. */
void fs_entry(struct fs *fs, struct fs_node *node, const struct fs_version *version,
	      struct fuse_entry_param *ret_entry);

static inline struct fs *
fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct fs_node *
fs_node_of(fuse_req_t req, fuse_ino_t ino)
{
	return fs_nodes_at(&fs_of(req)->nodes, ino);
}

/* fs_reply -- 0 or -errno, and nothing else, to the kernel. */
static inline void
fs_reply(fuse_req_t req, int r)
{
	fuse_reply_err(req, -r);
}

#endif
