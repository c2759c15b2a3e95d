/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fill.h"

#include <errno.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/fs.h"
#include "transfer/base/num.h"

/* A huge page that is written as a whole need not be cleared first. */
#define PIECE_BYTES (2ull << 20)
#define RUNS_MAX    16

/* Some of the next bytes. */
struct piece {
	struct iovec slices[RUNS_MAX];
	size_t n, n_borrowed; /* all are where a copy lies, or one is in our buffer */
};

static int
take_piece(struct fs_pin *pin, uint64_t at, struct piece *piece)
{
	uint64_t left = num_min(pin->stat.len_bytes - at, PIECE_BYTES), got;
	int r;

	r = fs_pin_borrow(pin, at, left, piece->slices, RUNS_MAX, &piece->n);
	if (r < 0)
		return r;
	piece->n_borrowed = piece->n;
	if (piece->n > 0)
		return 0;
	piece->slices[0] = (struct iovec){fs_buf(), num_min(left, (uint64_t)FS_BUF_BYTES)};
	if (piece->slices[0].iov_base == NULL)
		return -ENOMEM;
	r = fs_pin_read(pin, at, piece->slices, &got);
	if (r < 0)
		return r;
	piece->slices[0].iov_len = got;
	piece->n = 1;
	return got > 0 ? 0 : -EIO; /* shorter than it said */
}

static int
write_all(int fd, uint64_t at, const struct iovec *slice)
{
	size_t done = 0;

	while (done < slice->iov_len) {
		ssize_t n = pwrite(fd, (const char *)slice->iov_base + done, slice->iov_len - done,
				   (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

/* put_piece -- into the file; gives: where the next one begins. */
static int
put_piece(struct fs_pin *pin, int fd, const struct piece *piece, uint64_t *at)
{
	int r = fs_pin_sum(pin, *at, piece->slices, piece->n);

	for (size_t i = 0; r == 0 && i < piece->n; i++) {
		r = write_all(fd, *at, &piece->slices[i]);
		*at += piece->slices[i].iov_len;
	}
	if (r == 0)
		r = fs_pin_check(pin);
	fs_pin_return(pin, piece->n_borrowed);
	return r;
}

int
fs_fill(struct fs_pin *pin, int fd, const struct clock *clock, uint64_t until_ns)
{
	struct piece piece;
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && at < pin->stat.len_bytes) {
		if (clock_ns(clock) > until_ns)
			return -ETIMEDOUT;
		r = take_piece(pin, at, &piece);
		if (r == 0)
			r = put_piece(pin, fd, &piece, &at);
	}
	return r;
}
