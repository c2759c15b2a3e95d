/* SPDX-License-Identifier: Apache-2.0 */

/*
 * disk.h -- bytes behind O_DIRECT: a preallocated file, or a namespace of an NVMe device.
 *
 *      offset   0         block          2 * block
 *               |---------|--------------|---- ...      moved by whole blocks, past the page cache
 *                    ^~~~~~~~^ edge: a block that a write covers in part is read, changed and
 *                              written under a lock, for its other part may be another object's
 *
 * The kernel says how memory and offsets must be aligned (statx, or the block device); whoever
 * moves bytes looks there (disk_queue.h).
 *
 * A write that failed leaves bytes of which nobody knows what they are, and a sync that failed
 * leaves no trace of what it lost: neither is tried again.  The disk is failing from then on: it is
 * read, and not written any more.
 *
 * thread:  any; each call is a system call that waits for the device.
 */
#ifndef TRANSFER_DISK_H
#define TRANSFER_DISK_H

#include <stdatomic.h>

#include "transfer/base/base.h"
#include "transfer/base/lock.h"

#define DISK_BLOCK_MAX 4096

/* What the device answered, seen by a test before anybody else; it may say otherwise. */
struct disk_bend {
	int32_t (*bend)(void *arg, bool is_write, uint64_t offset_bytes, int32_t result);
	void *arg;
};

struct disk {
	int fd;
	uint64_t size_bytes;
	uint32_t block_bytes;  /* offsets and lengths: multiples of it; a power of two */
	uint32_t memory_align; /* addresses, likewise */
	bool is_synced;        /* a write is over when it would survive a power cut */
	atomic_bool is_failing;
	struct lock edge;             /* LOCK_xfer_disk */
	const struct disk_bend *bend; /* NULL outside of tests */
};

enum disk_outcome {
	DISK_E_NOT_DIRECT = 1, /* its file system, or what it is, does no O_DIRECT */
};

/*
 * disk_open -- of a descriptor opened with O_DIRECT, which is the disk's from now on, also when
 * this fails.
 *
 * result:  0, DISK_E_NOT_DIRECT, -errno.
 */
int disk_open(struct disk *disk, int fd) MUST_CHECK;
void disk_close(struct disk *disk);

/*
 * disk_read, disk_write -- whole blocks, at once.
 *
 * needs:   bytes, offset and length aligned, within the disk.
 * result:  0 or -errno; -EIO also when the disk is shorter than it was, or failing.
 */
int disk_read(struct disk *disk, uint64_t offset_bytes, void *bytes, size_t len_bytes) MUST_CHECK;
int disk_write(struct disk *disk, uint64_t offset_bytes, const void *bytes,
	       size_t len_bytes) MUST_CHECK;

/* disk_write_edge -- bytes within one block; the others of that block stay what they are. */
int disk_write_edge(struct disk *disk, uint64_t offset_bytes, const void *bytes,
		    size_t len_bytes) MUST_CHECK;

/* disk_sync -- what was written survives a power cut.  0 or -errno, then the disk is failing. */
int disk_sync(struct disk *disk) MUST_CHECK;

/* disk_bent -- what the device answered, as the test that looks at it says. */
static inline int32_t
disk_bent(const struct disk *disk, bool is_write, uint64_t offset_bytes, int32_t result)
{
	return disk->bend == NULL
		       ? result
		       : disk->bend->bend(disk->bend->arg, is_write, offset_bytes, result);
}

/* ---- what the kernel says (disk_probe.c) ---- */

struct disk_shape {
	uint64_t size_bytes;
	uint32_t block_bytes, memory_align;
};

/* disk_probe -- of an open file or block device.  0, DISK_E_NOT_DIRECT, -errno. */
int disk_probe(int fd, struct disk_shape *ret_shape) MUST_CHECK;

#endif
