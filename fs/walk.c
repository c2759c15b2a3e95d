/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/walk.h"

#include <errno.h>
#include <string.h>

#include "fs/errno.h"
#include "fs/lookup.h"
#include "transfer/base/vec.h"

/* One name on its way, from the master or of this mount. */
struct candidate {
	char *part;
	bool is_dir, has_version;
	struct fs_version version;
};

struct fs_walk {
	struct fs *fs;
	char dir[FS_KEY_ROOM];
	size_t n_dir;
	struct tiffin_list *list;
	bool is_at_end;
	bool has_read; /* `read` came from the list and waits */
	struct candidate read;
	VEC(struct candidate) held;   /* files; each a prefix of the next */
	VEC(struct candidate) locals; /* in order */
	size_t local_at;
	char last_piece[FS_PATH_NAME_MAX + 1];
	int failed;                   /* -errno while locals were gathered */
	uint32_t changes[FS_CHANGES]; /* of all keys, when the walk began */
};

/* compare -- in the order in which names come: as if each ended in '/'. */
static int
compare(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	return (*a == '\0' ? '/' : (unsigned char)*a) - (*b == '\0' ? '/' : (unsigned char)*b);
}

static int
compare_candidates(const void *a, const void *b)
{
	return compare(((const struct candidate *)a)->part, ((const struct candidate *)b)->part);
}

static void
candidate_fini(struct candidate *c)
{
	free(c->part);
	c->part = NULL;
}

/* ---- what only this mount knows ---- */

static void
gather(void *arg, struct fs_node *node)
{
	struct fs_walk *walk = arg;
	const char *part = node->key + walk->n_dir;
	size_t n = strlen(part);
	struct candidate c = {.is_dir = node->is_dir, .has_version = node->is_dir};

	if (node->is_dir && fs_path_is_piece(node->key))
		return; /* there whether it is listed or not */
	if (node->is_dir && n > 0)
		n--;
	if ((node->is_dir && n == 0) || memchr(part, '/', n) != NULL)
		return;
	c.part = strndup(part, n);
	c.version = node->shown;
	if (c.part == NULL || vec_push(&walk->locals, c) < 0) {
		free(c.part);
		walk->failed = -ENOMEM;
	}
}

static int
gather_locals(struct fs_walk *walk, const char *after)
{
	fs_nodes_each_local(&walk->fs->nodes, walk->dir, gather, walk);
	if (walk->failed < 0)
		return walk->failed;
	if (walk->locals.n > 0)
		qsort(walk->locals.at, walk->locals.n, sizeof(*walk->locals.at),
		      compare_candidates);
	while (after != NULL && walk->local_at < walk->locals.n &&
	       compare(walk->locals.at[walk->local_at].part, after) <= 0)
		walk->local_at++;
	return 0;
}

/* ---- what the master knows ---- */

/* hold -- a file whose name may still turn out to be a directory's.  Takes the part. */
static int
hold(struct fs_walk *walk, struct candidate *taken)
{
	if (vec_push(&walk->held, *taken) < 0)
		return -ENOMEM;
	taken->part = NULL;
	return 0;
}

