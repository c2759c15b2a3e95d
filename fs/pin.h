/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pin.h -- one version of an object, held for reading while a file is open.
 *
 * Its bytes are summed as they are read, in pieces that are joined, so that a
 * reader who has seen all of them also knows that they are right:
 *
 *      0        8K       16K                    len
 *      |########|........|###########|..........|      runs[] so far; more than RUNS_MAX: given up
 *
 * thread:  any; the last fs_pin_unref() frees it.
 */
#ifndef FS_PIN_H
#define FS_PIN_H

#include <stdatomic.h>

#include "core/tiffin.h"
#include "transfer/base/base.h"
#include "transfer/base/lock.h"

#define FS_PIN_RUNS_MAX 16

struct fs_pin_run {
	uint64_t at_bytes, len_bytes;
	uint32_t crc;
};

struct fs_slot;

/* Either the store has the bytes, under a lease, or this mount has a copy of them, and no lease. */
struct fs_pin {
	struct tiffin_view *view; /* NULL: there is a slot */
	struct fs_slot *slot;     /* NULL: there is a view */
	struct tiffin_stat stat;  /* id, length and sum; no attributes */
	_Atomic uint32_t n_refs;
	_Atomic bool is_lost;   /* its bytes are wrong; never becomes false again, and an old value
				   costs   one more look */
	_Atomic bool is_summed; /* the same: nothing left to sum */
	struct lock lock;       /* LOCK_fs_pin: what follows */
	size_t n_runs;
	struct fs_pin_run runs[FS_PIN_RUNS_MAX]; /* in order, apart */
};

/* fs_pin_open -- the newest version of a key.  0 or -errno. */
int fs_pin_open(struct tiffin_client *client, const char *key, bool is_verified,
		struct fs_pin **ret_pin) MUST_CHECK;

struct fs_pin *fs_pin_ref(struct fs_pin *pin);
void fs_pin_unref(struct fs_pin *pin); /* NULL is fine */

/* fs_pin_read -- into memory.  0 or -errno; *ret_len_bytes is 0 at the end. */
int fs_pin_read(struct fs_pin *pin, uint64_t offset_bytes, const struct iovec *slice,
		uint64_t *ret_len_bytes) MUST_CHECK;

/*
 * fs_pin_borrow -- where the bytes lie, up to n_max pieces and len_bytes in all.
 *
 * gives:   *ret_n pieces, until fs_pin_return(); 0: none lie on this host.
 * result:  0 or -errno.
 */
int fs_pin_borrow(struct fs_pin *pin, uint64_t offset_bytes, uint64_t len_bytes,
		  struct iovec *ret_slices, size_t n_max, size_t *ret_n) MUST_CHECK;

/* fs_pin_return -- n of the pieces that were borrowed are looked at no more. */
void fs_pin_return(struct fs_pin *pin, size_t n);

/*
 * fs_pin_settle -- from now on it reads our own copy, and the lease ends.
 *
 * needs:   nobody reads it.
 * takes:   slot, which holds all bytes of this version.
 */
void fs_pin_settle(struct fs_pin *pin, struct fs_slot *slot_taken);

/* fs_pin_check -- does the lease still hold, and all that is borrowed lie there?  0 or -EIO. */
int fs_pin_check(struct fs_pin *pin) MUST_CHECK;

/* fs_pin_sum -- these bytes were seen.  0; -EIO: all have been, and they are not what was put. */
int fs_pin_sum(struct fs_pin *pin, uint64_t offset_bytes, const struct iovec *slices,
	       size_t n_slices) MUST_CHECK;

#endif
