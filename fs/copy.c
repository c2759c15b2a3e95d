/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/copy.h"

#include <errno.h>

#include "fs/handle.h"
#include "fs/killpriv.h"
#include "fs/pin.h"
#include "fs/work.h"
#include "transfer/base/num.h"

#define COPY_MAX (64ull << 20)
#define RUNS_MAX 16

/* ---- copying ---- */

/* Where the bytes of one step come from. */
struct piece {
	struct fs_pin *pin; /* a reference, or NULL: they were read into this thread's buffer */
	struct iovec slices[RUNS_MAX];
	size_t n;
	size_t n_borrowed; /* of the pin; 0: they are in a buffer of ours */
	uint64_t len_bytes;
};

/* read_piece -- into our buffer; from a working version under its lock. */
static int
read_piece(struct fs_place from, uint64_t len_bytes, struct piece *piece)
{
	int r;

	piece->slices[0] = (struct iovec){fs_buf(), num_min(len_bytes, (uint64_t)FS_BUF_BYTES)};
	piece->n = 1;
	if (piece->slices[0].iov_base == NULL)
		return -ENOMEM;
	if (piece->pin == NULL)
		r = fs_work_read(from.node, from.at_bytes, piece->slices, &piece->len_bytes);
	else
		r = fs_pin_read(piece->pin, from.at_bytes, piece->slices, &piece->len_bytes);
	piece->slices[0].iov_len = r < 0 ? 0 : piece->len_bytes;
	return r;
}

/* borrow_piece -- where it lies, if that is this host. */
static int
borrow_piece(struct fs_place from, uint64_t len_bytes, struct piece *piece)
{
	struct fs_pin *pin = piece->pin;
	int r;

	piece->len_bytes = 0;
	if (from.at_bytes >= pin->stat.len_bytes)
		return 0;
	len_bytes = num_min(len_bytes, pin->stat.len_bytes - from.at_bytes);
	len_bytes = num_min(len_bytes, (uint64_t)FS_BUF_BYTES);
	r = fs_pin_borrow(pin, from.at_bytes, len_bytes, piece->slices, RUNS_MAX, &piece->n);
	if (r < 0)
		return r;
	piece->n_borrowed = piece->n;
	if (piece->n == 0)
		r = read_piece(from, len_bytes, piece);
	for (size_t i = 0; piece->len_bytes == 0 && i < piece->n; i++)
		piece->len_bytes += piece->slices[i].iov_len;
	return r < 0 ? r : fs_pin_sum(pin, from.at_bytes, piece->slices, piece->n);
}

static int
take_piece(struct fs *fs, struct fs_place from, uint64_t len_bytes, struct piece *piece)
{
	int r;

	*piece = (struct piece){0};
	lock_take(&from.node->lock);
	if (from.node->work.put != NULL)
		r = read_piece(from, len_bytes, piece);
	else
		r = fs_handle_pin(fs, from.node, &piece->pin);
	lock_drop(&from.node->lock);
	if (r == 0 && piece->pin != NULL)
		r = borrow_piece(from, len_bytes, piece);
	return r;
}

/* put_piece -- 0; 1: a close published it meanwhile, begin again; -errno. */
static int
put_piece(struct fs *fs, struct fs_place to, const struct piece *piece)
{
	uint64_t at = to.at_bytes;
	int r;

	lock_take(&to.node->lock);
	r = to.node->work.put != NULL ? 0 : 1;
	for (size_t i = 0; r == 0 && i < piece->n; i++) {
		r = fs_work_write(fs, to.node, at, &piece->slices[i]);
		at += piece->slices[i].iov_len;
	}
	/* Bytes seen after the lease was lost may be others: then none of it is published. */
	if (r == 0 && piece->pin != NULL)
		r = fs_pin_check(piece->pin);
	if (r < 0)
		fs_work_spoil(fs, to.node, r);
	lock_drop(&to.node->lock);
	return r;
}

/* begin -- what is there is copied up first, for that needs our buffer, too. */
static int
begin(struct fs *fs, struct fs_node *node)
{
	int r;

	lock_take(&node->lock);
	r = fs_work_begin(fs, node, /* keep_bytes= */ UINT64_MAX);
	lock_drop(&node->lock);
	return r;
}

int
fs_copy(struct fs *fs, struct fs_place from, struct fs_place to, uint64_t len_bytes,
	uint64_t *ret_n)
{
	uint64_t n = 0;
	int r = 0;

	len_bytes = num_min(len_bytes, COPY_MAX);
	while (r == 0 && n < len_bytes) {
		struct piece piece;

		r = begin(fs, to.node);
		if (r < 0)
			break;
		r = take_piece(fs, from, len_bytes - n, &piece);
		if (r == 0 && piece.len_bytes > 0)
			r = put_piece(fs, to, &piece);
		if (piece.n_borrowed > 0)
			fs_pin_return(piece.pin, piece.n_borrowed);
		fs_pin_unref(piece.pin);
		if (r == 1) {
			r = 0;
			continue;
		}
		if (r < 0 || piece.len_bytes == 0)
			break;
		n += piece.len_bytes;
		from.at_bytes += piece.len_bytes;
		to.at_bytes += piece.len_bytes;
	}
	if (r < 0 && n == 0)
		return r;
	*ret_n = n; /* what failed is told by the next call, or by close */
	return 0;
}

void
fs_op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in,
		      fuse_ino_t ino_out, off_t off_out, struct fuse_file_info *fi_out, size_t len,
		      int flags)
{
	struct fs_place from = {fs_handle_of(fi_in)->node, (uint64_t)off_in};
	struct fs_place to = {fs_handle_of(fi_out)->node, (uint64_t)off_out};
	uint64_t n = 0;
	int r;

	(void)ino_in;
	(void)ino_out;
	r = flags != 0 ? -EINVAL : fs_copy(fs_of(req), from, to, len, &n);
	lock_take(&to.node->lock);
	fs_killpriv(req, to.node);
	lock_drop(&to.node->lock);
	if (r < 0)
		fs_reply(req, r);
	else
		fuse_reply_write(req, n);
}

/* ---- room ---- */

int
fs_reserve(struct fs *fs, struct fs_node *node, uint64_t end_bytes)
{
	struct iovec slice = {fs_buf(), FS_BUF_BYTES};
	uint64_t at;
	int r;

	if (slice.iov_base == NULL)
		return -ENOMEM;
	r = fs_work_begin(fs, node, /* keep_bytes= */ UINT64_MAX);
	memset(slice.iov_base, 0, FS_BUF_BYTES); /* only now: copying up goes through this buffer */
	while (r == 0 && (at = fs_work_len(node)) < end_bytes) {
		slice.iov_len = num_min(end_bytes - at, (uint64_t)FS_BUF_BYTES);
		r = fs_work_write(fs, node, at, &slice);
	}
	return r;
}

void
fs_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
		struct fuse_file_info *fi)
{
	struct fs_node *node = fs_handle_of(fi)->node;
	uint64_t end;
	int r = 0;

	(void)ino;
	if (mode != 0)
		r = -EOPNOTSUPP; /* no holes, and no room beyond the end: an object is its bytes */
	else if (!num_add((uint64_t)off, (uint64_t)len, &end))
		r = -EFBIG;
	if (r == 0) {
		lock_take(&node->lock);
		r = fs_reserve(fs_of(req), node, end);
		fs_killpriv(req, node);
		lock_drop(&node->lock);
	}
	fs_reply(req, r);
}
