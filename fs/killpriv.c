/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/killpriv.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/invalidate.h"

#ifdef FUSE_CAP_HANDLE_KILLPRIV_V2

void
fs_killpriv_want(struct fuse_conn_info *conn)
{
	conn->want |= conn->capable & FUSE_CAP_HANDLE_KILLPRIV_V2;
}

int
fs_killpriv_greet(struct fuse_session *session)
{
	(void)session;
	return 0;
}

#else

#include <linux/fuse.h>

void
fs_killpriv_want(struct fuse_conn_info *conn)
{
	(void)conn;
}

static ssize_t
take_request(int fd, void *buf, size_t cap, void *userdata)
{
	(void)userdata;
	return read(fd, buf, cap);
}

/*
 * send_reply -- as it is, but for the first: before it the kernel asks for nothing else.
 *
 * A notice of ours may come before it; it answers no request, so its `unique` is 0.
 */
static ssize_t
send_reply(int fd, struct iovec *iov, int count, void *userdata)
{
	const struct fuse_out_header *header = iov[0].iov_base;
	struct fs *fs = userdata;
	struct fuse_init_out *greeting;

	if (!atomic_load_explicit(&fs->is_greeted, memory_order_relaxed) && header->unique != 0) {
		atomic_store(&fs->is_greeted, true);
		greeting = count == 2 ? iov[1].iov_base : NULL;
		if (greeting != NULL && header->error == 0 &&
		    iov[1].iov_len >= offsetof(struct fuse_init_out, max_background))
			greeting->flags |= FUSE_HANDLE_KILLPRIV_V2; /* Linux before 5.11: ignored */
	}
	return writev(fd, iov, count);
}

int
fs_killpriv_greet(struct fuse_session *session)
{
	static const struct fuse_custom_io io = {.writev = send_reply, .read = take_request};

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

#endif

mode_t
fs_killpriv_mode(mode_t mode)
{
	mode &= ~(mode_t)S_ISUID;
	return (mode & S_IXGRP) != 0 ? mode & ~(mode_t)S_ISGID : mode;
}

void
fs_killpriv(fuse_req_t req, struct fs_node *node)
{
	mode_t mode;

	assert(lock_held(&node->lock));

	if (node->work.put == NULL || fuse_req_ctx(req)->uid == 0)
		return;
	mode = fs_killpriv_mode(node->work.attr.mode);
	if (mode == node->work.attr.mode)
		return;
	node->work.attr.mode = mode;
	fs_invalidate_attr_now(fs_of(req), node);
}
