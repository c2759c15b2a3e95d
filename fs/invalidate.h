/* SPDX-License-Identifier: Apache-2.0 */

/*
 * invalidate.h -- what others change, the kernel hears of at once.
 *
 *      master --watch--> library's thread --ring--> our thread --notify--> kernel
 *
 * The library's thread may not call the library, and telling the kernel may wait
 * for an operation under way, which may need the library: so a ring lies
 * between.  When it is full, or changes were missed, everything is forgotten.
 *
 * What this mount did itself is recognised by the object's id and not told.
 */
#ifndef FS_INVALIDATE_H
#define FS_INVALIDATE_H

#include "transfer/base/base.h"

struct fs;
struct fs_invalidate;
struct fs_node;

/* fs_invalidate_new -- needs: fs->client and fs->session.  0 or -errno. */
int fs_invalidate_new(struct fs *fs, struct fs_invalidate **ret_inv) MUST_CHECK;

/* fs_invalidate_start -- begin to watch.  0 or -errno (then only timeouts keep the mount fresh). */
int fs_invalidate_start(struct fs_invalidate *inv) MUST_CHECK;

/*
 * fs_invalidate_stop -- no more notices; may be called twice.
 *
 * The thread may be waiting in the kernel for an operation that nobody answers any more: end the
 * connection between fs_invalidate_ask_stop() and this.
 */
void fs_invalidate_ask_stop(struct fs_invalidate *inv);
void fs_invalidate_stop(struct fs_invalidate *inv);
void fs_invalidate_free(struct fs_invalidate *inv);

/* fs_invalidate_node -- forget pages, attributes and name of a node.  NULL inv is fine.  thread:
 * any. */
void fs_invalidate_node(struct fs_invalidate *inv, struct fs_node *node);

/* fs_invalidate_ino -- the same for who does not hold the node any more. */
void fs_invalidate_ino(struct fs_invalidate *inv, uint64_t ino);

/* fs_invalidate_some -- more inodes than `max_inodes`: have the kernel forget some of them. */
void fs_invalidate_some(struct fs_invalidate *inv);

/* fs_invalidate_attr_now -- forget the attributes alone.  Never waits; any operation may call. */
void fs_invalidate_attr_now(struct fs *fs, const struct fs_node *node);

/*
 * fs_invalidate_all_now -- the same, and its pages: two who open it now may go on in another order
 * than they were answered, and the first answer alone says that what is there is old.
 *
 * needs:   nobody has the node open, or this would wait for pages that wait for us.
 */
void fs_invalidate_all_now(struct fs *fs, const struct fs_node *node);

#endif
