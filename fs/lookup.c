/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/lookup.h"

#include <errno.h>
#include <string.h>

#include "fs/errno.h"
#include "fs/invalidate.h"
#include "fs/work.h"

#define RACES_MAX    8
#define UNDER_WAY_NS (10 * NS_PER_S)

/* What the master says of a name. */
struct answer {
	struct tiffin_stat stat;
	bool is_object; /* one that can be a file */
	bool is_dir;    /* keys lie below */
	uint8_t blob[TIFFIN_ATTR_MAX];
};

static int
ask(struct fs *fs, const char *key, struct answer *ret_answer)
{
	int code;

	ret_answer->stat = (struct tiffin_stat){0};
	code = tiffin_stat(fs->client, key, &ret_answer->stat, ret_answer->blob);
	if (code != 0 && code != TIFFIN_E_NOT_FOUND)
		return fs_errno(code);
	ret_answer->is_object = code == 0 && !fs_is_marker(key, &ret_answer->stat);
	ret_answer->is_dir = ret_answer->stat.is_prefix;
	return 0;
}

/* exists_below -- for the one directory whose name is no key: "%_" in a root without prefix. */
static int
exists_below(struct fs *fs, const char *dir, bool *ret_exists)
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	int r;

	r = tiffin_list_open(fs->client, dir, '\0', NULL, &list);
	if (r < 0)
		return fs_errno(r);
	r = tiffin_list_next(list, &key, &stat);
	tiffin_list_close(list);
	if (r < 0)
		return fs_errno(r);
	*ret_exists = r > 0;
	return 0;
}

/* ---- files ---- */

void
fs_look_version(struct fs *fs, const struct tiffin_stat *stat, struct fs_version *ret_version)
{
	ret_version->object_id = stat->object_id;
	ret_version->len_bytes = stat->len_bytes;
	fs_attr_of(fs, stat, FS_ATTR_FILE, &ret_version->attr);
	if (ret_version->attr.kind == FS_ATTR_DIR) /* of a marker's attributes, but no marker */
		ret_version->attr.kind = FS_ATTR_FILE;
}

/* is_recent -- may an answer of then still be under way to the kernel? */
static bool
is_recent(const struct fs *fs, uint64_t at_ns)
{
	return at_ns != 0 && clock_ns(fs->clock) < at_ns + UNDER_WAY_NS;
}

bool
fs_look_may_show(struct fs *fs, const struct fs_node *node, uint64_t object_id)
{
	struct fs_version shown;

	assert(lock_held(&node->lock));

	fs_node_shown(&fs->nodes, node, &shown);
	return shown.object_id == 0 || shown.object_id == object_id ||
	       (node->n_opens == 0 && !is_recent(fs, node->set_ns));
}

void
fs_look_show(struct fs *fs, struct fs_node *node, const struct fs_version *version)
{
	struct fs_version shown;

	assert(lock_held(&node->lock));

	fs_node_shown(&fs->nodes, node, &shown);
	fs_node_show(&fs->nodes, node, version);
	if (shown.object_id != 0 && shown.object_id != version->object_id) {
		node->changed_ns = clock_ns(fs->clock);
		fs_invalidate_all_now(fs, node); /* not open, so no page waits for us */
	}
}

void
fs_look_settle(struct fs *fs, const struct fs_node *node)
{
	assert(lock_held(&node->lock));

	if (node->n_opens == 0 && is_recent(fs, node->changed_ns))
		fs_invalidate_attr_now(fs, node);
}

/* adopt -- the node shows this version from now on.  false: it has to go on with the one before. */
static bool
adopt(struct fs *fs, struct fs_node *node, const struct fs_version *version)
{
	if (!fs_look_may_show(fs, node, version->object_id))
		return false;
	fs_look_show(fs, node, version);
	return true;
}

static void
version_of_work(const struct fs_node *node, struct fs_version *ret_version)
{
	*ret_version = (struct fs_version){
		.len_bytes = fs_work_len(node),
		.attr = node->work.attr,
	};
}

int
fs_look_file(struct fs *fs, struct fs_node *node, struct fs_version *ret_version)
{
	char key[FS_KEY_ROOM];
	struct answer answer;
	int r;

	assert(lock_held(&node->lock));

	if (node->work.put != NULL) {
		version_of_work(node, ret_version);
		return 0;
	}
	fs_node_shown(&fs->nodes, node, ret_version);
	if (!fs_node_is_linked(&fs->nodes, node))
		return 0;

	fs_node_key(&fs->nodes, node, key);
	r = ask(fs, key, &answer);
	if (r < 0)
		return r;
	if (answer.is_object) {
		struct fs_version newest;

		fs_look_version(fs, &answer.stat, &newest);
		if (adopt(fs, node, &newest))
			*ret_version = newest;
		return 0;
	}
	return node->n_opens > 0 ? 0 : -ESTALE;
}

