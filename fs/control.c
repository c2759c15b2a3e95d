/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/control.h"

#include <errno.h>
#include <fcntl.h>

#include "fs/control_events.h"
#include "fs/control_segment.h"
#include "transfer/base/num.h"

#define BY_SEGMENT "by-segment"
#define N_FILES    32 /* twice the table's length at most */

struct fs_control {
	struct fs_events *events;
	struct lock lock; /* LOCK_fs_control: made, and n_lookups of what is on it */
	struct list made;
};

/* The nodes that are always there; they need no count. */
static struct fs_control_node root = {.kind = CONTROL_ROOT, .ino = FS_CONTROL_INO};
static struct fs_control_node segments = {.kind = CONTROL_SEGMENTS};
static struct fs_control_node files[N_FILES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t
number(enum fs_control_kind kind, const char *text, uint64_t n)
{
	return (map_hash(text, strlen(text), 0x7469666669 + (uint64_t)kind) ^ n) & INT64_MAX;
}

static void
number_fixed(void)
{
	segments.ino = number(CONTROL_SEGMENTS, "", 0);
	for (size_t i = 0; fs_control_entries[i / 2].name != NULL; i++) {
		assert(i < N_FILES);
		files[i] = (struct fs_control_node){
			.kind = CONTROL_FILE,
			.is_json = i % 2 == 1,
			.entry = &fs_control_entries[i / 2],
			.ino = number(CONTROL_FILE, fs_control_entries[i / 2].name, i % 2),
		};
	}
}

int
fs_control_new(struct fs *fs, struct fs_control **ret_control)
{
	struct fs_control *control = calloc(1, sizeof(*control));
	int r;

	if (control == NULL)
		return -ENOMEM;
	r = fs_events_new(fs, &control->events);
	if (r < 0) {
		free(control);
		return r;
	}
	pthread_once(&once, number_fixed);
	lock_init(&control->lock, LOCK_fs_control);
	list_init(&control->made);
	*ret_control = control;
	return 0;
}

static void
node_free(struct fs_control_node *node)
{
	free(node->text);
	free(node);
}

void
fs_control_free(struct fs_control *control)
{
	if (control == NULL)
		return;
	list_each_safe(&control->made, link) {
		list_remove(link);
		node_free(list_of(link, struct fs_control_node, at));
	}
	lock_fini(&control->lock);
	fs_events_free(control->events);
	free(control);
}

/* ---- nodes ---- */

static fuse_ino_t
id_of(const struct fs_control_node *node)
{
	return (fuse_ino_t)(uintptr_t)node | 1;
}

struct fs_control_node *
fs_control_node_of(fuse_ino_t ino)
{
	assert(fs_control_has(ino));
	return (struct fs_control_node *)(uintptr_t)(ino & ~(fuse_ino_t)1);
}

static bool
is_fixed(const struct fs_control_node *node)
{
	return node->kind < CONTROL_SEGMENT;
}

struct fs_control_node *
fs_control_make(struct fs_control *control, enum fs_control_kind kind, uint64_t segment_id,
		char *text)
{
	struct fs_control_node *node = calloc(1, sizeof(*node));

	if (node == NULL) {
		free(text);
		return NULL;
	}
	node->kind = kind;
	node->segment_id = segment_id;
	node->text = text;
	node->ino = number(kind, text, segment_id);
	node->n_lookups = 1;
	list_link_init(&node->at);
	lock_take(&control->lock);
	list_push_back(&control->made, &node->at);
	lock_drop(&control->lock);
	return node;
}

static void
forget(struct fs_control *control, struct fs_control_node *node, uint64_t n)
{
	bool is_over;

	if (is_fixed(node))
		return;
	lock_take(&control->lock);
	node->n_lookups -= num_min(n, node->n_lookups);
	is_over = node->n_lookups == 0;
	if (is_over)
		list_remove(&node->at);
	lock_drop(&control->lock);
	if (is_over)
		node_free(node);
}

/* ---- attributes ---- */

static bool
is_events(const struct fs_control_node *node)
{
	return node->kind == CONTROL_FILE && node->entry->tell == NULL && !node->is_json;
}

static void
show(struct fs *fs, const struct fs_control_node *node, struct stat *ret_stat)
{
	bool is_file = node->kind == CONTROL_FILE;
	mode_t mode = is_file ? S_IFREG | 0444 : S_IFDIR | 0555;
	struct timespec now = fs_now(fs);

	if (node->kind == CONTROL_LINK)
		mode = S_IFLNK | 0777;
	else
		mode &= ~fs->defaults.umask;
	*ret_stat = (struct stat){
		.st_ino = node->ino,
		.st_mode = mode,
		.st_nlink = 1,
		.st_uid = fs->defaults.uid,
		.st_gid = fs->defaults.gid,
		.st_atim = now,
		.st_mtim = now,
		.st_ctim = now,
	};
	if (is_events(node))
		ret_stat->st_size = (off_t)fs_events_size(fs->control->events);
	else if (node->kind == CONTROL_LINK)
		ret_stat->st_size = (off_t)strlen(node->text);
}

static void
tell_entry(struct fs *fs, const struct fs_control_node *node, struct fuse_entry_param *ret_entry)
{
	*ret_entry = (struct fuse_entry_param){.ino = id_of(node)};
	if (is_fixed(node))
		ret_entry->entry_timeout = (double)fs->opts->entry_timeout / 1000;
	show(fs, node, &ret_entry->attr);
}

void
fs_control_look(struct fs *fs, struct fuse_entry_param *ret_entry)
{
	tell_entry(fs, &root, ret_entry);
}

static void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat stat;

	(void)fi;
	show(fs_of(req), fs_control_node_of(ino), &stat);
	fuse_reply_attr(req, &stat, 0);
}

