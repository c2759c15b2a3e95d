/* SPDX-License-Identifier: Apache-2.0 */

/*
 * node.h -- inodes: what the kernel holds on to, and the table by which a path finds them.
 *
 *                       look (lookup, readdirplus, create)
 *      (nothing) ------------------------------------------> LINKED  one node per path
 *          ^                                                   |
 *          |  the kernel forgets it,                           |  unlinked, replaced by a rename,
 *          |  nobody has it open                               |  or another version took its path
 *          +----------- LINKED or DETACHED <-------------------+  while it was open
 *
 * LINKED nodes are found by (kind, key).  A DETACHED node has no path any more;
 * those who have it open go on with the version it stands for.
 *
 * While it is open a node stands for one version of its object: a new version
 * put by others gets a node of its own, so the kernel's pages of two versions
 * never meet.  The number a node shows (st_ino) comes from its path, is the same
 * after a new mount, and belongs to one node at a time.
 *
 * A file's key is its object's.  A directory's key is the bytes with which all keys below begin
 * (see path.h).
 */
#ifndef FS_NODE_H
#define FS_NODE_H

#include <stdatomic.h>

#include "fs/attr.h"
#include "fs/path.h"
#include "fs/work.h"
#include "transfer/base/base.h"
#include "transfer/base/list.h"
#include "transfer/base/lock.h"
#include "transfer/base/map.h"

#define FS_NODE_MAGIC 0x7f5a0de1u
#define FS_KEY_ROOM   (FS_PATH_KEY_MAX + 1)

struct fs_pin;

/* What a node shows of its object. */
struct fs_version {
	uint64_t object_id; /* 0: nothing published, or not looked at yet */
	uint64_t len_bytes;
	struct fs_attr attr;
};

/*
 * thread:  any.  Fields of the first group only under nodes->lock, of the second only under `lock`;
 *          has_work and is_fresh are written with both held, so either is enough to read them.
 */
struct fs_node {
	unsigned magic;
	bool is_dir;
	uint64_t ino; /* never changes */

	char *key;
	uint64_t n_lookups; /* the kernel's */
	uint64_t n_refs;    /* ours: open handles, and calls under way */
	bool is_linked;
	bool is_removed; /* detached because its path was taken away through this mount */
	bool is_kept;    /* directory: stays although its last key has gone */
	bool has_work;   /* file: work.put is there, changes come from here */
	bool is_fresh;   /* file: nothing is published under its key yet */
	bool is_leaving; /* file: being removed here, its end is no news */
	struct fs_version shown;
	uint64_t looked_ns; /* directory: when the master was asked for what it shows; 0: not, or it
			       changed */
	uint32_t n_changes; /* directory: of its key, just before that */
	uint64_t cached_id; /* the version whose pages the kernel may hold; 0: none */
	struct fs_node *same_hash;
	struct list_link at_local;

	struct lock lock; /* LOCK_fs_work */
	struct fs_work work;
	struct fs_pin *pin;
	uint32_t n_opens, n_writers;
	uint64_t set_ns;     /* when its attributes were set here last; 0: never */
	uint64_t changed_ns; /* when it came to stand for another version last; 0: never */
	bool was_written; /* through this mount: who reads it may soon be met by a writer again */
	bool was_slow;    /* copying it took too long for an open to wait */
	bool is_asked;    /* since it was opened first some open was answered with "ask us" */
};

#define FS_CHANGES 1024 /* a power of two */

struct fs_nodes {
	/*
	 * How often keys of each hash were changed by anybody: who asked the master and finds the
	 * number other than before may hold an old answer.  Atomic, read without the lock: it only
	 * grows.
	 */
	_Atomic uint32_t changes[FS_CHANGES];

	struct lock lock; /* LOCK_fs_nodes */
	struct map by_path, by_ino;
	struct list locals; /* nodes that the master does not list: fresh files, kept directories */
	struct fs_node *root;
	uint64_t n;
	bool has_negatives; /* set at start: the kernel also holds names that were not there */
};

/* fs_nodes_init -- with a root whose keys begin with root_key.  0 or -ENOMEM. */
int fs_nodes_init(struct fs_nodes *nodes, const char *root_key) MUST_CHECK;
void fs_nodes_fini(struct fs_nodes *nodes);

/* fs_nodes_at -- the node of a number that the kernel was given. */
struct fs_node *fs_nodes_at(struct fs_nodes *nodes, uint64_t nodeid);

/* fs_nodes_id -- the number that the kernel is given. */
uint64_t fs_nodes_id(const struct fs_nodes *nodes, const struct fs_node *node);

/* fs_nodes_find -- the node of a path, or NULL.  gives: a reference, fs_node_unref(). */
struct fs_node *fs_nodes_find(struct fs_nodes *nodes, bool is_dir, const char *key);

/* fs_nodes_look -- the node of a path, made if need be, with a reference.  0 or -ENOMEM. */
int fs_nodes_look(struct fs_nodes *nodes, bool is_dir, const char *key,
		  struct fs_node **ret_node) MUST_CHECK;

void fs_node_ref(struct fs_nodes *nodes, struct fs_node *node);
void fs_node_unref(struct fs_nodes *nodes, struct fs_node *node);

/* fs_node_told -- the kernel is given the node; fs_node_forget() -- it gives it back n times. */
void fs_node_told(struct fs_nodes *nodes, struct fs_node *node);
void fs_node_forget(struct fs_nodes *nodes, struct fs_node *node, uint64_t n);

