/* SPDX-License-Identifier: Apache-2.0 */

/* disk_probe.c -- how a file or block device wants to be read and written past the page cache. */
#include "transfer/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h> /* not <sys/stat.h>: its statx knows no alignment */
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define SECTOR_BYTES 512

#define TYPE_MASK  0170000
#define TYPE_FILE  0100000
#define TYPE_BLOCK 0060000

static bool
is_alignment(uint32_t n)
{
	return n > 0 && n <= DISK_BLOCK_MAX && (n & (n - 1)) == 0;
}

static int
probe_device(int fd, struct disk_shape *shape)
{
	int block_bytes = 0;

	if (ioctl(fd, BLKGETSIZE64, &shape->size_bytes) < 0 ||
	    ioctl(fd, BLKSSZGET, &block_bytes) < 0)
		return err_new(-errno);
	shape->block_bytes = (uint32_t)block_bytes;
	return 0;
}

int
disk_probe(int fd, struct disk_shape *ret_shape)
{
	struct disk_shape shape = {.block_bytes = DISK_BLOCK_MAX, .memory_align = DISK_BLOCK_MAX};
	struct statx st;
	int r = 0;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_DIOALIGN, &st) < 0)
		return err_new(-errno);
	if ((st.stx_mode & TYPE_MASK) != TYPE_FILE && (st.stx_mode & TYPE_MASK) != TYPE_BLOCK)
		return DISK_E_NOT_DIRECT;
	shape.size_bytes = st.stx_size;
	if ((st.stx_mask & STATX_DIOALIGN) != 0) { /* a kernel that tells (6.1) */
		shape.block_bytes = st.stx_dio_offset_align;
		shape.memory_align = st.stx_dio_mem_align;
	}
	if ((st.stx_mode & TYPE_MASK) == TYPE_BLOCK)
		r = probe_device(fd, &shape);
	if (r < 0)
		return err_up(r);
	if (!is_alignment(shape.block_bytes) || !is_alignment(shape.memory_align))
		return DISK_E_NOT_DIRECT;
	/* Devices that take any multiple of 4 are met by few others in that; a kernel 6.1 whose
	 * NVMe over TCP was handed such memory fell over it. */
	shape.memory_align = num_max(shape.memory_align, (uint32_t)SECTOR_BYTES);
	*ret_shape = shape;
	return 0;
}
