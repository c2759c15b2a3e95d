/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/xattr.h"

#include <errno.h>
#include <string.h>

#include "fs/inside.h"
#include "fs/lookup.h"
#include "fs/marker.h"
#include "fs/work.h"
#include "fs/xattrs.h"

#define USER "user."

/* below -- the rest of a name that begins so; NULL: it does not. */
static const char *
below(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* ---- what users set ---- */

/* fetch -- those of a node now, and what it shows.  needs: node's lock.  0 or -errno. */
static int
fetch(struct fs *fs, struct fs_node *node, bool to_change, struct fs_version *ret_version,
      struct fs_xattrs *ret_list)
{
	char key[FS_KEY_ROOM];
	int r;

	ret_list->len_bytes = 0;
	ret_list->is_fetched = false;
	fs_node_key(&fs->nodes, node, key);
	if (node->is_dir && (key[0] == '\0' || fs_path_is_piece(key)))
		return -EOPNOTSUPP; /* no object could keep them */
	if (!node->is_dir && node->work.put == NULL && !fs_node_is_linked(&fs->nodes, node)) {
		if (node->n_opens > 0)
			return -ESTALE;
		*ret_version = (struct fs_version){0}; /* it has gone just now: its successor's */
		return fs_xattrs_fetch(fs->client, key, /* object_id= */ 0, ret_list);
	}

	r = node->is_dir ? fs_look_dir(fs, key, ret_version) : fs_look_file(fs, node, ret_version);
	if (r < 0)
		return r;
	if (!node->is_dir && node->work.put != NULL) {
		if (node->work.xattrs != NULL)
			*ret_list = *node->work.xattrs;
		return 0;
	}
	if (ret_version->attr.xattr_bytes == 0 && !to_change)
		return 0;
	r = fs_xattrs_fetch(fs->client, key, node->is_dir ? 0 : ret_version->object_id, ret_list);
	if (r == 0 && ret_list->has_attr)
		ret_version->attr = ret_list->attr;
	return r;
}

/* keep -- in place of the former.  needs: node's lock. */
static int
keep(struct fs *fs, struct fs_node *node, struct fs_version *version, const struct fs_xattrs *list)
{
	char key[FS_KEY_ROOM];
	int r;

	if (!node->is_dir && node->work.put != NULL) {
		r = fs_work_set_xattrs(fs, node, list);
		return r < 0 || node->n_writers > 0 ? r : fs_work_commit(fs, node);
	}
	version->attr.ctime = fs_now(fs);
	fs_node_key(&fs->nodes, node, key);
	if (node->is_dir) {
		version->attr.xattr_bytes = list->len_bytes;
		r = fs_marker_set(fs, key, &version->attr, list);
		fs_look_dir_changed(fs, node);
		return r;
	}
	r = fs_xattrs_keep(fs->client, key, version->object_id, &version->attr, list);
	if (r == 0)
		fs_node_show(&fs->nodes, node, version);
	return r == -ENOENT ? -ESTALE : r;
}

/* ---- get and list ---- */

/* reply_bytes -- with size 0 only their number is wanted. */
static void
reply_bytes(fuse_req_t req, size_t size, const void *bytes, size_t n)
{
	if (size == 0)
		fuse_reply_xattr(req, n);
	else if (n > size)
		fs_reply(req, -ERANGE);
	else
		fuse_reply_buf(req, bytes, n);
}

static int
get_user(struct fs *fs, struct fs_node *node, const char *name, struct fs_xattrs *list,
	 struct fs_xattr *ret_xattr)
{
	struct fs_version version;
	int r = fetch(fs, node, /* to_change= */ false, &version, list);

	if (r < 0)
		return r == -EOPNOTSUPP ? -ENODATA : r;
	return fs_xattrs_find(list, name, ret_xattr) ? 0 : -ENODATA;
}

static void
get(fuse_req_t req, struct fs_node *node, const char *name, size_t size)
{
	const char *inside = below(name, FS_INSIDE_PREFIX);
	struct fs *fs = fs_of(req);
	struct fs_xattrs list;
	struct fs_xattr xattr = {0};
	char *text = NULL;
	size_t n = 0;
	int r;

	lock_take(&node->lock);
	if (inside != NULL)
		r = fs_inside_get(fs, node, inside, &text, &n);
	else
		r = get_user(fs, node, name + strlen(USER), &list, &xattr);
	lock_drop(&node->lock);

	if (r < 0)
		fs_reply(req, r);
	else if (inside != NULL)
		reply_bytes(req, size, text, n);
	else
		reply_bytes(req, size, xattr.value, xattr.n_value);
	free(text);
}

/* judge -- after ENOSYS the kernel asks no more, whatever the name. */
static int
judge(const struct fs *fs, const char *name)
{
	if (fs->opts->xattr == 0)
		return -ENOSYS;
	return below(name, USER) == NULL ? -EOPNOTSUPP : 0;
}

void
fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	int r = judge(fs_of(req), name);

	if (r < 0)
		fs_reply(req, r);
	else
		get(req, fs_node_of(req, ino), name, size);
}

