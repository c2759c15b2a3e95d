/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ref_fs DIR BYTES -- the least a FUSE program can be: one file "file", served from memory.
 *
 * The reference of bench_fs: libfuse's low-level interface, its threaded loop, replies straight
 * from the mapping, requests of 1 MiB.  Writes one byte to descriptor 3 when mounted.
 */
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *bytes;
static size_t n_bytes;

static struct stat
stat_of(fuse_ino_t ino)
{
	struct stat st = {.st_ino = ino, .st_nlink = 1};

	st.st_mode = ino == 1 ? S_IFDIR | 0755 : S_IFREG | 0444;
	st.st_size = ino == 1 ? 0 : (off_t)n_bytes;
	return st;
}

static void
ref_init(void *arg, struct fuse_conn_info *conn)
{
	(void)arg;
	conn->max_readahead = 1u << 20;
	conn->max_write = 1u << 20;
}

static void
ref_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {.ino = 2, .attr_timeout = 1000, .entry_timeout = 1000};

	if (parent != 1 || strcmp(name, "file") != 0) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	entry.attr = stat_of(2);
	fuse_reply_entry(req, &entry);
}

static void
ref_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st = stat_of(ino);

	(void)fi;
	fuse_reply_attr(req, &st, 1000);
}

static void
ref_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

static void
ref_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	size_t left = (size_t)off < n_bytes ? n_bytes - (size_t)off : 0;

	(void)ino;
	(void)fi;
	fuse_reply_buf(req, bytes + off, size < left ? size : left);
}

static const struct fuse_lowlevel_ops ops = {
	.init = ref_init,
	.lookup = ref_lookup,
	.getattr = ref_getattr,
	.open = ref_open,
	.read = ref_read,
};

int
main(int argc, char **argv)
{
	char *fuse_argv[] = {argv[0], NULL};
	struct fuse_args args = FUSE_ARGS_INIT(1, fuse_argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *session;
	int r;

	if (argc != 3)
		return 2;
	n_bytes = strtoull(argv[2], NULL, 10);
	bytes = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return 1;
	madvise(bytes, n_bytes, MADV_HUGEPAGE);
	memset(bytes, 0x5a, n_bytes);

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