/* hold_prefixes -- what a walk from the start would be holding behind this part. */
static int
hold_prefixes(struct fs_walk *walk, const char *after)
{
	uint8_t blob[TIFFIN_ATTR_MAX];
	char key[FS_KEY_ROOM];

	for (size_t i = 0; after[i] != '\0'; i++) {
		struct candidate c = {.has_version = true};
		struct tiffin_stat stat;
		int r;

		if ((unsigned char)after[i] >= '/' || walk->n_dir + i == 0)
			continue;
		memcpy(key, walk->dir, walk->n_dir);
		memcpy(key + walk->n_dir, after, i);
		key[walk->n_dir + i] = '\0';
		r = tiffin_stat(walk->fs->client, key, &stat, blob);
		if (r == TIFFIN_E_NOT_FOUND || (r == 0 && stat.is_prefix))
			continue;
		if (r < 0)
			return fs_errno(r);
		if (fs_is_marker(key, &stat))
			continue;
		c.part = strndup(after, i);
		if (c.part == NULL)
			return -ENOMEM;
		fs_look_version(walk->fs, &stat, &c.version);
		r = hold(walk, &c);
		free(c.part);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool
has_changed(const struct fs_walk *walk, const char *key)
{
	return fs_nodes_changes(&walk->fs->nodes, key) != walk->changes[fs_nodes_slot(key)];
}

/* read_one -- the next of the list into walk->read, or the end. */
static int
read_one(struct fs_walk *walk)
{
	struct tiffin_stat stat;
	struct candidate c = {0};
	const char *key;
	size_t n;
	int r;

	for (;;) {
		r = tiffin_list_next(walk->list, &key, &stat);
		if (r < 0)
			return fs_errno(r);
		if (r == 0) {
			walk->is_at_end = true;
			return 0;
		}
		if (stat.is_prefix || !fs_is_marker(key, &stat))
			break;
	}

	n = strlen(key) - walk->n_dir;
	c.is_dir = stat.is_prefix;
	if (stat.is_prefix) {
		n--;
		c.has_version = stat.attr_bytes > 0; /* the marker's, where the master adds them */
		fs_attr_of(walk->fs, &stat, FS_ATTR_DIR, &c.version.attr);
		c.has_version = c.has_version && c.version.attr.kind == FS_ATTR_DIR;
	} else {
		c.has_version = true;
		fs_look_version(walk->fs, &stat, &c.version);
	}
	if (has_changed(walk, key))
		c.has_version = false; /* the list may have been there first */
	c.part = strndup(key + walk->n_dir, n);
	if (c.part == NULL)
		return -ENOMEM;
	walk->read = c;
	walk->has_read = true;
	return 0;
}

/* name -- how the directory shows it.  false: not at all. */
static bool
name(struct fs_walk *walk, const struct candidate *c, struct fs_found *ret_found)
{
	enum fs_path_kind kind;

	if (fs_path_encode(fs_in_mount(walk->fs, walk->dir), c->part, strlen(c->part),
			   ret_found->name, &kind) != 0)
		return false;
	memcpy(ret_found->part, c->part, strlen(c->part) + 1);
	ret_found->is_dir = c->is_dir;
	ret_found->has_version = c->has_version;
	ret_found->version = c->version;
	if (kind == FS_PATH_PLAIN)
		return true;

	if (strcmp(walk->last_piece, ret_found->name) == 0)
		return false;
	memcpy(walk->last_piece, ret_found->name, sizeof(walk->last_piece));
	ret_found->is_dir = true;
	ret_found->has_version = true;
	ret_found->version = (struct fs_version){0};
	fs_attr_default(&walk->fs->defaults, FS_ATTR_DIR, walk->fs->started_ms,
			&ret_found->version.attr);
	return true;
}

static bool
is_piece(const struct fs_walk *walk, const struct candidate *c)
{
	char shown[FS_PATH_NAME_MAX + 1];
	enum fs_path_kind kind;

	return fs_path_encode(fs_in_mount(walk->fs, walk->dir), c->part, strlen(c->part), shown,
			      &kind) == 0 &&
	       kind == FS_PATH_PIECE;
}

/* next_listed -- the next name the master knows.  gives: *ret_c, to be finished.  1, 0, -errno. */
static int
next_listed(struct fs_walk *walk, struct candidate *ret_c)
{
	for (;;) {
		struct candidate *top = NULL;
		int r = 0;

		if (!walk->has_read && !walk->is_at_end)
			r = read_one(walk);
		if (r < 0)
			return r;

		if (walk->held.n > 0)
			top = &walk->held.at[walk->held.n - 1];
		if (top != NULL && (!walk->has_read || compare(top->part, walk->read.part) < 0)) {
			*ret_c = *top;
			walk->held.n--;
			return 1;
		}
		if (!walk->has_read)
			return 0;

		walk->has_read = false;
		if (walk->read.is_dir || is_piece(walk, &walk->read)) {
			if (top != NULL && strcmp(top->part, walk->read.part) == 0) {
				candidate_fini(top); /* the directory has the name */
				walk->held.n--;
			}
			*ret_c = walk->read;
			return 1;
		}
		r = hold(walk, &walk->read);
		if (r < 0) {
			candidate_fini(&walk->read);
			return r;
		}
	}
}

/* next_of_both -- like next_listed(), with the names only this mount knows between. */
static int
next_of_both(struct fs_walk *walk, struct candidate *ret_c)
{
	struct candidate *local = NULL;
	int order;
	int r = 0;

	if (walk->local_at < walk->locals.n)
		local = &walk->locals.at[walk->local_at];
	r = next_listed(walk, ret_c);
	if (r < 0 || local == NULL)
		return r;

	order = r == 0 ? 1 : compare(ret_c->part, local->part);
	if (order < 0)
		return 1;
	walk->local_at++;
	if (order == 0)
		return 1; /* the master knows it by now */

	if (r == 1 && vec_push(&walk->held, *ret_c) < 0) {
		candidate_fini(ret_c);
		return -ENOMEM;
	}
	*ret_c = *local;
	local->part = NULL;
	return 1;
}

int
fs_walk_next(struct fs_walk *walk, struct fs_found *ret_found)
{
	struct candidate c;
	bool is_shown;
	int r;

	do {
		r = next_of_both(walk, &c);
		if (r <= 0)
			return r;
		is_shown = name(walk, &c, ret_found);
		candidate_fini(&c);
	} while (!is_shown);
	return 1;
}

/* list_behind -- where the master's list goes on behind a part and all that lies below it. */
static int
list_behind(struct fs_walk *walk, const char *after)
{
	char key[FS_KEY_ROOM];

	if (after != NULL && fs_key_make(walk->dir, after, "/", key) < 0 &&
	    fs_key_make(walk->dir, after, "", key) < 0)
		return -ENAMETOOLONG;
	return fs_errno(tiffin_list_open(walk->fs->client, walk->dir, '/',
					 after != NULL ? key : NULL, &walk->list));
}

int
fs_walk_open(struct fs *fs, const char *dir, const char *after, struct fs_walk **ret_walk)
{
	struct fs_walk *walk = calloc(1, sizeof(*walk));
	enum fs_path_kind kind;
	int r;

	if (walk == NULL)
		return -ENOMEM;
	walk->fs = fs;
	walk->n_dir = strlen(dir);
	memcpy(walk->dir, dir, walk->n_dir + 1);
	for (size_t i = 0; i < FS_CHANGES; i++)
		walk->changes[i] = atomic_load(&fs->nodes.changes[i]);

	r = gather_locals(walk, after);
	if (r == 0)
		r = list_behind(walk, after);
	if (r == 0 && after != NULL) {
		if (fs_path_encode(fs_in_mount(fs, dir), after, strlen(after), walk->last_piece,
				   &kind) != 0 ||
		    kind != FS_PATH_PIECE)
			walk->last_piece[0] = '\0';
		r = hold_prefixes(walk, after);
	}
	if (r < 0) {
		fs_walk_close(walk);
		return r;
	}
	*ret_walk = walk;
	return 0;
}

void
fs_walk_close(struct fs_walk *walk)
{
	if (walk == NULL)
		return;
	if (walk->list != NULL)
		tiffin_list_close(walk->list);
	for (size_t i = 0; i < walk->held.n; i++)
		candidate_fini(&walk->held.at[i]);
	for (size_t i = walk->local_at; i < walk->locals.n; i++)
		candidate_fini(&walk->locals.at[i]);
	for (size_t i = 0; i < walk->local_at; i++)
		candidate_fini(&walk->locals.at[i]);
	if (walk->has_read)
		candidate_fini(&walk->read);
	vec_fini(&walk->held);
	vec_fini(&walk->locals);
	free(walk);
}
