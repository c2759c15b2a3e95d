/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/node.h"

#include <errno.h>
#include <string.h>

#include "fs/node_table.h"
#include "fs/pin.h"
#include "transfer/base/err.h"

#define ROOT_ID 1 /* FUSE_ROOT_ID, in the kernel and in st_ino */

/* Fixed: the same path has the same number after every mount. */
static const uint64_t seeds[] = {0x7469666669, 0x6e64697273};

static uint64_t
hash_of(bool is_dir, const char *key)
{
	return map_hash(key, strlen(key), seeds[is_dir]);
}

/* ino_of -- the same, as a number that also those can bear who take it for signed. */
static uint64_t
ino_of(bool is_dir, const char *key)
{
	return hash_of(is_dir, key) & INT64_MAX;
}

static void
node_check(const struct fs_node *node)
{
	assert(node != NULL && node->magic == FS_NODE_MAGIC);
}

/* ---- making and freeing ---- */

static struct fs_node *
node_new(bool is_dir, const char *key)
{
	struct fs_node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->key = strdup(key);
	if (node->key == NULL) {
		free(node);
		return NULL;
	}
	node->magic = FS_NODE_MAGIC;
	node->is_dir = is_dir;
	list_link_init(&node->at_local);
	lock_init(&node->lock, LOCK_fs_work);
	return node;
}

static void
node_free(struct fs_node *node)
{
	node_check(node);
	assert(!node->is_linked && !list_link_is_on(&node->at_local));
	assert(node->work.put == NULL && node->pin == NULL);

	lock_fini(&node->lock);
	free(node->key);
	node->magic = 0;
	free(node);
}

/* link -- into the table.  needs: no node has this path. */
int
fs_node_link_path(struct fs_nodes *nodes, struct fs_node *node)
{
	uint64_t hash = hash_of(node->is_dir, node->key);
	int r;

	assert(!node->is_linked);

	node->same_hash = map_get(&nodes->by_path, hash);
	r = map_put(&nodes->by_path, hash, node);
	if (r < 0)
		return err_up(r);
	node->is_linked = true;
	return 0;
}

static void
unlink_path(struct fs_nodes *nodes, struct fs_node *node)
{
	uint64_t hash = hash_of(node->is_dir, node->key);
	struct fs_node *first = map_take(&nodes->by_path, hash);
	struct fs_node **at = &first;
	int r;

	assert(node->is_linked);

	while (*at != node) {
		assert(*at != NULL);
		at = &(*at)->same_hash;
	}
	*at = node->same_hash;
	node->same_hash = NULL;
	node->is_linked = false;
	if (first != NULL) {
		r = map_put(&nodes->by_path, hash, first); /* in the slot just left */
		assert(r == 0);
	}
}

/* number -- its own among those alive, the path's whenever it can be. */
static int
number(struct fs_nodes *nodes, struct fs_node *node)
{
	uint64_t ino = ino_of(node->is_dir, node->key);

	while (ino <= ROOT_ID || map_get(&nodes->by_ino, ino) != NULL)
		ino = map_hash(&ino, sizeof(ino), seeds[node->is_dir]) & INT64_MAX;
	node->ino = ino;
	return err_up(map_put(&nodes->by_ino, ino, node));
}

struct fs_node *
fs_nodes_find_locked(const struct fs_nodes *nodes, bool is_dir, const char *key)
{
	struct fs_node *node = map_get(&nodes->by_path, hash_of(is_dir, key));

	while (node != NULL && (node->is_dir != is_dir || strcmp(node->key, key) != 0))
		node = node->same_hash;
	return node;
}

void
fs_node_settle(struct fs_nodes *nodes, struct fs_node *node)
{
	bool is_local = node->is_linked && (node->is_fresh || node->is_kept);

	if (is_local == list_link_is_on(&node->at_local))
		return;
	if (is_local)
		list_push_back(&nodes->locals, &node->at_local);
	else
		list_remove(&node->at_local);
}

void
fs_node_detach_locked(struct fs_nodes *nodes, struct fs_node *node)
{
	if (!node->is_linked || node == nodes->root)
		return;
	unlink_path(nodes, node);
	fs_node_settle(nodes, node);
}

/* free_unused -- when neither the kernel nor we hold on to it. */
static bool
is_unused(struct fs_nodes *nodes, struct fs_node *node)
{
	if (node->n_lookups > 0 || node->n_refs > 0 || node == nodes->root)
		return false;
	fs_node_detach_locked(nodes, node);
	map_take(&nodes->by_ino, node->ino);
	nodes->n--;
	return true;
}

