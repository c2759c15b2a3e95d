/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A file is renamed by one request, at once, over whatever was there.  A
 * directory is all keys below it, renamed in pages; one page is one request, so
 * up to PAGE_MAX keys move at once.  When a later page fails, the earlier ones
 * are renamed back.  More than rename_max keys: EXDEV, and mv(1) copies.
 *
 * What is being written is published first, under the old name.  Two files or two directories may
 * change places, by one request: directories of up to PAGE_MAX names together, else EXDEV.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fs/errno.h"
#include "fs/handle.h"
#include "fs/lookup.h"
#include "fs/marker.h"
#include "fs/names.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/vec.h"

#define PAGE_MAX 1024

/* Pairs of keys; both lists are owned. */
struct pairs {
	VEC(char *) from;
	VEC(char *) to;
};

static void
pairs_fini(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->from.n; i++)
		free(pairs->from.at[i]);
	for (size_t i = 0; i < pairs->to.n; i++)
		free(pairs->to.at[i]);
	vec_fini(&pairs->from);
	vec_fini(&pairs->to);
}

static int
pairs_add(struct pairs *pairs, const char *from, const char *to)
{
	char *a = strdup(from);
	char *b = strdup(to);

	if (a == NULL || b == NULL || vec_reserve(&pairs->from, 1) < 0 ||
	    vec_reserve(&pairs->to, 1) < 0) {
		free(a);
		free(b);
		return -ENOMEM;
	}
	pairs->from.at[pairs->from.n++] = a;
	pairs->to.at[pairs->to.n++] = b;
	return 0;
}

/* publish -- what is being written at a key, so that it can be renamed. */
static int
publish(struct fs *fs, struct fs_node *node)
{
	int r;

	lock_take(&node->lock);
	r = fs_work_commit(fs, node);
	lock_drop(&node->lock);
	return r;
}

static int
publish_at(struct fs *fs, const char *key)
{
	struct fs_node *node = fs_nodes_find(&fs->nodes, /* is_dir= */ false, key);
	int r;

	if (node == NULL)
		return 0;
	r = publish(fs, node);
	fs_node_unref(&fs->nodes, node);
	return r;
}

/* ---- files ---- */

static void
let_go_at(struct fs *fs, const char *key)
{
	struct fs_node *node = fs_nodes_find(&fs->nodes, /* is_dir= */ false, key);

	if (node == NULL)
		return;
	lock_take(&node->lock);
	fs_handle_let_go(fs, node);
	lock_drop(&node->lock);
	fs_node_unref(&fs->nodes, node);
}

static int
rename_file(struct fs *fs, const char *from, const char *to, bool is_noreplace)
{
	int r;

	r = publish_at(fs, from);
	if (r < 0)
		return r;
	let_go_at(fs, to);
	r = fs_errno(tiffin_rename(fs->client, from, to, is_noreplace ? TIFFIN_NOREPLACE : 0));
	if (r < 0)
		return r;
	return fs_nodes_rename(&fs->nodes, /* is_dir= */ false, from, to);
}

/* exchange_files -- those who have one open go on with it, under its other name. */
static int
exchange_files(struct fs *fs, const char *a, const char *b)
{
	int r = publish_at(fs, a);

	if (r == 0)
		r = publish_at(fs, b);
	if (r == 0)
		r = fs_errno(tiffin_rename(fs->client, a, b, TIFFIN_EXCHANGE));
	return r < 0 ? r : fs_nodes_exchange(&fs->nodes, /* is_dir= */ false, a, b);
}

/* ---- directories ---- */

struct below {
	VEC(struct fs_node *) nodes;
	int failed;
};

static void
gather_below(void *arg, struct fs_node *node)
{
	struct below *below = arg;

	if (node->is_dir || !node->has_work)
		return;
	node->n_refs++;
	if (vec_push(&below->nodes, node) < 0) {
		node->n_refs--;
		below->failed = -ENOMEM;
	}
}

static int
publish_below(struct fs *fs, const char *dir)
{
	struct below below = {0};
	int r;

	fs_nodes_each(&fs->nodes, dir, gather_below, &below);
	r = below.failed;
	for (size_t i = 0; i < below.nodes.n; i++) {
		if (r == 0)
			r = publish(fs, below.nodes.at[i]);
		fs_node_unref(&fs->nodes, below.nodes.at[i]);
	}
	vec_fini(&below.nodes);
	return r;
}

/* gather_pairs -- every key below `from`, and what it will be. */
static int
gather_pairs(struct fs *fs, const char *from, const char *to, struct pairs *pairs)
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	char fresh[FS_KEY_ROOM];
	const char *key;
	int r;

	r = tiffin_list_open(fs->client, from, '\0', /* after= */ NULL, &list);
	if (r < 0)
		return fs_errno(r);
	while ((r = tiffin_list_next(list, &key, &stat)) == 1) {
		r = pairs->from.n >= fs->opts->rename_max ? -EXDEV : 0;
		if (r == 0)
			r = fs_key_make(to, key + strlen(from), "", fresh);
		if (r == 0)
			r = pairs_add(pairs, key, fresh);
		if (r < 0) {
			tiffin_list_close(list);
			return r;
		}
	}
	tiffin_list_close(list);
	return fs_errno(r);
}

