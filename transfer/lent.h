/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lent.h -- memory, or a part of a disk, lent as a segment.
 *
 *      file:     0            4096                      4096 + size
 *                |-- header --|========= segment =========|
 *      segment:               0                           size
 *
 * The header says who the bytes are (id, epoch, size, its own sum), so that a
 * named file outlives the process and is adopted again: same id, same epoch,
 * same contents.  An anonymous one (memfd) dies with the process and its epoch.
 * One owner at a time: the file is locked.  The bytes are written once at start
 * (a page touched first costs 10 to 20 us), in 2 MiB pages where they can be had.
 *
 * `fence` in the header is looked at by local writers before each piece they
 * copy: when it differs from what they saw when they mapped, they stop.
 *
 * A segment on a disk (lent_disk.c) has the same shape, in a preallocated file or on a block
 * device.  It is not mapped: who wants its bytes asks `disk` for them.  What it is adopted with:
 *
 *      at rest, or open in this very start of the machine   all that was written
 *      open when the machine stopped, is_synced             all that was answered as written
 *      open when the machine stopped, not is_synced         nothing: a new id and epoch, for nobody
 *                                                           knows which writes reached the medium
 */
#ifndef TRANSFER_LENT_H
#define TRANSFER_LENT_H

#include <stdatomic.h>

#include "transfer/base/base.h"
#include "transfer/base/list.h"
#include "transfer/base/rand.h"
#include "transfer/base/token.h"

#define LENT_HEADER_BYTES 4096
#define LENT_SIZE_MIN     (1ull << 20)
#define LENT_SIZE_MAX     (1ull << 44)

struct clock;
struct disk;
struct lent_header;

struct lent {
	uint64_t segment_id, epoch;
	uint64_t size_bytes; /* a multiple of 4096, header not counted */
	uint8_t *bytes;      /* segment offset 0; NULL: on a disk */
	struct disk *disk;   /* NULL: in memory */
	int fd;
	bool is_named, was_adopted, has_huge_pages;
	bool is_nof;   /* on a disk: a namespace of an NVMe subsystem */
	bool was_lost; /* on a disk: what lay there did not outlive a stop of the machine */
	struct lent_header *header;
	uint8_t secret[TOKEN_SECRET_BYTES]; /* new with each opening */
	struct list_link at;                /* its user's */
};

struct lent_config {
	const char *path; /* NULL: anonymous; else a file, made when missing, mode 0600 */
	uint64_t size_bytes;
	bool wipe; /* do not adopt: new epoch */
	bool want_huge_pages;
	bool is_on_disk; /* path is a file on a disk, or a block device */
	bool is_nof;     /* that device is a namespace of an NVMe subsystem */
	bool is_synced;  /* on a disk: a write is answered when it would survive a power cut */
	/* On a disk that may still work on what its last owner asked of it, unless he closed it: so
	 * long nothing is done with it.  By `clock`; NULL: the real one. */
	uint32_t rest_ms;
	const struct clock *clock;
	void (*progress)(void *arg, uint64_t done_bytes,
			 uint64_t all_bytes); /* while touching; may be NULL */
	void *progress_arg;
};

enum lent_outcome {
	LENT_E_IN_USE = 1, /* another process owns the file */
	LENT_E_DAMAGED, /* the header is not one, or not of this size: wipe, or give the right size
			 */
	LENT_E_NO_ROOM, /* the file system, the device or the machine has not that much */
	LENT_E_NOT_DIRECT, /* on a disk: no O_DIRECT there */
	LENT_E_NO_URING,   /* on a disk: the machine does not allow io_uring */
};

/*
 * lent_open -- map, adopt or create, touch, seal.
 *
 * result:  0, the outcomes above, -errno.
 */
int lent_open(const struct lent_config *config, struct rand *rand,
	      struct lent **ret_lent) MUST_CHECK;

/* lent_close -- unmap and unlock.  A named file stays, an anonymous one is gone with its last
 * mapping. */
void lent_close(struct lent *lent);

/*
 * lent_reopen -- another descriptor of the same memory, for who is to map it.
 *
 * A mapping holds on to the open file it was made from, and so to its lock: one made from
 * lent->fd itself would go on owning a named file after lent_close().
 *
 * gives:   *ret_fd.
 * result:  0 or -errno.
 */
int lent_reopen(const struct lent *lent, bool is_writable, int *ret_fd) MUST_CHECK;

/*
 * lent_remember -- before the master of that epoch hears of the segment: it may give out its room
 * from then on, though its answer may never come.
 *
 * master_epoch  0: not known, and what is remembered stays.
 * lease_ms      the longest that it may grant.
 * gives:   the greatest epoch of another master that gave out its room, or may have; until
 *          lent_has_master() the same again for the same master.  0: none.
 */
uint64_t lent_remember(struct lent *lent, uint64_t master_epoch, uint32_t lease_ms);

/* lent_longest_lease_ms -- of all masters that were remembered in this life of its bytes.  It never
 * falls: how long the lease runs that somebody holds is nothing that memory can tell. */
uint32_t lent_longest_lease_ms(const struct lent *lent);

/* lent_has_master -- the master that was remembered last has said that it has the segment: those
 * before it count no more. */
void lent_has_master(struct lent *lent);

/* lent_fence -- raise the word: local writers of before stop at their next piece. */
void lent_fence(struct lent *lent);

DEFINE_CLEANUP(struct lent, lent_close);

#endif
