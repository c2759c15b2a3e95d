/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/node.h"

#include <errno.h>
#include <string.h>

#include "fs/node_table.h"
#include "fs/pin.h"
#include "transfer/base/err.h"
#include "transfer/base/vec.h"

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
static int
link_path(struct fs_nodes *nodes, struct fs_node *node)
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

static void
detach(struct fs_nodes *nodes, struct fs_node *node)
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
	detach(nodes, node);
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
	r = link_path(nodes, node);
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

		detach(nodes, node);
		fs_pin_unref(take(&node->pin));
		node_free(node);
	}
	if (root != NULL) {
		detach(nodes, root);
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
	detach(nodes, node);
	lock_drop(&nodes->lock);
}

void
fs_node_remove(struct fs_nodes *nodes, struct fs_node *node)
{
	node_check(node);
	lock_take(&nodes->lock);
	detach(nodes, node);
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

/* ---- walking and renaming ---- */

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

	detach(nodes, node);
	if (key == NULL)
		return err_new(r);
	memcpy(key, new_prefix, n_new);
	memcpy(key + n_new, node->key + n_old, n_rest + 1);
	there = fs_nodes_find_locked(nodes, node->is_dir, key);
	if (there != NULL) {
		detach(nodes, there);
		there->is_removed = true;
	}
	free(node->key);
	node->key = key;
	r = link_path(nodes, node);
	fs_node_settle(nodes, node);
	return err_up(r);
}

int
fs_nodes_rename(struct fs_nodes *nodes, bool is_dir, const char *from, const char *to)
{
	VEC(struct fs_node *) moving = {0};
	struct fs_node *node;
	size_t at = 0;
	uint64_t ino;
	void *value;
	int r = 0;

	lock_take(&nodes->lock);
	node = fs_nodes_find_locked(nodes, is_dir, to);
	if (node != NULL) {
		detach(nodes, node);
		node->is_removed = true;
	}
	node = fs_nodes_find_locked(nodes, is_dir, from);
	if (node != NULL && !is_dir)
		r = vec_push(&moving, node);

	while (is_dir && r == 0 && map_next(&nodes->by_ino, &at, &ino, &value)) {
		node = value;
		if (node->is_linked && begins_with(node->key, from))
			r = vec_push(&moving, node);
	}
	for (size_t i = 0; i < moving.n; i++) {
		int moved = move(nodes, moving.at[i], strlen(from), to);

		r = r < 0 ? r : moved;
	}
	lock_drop(&nodes->lock);
	vec_fini(&moving);
	return r < 0 ? err_up(r) : 0;
}

int
fs_nodes_exchange(struct fs_nodes *nodes, const char *a, const char *b)
{
	struct fs_node *of_a, *of_b;
	int r = 0, moved = 0;

	lock_take(&nodes->lock);
	of_a = fs_nodes_find_locked(nodes, /* is_dir= */ false, a);
	of_b = fs_nodes_find_locked(nodes, /* is_dir= */ false, b);
	if (of_b != NULL)
		detach(nodes, of_b); /* or it would be taken for one that is replaced */
	if (of_a != NULL)
		r = move(nodes, of_a, strlen(a), b);
	if (of_b != NULL)
		moved = move(nodes, of_b, strlen(b), a);
	lock_drop(&nodes->lock);
	return err_up(r < 0 ? r : moved);
}