bool
fs_look_again(struct fs *fs, const struct fs_node *node, int r, unsigned *n_races)
{
	assert(lock_held(&node->lock));

	if (r == -EAGAIN) /* another mount has changed the attributes meanwhile */
		return ++*n_races < RACES_MAX;
	/* Who has it open goes on with his version: the kernel looks the path up anew for others.
	 */
	return r == -ESTALE && node->n_opens == 0 && fs_node_is_linked(&fs->nodes, node) &&
	       ++*n_races < RACES_MAX;
}

int
fs_look_found(struct fs *fs, const char *key, struct fs_version *version, struct fs_node **ret_node)
{
	struct fs_node *node;
	bool is_it;
	int r;

	for (;;) { /* at most twice: a node just made is not open */
		r = fs_nodes_look(&fs->nodes, /* is_dir= */ false, key, &node);
		if (r < 0)
			return r;
		lock_take(&node->lock);
		is_it = true;
		if (node->work.put != NULL)
			version_of_work(node, version);
		else
			is_it = adopt(fs, node, version);
		if (!is_it)
			fs_node_detach(&fs->nodes, node);
		lock_drop(&node->lock);
		if (is_it)
			break;
		fs_node_unref(&fs->nodes, node);
	}
	*ret_node = node;
	return 0;
}

int
fs_look_listed(struct fs *fs, const char *key, struct fs_version *version,
	       struct fs_node **ret_node)
{
	struct fs_version shown;
	struct fs_node *node;
	bool is_it = true;
	int r;

	r = fs_nodes_look(&fs->nodes, /* is_dir= */ false, key, &node);
	if (r < 0)
		return r;
	lock_take(&node->lock);
	fs_node_shown(&fs->nodes, node, &shown);
	if (node->work.put != NULL)
		version_of_work(node, version);
	else if (shown.object_id == 0)
		fs_node_show(&fs->nodes, node, version);
	else
		is_it = shown.object_id == version->object_id &&
			memcmp(&shown.attr, &version->attr, sizeof(shown.attr)) == 0;
	lock_drop(&node->lock);
	if (!is_it) {
		fs_node_unref(&fs->nodes, node);
		return -ESTALE;
	}
	*ret_node = node;
	return 0;
}

/* look_working -- a file that is being written here. */
static bool
look_working(struct fs *fs, const char *key, struct fs_node **ret_node,
	     struct fs_version *ret_version)
{
	struct fs_node *node = fs_nodes_find(&fs->nodes, /* is_dir= */ false, key);
	bool is_working;

	if (node == NULL)
		return false;
	lock_take(&node->lock);
	is_working = node->work.put != NULL;
	if (is_working)
		version_of_work(node, ret_version);
	lock_drop(&node->lock);
	if (is_working)
		*ret_node = node;
	else
		fs_node_unref(&fs->nodes, node);
	return is_working;
}

/* ---- directories ---- */

int
fs_look_dir(struct fs *fs, const char *key, struct fs_version *ret_version)
{
	struct answer answer = {0};
	int r = 0;

	*ret_version = (struct fs_version){0};
	if (key[0] == '\0') {
		lock_take(&fs->nodes.lock);
		ret_version->attr = fs->root_attr;
		lock_drop(&fs->nodes.lock);
		return 0;
	}
	if (!fs_path_is_piece(key))
		r = ask(fs, key, &answer);
	if (r < 0)
		return r;
	if (fs_is_marker(key, &answer.stat))
		fs_attr_of(fs, &answer.stat, FS_ATTR_DIR, &ret_version->attr);
	else
		fs_attr_default(&fs->defaults, FS_ATTR_DIR, fs->started_ms, &ret_version->attr);
	return 0;
}

/* known_for_ms -- how long what the node shows is good; 0: ask. */
static uint64_t
known_for_ms(struct fs *fs, struct fs_node *dir, struct fs_version *ret_version)
{
	uint64_t now_ns = clock_ns(fs->clock), until_ns, left_ms = 0;

	lock_take(&fs->nodes.lock);
	until_ns = dir->looked_ns + fs->opts->attr_timeout * NS_PER_MS;
	if (dir->looked_ns != 0 && dir->is_linked && now_ns < until_ns &&
	    fs_nodes_changes(&fs->nodes, dir->key) == dir->n_changes) {
		*ret_version = dir->shown;
		left_ms = (until_ns - now_ns) / NS_PER_MS;
	}
	lock_drop(&fs->nodes.lock);
	return left_ms;
}

int
fs_look_known_dir(struct fs *fs, struct fs_node *dir, struct fs_version *ret_version,
		  uint64_t *ret_left_ms)
{
	uint64_t asked_ns = clock_ns(fs->clock);
	char key[FS_KEY_ROOM];
	uint32_t n_changes;
	int r;

	*ret_left_ms = known_for_ms(fs, dir, ret_version);
	if (*ret_left_ms > 0)
		return 0;
	fs_node_key(&fs->nodes, dir, key);
	n_changes = fs_nodes_changes(&fs->nodes, key);
	r = fs_look_dir(fs, key, ret_version);
	if (r < 0)
		return r;
	lock_take(&fs->nodes.lock);
	dir->shown = *ret_version;
	dir->looked_ns = asked_ns;
	dir->n_changes = n_changes;
	lock_drop(&fs->nodes.lock);
	*ret_left_ms = fs->opts->attr_timeout;
	return 0;
}

