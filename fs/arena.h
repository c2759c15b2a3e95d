/* SPDX-License-Identifier: Apache-2.0 */

/*
 * arena.h -- whole objects in memory of this mount, each in a file of its own: who has room, who
 * goes.
 *
 *                make             filled               let_go, nobody is left
 *      (none) --------> FILLING ---------> IN USE ------------------------------> KEPT
 *         ^                |                 ^                                      |
 *         |    let_go      |                 +--------------- find -----------------+
 *         +----------------+--------------------------------------------------------+
 *                              the room is wanted for another; who was used longest ago goes first
 *
 * A file's bytes are written once and never overwritten: a program may still have them mapped, or
 * on their way in a pipe or a socket, long after it has closed the file.  So room is made by
 * dropping files.  Their memory goes back to the kernel when the last one who sees it is gone, and
 * that is also what keeps the sum true: the files lie in a file system no larger than the arena.
 *
 * The arena counts room and decides; files are made and dropped by who owns it (passthrough.c).
 *
 * thread:  any; calls of the owner's functions come without the lock.
 */
#ifndef FS_ARENA_H
#define FS_ARENA_H

#include "transfer/base/base.h"
#include "transfer/base/list.h"
#include "transfer/base/lock.h"
#include "transfer/base/map.h"

#define FS_ARENA_PAGE (2ull << 20) /* a huge page: room is counted in these */

/* The part of a whole arena that one object may take. */
#define FS_ARENA_SHARE 4

struct fs_arena;

/* One object's bytes.  Whoever has it (make, find) may read all fields, and none changes. */
struct fs_slot {
	struct fs_arena *arena;
	uint64_t object_id, len_bytes, room_bytes;
	int fd;
	int backing_id; /* what the kernel knows the file by; set by who fills it; 0: not at all */

	/* under arena->lock */
	uint32_t n_users;
	bool is_filled;
	struct list_link at; /* on arena->kept when nobody uses it */
};

/* What the owner does for it. */
struct fs_arena_files {
	/* make -- an empty file: its descriptor, or -errno. */
	int (*make)(void *owner);

	/* drop -- slot's descriptor and backing_id are given back; nobody uses it. */
	void (*drop)(void *owner, const struct fs_slot *slot);
};

/* How much there may be. */
struct fs_arena_limits {
	uint64_t size_bytes; /* whole pages are used of it */
	uint64_t n_slots;    /* each has a descriptor */
};

struct fs_arena_counts {
	uint64_t used_bytes; /* room of all slots, kept ones included */
	uint64_t n_slots;
	uint64_t n_fills;   /* objects copied in */
	uint64_t n_hits;    /* opens that found theirs there */
	uint64_t n_refused; /* that would have fitted, but all room was in use */
};

struct fs_arena {
	const struct fs_arena_files *files;
	void *owner;
	struct fs_arena_limits limits;

	struct lock lock;       /* LOCK_fs_arena: what follows */
	pthread_cond_t settled; /* a slot is filled, or will not be */
	struct map by_id;       /* filled ones, and those that are being filled */
	struct list kept;       /* used longest ago first */
	struct fs_arena_counts counts;
};

/* fs_arena_init -- empty. */
void fs_arena_init(struct fs_arena *arena, struct fs_arena_limits limits,
		   const struct fs_arena_files *files, void *owner);

/* fs_arena_fini -- needs: nobody uses a slot. */
void fs_arena_fini(struct fs_arena *arena);

/* fs_arena_fits -- may an object of this length be in it at all? */
bool fs_arena_fits(const struct fs_arena *arena, uint64_t len_bytes);

/*
 * fs_arena_find -- a filled slot, used once more; NULL: there is none.  fs_arena_let_go().
 *
 * Waits while somebody fills it.
 */
struct fs_slot *fs_arena_find(struct fs_arena *arena, uint64_t object_id);

enum fs_arena_outcome {
	FS_ARENA_E_FULL = 1, /* all room, or all slots, are in use */
	FS_ARENA_E_BUSY,     /* somebody else fills a slot for it just now */
};

/*
 * fs_arena_make -- a slot to be filled; others are dropped for it if need be.
 *
 * needs:   fs_arena_fits(len_bytes), object_id != 0.
 * gives:   *ret_slot, used once, that nobody finds before fs_arena_filled(); fs_arena_let_go().
 * result:  0, outcome or -errno.
 */
int fs_arena_make(struct fs_arena *arena, uint64_t object_id, uint64_t len_bytes,
		  struct fs_slot **ret_slot) MUST_CHECK;

/* fs_arena_filled -- all bytes are there, and right. */
void fs_arena_filled(struct fs_slot *slot);

/* fs_arena_let_go -- one user less.  A slot that was not filled is dropped.  NULL is fine. */
void fs_arena_let_go(struct fs_slot *slot);

void fs_arena_count(struct fs_arena *arena, struct fs_arena_counts *ret_counts);

#endif