/* fs_node_key -- a copy, for it changes by renaming. */
void fs_node_key(struct fs_nodes *nodes, const struct fs_node *node, char ret_key[FS_KEY_ROOM]);

/*
 * fs_node_detach -- no path leads here any more: another version has it.
 * fs_node_remove -- the same, because it was unlinked here: who has it open may go on writing.
 */
void fs_node_detach(struct fs_nodes *nodes, struct fs_node *node);
void fs_node_remove(struct fs_nodes *nodes, struct fs_node *node);
bool fs_node_is_linked(struct fs_nodes *nodes, const struct fs_node *node);
bool fs_node_is_removed(struct fs_nodes *nodes, const struct fs_node *node);

/* fs_node_shown, fs_node_show -- what it stands for. */
void fs_node_shown(struct fs_nodes *nodes, const struct fs_node *node,
		   struct fs_version *ret_version);
void fs_node_show(struct fs_nodes *nodes, struct fs_node *node, const struct fs_version *version);

/* fs_node_keep_pages -- may the kernel keep its pages of this node, which is being opened now? */
bool fs_node_keep_pages(struct fs_nodes *nodes, struct fs_node *node);

/* fs_node_published -- a working version became the shown one; the kernel has its pages. */
void fs_node_published(struct fs_nodes *nodes, struct fs_node *node,
		       const struct fs_version *version);

/* fs_node_work -- it has a working version now, or has none; fresh: and nothing is published. */
void fs_node_work(struct fs_nodes *nodes, struct fs_node *node, bool has_work, bool is_fresh);

/* fs_node_leaving -- a file is about to be removed here; or that is over, done or not. */
void fs_node_leaving(struct fs_nodes *nodes, struct fs_node *node, bool is_leaving);

/* fs_node_keep -- a directory that stays until it is removed or forgotten, whatever the master
 * says. */
void fs_node_keep(struct fs_nodes *nodes, struct fs_node *node, bool is_kept);
bool fs_node_is_kept(struct fs_nodes *nodes, const struct fs_node *node);

/*
 * fs_nodes_rename -- the node of `from` (if there is one) gets the path `to`; who had it is
 * detached.
 *
 * For directories with all nodes below.
 * result:  0 or -ENOMEM; then as many nodes as could not be moved were detached.
 */
int fs_nodes_rename(struct fs_nodes *nodes, bool is_dir, const char *from,
		    const char *to) MUST_CHECK;

/* fs_nodes_exchange -- the nodes of two files, or all below two directories, change places.  0 or
 * -ENOMEM as above. */
int fs_nodes_exchange(struct fs_nodes *nodes, bool is_dir, const char *a, const char *b) MUST_CHECK;

/* fs_nodes_each -- fn for every linked node whose key begins so; under the lock: fn may not call
 * back. */
void fs_nodes_each(struct fs_nodes *nodes, const char *prefix,
		   void (*fn)(void *arg, struct fs_node *node), void *arg);

/* fs_nodes_each_local -- the same for those the master does not list. */
void fs_nodes_each_local(struct fs_nodes *nodes, const char *prefix,
			 void (*fn)(void *arg, struct fs_node *node), void *arg);

/* fs_nodes_changes -- of keys like this one; a directory's and its marker's count as the same. */
size_t fs_nodes_slot(const char *key);
uint32_t fs_nodes_changes(const struct fs_nodes *nodes, const char *key);

/* fs_nodes_changed -- this key was; NULL: any may have been. */
void fs_nodes_changed(struct fs_nodes *nodes, const char *key);

/* What the kernel may be told to forget. */
struct fs_notice {
	uint64_t nodeid;   /* its attributes; 0: of none */
	uint64_t parentid; /* the name in this directory; 0: in none */
	bool has_pages;    /* also its pages */
	char name[FS_PATH_NAME_MAX + 1];
};

/*
 * fs_nodes_notice -- a key changed: what does the kernel hold that is old now?
 *
 * change   enum tiffin_change.
 *
 * result:  false: nothing; also when the change was made here.
 */
bool fs_nodes_notice(struct fs_nodes *nodes, const char *key, uint64_t object_id, int change,
		     struct fs_notice *ret_notice);

/* fs_node_notice -- everything about one node. */
void fs_node_notice(struct fs_nodes *nodes, struct fs_node *node, struct fs_notice *ret_notice);

/* fs_nodes_inos -- numbers of all there are now; *ret_inos is the caller's.  0 or -ENOMEM. */
int fs_nodes_inos(struct fs_nodes *nodes, uint64_t **ret_inos, size_t *ret_n) MUST_CHECK;

/* fs_nodes_notice_ino -- fs_node_notice() of a number, if it is still there. */
bool fs_nodes_notice_ino(struct fs_nodes *nodes, uint64_t ino, struct fs_notice *ret_notice);

/*
 * fs_nodes_unused -- names of files that nobody here uses, so that the kernel may forget them.
 *
 * at      [in, out] where to go on; 0 at first.
 * result: how many of n_max were filled in.
 */
size_t fs_nodes_unused(struct fs_nodes *nodes, size_t *at, struct fs_notice *ret_notices,
		       size_t n_max);

/* fs_nodes_count -- how many there are. */
uint64_t fs_nodes_count(struct fs_nodes *nodes);

/* fs_nodes_ino -- the number a path's node has, or would have. */
uint64_t fs_nodes_ino(struct fs_nodes *nodes, bool is_dir, const char *key);

#endif