/* add_self -- "a" moves along with "a/...": it lies in the directory, as "%@". */
static int
add_self(struct fs *fs, const char *from, const char *to, struct pairs *pairs)
{
	char a[FS_KEY_ROOM], b[FS_KEY_ROOM];
	struct tiffin_stat stat;
	int r;

	snprintf(a, sizeof(a), "%.*s", (int)strlen(from) - 1, from);
	snprintf(b, sizeof(b), "%.*s", (int)strlen(to) - 1, to);
	if (a[0] == '\0' || b[0] == '\0')
		return 0;
	r = tiffin_stat(fs->client, a, &stat, /* attr_buf= */ NULL);
	if (r == TIFFIN_E_NOT_FOUND)
		return 0;
	return r < 0 ? fs_errno(r) : pairs_add(pairs, a, b);
}

static int
rename_page(struct fs *fs, char **from, char **to, size_t n)
{
	return fs_errno(tiffin_rename_batch(fs->client, (const char *const *)from,
					    (const char *const *)to, n, /* flags= */ 0));
}

/* rename_pairs -- all, or none as far as the master can be reached. */
static int
rename_pairs(struct fs *fs, const struct pairs *pairs)
{
	size_t n = pairs->from.n;
	size_t at = 0;
	int r = 0;

	while (at < n && r == 0) {
		size_t page = num_min(n - at, (size_t)PAGE_MAX);

		r = rename_page(fs, pairs->from.at + at, pairs->to.at + at, page);
		if (r == 0)
			at += page;
	}
	for (size_t back = at; r < 0 && back > 0; back -= PAGE_MAX) {
		size_t first = back - PAGE_MAX; /* only the last page is shorter, and it failed */

		if (rename_page(fs, pairs->to.at + first, pairs->from.at + first, PAGE_MAX) < 0) {
			log_event(LOG_ERROR, "fs_rename_torn",
				  "from=\"%s\" to=\"%s\" moved=%zu of=%zu", pairs->from.at[0],
				  pairs->to.at[0], back, n);
			break;
		}
	}
	return r;
}

static int
rename_dir(struct fs *fs, const char *from, const char *to, bool is_noreplace)
{
	struct pairs pairs = {0};
	struct fs_version version;
	int r;

	if (strncmp(to, from, strlen(from)) == 0)
		return -EINVAL;
	r = fs_names_is_empty(fs, to);
	if (r == -ENOTEMPTY && is_noreplace)
		r = -EEXIST;
	if (r == 0)
		r = publish_below(fs, from);
	if (r == 0)
		r = gather_pairs(fs, from, to, &pairs);
	if (r == 0 && !fs_path_is_piece(from) && !fs_path_is_piece(to))
		r = add_self(fs, from, to, &pairs);

	if (r == 0 && pairs.from.n > 0)
		r = rename_pairs(fs, &pairs);
	else if (r == 0 && (r = fs_look_dir(fs, from, &version)) == 0)
		r = fs_marker_put(fs, to, &version.attr, TIFFIN_REPLACE); /* it was only kept */
	pairs_fini(&pairs);
	return r < 0 ? r : fs_nodes_rename(&fs->nodes, /* is_dir= */ true, from, to);
}

/* ensure_marker -- a directory that was only kept, or has keys only in names below, has none. */
static int
ensure_marker(struct fs *fs, const char *dir)
{
	struct fs_version version;
	int r = fs_names_is_empty(fs, dir);

	if (r != 0)
		return r == -ENOTEMPTY ? 0 : r; /* what lies below keeps it */
	r = fs_look_dir(fs, dir, &version);
	if (r == 0)
		r = fs_marker_put(fs, dir, &version.attr, /* flags= */ 0);
	return r == -EEXIST ? 0 : r;
}

/* merge -- pairs from `a` to `b`, and back those keys of b that no key of a goes to.  Both are in
 * order. */
static int
merge(struct pairs *pairs, const struct pairs *back)
{
	size_t n = pairs->from.n;
	size_t at = 0;
	int r = 0;

	for (size_t i = 0; i < back->from.n && r == 0; i++) {
		while (at < n && strcmp(pairs->to.at[at], back->from.at[i]) < 0)
			at++;
		if (at == n || strcmp(pairs->to.at[at], back->from.at[i]) != 0)
			r = pairs_add(pairs, back->to.at[i], back->from.at[i]);
	}
	return r;
}

/* add_selves -- the files "a" and "b" that lie in the directories as "%@". */
static int
add_selves(struct fs *fs, const char *a, const char *b, struct pairs *pairs)
{
	size_t n = pairs->from.n;
	int r = add_self(fs, a, b, pairs);

	return r < 0 || pairs->from.n > n ? r : add_self(fs, b, a, pairs);
}

