/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Directories of .tiffin.  Those whose names are few are told from a copy made at opendir; what
 * lies on a segment streams from the master.  A position is how many names came before.
 */
#include <errno.h>

#include "fs/control.h"
#include "fs/control_segment.h"
#include "fs/errno.h"
#include "transfer/base/num.h"
#include "transfer/base/vec.h"

#define N_DOTS 2

struct name {
	char text[FS_PATH_NAME_MAX + 1];
	mode_t type;
};

struct dir {
	struct fs_open open;
	struct fs *fs;
	const struct fs_control_node *node;
	struct lock lock; /* LOCK_fs_handle: what follows */
	VEC(struct name) names;
	struct tiffin_list *list; /* of a segment; NULL: begin it */
	uint64_t n_before;        /* names of the list before its next one */
	bool has_next;            /* next came from the list and waits */
	struct name next;
};

static int
add_name(void *arg, const char *text, mode_t type)
{
	struct dir *dir = arg;
	struct name name = {.type = type};

	snprintf(name.text, sizeof(name.text), "%s", text);
	return vec_push(&dir->names, name) < 0 ? -ENOMEM : 0;
}

static int
add_segment(void *arg, const struct tiffin_segment *segment)
{
	char name[FS_PATH_NAME_MAX + 1];

	fs_segment_name(segment->name, segment->segment_id, name);
	return add_name(arg, name, S_IFDIR) < 0 ? TIFFIN_E_SYSTEM : 0;
}

static int
gather(struct dir *dir)
{
	int r = 0;

	if (dir->node->kind == CONTROL_ROOT)
		r = fs_control_each_name(add_name, dir);
	else if (dir->node->kind == CONTROL_SEGMENTS)
		r = fs_errno(tiffin_segments(dir->fs->client, add_segment, dir));
	return r;
}

static void
dir_close(struct fs *fs, struct fs_open *open)
{
	struct dir *dir = container_of(open, struct dir, open);

	fs_open_remove(fs, open);
	tiffin_list_close(dir->list);
	vec_fini(&dir->names);
	lock_fini(&dir->lock);
	free(dir);
}

void
fs_control_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct dir *dir = calloc(1, sizeof(*dir));
	int r;

	if (dir == NULL) {
		fs_reply(req, -ENOMEM);
		return;
	}
	dir->fs = fs;
	dir->node = fs_control_node_of(ino);
	lock_init(&dir->lock, LOCK_fs_handle);
	fs_open_add(fs, &dir->open, dir_close);
	r = gather(dir);
	if (r < 0) {
		dir_close(fs, &dir->open);
		fs_reply(req, r);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)dir;
	if (fuse_reply_open(req, fi) == -ENOENT)
		dir_close(fs, &dir->open);
}

/* ---- names ---- */

/* next_listed -- the one that waits, or one more.  1, 0 at the end, -errno. */
static int
next_listed(struct dir *dir)
{
	struct fs *fs = dir->fs;
	struct tiffin_stat stat;
	const char *key;
	int r;

	if (dir->has_next)
		return 1;
	if (dir->list == NULL) {
		r = tiffin_list_segment_open(fs->client, dir->node->segment_id, fs->root_key,
					     &dir->list);
		if (r < 0)
			return fs_errno(r);
	}
	do { /* the marker of the mount's own root has no name in it */
		r = tiffin_list_next(dir->list, &key, &stat);
	} while (r == 1 && fs_in_mount(fs, key)[0] == '\0');
	if (r <= 0)
		return r < 0 ? fs_errno(r) : 0;
	fs_segment_name(fs_in_mount(fs, key), stat.object_id, dir->next.text);
	dir->next.type = S_IFLNK;
	dir->has_next = true;
	return 1;
}

/* seek -- the list to where `at` names came before. */
static int
seek(struct dir *dir, uint64_t at)
{
	int r = 1;

	if (at < dir->n_before) {
		tiffin_list_close(take(&dir->list));
		dir->n_before = 0;
		dir->has_next = false;
	}
	while (dir->n_before < at && (r = next_listed(dir)) == 1) {
		dir->has_next = false;
		dir->n_before++;
	}
	return r < 0 ? r : 0;
}

/* name_at -- 1 and the name behind so many others, 0 at the end, -errno. */
static int
name_at(struct dir *dir, uint64_t at, const struct name **ret_name)
{
	static const struct name dots[N_DOTS] = {{".", S_IFDIR}, {"..", S_IFDIR}};
	int r;

	if (at < N_DOTS) {
		*ret_name = &dots[at];
		return 1;
	}
	at -= N_DOTS;
	if (dir->node->kind != CONTROL_SEGMENT) {
		*ret_name = at < dir->names.n ? &dir->names.at[at] : NULL;
		return at < dir->names.n;
	}
	r = seek(dir, at);
	if (r < 0)
		return r;
	r = dir->n_before < at ? 0 : next_listed(dir);
	*ret_name = &dir->next;
	return r;
}

/* fill -- as many names as there is room for.  gives: bytes used, -errno. */
static int
fill(fuse_req_t req, struct dir *dir, uint64_t at, struct iovec room, bool is_plus)
{
	const struct name *name;
	size_t n = 0;
	int r;

	while ((r = name_at(dir, at, &name)) > 0) {
		/* Only names: what they stand for is looked up by who wants it. */
		struct fuse_entry_param entry = {
			.attr = {.st_ino = FS_CONTROL_INO + at + 1, .st_mode = name->type}};
		char *to = (char *)room.iov_base + n;
		size_t left = room.iov_len - n;
		size_t needs = is_plus ? fuse_add_direntry_plus(req, to, left, name->text, &entry,
								(off_t)at + 1)
				       : fuse_add_direntry(req, to, left, name->text, &entry.attr,
							   (off_t)at + 1);

		if (needs > left)
			break;
		n += needs;
		at++;
	}
	return r < 0 && n == 0 ? r : (int)n;
}

static void
read_dir(fuse_req_t req, struct iovec room, off_t off, const struct fuse_file_info *fi,
	 bool is_plus)
{
	struct dir *dir = (struct dir *)(uintptr_t)fi->fh;
	int r = -ENOMEM;

	lock_take(&dir->lock);
	if (room.iov_base != NULL)
		r = fill(req, dir, (uint64_t)off, room, is_plus);
	lock_drop(&dir->lock);
	if (r < 0)
		fs_reply(req, r);
	else
		fuse_reply_buf(req, room.iov_base, (size_t)r);
}

void
fs_control_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	struct iovec room = {fs_buf(), num_min(size, (size_t)FS_BUF_BYTES)};

	(void)ino;
	read_dir(req, room, off, fi, /* is_plus= */ false);
}

void
fs_control_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct iovec room = {fs_buf(), num_min(size, (size_t)FS_BUF_BYTES)};

	(void)ino;
	read_dir(req, room, off, fi, /* is_plus= */ true);
}

void
fs_control_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct dir *dir = (struct dir *)(uintptr_t)fi->fh;

	(void)ino;
	dir_close(fs_of(req), &dir->open);
	fs_reply(req, 0);
}