static int
make(struct fs_nodes *nodes, bool is_dir, const char *key, struct fs_node **ret_node)
{
	struct fs_node *node = node_new(is_dir, key);
	int r;

	if (node == NULL)
		return err_new(-ENOMEM);
	r = number(nodes, node);
	if (r < 0)
		goto err_free;
	r = fs_node_link_path(nodes, node);
	if (r < 0)
		goto err_number;
	nodes->n++;
	*ret_node = node;
	return 0;

err_number:
	map_take(&nodes->by_ino, node->ino);
err_free:
	node_free(node);
	return err_up(r);
}

int
fs_nodes_init(struct fs_nodes *nodes, const char *root_key)
{
	int r;

	*nodes = (struct fs_nodes){0};
	lock_init(&nodes->lock, LOCK_fs_nodes);
	map_init(&nodes->by_path);
	map_init(&nodes->by_ino);
	list_init(&nodes->locals);
	r = make(nodes, true, root_key, &nodes->root);
	if (r < 0)
		return err_up(r);

	map_take(&nodes->by_ino, nodes->root->ino);
	nodes->root->ino = ROOT_ID;
	return 0;
}

void
fs_nodes_fini(struct fs_nodes *nodes)
{
	struct fs_node *root = nodes->root;
	size_t at = 0;
	uint64_t hash;
	void *first;

	nodes->root = NULL;
	while (map_next(&nodes->by_ino, &at, &hash, &first)) {
		struct fs_node *node = first;

		fs_node_detach_locked(nodes, node);
		fs_pin_unref(take(&node->pin));
		node_free(node);
	}
	if (root != NULL) {
		fs_node_detach_locked(nodes, root);
		node_free(root);
	}
	map_fini(&nodes->by_path);
	map_fini(&nodes->by_ino);
	lock_fini(&nodes->lock);
}

/* ---- finding ---- */

struct fs_node *
fs_nodes_at(struct fs_nodes *nodes, uint64_t nodeid)
{
	struct fs_node *node = nodes->root;

	if (nodeid != ROOT_ID)
		node = (struct fs_node *)(uintptr_t)nodeid;
	node_check(node);
	return node;
}

uint64_t
fs_nodes_id(const struct fs_nodes *nodes, const struct fs_node *node)
{
	return node == nodes->root ? ROOT_ID : (uint64_t)(uintptr_t)node;
}

struct fs_node *
fs_nodes_find(struct fs_nodes *nodes, bool is_dir, const char *key)
{
	struct fs_node *node;

	lock_take(&nodes->lock);
	node = fs_nodes_find_locked(nodes, is_dir, key);
	if (node != NULL)
		node->n_refs++;
	lock_drop(&nodes->lock);
	return node;
}

int
fs_nodes_look(struct fs_nodes *nodes, bool is_dir, const char *key, struct fs_node **ret_node)
{
	struct fs_node *node;
	int r = 0;

	lock_take(&nodes->lock);
	node = fs_nodes_find_locked(nodes, is_dir, key);
	if (node == NULL)
		r = make(nodes, is_dir, key, &node);
	if (r == 0)
		node->n_refs++;
	lock_drop(&nodes->lock);
	if (r < 0)
		return err_up(r);
	*ret_node = node;
	return 0;
}

void
fs_node_ref(struct fs_nodes *nodes, struct fs_node *node)
{
	node_check(node);
	lock_take(&nodes->lock);
	node->n_refs++;
	lock_drop(&nodes->lock);
}

void
fs_node_unref(struct fs_nodes *nodes, struct fs_node *node)
{
	bool is_over;

	node_check(node);
	lock_take(&nodes->lock);
	assert(node->n_refs > 0);
	node->n_refs--;
	is_over = is_unused(nodes, node);
	lock_drop(&nodes->lock);
	if (is_over)
		node_free(node);
}

void
fs_node_told(struct fs_nodes *nodes, struct fs_node *node)
{
	node_check(node);
	lock_take(&nodes->lock);
	node->n_lookups++;
	lock_drop(&nodes->lock);
}

void
fs_node_forget(struct fs_nodes *nodes, struct fs_node *node, uint64_t n)
{
	bool is_over;

	node_check(node);
	lock_take(&nodes->lock);
	node->n_lookups -= n < node->n_lookups ? n : node->n_lookups;
	is_over = is_unused(nodes, node);
	lock_drop(&nodes->lock);
	if (is_over)
		node_free(node);
}

