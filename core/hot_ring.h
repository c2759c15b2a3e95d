/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hot_ring.h -- a bounded log of whole objects in memory that processes of one host may share.
 *
 *      | head | slots of an index | ....tail [entry][entry][entry] cursor........ |
 *                                        ^ the oldest that is valid  ^ the next one begins here
 *
 *      entry:   head (who, how long, sum, state) and the bytes, never in two pieces
 *      life:    WRITING --summed, right--> READY          a place in the log is a number that only
 *                   \--else--> VOID                       grows; tail passes it: gone
 *
 * What is oldest makes way.  Readers take no lock: they copy, and then look whether the tail has
 * passed the entry meanwhile; if so, what they have is worth nothing.  Writers take one for the
 * reservation alone, without waiting: who does not get it does not store.
 *
 * The tail does not pass an entry that a living process still writes, however long it was stopped:
 * it would write over another's bytes when it goes on.  The log then stores nothing more until it
 * has finished or died.
 *
 * thread:  any, of any process that has the memory mapped.
 */
#ifndef CORE_HOT_RING_H
#define CORE_HOT_RING_H

#include <stdatomic.h>
#include <sys/uio.h>

#include "transfer/base/base.h"
#include "transfer/mapping.h"

#define HOT_RING_BYTES_MIN (1ull << 20)

/* Which bytes: an id is never used twice within one cluster's books. */
struct hot_id {
	uint64_t cluster_id, object_id;
};

/* A whole object, as the master told it. */
struct hot_object {
	struct hot_id id;
	uint64_t len_bytes;
	uint32_t crc;
};

/* Bytes [offset, offset + len) of one, and where they go; the slices hold as many at least. */
struct hot_part {
	uint64_t offset_bytes, len_bytes;
	const struct iovec *slices;
	size_t n_slices;
};

struct hot_ring_head;

/* One process's view. */
struct hot_ring {
	struct hot_ring_head *head;
	_Atomic uint64_t *slots;
	uint8_t *log;
	uint64_t log_bytes, n_slots;
	struct mapping *mapping; /* of the memory, its owner's; NULL: none */
	pid_t pid;               /* ours */
	uint64_t start_ticks;
};

/* An entry as it was found. */
struct hot_entry {
	uint64_t at; /* in the log */
	uint64_t len_bytes;
	uint32_t crc;
};

/*
 * hot_ring_make -- begin a log in memory of zeros; nobody else may look at it yet.
 *
 * bytes    aligned to 4096, of at least HOT_RING_BYTES_MIN; borrowed as long as the ring is used.
 */
void hot_ring_make(void *bytes, uint64_t len_bytes);

/* hot_ring_join -- look at a log.  false: this is none, or not of this length or version. */
bool hot_ring_join(struct hot_ring *ring, void *bytes, uint64_t len_bytes) MUST_CHECK;

/* hot_ring_find -- false: it is not there. */
bool hot_ring_find(const struct hot_ring *ring, const struct hot_id *id,
		   struct hot_entry *ret_entry);

/*
 * hot_ring_read -- a part of an entry, summed.
 *
 * needs:   the part lies within the entry.
 * result:  false: it was overwritten meanwhile, and what is in the slices is worth nothing.
 */
bool hot_ring_read(const struct hot_ring *ring, const struct hot_entry *entry,
		   const struct hot_part *part, uint32_t *ret_crc);

/* hot_ring_fits -- could an object of that length be stored at all? */
bool hot_ring_fits(const struct hot_ring *ring, uint64_t len_bytes);

/*
 * hot_ring_add -- store an object whose bytes are in the slices, unless they have another sum.
 *
 * result:  false: it was not stored: longer than a quarter of the log, other bytes, or somebody
 *          is in the way.
 */
bool hot_ring_add(struct hot_ring *ring, const struct hot_object *object,
		  const struct iovec *slices, size_t n_slices);

/* hot_ring_forget -- an entry whose bytes turned out wrong. */
void hot_ring_forget(const struct hot_ring *ring, const struct hot_entry *entry);

#endif
