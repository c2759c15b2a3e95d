/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/dir.h"

#include <errno.h>
#include <string.h>

#include "fs/control.h"
#include "fs/errno.h"
#include "fs/lookup.h"
#include "transfer/base/num.h"

#define POSITIONS_MAX 2048
#define HASH_BITS     31
#define HASH_MASK     ((1ull << HASH_BITS) - 1)

/* Names that come before those of the keys. */
enum first_names { DOT, DOT_DOT, SELF, N_FIRST };

struct position {
	uint64_t cookie; /* of what follows */
	char *part;
};

struct fs_dir {
	struct fs_open open;
	struct fs *fs;
	struct lock lock; /* LOCK_fs_handle; taken by the operations alone */
	char key[FS_KEY_ROOM];
	struct fs_walk *walk; /* NULL: not begun */
	uint64_t cookie;      /* where the stream stands */
	uint64_t n_before;    /* names before it */
	struct fs_found found;
	uint64_t cookie_before;
	bool has_unread;
	bool is_torn;               /* reading failed: begin again where it stood */
	struct position *positions; /* a ring by n_before; made when first needed */
};

/* dir_end -- the kernel is gone and will not release it. */
static void
dir_end(struct fs *fs, struct fs_open *open)
{
	(void)fs;
	fs_dir_close(container_of(open, struct fs_dir, open));
}

int
fs_dir_open(struct fs *fs, const char *key, struct fs_dir **ret_dir)
{
	struct fs_dir *dir = calloc(1, sizeof(*dir));

	if (dir == NULL)
		return -ENOMEM;
	dir->fs = fs;
	memcpy(dir->key, key, strlen(key) + 1);
	lock_init(&dir->lock, LOCK_fs_handle);
	fs_open_add(fs, &dir->open, dir_end);
	*ret_dir = dir;
	return 0;
}

void
fs_dir_close(struct fs_dir *dir)
{
	if (dir == NULL)
		return;
	fs_open_remove(dir->fs, &dir->open);
	fs_walk_close(dir->walk);
	for (size_t i = 0; dir->positions != NULL && i < POSITIONS_MAX; i++)
		free(dir->positions[i].part);
	free(dir->positions);
	lock_fini(&dir->lock);
	free(dir);
}

/* ---- positions ---- */

static uint64_t
cookie_of(uint64_t n_before, const char *part)
{
	return n_before << HASH_BITS | (map_hash(part, strlen(part), 1) & HASH_MASK);
}

static void
remember(struct fs_dir *dir)
{
	struct position *position;

	if (dir->positions == NULL)
		dir->positions = calloc(POSITIONS_MAX, sizeof(*dir->positions));
	if (dir->positions == NULL)
		return; /* seeking will walk instead */
	position = &dir->positions[dir->n_before % POSITIONS_MAX];
	free(position->part);
	position->cookie = dir->cookie;
	position->part = strdup(dir->found.part);
}

static void
rewind_to(struct fs_dir *dir, uint64_t cookie)
{
	fs_walk_close(dir->walk);
	dir->walk = NULL;
	dir->cookie = cookie;
	dir->n_before = cookie >> HASH_BITS;
	dir->has_unread = false;
	dir->is_torn = false;
}

/* walk_to -- from the start, to behind the name of the cookie, or else its number. */
static int
walk_to(struct fs_dir *dir, uint64_t cookie)
{
	for (int by_number = 0; by_number <= 1; by_number++) {
		const struct fs_found *found;
		uint64_t at;
		int r;

		rewind_to(dir, 0);
		while ((r = fs_dir_next(dir, &found, &at)) > 0) {
			bool is_there = by_number ? at >> HASH_BITS == cookie >> HASH_BITS
						  : (at & HASH_MASK) == (cookie & HASH_MASK);

			if (!is_there || at >> HASH_BITS <= N_FIRST)
				continue;
			dir->cookie = cookie;
			dir->n_before = cookie >> HASH_BITS;
			return 0;
		}
		if (r < 0)
			return r;
	}
	return 0; /* fewer names than before: the end */
}