/* ---- what it stands for ---- */

static bool
is_set(struct fs_nodes *nodes, const struct fs_node *node, const bool *flag)
{
	bool v;

	node_check(node);
	lock_take(&nodes->lock);
	v = *flag;
	lock_drop(&nodes->lock);
	return v;
}

void
fs_node_key(struct fs_nodes *nodes, const struct fs_node *node, char ret_key[FS_KEY_ROOM])
{
	node_check(node);
	lock_take(&nodes->lock);
	memcpy(ret_key, node->key, strlen(node->key) + 1);
	lock_drop(&nodes->lock);
}

void
fs_node_detach(struct fs_nodes *nodes, struct fs_node *node)
{
	node_check(node);
	lock_take(&nodes->lock);
	fs_node_detach_locked(nodes, node);
	lock_drop(&nodes->lock);
}

void
fs_node_remove(struct fs_nodes *nodes, struct fs_node *node)
{
	node_check(node);
	lock_take(&nodes->lock);
	fs_node_detach_locked(nodes, node);
	node->is_removed = !node->is_linked;
	lock_drop(&nodes->lock);
}

bool
fs_node_is_removed(struct fs_nodes *nodes, const struct fs_node *node)
{
	return is_set(nodes, node, &node->is_removed);
}

bool
fs_node_is_linked(struct fs_nodes *nodes, const struct fs_node *node)
{
	return is_set(nodes, node, &node->is_linked);
}

void
fs_node_shown(struct fs_nodes *nodes, const struct fs_node *node, struct fs_version *ret_version)
{
	node_check(node);
	lock_take(&nodes->lock);
	*ret_version = node->shown;
	lock_drop(&nodes->lock);
}

void
fs_node_show(struct fs_nodes *nodes, struct fs_node *node, const struct fs_version *version)
{
	node_check(node);
	lock_take(&nodes->lock);
	node->shown = *version;
	node->looked_ns = 0;
	lock_drop(&nodes->lock);
}

bool
fs_node_keep_pages(struct fs_nodes *nodes, struct fs_node *node)
{
	bool is_same;

	node_check(node);
	lock_take(&nodes->lock);
	is_same = node->has_work || node->cached_id == node->shown.object_id;
	node->cached_id = node->shown.object_id;
	lock_drop(&nodes->lock);
	return is_same;
}

void
fs_node_published(struct fs_nodes *nodes, struct fs_node *node, const struct fs_version *version)
{
	node_check(node);
	lock_take(&nodes->lock);
	node->shown = *version;
	node->cached_id = version->object_id;
	node->has_work = false;
	node->is_fresh = false;
	fs_node_settle(nodes, node);
	lock_drop(&nodes->lock);
}

void
fs_node_work(struct fs_nodes *nodes, struct fs_node *node, bool has_work, bool is_fresh)
{
	node_check(node);
	assert(implies(is_fresh, has_work));
	lock_take(&nodes->lock);
	node->has_work = has_work;
	node->is_fresh = is_fresh;
	fs_node_settle(nodes, node);
	lock_drop(&nodes->lock);
}

void
fs_node_leaving(struct fs_nodes *nodes, struct fs_node *node, bool is_leaving)
{
	node_check(node);
	lock_take(&nodes->lock);
	node->is_leaving = is_leaving;
	lock_drop(&nodes->lock);
}

void
fs_node_keep(struct fs_nodes *nodes, struct fs_node *node, bool is_kept)
{
	node_check(node);
	assert(node->is_dir);
	lock_take(&nodes->lock);
	node->is_kept = is_kept && node != nodes->root;
	fs_node_settle(nodes, node);
	lock_drop(&nodes->lock);
}

bool
fs_node_is_kept(struct fs_nodes *nodes, const struct fs_node *node)
{
	return is_set(nodes, node, &node->is_kept);
}

uint64_t
fs_nodes_ino(struct fs_nodes *nodes, bool is_dir, const char *key)
{
	struct fs_node *node;
	uint64_t ino;

	lock_take(&nodes->lock);
	node = fs_nodes_find_locked(nodes, is_dir, key);
	ino = node != NULL ? node->ino : ino_of(is_dir, key);
	lock_drop(&nodes->lock);
	return ino;
}
