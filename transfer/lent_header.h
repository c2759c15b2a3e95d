/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lent_header.h -- the first page of a lent file, as it lies in memory shared by processes of one
 * host.
 *
 *      0                32          40      48             56     64                   4096
 *      | who the bytes are | crc,lease | fence | master_epoch | told_epoch | processes that may
 * write here
 * |
 *
 * Local mappings can't be taken back.  So each process that was given a
 * writable one is written down here before it gets it, and stays until it is
 * known to be dead: also for the next provider that adopts the file.
 *
 * Books can be older than bytes, when a backup of them was put back.  So the
 * memory itself remembers the last master that gave out room in it, or may
 * have done so, and the longest lease that any master may have granted on it.
 */
#ifndef TRANSFER_LENT_HEADER_H
#define TRANSFER_LENT_HEADER_H

#include <stdatomic.h>

#include "transfer/lent.h"

#define LENT_MAGIC       0x31544e4cu /* "LNT1" */
#define LENT_VERSION     1
#define LENT_WRITERS_MAX 168

/* A process is told from a later one with its number by the time it was started. */
struct lent_writer {
	uint64_t client_id; /* 0: free */
	uint64_t start_ticks;
	uint32_t pid, zero;
};

struct lent_header {
	uint32_t magic, version;
	uint64_t segment_id, epoch, size_bytes;
	uint32_t crc;      /* of what stands before */
	uint32_t lease_ms; /* the longest that a master which was told of it may have granted */
	_Atomic uint64_t fence; /* any process of this host reads it, its provider raises it */
	uint64_t master_epoch;  /* of the last master that said it has it; 0: none yet */
	uint64_t told_epoch;    /* of one that was to hear of it, and may have it; 0: none */
	struct lent_writer writers[LENT_WRITERS_MAX]; /* the provider's alone */
};

static_assert(offsetof(struct lent_header, crc) == 32, "layout");
static_assert(sizeof(struct lent_header) <= LENT_HEADER_BYTES, "it is one page");

/* lent_header_is_right -- magic, version and sum. */
bool lent_header_is_right(const struct lent_header *header);

/* lent_file_bytes -- size of the file of a segment of this size, without the rounding of huge
 * pages. */
static inline uint64_t
lent_file_bytes(uint64_t size_bytes)
{
	return LENT_HEADER_BYTES + size_bytes;
}

#endif
