/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fs.h"

#include <errno.h>
#include <string.h>

#include "fs/invalidate.h"
#include "transfer/base/large.h"

struct timespec
fs_now(const struct fs *fs)
{
	uint64_t at_ms = clock_wall_ms(fs->clock);

	return (struct timespec){.tv_sec = (time_t)(at_ms / 1000),
				 .tv_nsec = (long)(at_ms % 1000) * (long)NS_PER_MS};
}

/* ---- buffers ---- */

/*
 * A page that is touched first costs more than copying it, and threads come and go: so a buffer
 * outlives its thread, and waits here for the next one.
 */
struct spare {
	struct spare *next;
};

#define BUFS_AT_ONCE 4 /* on two huge pages */

static struct lock spares_lock; /* LOCK_fs_bufs; made with the key */
static struct spare *spares;
static pthread_key_t buf_key;
static pthread_once_t buf_once = PTHREAD_ONCE_INIT;
static bool has_buf_key;

static void
buf_give_back(void *buf)
{
	struct spare *spare = buf;

	lock_take(&spares_lock);
	spare->next = spares;
	spares = spare;
	lock_drop(&spares_lock);
}

static void *
buf_take_spare(void)
{
	struct spare *spare;

	lock_take(&spares_lock);
	spare = spares;
	if (spare != NULL)
		spares = spare->next;
	lock_drop(&spares_lock);
	return spare;
}

/* buf_new -- the first of some on huge pages, touched; the others wait for the next threads. */
static void *
buf_new(void)
{
	char *bufs = large_new(BUFS_AT_ONCE * FS_BUF_BYTES);

	if (bufs == NULL)
		return NULL;
	memset(bufs, 0, BUFS_AT_ONCE * FS_BUF_BYTES);
	for (size_t i = 1; i < BUFS_AT_ONCE; i++)
		buf_give_back(bufs + i * FS_BUF_BYTES);
	return bufs;
}

static void
buf_key_make(void)
{
	lock_init(&spares_lock, LOCK_fs_bufs);
	has_buf_key = pthread_key_create(&buf_key, buf_give_back) == 0;
}

void *
fs_buf(void)
{
	static _Thread_local void *mine;
	void *buf;

	if (mine != NULL)
		return mine;
	pthread_once(&buf_once, buf_key_make);
	if (!has_buf_key)
		return NULL;
	buf = buf_take_spare();
	if (buf == NULL)
		buf = buf_new();
	if (buf == NULL)
		return NULL;
	if (pthread_setspecific(buf_key, buf) != 0) {
		buf_give_back(buf);
		return NULL;
	}
	mine = buf;
	return mine;
}

/* ---- objects and names ---- */

void
fs_attr_of(const struct fs *fs, const struct tiffin_stat *stat, enum fs_attr_kind otherwise,
	   struct fs_attr *ret_attr)
{
	if (stat->attr_bytes > 0 && fs_attr_decode(stat->attr, stat->attr_bytes, ret_attr) == 0)
		return;
	fs_attr_default(&fs->defaults, otherwise,
			stat->put_at_ms > 0 ? stat->put_at_ms : fs->started_ms, ret_attr);
}

bool
fs_is_marker(const char *key, const struct tiffin_stat *stat)
{
	size_t n = strlen(key);
	struct fs_attr attr;

	return n > 0 && key[n - 1] == '/' && stat->attr_bytes > 0 &&
	       fs_attr_decode(stat->attr, stat->attr_bytes, &attr) == 0 && attr.kind == FS_ATTR_DIR;
}

int
fs_key_make(const char *dir, const char *bytes, const char *tail, char ret_key[FS_KEY_ROOM])
{
	size_t n_dir = strlen(dir), n_bytes = strlen(bytes), n_tail = strlen(tail);

	if (n_dir + n_bytes + n_tail > FS_PATH_KEY_MAX)
		return -ENAMETOOLONG;
	memcpy(ret_key, dir, n_dir);
	memcpy(ret_key + n_dir, bytes, n_bytes);
	memcpy(ret_key + n_dir + n_bytes, tail, n_tail + 1);
	return 0;
}

int
fs_step_down(struct fs *fs, struct fs_node *parent, const char *name, struct fs_step *ret_step)
{
	char dir[FS_KEY_ROOM];
	struct fs_path_step step;
	int r;

	fs_node_key(&fs->nodes, parent, dir);
	r = fs_path_decode(fs_in_mount(fs, dir), name, &step);
	if (r == FS_PATH_E_TOO_LONG)
		return -ENAMETOOLONG;
	if (r != 0)
		return -EINVAL;

	ret_step->kind = step.kind;
	ret_step->file[0] = '\0';
	ret_step->dir[0] = '\0';
	switch (step.kind) {
	case FS_PATH_PIECE:
		return fs_key_make(dir, step.bytes, "", ret_step->dir);
	case FS_PATH_SELF:
		dir[strlen(dir) - 1] = '\0';
		return fs_key_make(dir, "", "", ret_step->file);
	case FS_PATH_PLAIN:
		break;
	}
	r = fs_key_make(dir, step.bytes, "", ret_step->file);
	if (r == 0 && fs_key_make(dir, step.bytes, "/", ret_step->dir) != 0)
		ret_step->dir[0] = '\0'; /* just room for the file */
	return r == 0 && ret_step->file[0] == '\0' && ret_step->dir[0] == '\0' ? -EINVAL : r;
}

void
fs_entry(struct fs *fs, struct fs_node *node, const struct fs_version *version,
	 struct fuse_entry_param *ret_entry)
{
	*ret_entry = (struct fuse_entry_param){
		.ino = fs_nodes_id(&fs->nodes, node),
		.attr_timeout = (double)fs->opts->attr_timeout / 1000,
		.entry_timeout = (double)fs->opts->entry_timeout / 1000,
	};
	fs_attr_show(&version->attr, node->ino, version->len_bytes, &ret_entry->attr);
	fs_node_told(&fs->nodes, node);
	fs_invalidate_some(fs->invalidate);
}

/* ---- what is open ---- */

void
fs_open_add(struct fs *fs, struct fs_open *open, void (*close)(struct fs *fs, struct fs_open *open))
{
	list_link_init(&open->at);
	open->close = close;
	lock_take(&fs->nodes.lock);
	list_push_back(&fs->opens, &open->at);
	lock_drop(&fs->nodes.lock);
}

void
fs_open_remove(struct fs *fs, struct fs_open *open)
{
	lock_take(&fs->nodes.lock);
	list_remove(&open->at);
	lock_drop(&fs->nodes.lock);
}

void
fs_open_close_all(struct fs *fs)
{
	struct list_link *first;

	for (;;) {
		struct fs_open *open;

		lock_take(&fs->nodes.lock);
		first = list_first(&fs->opens);
		lock_drop(&fs->nodes.lock);
		if (first == NULL)
			return;
		open = list_of(first, struct fs_open, at);
		open->close(fs, open);
	}
}
