/* SPDX-License-Identifier: Apache-2.0 */

/* node_move.c -- walking the table, and nodes that get another path. */
#include <errno.h>
#include <string.h>

#include "fs/node.h"
#include "fs/node_table.h"
#include "transfer/base/err.h"
#include "transfer/base/vec.h"

static bool
begins_with(const char *key, const char *prefix)
{
	return strncmp(key, prefix, strlen(prefix)) == 0;
}

void
fs_nodes_each(struct fs_nodes *nodes, const char *prefix,
	      void (*fn)(void *arg, struct fs_node *node), void *arg)
{
	size_t at = 0;
	uint64_t ino;
	void *value;

	lock_take(&nodes->lock);
	while (map_next(&nodes->by_ino, &at, &ino, &value)) {
		struct fs_node *node = value;

		if (node->is_linked && begins_with(node->key, prefix))
			fn(arg, node);
	}
	lock_drop(&nodes->lock);
}

void
fs_nodes_each_local(struct fs_nodes *nodes, const char *prefix,
		    void (*fn)(void *arg, struct fs_node *node), void *arg)
{
	lock_take(&nodes->lock);
	list_each(&nodes->locals, link) {
		struct fs_node *node = list_of(link, struct fs_node, at_local);

		if (begins_with(node->key, prefix))
			fn(arg, node);
	}
	lock_drop(&nodes->lock);
}

/* move -- one node to another path; it is detached when there is no memory for that. */
static int
move(struct fs_nodes *nodes, struct fs_node *node, size_t n_old, const char *new_prefix)
{
	size_t n_new = strlen(new_prefix), n_rest = strlen(node->key) - n_old;
	char *key = malloc(n_new + n_rest + 1);
	struct fs_node *there;
	int r = -ENOMEM;

	fs_node_detach_locked(nodes, node);
	if (key == NULL)
		return err_new(r);
	memcpy(key, new_prefix, n_new);
	memcpy(key + n_new, node->key + n_old, n_rest + 1);
	there = fs_nodes_find_locked(nodes, node->is_dir, key);
	if (there != NULL) {
		fs_node_detach_locked(nodes, there);
		there->is_removed = true;
	}
	free(node->key);
	node->key = key;
	r = fs_node_link_path(nodes, node);
	fs_node_settle(nodes, node);
	return err_up(r);
}

/* Nodes that get another path. */
struct moving {
	VEC(struct fs_node *) nodes;
};

/* gather -- a file, or all below a directory.  0 or -ENOMEM. */
static int
gather(struct fs_nodes *nodes, bool is_dir, const char *key, struct moving *moving)
{
	struct fs_node *node = fs_nodes_find_locked(nodes, is_dir, key);
	size_t at = 0;
	uint64_t ino;
	void *value;
	int r = 0;

	if (!is_dir)
		return node == NULL ? 0 : vec_push(&moving->nodes, node);
	while (r == 0 && map_next(&nodes->by_ino, &at, &ino, &value)) {
		node = value;
		if (node->is_linked && begins_with(node->key, key))
			r = vec_push(&moving->nodes, node);
	}
	return r;
}

static int
move_all(struct fs_nodes *nodes, const struct moving *moving, size_t n_old, const char *to)
{
	int r = 0;

	for (size_t i = 0; i < moving->nodes.n; i++) {
		int moved = move(nodes, moving->nodes.at[i], n_old, to);

		r = r < 0 ? r : moved;
	}
	return r;
}

int
fs_nodes_rename(struct fs_nodes *nodes, bool is_dir, const char *from, const char *to)
{
	struct moving moving = {0};
	struct fs_node *there;
	int moved;
	int r;

	lock_take(&nodes->lock);
	there = fs_nodes_find_locked(nodes, is_dir, to);
	if (there != NULL) {
		fs_node_detach_locked(nodes, there);
		there->is_removed = true;
	}
	r = gather(nodes, is_dir, from, &moving);
	moved = move_all(nodes, &moving, strlen(from), to);
	lock_drop(&nodes->lock);
	vec_fini(&moving.nodes);
	return err_up(r < 0 ? r : moved);
}

int
fs_nodes_exchange(struct fs_nodes *nodes, bool is_dir, const char *a, const char *b)
{
	struct moving of_a = {0}, of_b = {0};
	int moved;
	int r;

	lock_take(&nodes->lock);
	r = gather(nodes, is_dir, a, &of_a);
	if (r == 0)
		r = gather(nodes, is_dir, b, &of_b);
	for (size_t i = 0; i < of_b.nodes.n; i++)
		fs_node_detach_locked(
			nodes, of_b.nodes.at[i]); /* or they would be taken for replaced ones */
	moved = move_all(nodes, &of_a, strlen(a), b);
	r = r < 0 ? r : moved;
	moved = move_all(nodes, &of_b, strlen(b), a);
	lock_drop(&nodes->lock);
	vec_fini(&of_a.nodes);
	vec_fini(&of_b.nodes);
	return err_up(r < 0 ? r : moved);
}
