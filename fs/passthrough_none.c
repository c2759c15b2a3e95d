/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/passthrough.h"
#include "transfer/base/log.h"

static const char why_not[] = "libfuse was built without it";

void
fs_pass_begin(struct fs *fs, struct fuse_conn_info *conn)
{
	(void)fs;
	(void)conn;
	log_event(LOG_INFO, "fs_passthrough", "is_used=no why=\"%s\"", why_not);
}

void
fs_pass_end(struct fs *fs)
{
	assert(fs->pass == NULL);
}

bool
fs_pass_open(struct fs *fs, struct fs_node *node, struct fuse_file_info *fi)
{
	(void)fs;
	(void)node;
	(void)fi;
	return false;
}

int
fs_pass_yield(struct fs *fs, struct fs_node *node)
{
	(void)fs;
	(void)node;
	return 0;
}

const char *
fs_pass_tell(struct fs *fs, struct fs_arena_limits *ret_limits, struct fs_arena_counts *ret_counts)
{
	(void)fs;
	*ret_limits = (struct fs_arena_limits){0};
	*ret_counts = (struct fs_arena_counts){0};
	return why_not;
}