int
fs_dir_seek(struct fs_dir *dir, uint64_t cookie)
{
	const struct position *position = NULL;

	if (!dir->is_torn && cookie == (dir->has_unread ? dir->cookie_before : dir->cookie))
		return 0;
	if (cookie >> HASH_BITS <= N_FIRST) {
		rewind_to(dir, cookie & ~HASH_MASK);
		return 0;
	}

	if (dir->positions != NULL)
		position = &dir->positions[(cookie >> HASH_BITS) % POSITIONS_MAX];
	if (position == NULL || position->part == NULL || position->cookie != cookie)
		return walk_to(dir, cookie);
	rewind_to(dir, cookie);
	return fs_walk_open(dir->fs, dir->key, position->part, &dir->walk);
}

/* ---- names ---- */

/* first_name -- one of those before the keys'.  1: found, 0: there is none of this kind. */
static int
first_name(struct fs_dir *dir, struct fs_found *ret_found)
{
	struct fs *fs = dir->fs;
	uint8_t blob[TIFFIN_ATTR_MAX];
	struct tiffin_stat stat;
	char key[FS_KEY_ROOM];
	size_t n = strlen(dir->key);
	int r;

	*ret_found = (struct fs_found){.is_dir = true};
	if (dir->n_before != SELF) {
		memcpy(ret_found->name, "..", 3);
		if (dir->n_before == DOT)
			ret_found->name[1] = '\0';
		return 1;
	}
	if (strcmp(dir->key, fs->root_key) == 0) {
		memcpy(ret_found->name, FS_PATH_CONTROL, sizeof(FS_PATH_CONTROL));
		return fs->control != NULL && fs->opts->control == FS_CONTROL_LISTED;
	}
	if (fs_path_is_piece(dir->key))
		return 0;

	memcpy(key, dir->key, n);
	key[n - 1] = '\0';
	if (n < 2)
		return 0;
	r = tiffin_stat(fs->client, key, &stat, blob);
	if (r == TIFFIN_E_NOT_FOUND || (r == 0 && fs_is_marker(key, &stat)))
		return 0;
	if (r < 0)
		return fs_errno(r);
	memcpy(ret_found->name, "%@", sizeof("%@"));
	ret_found->is_dir = false;
	ret_found->has_version = true;
	fs_look_version(fs, &stat, &ret_found->version);
	return 1;
}

static int
next_name(struct fs_dir *dir)
{
	int r = 0;

	while (dir->n_before < N_FIRST) {
		r = first_name(dir, &dir->found);
		if (r != 0)
			return r;
		dir->n_before++;
	}
	if (dir->walk == NULL)
		r = fs_walk_open(dir->fs, dir->key, /* after= */ NULL, &dir->walk);
	return r < 0 ? r : fs_walk_next(dir->walk, &dir->found);
}

int
fs_dir_next(struct fs_dir *dir, const struct fs_found **ret_found, uint64_t *ret_cookie)
{
	int r;

	if (!dir->has_unread) {
		dir->cookie_before = dir->cookie;
		r = next_name(dir);
		dir->is_torn = r < 0;
		if (r <= 0)
			return r;
		dir->n_before++;
		dir->cookie = dir->n_before <= N_FIRST ? dir->n_before << HASH_BITS
						       : cookie_of(dir->n_before, dir->found.part);
		if (dir->n_before > N_FIRST)
			remember(dir);
	}
	dir->has_unread = false;
	*ret_found = &dir->found;
	*ret_cookie = dir->cookie;
	return 1;
}

void
fs_dir_unread(struct fs_dir *dir)
{
	dir->has_unread = true;
}

/* ---- to the kernel ---- */

static struct fs_dir *
dir_of(const struct fuse_file_info *fi)
{
	return (struct fs_dir *)(uintptr_t)fi->fh;
}