static int
exchange_dirs(struct fs *fs, const char *a, const char *b)
{
	struct pairs pairs = {0}, back = {0};
	int r = ensure_marker(fs, a);

	if (r == 0)
		r = ensure_marker(fs, b);
	if (r == 0)
		r = publish_below(fs, a);
	if (r == 0)
		r = publish_below(fs, b);
	if (r == 0)
		r = gather_pairs(fs, a, b, &pairs);
	if (r == 0)
		r = gather_pairs(fs, b, a, &back);
	if (r == 0)
		r = merge(&pairs, &back);
	if (r == 0)
		r = add_selves(fs, a, b, &pairs);
	if (r == 0 && pairs.from.n > PAGE_MAX)
		r = -EXDEV;
	if (r == 0)
		r = fs_errno(tiffin_rename_batch(fs->client, (const char *const *)pairs.from.at,
						 (const char *const *)pairs.to.at, pairs.from.n,
						 TIFFIN_EXCHANGE_ANY));
	pairs_fini(&pairs);
	pairs_fini(&back);
	return r < 0 ? r : fs_nodes_exchange(&fs->nodes, /* is_dir= */ true, a, b);
}

/* ---- either ---- */

static bool
has_node(struct fs *fs, bool is_dir, const char *key)
{
	struct fs_node *node = fs_nodes_find(&fs->nodes, is_dir, key);

	if (node != NULL)
		fs_node_unref(&fs->nodes, node);
	return node != NULL;
}

/* means_dir -- does the kernel mean the directory of this name?  1, 0, -errno. */
static int
means_dir(struct fs *fs, const struct fs_step *step)
{
	struct tiffin_stat stat = {0};
	int r;

	if (step->kind != FS_PATH_PLAIN || step->dir[0] == '\0')
		return step->kind == FS_PATH_PIECE;
	if (!has_node(fs, /* is_dir= */ true, step->dir))
		return 0;
	if (step->file[0] == '\0' || !has_node(fs, /* is_dir= */ false, step->file))
		return 1;

	r = tiffin_stat(fs->client, step->file, &stat, /* attr_buf= */ NULL);
	return r == 0 || r == TIFFIN_E_NOT_FOUND ? stat.is_prefix : fs_errno(r);
}

static int
exchange(struct fs *fs, const struct fs_step *a, const struct fs_step *b, bool is_dir)
{
	int r = means_dir(fs, b);

	if (r < 0)
		return r;
	if ((r == 1) != is_dir)
		return -EINVAL; /* a file and a directory */
	if (is_dir && (a->kind != FS_PATH_PLAIN || b->kind != FS_PATH_PLAIN))
		return -EXDEV;
	if (is_dir)
		return a->dir[0] == '\0' || b->dir[0] == '\0' ? -ENAMETOOLONG
							      : exchange_dirs(fs, a->dir, b->dir);
	if (b->file[0] == '\0' || b->file[strlen(b->file) - 1] == '/')
		return -EINVAL;
	return exchange_files(fs, a->file, b->file);
}

static int
rename_step(struct fs *fs, const struct fs_step *from, const struct fs_step *to, unsigned flags)
{
	bool is_noreplace = flags == RENAME_NOREPLACE;
	bool is_exchange = flags == RENAME_EXCHANGE;
	int r;

	if (flags != 0 && !is_noreplace && !is_exchange)
		return -EINVAL;
	r = means_dir(fs, from);
	if (r >= 0 && is_exchange)
		return exchange(fs, from, to, r == 1);
	if (r < 0)
		return r;
	if (from->kind == to->kind && strcmp(from->file, to->file) == 0 &&
	    strcmp(from->dir, to->dir) == 0)
		return is_noreplace ? -EEXIST : 0; /* another mount made the kernel look twice */
	if (r == 1) {
		if (from->kind == FS_PATH_PIECE || to->kind != FS_PATH_PLAIN)
			return -EXDEV; /* mv(1) copies, file by file */
		return to->dir[0] == '\0' ? -ENAMETOOLONG
					  : rename_dir(fs, from->dir, to->dir, is_noreplace);
	}
	if (to->file[0] == '\0' || to->file[strlen(to->file) - 1] == '/')
		return -EINVAL;
	return rename_file(fs, from->file, to->file, is_noreplace);
}

void
fs_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	     const char *new_name, unsigned flags)
{
	struct fs_node *in = fs_node_of(req, parent);
	struct fs_step from, to;
	struct fs *fs = fs_of(req);
	int r;

	r = fs_step_down(fs, in, name, &from);
	if (r == -EINVAL)
		r = -ENOENT;
	if (r == 0)
		r = fs_step_down(fs, fs_node_of(req, new_parent), new_name, &to);
	if (r == 0)
		r = rename_step(fs, &from, &to, flags);
	if (r == 0)
		fs_node_keep(&fs->nodes, in, true);
	fs_reply(req, r);
}
