/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/tiffin.h"
#include "fs/node.h"
#include "fs/node_table.h"
#include "transfer/base/err.h"

size_t
fs_nodes_slot(const char *key)
{
	size_t n = strlen(key);

	if (n > 0 && key[n - 1] == '/')
		n--;
	return map_hash(key, n, 2) % FS_CHANGES;
}

uint32_t
fs_nodes_changes(const struct fs_nodes *nodes, const char *key)
{
	return atomic_load(&nodes->changes[fs_nodes_slot(key)]);
}

void
fs_nodes_changed(struct fs_nodes *nodes, const char *key)
{
	if (key != NULL) {
		atomic_fetch_add(&nodes->changes[fs_nodes_slot(key)], 1);
		return;
	}
	for (size_t i = 0; i < FS_CHANGES; i++)
		atomic_fetch_add(&nodes->changes[i], 1);
}

/* name_of -- where a path stands: its directory's node, if there is one, and its name there. */
static void
name_of(struct fs_nodes *nodes, bool is_dir, const char *key, struct fs_notice *notice)
{
	char dir[FS_KEY_ROOM];
	struct fs_node *parent;
	size_t n_root = strlen(nodes->root->key);
	size_t n_dir;

	fs_path_split(key + n_root, is_dir, &n_dir, notice->name);
	n_dir += n_root;
	memcpy(dir, key, n_dir);
	dir[n_dir] = '\0';
	parent = fs_nodes_find_locked(nodes, /* is_dir= */ true, dir);
	notice->parentid = parent != NULL ? fs_nodes_id(nodes, parent) : 0;
}

/* nearest -- the name that leads to the key from the deepest directory that is known. */
static bool
nearest(struct fs_nodes *nodes, const char *key, struct fs_notice *notice)
{
	size_t n_root = strlen(nodes->root->key);
	char at[FS_KEY_ROOM];
	bool is_dir = false;
	size_t n_dir;

	memcpy(at, key, strlen(key) + 1);
	while (strlen(at) > n_root) {
		name_of(nodes, is_dir, at, notice);
		if (notice->parentid != 0)
			return true;
		fs_path_split(at + n_root, is_dir, &n_dir, notice->name);
		at[n_root + n_dir] = '\0';
		is_dir = true;
	}
	return false;
}

/* of_marker -- a directory's attributes are others now; or it has gone, and is not kept against
 * that. */
static bool
of_marker(struct fs_nodes *nodes, struct fs_node *dir, int change, struct fs_notice *notice)
{
	notice->nodeid = fs_nodes_id(nodes, dir);
	if (change == TIFFIN_CHANGE_REMOVED && dir != nodes->root) {
		dir->is_kept = false;
		fs_node_settle(nodes, dir);
		name_of(nodes, /* is_dir= */ true, dir->key, notice);
	}
	return true;
}

static bool
of_file(struct fs_nodes *nodes, struct fs_node *node, uint64_t object_id, int change,
	struct fs_notice *notice)
{
	if (node->has_work || (node->is_leaving && change == TIFFIN_CHANGE_REMOVED))
		return false;
	if (change != TIFFIN_CHANGE_ATTR) {
		if (node->shown.object_id == object_id && change == TIFFIN_CHANGE_PUT)
			return false;
		name_of(nodes, /* is_dir= */ false, node->key, notice);
	}
	notice->nodeid = fs_nodes_id(nodes, node);
	return true;
}

bool
fs_nodes_notice(struct fs_nodes *nodes, const char *key, uint64_t object_id, int change,
		struct fs_notice *ret_notice)
{
	struct fs_notice notice = {0};
	size_t n = strlen(key);
	struct fs_node *node, *dir = NULL;
	bool is_news = false;

	if (n > FS_PATH_KEY_MAX || n < strlen(nodes->root->key) || n == 0)
		return false;

	lock_take(&nodes->lock);
	node = fs_nodes_find_locked(nodes, /* is_dir= */ false, key);
	if (key[n - 1] == '/')
		dir = fs_nodes_find_locked(nodes, /* is_dir= */ true, key);
	if (node != NULL)
		is_news = of_file(nodes, node, object_id, change, &notice);
	else if (dir != NULL)
		is_news = of_marker(nodes, dir, change, &notice);
	else if (nodes->has_negatives)
		is_news = nearest(nodes, key, &notice);
	lock_drop(&nodes->lock);
	if (is_news)
		*ret_notice = notice;
	return is_news;
}

static void
all_of(struct fs_nodes *nodes, struct fs_node *node, struct fs_notice *ret_notice)
{
	*ret_notice = (struct fs_notice){.nodeid = fs_nodes_id(nodes, node), .has_pages = true};
	if (node->is_linked && node != nodes->root)
		name_of(nodes, node->is_dir, node->key, ret_notice);
}

void
fs_node_notice(struct fs_nodes *nodes, struct fs_node *node, struct fs_notice *ret_notice)
{
	lock_take(&nodes->lock);
	all_of(nodes, node, ret_notice);
	lock_drop(&nodes->lock);
}

int
fs_nodes_inos(struct fs_nodes *nodes, uint64_t **ret_inos, size_t *ret_n)
{
	uint64_t *inos;
	size_t at = 0;
	size_t n = 0;
	void *node;

	lock_take(&nodes->lock);
	inos = calloc(nodes->by_ino.n + 1, sizeof(*inos));
	while (inos != NULL && map_next(&nodes->by_ino, &at, &inos[n], &node))
		n++;
	lock_drop(&nodes->lock);

	if (inos == NULL)
		return err_new(-ENOMEM);
	*ret_inos = inos;
	*ret_n = n;
	return 0;
}

bool
fs_nodes_notice_ino(struct fs_nodes *nodes, uint64_t ino, struct fs_notice *ret_notice)
{
	struct fs_node *node;

	lock_take(&nodes->lock);
	node = map_get(&nodes->by_ino, ino);
	if (node != NULL)
		all_of(nodes, node, ret_notice);
	lock_drop(&nodes->lock);
	return node != NULL;
}

size_t
fs_nodes_unused(struct fs_nodes *nodes, size_t *at, struct fs_notice *ret_notices, size_t n_max)
{
	size_t n = 0;
	uint64_t ino;
	void *value;

	lock_take(&nodes->lock);
	while (n < n_max && map_next(&nodes->by_ino, at, &ino, &value)) {
		struct fs_node *node = value;

		if (node->is_dir || !node->is_linked || node->n_refs > 0 || node->has_work)
			continue;
		ret_notices[n] = (struct fs_notice){0};
		name_of(nodes, /* is_dir= */ false, node->key, &ret_notices[n]);
		n++;
	}
	lock_drop(&nodes->lock);
	return n;
}

uint64_t
fs_nodes_count(struct fs_nodes *nodes)
{
	uint64_t n;

	lock_take(&nodes->lock);
	n = nodes->n;
	lock_drop(&nodes->lock);
	return n;
}