/* key_of -- of the file or directory that a name stands for. */
static void
key_of(const struct fs_dir *dir, const struct fs_found *found, char ret_key[FS_KEY_ROOM])
{
	struct fs_path_step step;
	size_t n;

	*ret_key = '\0';
	if (strcmp(found->name, "%@") == 0) {
		n = strlen(dir->key);
		memcpy(ret_key, dir->key, n);
		ret_key[n - 1] = '\0';
	} else if (found->is_dir &&
		   fs_path_decode(fs_in_mount(dir->fs, dir->key), found->name, &step) == 0 &&
		   step.kind == FS_PATH_PIECE) {
		if (fs_key_make(dir->key, step.bytes, "", ret_key) < 0)
			*ret_key = '\0';
	} else if (fs_key_make(dir->key, found->part, found->is_dir ? "/" : "", ret_key) < 0) {
		*ret_key = '\0';
	}
}

/* tell_own -- "." and ".." are never looked up, and .tiffin has its own nodes: only a number is
 * told. false: the name is a key's. */
static bool
tell_own(struct fs_dir *dir, const struct fs_found *found, struct fuse_entry_param *entry)
{
	char name[FS_PATH_NAME_MAX + 1];
	char key[FS_KEY_ROOM];
	size_t n;

	entry->attr.st_mode = S_IFDIR;
	if (strcmp(dir->key, dir->fs->root_key) == 0 && strcmp(found->name, FS_PATH_CONTROL) == 0) {
		entry->attr.st_ino = FS_CONTROL_INO;
		return true;
	}
	if (strcmp(found->name, ".") != 0 && strcmp(found->name, "..") != 0)
		return false;
	memcpy(key, dir->key, strlen(dir->key) + 1);
	if (found->name[1] == '.' && strcmp(key, dir->fs->root_key) != 0) {
		fs_path_split(fs_in_mount(dir->fs, key), /* is_dir= */ true, &n, name);
		key[strlen(dir->fs->root_key) + n] = '\0';
	}
	entry->attr.st_ino = fs_nodes_ino(&dir->fs->nodes, /* is_dir= */ true, key);
	return true;
}

/* node_of_work -- of a file that is being written here and that nobody else knows. */
static struct fs_node *
node_of_work(struct fs *fs, const char *key, struct fs_version *version)
{
	struct fs_node *node = fs_nodes_find(&fs->nodes, /* is_dir= */ false, key);
	bool has_work;

	if (node == NULL)
		return NULL;
	lock_take(&node->lock);
	has_work = node->work.put != NULL && fs_look_file(fs, node, version) == 0;
	lock_drop(&node->lock);
	if (!has_work)
		fs_node_unref(&fs->nodes, node);
	return has_work ? node : NULL;
}

/* node_of -- the node of a name, when its attributes are known; NULL: only the name is told. */
static struct fs_node *
node_of(struct fs *fs, const struct fs_found *found, const char *key, struct fs_version *version)
{
	struct fs_node *node = NULL;

	*version = found->version;
	if (key[0] == '\0')
		return NULL;
	if (!found->is_dir && found->has_version) {
		if (fs_look_listed(fs, key, version, &node) < 0)
			return NULL;
	} else if (!found->is_dir) {
		return node_of_work(fs, key, version);
	} else if (found->has_version) {
		if (fs_nodes_look(&fs->nodes, /* is_dir= */ true, key, &node) < 0)
			return NULL;
		fs_node_show(&fs->nodes, node, version);
	}
	return node;
}

static mode_t
type_of(const struct fs_found *found)
{
	static const mode_t types[] = {
		[FS_ATTR_FILE] = S_IFREG,
		[FS_ATTR_DIR] = S_IFDIR,
		[FS_ATTR_LINK] = S_IFLNK,
	};

	return found->is_dir ? S_IFDIR : types[found->version.attr.kind];
}

/*
 * is_crowded -- are there many more inodes than may be?
 *
 * The kernel is asked to forget some, but a directory that is being read gives it no time for that:
 * from here on its names are told without inodes, and each that is wanted is looked up by itself.
 */
static bool
is_crowded(struct fs *fs)
{
	return fs_nodes_count(&fs->nodes) > fs->opts->max_inodes + fs->opts->max_inodes / 4;
}

