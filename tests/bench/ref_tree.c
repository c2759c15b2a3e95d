/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ref_tree DIR [N_LISTED [BIG_BYTES]] -- the least a FUSE program can be that takes files: a tree
 * in memory.
 *
 * The reference of bench_files and bench_bytes: libfuse's low-level interface and its threaded
 * loop, one lock, no store behind.  "list" is there from the start, with N_LISTED empty files;
 * "big" is a file with room for BIG_BYTES, touched beforehand.  Attributes and names are good for a
 * second. Writes one byte to descriptor 3 when mounted.
 */
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_BUCKETS (1u << 21)
#define TIMEOUT   1.0

struct node {
	struct node *parent, *same_bucket, *children;
	struct node *next, *previous; /* beside it, newest first */
	struct node *reached;         /* directory: what comes at n_reached; one reader at a time */
	off_t n_reached;
	char *name, *bytes;
	size_t len, cap;
	unsigned long n_lookups;
	mode_t mode;
	bool is_gone;
};

static struct node root = {.mode = S_IFDIR | 0755};
static struct node *buckets[N_BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct node **
bucket_of(const struct node *parent, const char *name)
{
	size_t hash = (size_t)(uintptr_t)parent * 0x9e3779b97f4a7c15u;

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
	return &buckets[(hash >> 20) % N_BUCKETS];
}

static struct node *
at(fuse_ino_t ino)
{
	return ino == 1 ? &root : (struct node *)(uintptr_t)ino;
}

static struct node *
find(const struct node *parent, const char *name)
{
	struct node *node = *bucket_of(parent, name);

	while (node != NULL && (node->parent != parent || strcmp(node->name, name) != 0))
		node = node->same_bucket;
	return node;
}

static struct node *
add(struct node *parent, const char *name, mode_t mode)
{
	struct node *node = calloc(1, sizeof(*node)), **bucket = bucket_of(parent, name);

	node->parent = parent;
	node->name = strdup(name);
	node->mode = mode;
	node->same_bucket = *bucket;
	*bucket = node;
	node->next = parent->children;
	if (node->next != NULL)
		node->next->previous = node;
	parent->children = node;
	return node;
}

static void
drop_if_unused(struct node *node)
{
	if (!node->is_gone || node->n_lookups > 0)
		return;
	if (node->cap > 0 && node->cap < (1u << 20))
		free(node->bytes);
	free(node->name);
	free(node);
}

static struct stat
stat_of(const struct node *node)
{
	struct stat st = {.st_ino = node == &root ? 1 : (ino_t)(uintptr_t)node, .st_nlink = 1};

	st.st_mode = node->mode;
	st.st_size = (off_t)node->len;
	st.st_blocks = (blkcnt_t)(node->len + 511) / 512;
	return st;
}

static struct fuse_entry_param
entry_of(struct node *node)
{
	struct fuse_entry_param entry = {.ino = (fuse_ino_t)(uintptr_t)node,
					 .attr_timeout = TIMEOUT,
					 .entry_timeout = TIMEOUT};

	entry.attr = stat_of(node);
	node->n_lookups++;
	return entry;
}

static void
tree_init(void *arg, struct fuse_conn_info *conn)
{
	(void)arg;
	conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
	conn->max_readahead = 1u << 20;
	conn->max_write = 1u << 20;
}

static void
tree_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry;
	struct node *node;

	pthread_mutex_lock(&lock);
	node = find(at(parent), name);
	if (node != NULL)
		entry = entry_of(node);
	pthread_mutex_unlock(&lock);
	if (node == NULL)
		fuse_reply_err(req, ENOENT);
	else
		fuse_reply_entry(req, &entry);
}

static void
tree_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	pthread_mutex_lock(&lock);
	at(ino)->n_lookups -= n;
	if (ino != 1)
		drop_if_unused(at(ino));
	pthread_mutex_unlock(&lock);
	fuse_reply_none(req);
}

static void
tree_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	pthread_mutex_lock(&lock);
	st = stat_of(at(ino));
	pthread_mutex_unlock(&lock);
	fuse_reply_attr(req, &st, TIMEOUT);
}

static void
tree_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *set, int to_set,
	     struct fuse_file_info *fi)
{
	if ((to_set & FUSE_SET_ATTR_SIZE) != 0)
		at(ino)->len = (size_t)set->st_size;
	tree_getattr(req, ino, fi);
}

static void
tree_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fuse_entry_param entry;

	pthread_mutex_lock(&lock);
	entry = entry_of(add(at(parent), name, S_IFDIR | mode));
	pthread_mutex_unlock(&lock);
	fuse_reply_entry(req, &entry);
}

static void
tree_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	    struct fuse_file_info *fi)
{
	struct fuse_entry_param entry;

	pthread_mutex_lock(&lock);
	entry = entry_of(add(at(parent), name, S_IFREG | mode));
	pthread_mutex_unlock(&lock);
	fuse_reply_create(req, &entry, fi);
}

static void
remove_node(struct node *node)
{
	struct node **from = bucket_of(node->parent, node->name);

	while (*from != node)
		from = &(*from)->same_bucket;
	*from = node->same_bucket;
	if (node->previous != NULL)
		node->previous->next = node->next;
	else
		node->parent->children = node->next;
	if (node->next != NULL)
		node->next->previous = node->previous;
	node->is_gone = true;
	drop_if_unused(node);
}