/* put_name -- "PREFIXname", ended by NUL. */
static void
put_name(FILE *to, const char *prefix, const char *name, size_t n_name)
{
	fputs(prefix, to);
	fwrite(name, 1, n_name, to);
	fputc('\0', to);
}

static int
list_names(struct fs *fs, struct fs_node *node, FILE *to)
{
	struct fs_version version;
	struct fs_xattrs list;
	struct fs_xattr xattr;
	const char *name;
	size_t at = 0;
	int r = fetch(fs, node, /* to_change= */ false, &version, &list);

	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	while (fs_xattrs_next(&list, &at, &xattr))
		put_name(to, USER, xattr.name, xattr.n_name);
	for (size_t i = 0; fs->opts->list_xattr != 0 && (name = fs_inside_name(i)) != NULL; i++)
		put_name(to, FS_INSIDE_PREFIX, name, strlen(name));
	return 0;
}

void
fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct fs_node *node = fs_node_of(req, ino);
	struct fs *fs = fs_of(req);
	char *names = NULL;
	size_t n = 0;
	FILE *to;
	int r = 0;

	if (fs->opts->xattr == 0) {
		fs_reply(req, -ENOSYS);
		return;
	}
	to = open_memstream(&names, &n);
	if (to != NULL) {
		lock_take(&node->lock);
		r = list_names(fs, node, to);
		lock_drop(&node->lock);
	}
	if (to == NULL || fclose(to) != 0)
		r = -ENOMEM;
	if (r < 0)
		fs_reply(req, r);
	else
		reply_bytes(req, size, names, n);
	free(names);
}

/* ---- set and remove ---- */

/*
 * is_past -- another file took the path just before: that was done to the one before, and nobody
 * can ask any more whether it was.
 */
static bool
is_past(struct fs *fs, const struct fs_node *node)
{
	return !node->is_dir && node->n_opens == 0 && node->work.put == NULL &&
	       !fs_node_is_linked(&fs->nodes, node);
}

static int
set_user(struct fs *fs, struct fs_node *node, const char *name, struct iovec value, int flags)
{
	struct fs_version version;
	struct fs_xattrs list;
	int r;

	if (is_past(fs, node))
		return 0;
	r = fetch(fs, node, /* to_change= */ true, &version, &list);
	if (r == 0)
		r = fs_xattrs_set(&list, name, value.iov_base, value.iov_len, flags);
	return r < 0 ? r : keep(fs, node, &version, &list);
}

void
fs_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
	       int flags)
{
	struct fs_node *node = fs_node_of(req, ino);
	const char *inside = below(name, FS_INSIDE_PREFIX);
	struct iovec bytes = {(void *)(uintptr_t)value, size};
	struct fs *fs = fs_of(req);
	int r = judge(fs, name);
	unsigned n_races = 0;

	if (r == 0) {
		lock_take(&node->lock);
		do {
			r = inside != NULL ? fs_inside_set(fs, node, inside, value, size)
					   : set_user(fs, node, name + strlen(USER), bytes, flags);
		} while (fs_look_again(fs, node, r, &n_races));
		lock_drop(&node->lock);
	}
	fs_reply(req, r);
}

static int
remove_user(struct fs *fs, struct fs_node *node, const char *name)
{
	struct fs_version version;
	struct fs_xattrs list;
	int r;

	if (is_past(fs, node))
		return 0;
	r = fetch(fs, node, /* to_change= */ true, &version, &list);
	if (r == 0)
		r = fs_xattrs_remove(&list, name);
	return r < 0 ? r : keep(fs, node, &version, &list);
}

void
fs_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct fs_node *node = fs_node_of(req, ino);
	const char *inside = below(name, FS_INSIDE_PREFIX);
	struct fs *fs = fs_of(req);
	int r = judge(fs, name);
	unsigned n_races = 0;

	if (r == 0) {
		lock_take(&node->lock);
		do {
			r = inside != NULL ? fs_inside_set(fs, node, inside, "none", strlen("none"))
					   : remove_user(fs, node, name + strlen(USER));
		} while (fs_look_again(fs, node, r, &n_races));
		lock_drop(&node->lock);
	}
	fs_reply(req, r);
}