/* tell -- what readdirplus says of a name. */
static void
tell(struct fs_dir *dir, const struct fs_found *found, struct fuse_entry_param *ret_entry)
{
	struct fs *fs = dir->fs;
	struct fs_version version;
	char key[FS_KEY_ROOM];
	struct fs_node *node;

	*ret_entry = (struct fuse_entry_param){0};
	if (tell_own(dir, found, ret_entry))
		return;

	key_of(dir, found, key);
	node = is_crowded(fs) ? NULL : node_of(fs, found, key, &version);
	if (node != NULL) {
		fs_entry(fs, node, &version, ret_entry);
		fs_node_unref(&fs->nodes, node);
		return;
	}
	ret_entry->attr.st_ino = fs_nodes_ino(&fs->nodes, found->is_dir, key);
	ret_entry->attr.st_mode = type_of(found);
}

/* tell_name -- what plain readdir says. */
static void
tell_name(struct fs_dir *dir, const struct fs_found *found, struct fuse_entry_param *ret_entry)
{
	char key[FS_KEY_ROOM];

	*ret_entry = (struct fuse_entry_param){0};
	if (tell_own(dir, found, ret_entry))
		return;
	key_of(dir, found, key);
	ret_entry->attr.st_ino = fs_nodes_ino(&dir->fs->nodes, found->is_dir, key);
	ret_entry->attr.st_mode = type_of(found);
}

/* fill -- as many names as the kernel has room for.  gives: bytes used, -errno. */
static int
fill(fuse_req_t req, struct fs_dir *dir, char *buf, size_t cap, bool is_plus)
{
	const struct fs_found *found;
	struct fuse_entry_param entry;
	uint64_t cookie;
	size_t n = 0;
	int r;

	while ((r = fs_dir_next(dir, &found, &cookie)) > 0) {
		size_t needs = is_plus ? fuse_add_direntry_plus(req, NULL, 0, found->name, NULL, 0)
				       : fuse_add_direntry(req, NULL, 0, found->name, NULL, 0);

		if (needs > cap - n) {
			fs_dir_unread(dir);
			break;
		}
		if (is_plus) {
			tell(dir, found, &entry);
			fuse_add_direntry_plus(req, buf + n, cap - n, found->name, &entry,
					       (off_t)cookie);
		} else {
			tell_name(dir, found, &entry);
			fuse_add_direntry(req, buf + n, cap - n, found->name, &entry.attr,
					  (off_t)cookie);
		}
		n += needs;
	}
	return r < 0 && n == 0 ? r : (int)n; /* what is there first; the failure next time */
}

static void
read_dir(fuse_req_t req, size_t size, off_t off, const struct fuse_file_info *fi, bool is_plus)
{
	struct fs_dir *dir = dir_of(fi);
	char *buf = fs_buf();
	int r;

	if (buf == NULL) {
		fs_reply(req, -ENOMEM);
		return;
	}
	lock_take(&dir->lock);
	r = fs_dir_seek(dir, (uint64_t)off);
	if (r == 0)
		r = fill(req, dir, buf, num_min(size, (size_t)FS_BUF_BYTES), is_plus);
	lock_drop(&dir->lock);

	if (r < 0)
		fs_reply(req, r);
	else
		fuse_reply_buf(req, buf, (size_t)r);
}

void
fs_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	char key[FS_KEY_ROOM];
	struct fs_dir *dir;
	int r;

	fs_node_key(&fs->nodes, fs_node_of(req, ino), key);
	r = fs_dir_open(fs, key, &dir);
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)dir;
	if (fuse_reply_open(req, fi) == -ENOENT)
		fs_dir_close(dir);
}

void
fs_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)ino;
	read_dir(req, size, off, fi, /* is_plus= */ false);
}

void
fs_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)ino;
	read_dir(req, size, off, fi, /* is_plus= */ true);
}

void
fs_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fs_dir_close(dir_of(fi));
	fs_reply(req, 0);
}

void
fs_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fs_reply(req, 0);
}