static void
tree_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *node;

	pthread_mutex_lock(&lock);
	node = find(at(parent), name);
	if (node != NULL)
		remove_node(node);
	pthread_mutex_unlock(&lock);
	fuse_reply_err(req, node == NULL ? ENOENT : 0);
}

static void
tree_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	    const char *new_name, unsigned flags)
{
	struct node *old, *node, *moved;

	(void)flags;
	pthread_mutex_lock(&lock);
	old = find(at(new_parent), new_name);
	if (old != NULL)
		remove_node(old);
	node = find(at(parent), name);
	if (node != NULL) { /* the name goes, the node stays: it is put in under the other */
		node->n_lookups++;
		remove_node(node);
		node->n_lookups--;
		moved = add(at(new_parent), new_name, node->mode);
		moved->bytes = node->bytes;
		moved->len = node->len;
		moved->cap = node->cap;
		node->cap = 0;
	}
	pthread_mutex_unlock(&lock);
	fuse_reply_err(req, node == NULL ? ENOENT : 0);
}

static void
tree_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if ((fi->flags & O_TRUNC) != 0)
		at(ino)->len = 0;
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

static void
tree_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	const struct node *node = at(ino);
	size_t left = (size_t)off < node->len ? node->len - (size_t)off : 0;

	(void)fi;
	fuse_reply_buf(req, node->bytes + off, size < left ? size : left);
}

static void
tree_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
	   struct fuse_file_info *fi)
{
	struct node *node = at(ino);
	size_t end = (size_t)off + size;

	(void)fi;
	if (end > node->cap) {
		node->bytes = realloc(node->bytes, end);
		node->cap = end;
	}
	memcpy(node->bytes + off, bytes, size);
	if (end > node->len)
		node->len = end;
	fuse_reply_write(req, size);
}

static void
tree_done(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

static void
tree_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)datasync;
	tree_done(req, ino, fi);
}

static struct node *
child_at(const struct node *dir, off_t n)
{
	struct node *node = n == dir->n_reached ? dir->reached : dir->children;

	for (off_t i = n == dir->n_reached ? n : 0; i < n && node != NULL; i++)
		node = node->next;
	return node;
}

static void
tree_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	static __thread char buf[1u << 20];
	struct node *node;
	size_t n = 0;

	(void)fi;
	pthread_mutex_lock(&lock);
	node = off == 0 ? at(ino)->children : child_at(at(ino), off);
	for (; node != NULL; node = node->next) {
		size_t needs = fuse_add_direntry_plus(req, NULL, 0, node->name, NULL, 0);
		struct fuse_entry_param entry;

		if (n + needs > size || n + needs > sizeof(buf))
			break;
		entry = entry_of(node);
		n += fuse_add_direntry_plus(req, buf + n, size - n, node->name, &entry, ++off);
	}
	at(ino)->reached = node;
	at(ino)->n_reached = off;
	pthread_mutex_unlock(&lock);
	fuse_reply_buf(req, buf, n);
}

static const struct fuse_lowlevel_ops ops = {
	.init = tree_init,
	.lookup = tree_lookup,
	.forget = tree_forget,
	.getattr = tree_getattr,
	.setattr = tree_setattr,
	.mkdir = tree_mkdir,
	.create = tree_create,
	.unlink = tree_unlink,
	.rename = tree_rename,
	.open = tree_open,
	.read = tree_read,
	.write = tree_write,
	.flush = tree_done,
	.release = tree_done,
	.fsync = tree_fsync,
	.readdirplus = tree_readdirplus,
};

static int
fill(unsigned long n_listed, size_t big_bytes)
{
	struct node *list = add(&root, "list", S_IFDIR | 0755), *big;
	char name[32];

	for (unsigned long i = n_listed; i-- > 0;) {
		snprintf(name, sizeof(name), "%06lu", i);
		add(list, name, S_IFREG | 0644);
	}
	if (big_bytes == 0)
		return 0;
	big = add(&root, "big", S_IFREG | 0644);
	big->cap = big_bytes;
	big->bytes =
		mmap(NULL, big_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (big->bytes == MAP_FAILED)
		return -1;
	madvise(big->bytes, big_bytes, MADV_HUGEPAGE);
	memset(big->bytes, 1, big_bytes);
	return 0;
}

int
main(int argc, char **argv)
{
	char *fuse_argv[] = {argv[0], NULL};
	struct fuse_args args = FUSE_ARGS_INIT(1, fuse_argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *session;
	int r;

	if (argc < 2 || fill(argc > 2 ? strtoul(argv[2], NULL, 10) : 0,
			     argc > 3 ? strtoull(argv[3], NULL, 10) : 0) < 0)
		return 2;
	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (session == NULL || fuse_set_signal_handlers(session) != 0 ||
	    fuse_session_mount(session, argv[1]) != 0)
		return 1;
	if (write(3, "r", 1) != 1)
		return 1;
	fuse_loop_cfg_set_max_threads(config, 4);
	r = fuse_session_loop_mt(session, config);
	fuse_session_unmount(session);
	fuse_session_destroy(session);
	fuse_loop_cfg_destroy(config);
	return r;
}
