/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/disk.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

int
disk_open(struct disk *disk, int fd)
{
	struct disk_shape shape;
	int r = disk_probe(fd, &shape);

	if (r != 0) {
		close(fd);
		return err_up(r);
	}
	*disk = (struct disk){.fd = fd,
			      .size_bytes = shape.size_bytes,
			      .block_bytes = shape.block_bytes,
			      .memory_align = shape.memory_align};
	lock_init(&disk->edge, LOCK_xfer_disk);
	return 0;
}

void
disk_close(struct disk *disk)
{
	fd_close_at(&disk->fd);
	lock_fini(&disk->edge);
}

static bool
is_whole(const struct disk *disk, uint64_t offset_bytes, size_t len_bytes)
{
	return len_bytes % disk->block_bytes == 0 && offset_bytes % disk->block_bytes == 0 &&
	       num_range_fits(offset_bytes, len_bytes, disk->size_bytes);
}

int
disk_read(struct disk *disk, uint64_t offset_bytes, void *bytes, size_t len_bytes)
{
	uint8_t *to = bytes;
	size_t got = 0;

	assert(is_whole(disk, offset_bytes, len_bytes));

	while (got < len_bytes) {
		ssize_t n = pread(disk->fd, to + got, len_bytes - got, (off_t)(offset_bytes + got));

		if (n < 0 && errno == EINTR)
			continue;
		n = disk_bent(disk, false, offset_bytes + got, n < 0 ? -errno : (int32_t)n);
		if (n < 0)
			return err_new((int)n);
		if (n == 0)
			return err_new(-EIO);
		got += (size_t)n;
	}
	return 0;
}

int
disk_write(struct disk *disk, uint64_t offset_bytes, const void *bytes, size_t len_bytes)
{
	const int flags = disk->is_synced ? RWF_DSYNC : 0;
	uint8_t *from = (uint8_t *)(uintptr_t)bytes;
	size_t put = 0;

	assert(is_whole(disk, offset_bytes, len_bytes));

	while (put < len_bytes) {
		struct iovec iov = {from + put, len_bytes - put};
		ssize_t n;

		if (atomic_load(&disk->is_failing))
			return err_new(-EIO);
		n = pwritev2(disk->fd, &iov, 1, (off_t)(offset_bytes + put), flags);
		if (n < 0 && errno == EINTR)
			continue;
		n = disk_bent(disk, true, offset_bytes + put, n < 0 ? -errno : (int32_t)n);
		if (n <= 0) {
			atomic_store(&disk->is_failing, true);
			return err_new(n < 0 ? (int)n : -EIO);
		}
		put += (size_t)n;
	}
	return 0;
}

int
disk_write_edge(struct disk *disk, uint64_t offset_bytes, const void *bytes, size_t len_bytes)
{
	_Alignas(DISK_BLOCK_MAX) uint8_t block[DISK_BLOCK_MAX];
	uint64_t in_block = offset_bytes % disk->block_bytes;
	uint64_t start = offset_bytes - in_block;
	int r;

	assert(in_block + len_bytes <= disk->block_bytes);

	lock_take(&disk->edge);
	r = disk_read(disk, start, block, disk->block_bytes);
	if (r == 0) {
		memcpy(block + in_block, bytes, len_bytes);
		r = disk_write(disk, start, block, disk->block_bytes);
	}
	lock_drop(&disk->edge);
	return err_up(r);
}

int
disk_sync(struct disk *disk)
{
	int e;

	if (atomic_load(&disk->is_failing))
		return err_new(-EIO);
	e = disk_bent(disk, true, UINT64_MAX, fdatasync(disk->fd) < 0 ? -errno : 0);
	if (e < 0)
		atomic_store(&disk->is_failing, true);
	return err_up(e);
}