static void
op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const struct fs_control_node *node = fs_control_node_of(ino);

	if (node->kind == CONTROL_LINK)
		fuse_reply_readlink(req, node->text);
	else
		fs_reply(req, -EINVAL);
}

/* op_getxattr -- none. */
static void
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	(void)ino;
	(void)name;
	(void)size;
	fs_reply(req, fs_of(req)->opts->xattr != 0 ? -EOPNOTSUPP : -ENOSYS);
}

static void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	(void)ino;
	if (fs_of(req)->opts->xattr == 0)
		fs_reply(req, -ENOSYS);
	else if (size == 0)
		fuse_reply_xattr(req, 0);
	else
		fuse_reply_buf(req, NULL, 0);
}

void
fs_control_forget(struct fs *fs, fuse_ino_t ino, uint64_t n)
{
	forget(fs->control, fs_control_node_of(ino), n);
}

/* ---- names ---- */

static struct fs_control_node *
look_fixed(const char *name)
{
	size_t n_json = strlen(".json"), n = strlen(name);

	if (strcmp(name, BY_SEGMENT) == 0)
		return &segments;
	for (size_t i = 0; i < N_FILES && files[i].entry != NULL; i++) {
		const char *wanted = files[i].entry->name;
		size_t n_wanted = strlen(wanted);

		if (files[i].is_json
			    ? n == n_wanted + n_json && memcmp(name, wanted, n_wanted) == 0 &&
				      strcmp(name + n_wanted, ".json") == 0
			    : strcmp(name, wanted) == 0)
			return &files[i];
	}
	return NULL;
}

/* look -- 0, -ENOENT, -errno. */
static int
look(struct fs *fs, const struct fs_control_node *dir, const char *name,
     struct fs_control_node **ret_node)
{
	enum fs_control_kind kind = CONTROL_SEGMENT;
	uint64_t segment_id = dir->segment_id;
	char *text = NULL;
	int r;

	if (dir->kind == CONTROL_ROOT) {
		*ret_node = look_fixed(name);
		return *ret_node != NULL ? 0 : -ENOENT;
	}
	if (dir->kind == CONTROL_SEGMENTS) {
		r = fs_segment_find(fs, name, &segment_id);
		text = r == 0 ? strdup(name) : NULL;
	} else {
		kind = CONTROL_LINK;
		r = fs_segment_link(fs, segment_id, name, &text);
	}
	if (r < 0)
		return r;
	*ret_node = text != NULL ? fs_control_make(fs->control, kind, segment_id, text) : NULL;
	return *ret_node != NULL ? 0 : -ENOMEM;
}

