/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/invalidate.h"

#include <errno.h>
#include <string.h>

#include "fs/errno.h"
#include "fs/fs.h"
#include "transfer/base/log.h"

#define SOME_MAX 256  /* names looked for at once, to be forgotten */
#define RING_MAX 4096 /* notices that may wait; more: everything is forgotten instead */

struct fs_invalidate {
	struct fs *fs;
	struct tiffin_watch *watch;
	pthread_t thread;
	bool has_thread;
	size_t some_at; /* our thread's: where the search for unused inodes goes on */

	struct lock lock; /* LOCK_fs_changes: what follows */
	pthread_cond_t changed;
	bool is_stopping, is_all, is_some;
	size_t first, n;
	struct fs_notice ring[RING_MAX];
};

static void
push(struct fs_invalidate *inv, const struct fs_notice *notice)
{
	lock_take(&inv->lock);
	if (inv->n < RING_MAX)
		inv->ring[(inv->first + inv->n++) % RING_MAX] = *notice;
	else
		inv->is_all = true;
	pthread_cond_signal(&inv->changed);
	lock_drop(&inv->lock);
}

static void
push_all(struct fs_invalidate *inv)
{
	lock_take(&inv->lock);
	inv->is_all = true;
	pthread_cond_signal(&inv->changed);
	lock_drop(&inv->lock);
}

/* on_change -- the library's thread. */
static void
on_change(void *arg, int change, const char *key, uint64_t object_id)
{
	struct fs_invalidate *inv = arg;
	struct fs_notice notice;

	fs_nodes_changed(&inv->fs->nodes, key);
	if (key == NULL)
		push_all(inv);
	else if (fs_nodes_notice(&inv->fs->nodes, key, object_id, change, &notice))
		push(inv, &notice);
}

/* tell -- the kernel; that it has already forgotten is fine. */
static void
tell(struct fs *fs, const struct fs_notice *notice)
{
	if (notice->nodeid != 0)
		fuse_lowlevel_notify_inval_inode(fs->session, notice->nodeid,
						 notice->has_pages ? 0 : -1, 0);
	if (notice->parentid != 0)
		fuse_lowlevel_notify_inval_entry(fs->session, notice->parentid, notice->name,
						 strlen(notice->name));
}

static void
tell_all(struct fs *fs)
{
	struct fs_notice notice;
	uint64_t *inos;
	size_t n;

	if (fs_nodes_inos(&fs->nodes, &inos, &n) < 0) {
		log_event(LOG_ERROR, "fs_invalidate", "what=all why=\"no memory\"");
		return;
	}
	log_event(LOG_INFO, "fs_invalidate", "what=all nodes=%zu", n);
	for (size_t i = 0; i < n; i++)
		if (fs_nodes_notice_ino(&fs->nodes, inos[i], &notice))
			tell(fs, &notice);
	free(inos);
}

/* tell_some -- until there are a little fewer than may be, or all were looked at. */
static void
tell_some(struct fs_invalidate *inv)
{
	struct fs *fs = inv->fs;
	struct fs_notice notices[SOME_MAX];
	uint64_t n_max = fs->opts->max_inodes - fs->opts->max_inodes / 16;
	uint64_t n_left = fs_nodes_count(&fs->nodes);
	size_t n = 1;

	for (uint64_t done = 0; done < n_left && fs_nodes_count(&fs->nodes) > n_max && n > 0;
	     done += n) {
		n = fs_nodes_unused(&fs->nodes, &inv->some_at, notices, SOME_MAX);
		for (size_t i = 0; i < n; i++)
			tell(fs, &notices[i]);
		if (n < SOME_MAX)
			inv->some_at = 0;
	}
}

static void *
run(void *arg)
{
	struct fs_invalidate *inv = arg;
	struct fs_notice notice;

	lock_take(&inv->lock);
	while (!inv->is_stopping) {
		if (inv->is_all) {
			inv->is_all = false;
			inv->n = 0;
			lock_drop(&inv->lock);
			tell_all(inv->fs);
			lock_take(&inv->lock);
		} else if (inv->n > 0) {
			notice = inv->ring[inv->first];
			inv->first = (inv->first + 1) % RING_MAX;
			inv->n--;
			lock_drop(&inv->lock);
			tell(inv->fs, &notice);
			lock_take(&inv->lock);
		} else if (inv->is_some) {
			inv->is_some = false;
			lock_drop(&inv->lock);
			tell_some(inv);
			lock_take(&inv->lock);
		} else {
			lock_wait(&inv->lock, &inv->changed);
		}
	}
	lock_drop(&inv->lock);
	return NULL;
}

int
fs_invalidate_new(struct fs *fs, struct fs_invalidate **ret_inv)
{
	struct fs_invalidate *inv = calloc(1, sizeof(*inv));
	int r;

	if (inv == NULL)
		return -ENOMEM;
	inv->fs = fs;
	lock_init(&inv->lock, LOCK_fs_changes);
	lock_cond_init(&inv->changed);
	r = pthread_create(&inv->thread, NULL, run, inv);
	if (r != 0) {
		fs_invalidate_free(inv);
		return -r;
	}
	inv->has_thread = true;
	*ret_inv = inv;
	return 0;
}

int
fs_invalidate_start(struct fs_invalidate *inv)
{
	struct fs *fs = inv->fs;

	return fs_errno(tiffin_watch_open(fs->client, fs->root_key, on_change, inv, &inv->watch));
}

void
fs_invalidate_some(struct fs_invalidate *inv)
{
	if (inv == NULL || fs_nodes_count(&inv->fs->nodes) <= inv->fs->opts->max_inodes)
		return;
	lock_take(&inv->lock);
	inv->is_some = true;
	pthread_cond_signal(&inv->changed);
	lock_drop(&inv->lock);
}

void
fs_invalidate_ask_stop(struct fs_invalidate *inv)
{
	if (inv->watch != NULL)
		tiffin_watch_close(take(&inv->watch));
	lock_take(&inv->lock);
	inv->is_stopping = true;
	pthread_cond_signal(&inv->changed);
	lock_drop(&inv->lock);
}

void
fs_invalidate_stop(struct fs_invalidate *inv)
{
	fs_invalidate_ask_stop(inv);
	if (!inv->has_thread)
		return;
	pthread_join(inv->thread, NULL);
	inv->has_thread = false;
}

void
fs_invalidate_free(struct fs_invalidate *inv)
{
	if (inv == NULL)
		return;
	fs_invalidate_stop(inv);
	pthread_cond_destroy(&inv->changed);
	lock_fini(&inv->lock);
	free(inv);
}

void
fs_invalidate_node(struct fs_invalidate *inv, struct fs_node *node)
{
	struct fs_notice notice;

	if (inv == NULL)
		return;
	fs_node_notice(&inv->fs->nodes, node, &notice);
	push(inv, &notice);
}

void
fs_invalidate_ino(struct fs_invalidate *inv, uint64_t ino)
{
	struct fs_notice notice;

	if (inv != NULL && fs_nodes_notice_ino(&inv->fs->nodes, ino, &notice))
		push(inv, &notice);
}

void
fs_invalidate_attr_now(struct fs *fs, const struct fs_node *node)
{
	if (fs->session != NULL)
		fuse_lowlevel_notify_inval_inode(fs->session, fs_nodes_id(&fs->nodes, node), -1, 0);
}

void
fs_invalidate_all_now(struct fs *fs, const struct fs_node *node)
{
	if (fs->session != NULL)
		fuse_lowlevel_notify_inval_inode(fs->session, fs_nodes_id(&fs->nodes, node), 0, 0);
}