void
fs_look_dir_changed(struct fs *fs, struct fs_node *dir)
{
	lock_take(&fs->nodes.lock);
	dir->looked_ns = 0;
	lock_drop(&fs->nodes.lock);
}

static int
look_dir(struct fs *fs, const char *key, struct fs_node **ret_node, struct fs_version *ret_version)
{
	int r = fs_look_dir(fs, key, ret_version);

	if (r == 0)
		r = fs_nodes_look(&fs->nodes, /* is_dir= */ true, key, ret_node);
	if (r == 0)
		fs_node_show(&fs->nodes, *ret_node, ret_version);
	return r;
}

/* look_kept -- a directory that lost its last key here. */
static int
look_kept(struct fs *fs, const char *key, struct fs_node **ret_node, struct fs_version *ret_version)
{
	struct fs_node *node = fs_nodes_find(&fs->nodes, /* is_dir= */ true, key);

	if (node == NULL)
		return -ENOENT;
	if (!fs_node_is_kept(&fs->nodes, node)) {
		fs_node_unref(&fs->nodes, node);
		return -ENOENT;
	}
	fs_node_shown(&fs->nodes, node, ret_version);
	*ret_node = node;
	return 0;
}

/* ---- names ---- */

static int
look_plain(struct fs *fs, const struct fs_step *step, struct fs_node **ret_node,
	   struct fs_version *ret_version)
{
	struct answer answer = {0};
	int r;

	if (step->file[0] == '\0')
		r = exists_below(fs, step->dir, &answer.is_dir);
	else if (look_working(fs, step->file, ret_node, ret_version))
		return 0;
	else
		r = ask(fs, step->file, &answer);
	if (r < 0)
		return r;

	if (answer.is_dir && step->dir[0] != '\0')
		return look_dir(fs, step->dir, ret_node, ret_version);
	if (answer.is_object) {
		fs_look_version(fs, &answer.stat, ret_version);
		return fs_look_found(fs, step->file, ret_version, ret_node);
	}
	return step->dir[0] == '\0' ? -ENOENT : look_kept(fs, step->dir, ret_node, ret_version);
}

/* look_self -- the file whose name its directory has taken. */
static int
look_self(struct fs *fs, const struct fs_step *step, struct fs_node **ret_node,
	  struct fs_version *ret_version)
{
	struct answer answer;
	int r;

	if (look_working(fs, step->file, ret_node, ret_version))
		return 0;
	r = ask(fs, step->file, &answer);
	if (r < 0)
		return r;
	if (!answer.is_object || !answer.is_dir)
		return -ENOENT;
	fs_look_version(fs, &answer.stat, ret_version);
	return fs_look_found(fs, step->file, ret_version, ret_node);
}

static int
look(struct fs *fs, struct fs_node *parent, const char *name, struct fuse_entry_param *ret_entry)
{
	struct fs_version version;
	struct fs_node *node;
	struct fs_step step;
	uint32_t n_changes;
	int r;

	r = fs_step_down(fs, parent, name, &step);
	if (r == -EINVAL)
		return -ENOENT;
	if (r < 0)
		return r;
	n_changes = fs_nodes_changes(&fs->nodes, step.file);

	switch (step.kind) {
	case FS_PATH_PLAIN:
		r = look_plain(fs, &step, &node, &version);
		break;
	case FS_PATH_PIECE:
		r = look_dir(fs, step.dir, &node, &version);
		break;
	case FS_PATH_SELF:
		r = look_self(fs, &step, &node, &version);
		break;
	}
	if (r < 0)
		return r;
	fs_entry(fs, node, &version, ret_entry);
	fs_node_unref(&fs->nodes, node);
	if (fs_nodes_changes(&fs->nodes, step.file) != n_changes)
		ret_entry->attr_timeout = ret_entry->entry_timeout = 0; /* may be old by now */
	return 0;
}

void
fs_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry = {0};
	int r = look(fs, fs_node_of(req, parent), name, &entry);

	if (r == -ENOENT && fs->opts->negative_timeout > 0) {
		entry.entry_timeout = (double)fs->opts->negative_timeout / 1000;
		r = 0;
	}
	if (r < 0)
		fs_reply(req, r);
	else if (fuse_reply_entry(req, &entry) == -ENOENT && entry.ino != 0)
		fs_node_forget(&fs->nodes, fs_node_of(req, entry.ino), 1);
}

void
fs_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs_node *node = fs_node_of(req, ino);
	struct fs *fs = fs_of(req);
	struct fs_version version;
	uint64_t left_ms = fs->opts->attr_timeout;
	struct stat stat;
	int r;

	(void)fi;
	if (node->is_dir) {
		r = fs_look_known_dir(fs, node, &version, &left_ms);
	} else {
		lock_take(&node->lock);
		r = fs_look_file(fs, node, &version);
		lock_drop(&node->lock);
	}
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	fs_attr_show(&version.attr, node->ino, version.len_bytes, &stat);
	fuse_reply_attr(req, &stat, (double)left_ms / 1000);
}