static void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs_control_node *node;
	struct fs *fs = fs_of(req);
	struct fuse_entry_param entry;
	int r = look(fs, fs_control_node_of(parent), name, &node);

	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	tell_entry(fs, node, &entry);
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		forget(fs->control, node, 1);
}

int
fs_control_each_name(int (*fn)(void *arg, const char *name, mode_t type), void *arg)
{
	char name[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_FILES && files[i].entry != NULL; i++) {
		snprintf(name, sizeof(name), "%s%s", files[i].entry->name,
			 files[i].is_json ? ".json" : "");
		r = fn(arg, name, S_IFREG);
	}
	return r == 0 ? fn(arg, BY_SEGMENT, S_IFDIR) : r;
}

/* ---- files ---- */

/* An open file: what was told when it was opened. */
struct reading {
	struct fs_open open;
	const struct fs_control_node *node;
	char *text; /* owned; NULL: events, as they come */
	size_t len;
};

static void
reading_close(struct fs *fs, struct fs_open *open)
{
	struct reading *reading = container_of(open, struct reading, open);

	fs_open_remove(fs, open);
	free(reading->text);
	free(reading);
}

static int
tell_whole(struct fs *fs, struct reading *reading)
{
	const struct fs_control_entry *entry = reading->node->entry;
	FILE *to = open_memstream(&reading->text, &reading->len);
	struct fs_tell tell;
	int r;

	if (to == NULL)
		return -ENOMEM;
	fs_tell_begin(&tell, to, reading->node->is_json, entry->is_list);
	r = entry->tell != NULL ? entry->tell(fs, &tell) : fs_events_tell(fs, &tell);
	if (r == 0)
		fs_tell_end(&tell);
	return fclose(to) != 0 ? -ENOMEM : r;
}

static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct reading *reading = NULL;
	struct fs *fs = fs_of(req);
	int r = 0;

	if ((fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0)
		r = -EPERM;
	if (r == 0)
		reading = calloc(1, sizeof(*reading));
	if (r == 0 && reading == NULL)
		r = -ENOMEM;
	if (r < 0) {
		fs_reply(req, r);
		return;
	}
	reading->node = fs_control_node_of(ino);
	fs_open_add(fs, &reading->open, reading_close);
	if (!is_events(reading->node))
		r = tell_whole(fs, reading);
	if (r < 0) {
		reading_close(fs, &reading->open);
		fs_reply(req, r);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)reading;
	fi->direct_io = 1; /* its length is not known beforehand */
	if (fuse_reply_open(req, fi) == -ENOENT)
		reading_close(fs, &reading->open);
}

static struct reading *
reading_of(const struct fuse_file_info *fi)
{
	return (struct reading *)(uintptr_t)fi->fh;
}

static void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	const struct reading *reading = reading_of(fi);
	size_t at = num_min((size_t)off, reading->len);
	char *buf;
	size_t n;
	int r;

	(void)ino;
	if (reading->text != NULL) {
		fuse_reply_buf(req, reading->text + at, num_min(size, reading->len - at));
		return;
	}
	buf = fs_buf();
	r = buf == NULL ? -ENOMEM
			: fs_events_read(fs_of(req)->control->events, (uint64_t)off, buf,
					 num_min(size, (size_t)FS_BUF_BYTES), &n);
	if (r < 0)
		fs_reply(req, r);
	else
		fuse_reply_buf(req, buf, n);
}

static void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	reading_close(fs_of(req), &reading_of(fi)->open);
	fs_reply(req, 0);
}

static void
op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fs_reply(req, 0);
}

const struct fuse_lowlevel_ops fs_control_ops = {
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.open = op_open,
	.read = op_read,
	.flush = op_flush,
	.release = op_release,
	.opendir = fs_control_opendir,
	.readdir = fs_control_readdir,
	.readdirplus = fs_control_readdirplus,
	.releasedir = fs_control_releasedir,
};
