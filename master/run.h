/* SPDX-License-Identifier: Apache-2.0 */

/*
 * run.h -- the runs of bytes a segment is cut into, in the order of their offsets.  For alloc.c
 * only.
 *
 *     run        1        5          2        3
 *     |##########|########|..........|########|      each knows its neighbours
 *
 * A run is a number; what it says lies in pages of an array.  Numbers that were given back are used
 * again page by page, so that runs that come together lie together.  Two ways lead to one:
 *
 *      by its first byte   taken runs only: a table of hashes that grows one list at a time; those
 *                          taken last stand beside it until their place in it has come from memory
 *      by any byte in it   the first run that begins in each granule, and a ladder of bits
 *                          that finds the next granule to the left in which one begins
 *
 * The second is for recovery: it is made when it is first asked for, and dropped when as many
 * runs as there are have come since it was last asked for.
 *
 * All lengths and offsets here are in grains.
 */
#ifndef MASTER_RUN_H
#define MASTER_RUN_H

#include "transfer/base/base.h"
#include "transfer/base/vec.h"

typedef uint32_t run_id; /* 0: none */

#define RUN_IS_TAKEN UINT32_MAX /* in place of class_prev */

struct run {
	uint64_t offset_grains, len_grains;
	run_id prev, next; /* neighbours */
	run_id class_prev; /* free: in the list of its class; or RUN_IS_TAKEN */
	run_id class_next; /* free: likewise.  taken: in the list of its hash.  unused: the next
			      unused of its page */
};

#define RUN_PAGE_BITS 10
#define RUN_N_LATE    8 /* a power of two */
#define RUN_N_LADDER  4 /* levels of 64: 16 Mi granules at most */

struct run_page {
	struct run *runs;
	run_id unused;  /* list of its numbers that were given back */
	uint32_t below; /* the next page that has any, plus 1; 0: none */
};

struct runs {
	VEC(struct run_page) pages;
	run_id n_ever;     /* numbers given out so far */
	uint32_t reusable; /* stack of pages with unused numbers: the top one, plus 1; 0: none */
	size_t n_unused;
	size_t n; /* in use */
	run_id first, last;

	VEC(run_id *) heads; /* of the lists of hashes, in pages too */
	size_t n_heads;
	size_t n_taken;
	run_id late[RUN_N_LATE]; /* taken, and not in a list yet; 0: none */
	unsigned late_at;        /* whose turn it is to go into a list */

	uint64_t size_grains;
	unsigned granule_bits; /* grains in a granule, as a power of two */
	size_t n_granules;
	size_t n_unasked; /* runs that came since the granules were last asked */
	run_id *begins;   /* per granule; NULL: not made, and the ladder neither */
	uint64_t *ladder[RUN_N_LADDER];
};

int runs_init(struct runs *runs, uint64_t size_grains) MUST_CHECK;
void runs_fini(struct runs *runs);
size_t runs_ram_bytes(const struct runs *runs);

static inline struct run *
run_at(const struct runs *runs, run_id id)
{
	return &runs->pages.at[id >> RUN_PAGE_BITS].runs[id & ((1u << RUN_PAGE_BITS) - 1)];
}

static inline bool
run_is_taken(const struct run *run)
{
	return run->class_prev == RUN_IS_TAKEN;
}

/* runs_reserve -- the next n calls of run_insert() cannot fail.  0 or -ENOMEM. */
int runs_reserve(struct runs *runs, size_t n) MUST_CHECK;

/*
 * runs_expect -- n_runs will be inserted and n_taken of them taken: none of it can fail, and the
 * table does not grow on the way.
 *
 * needs:   none is taken.
 * result:  0 or -ENOMEM.
 */
int runs_expect(struct runs *runs, size_t n_runs, size_t n_taken) MUST_CHECK;

/*
 * run_insert -- a new run before `next` (0: at the end).
 *
 * needs:   reserved; its offset lies between those of its neighbours.
 */
run_id run_insert(struct runs *runs, run_id next, uint64_t offset_grains, uint64_t len_grains);

/* run_remove -- needs: it is not taken. */
void run_remove(struct runs *runs, run_id id);

/* run_move_begin -- needs: it is not taken, and stays between its neighbours.  Its end stays. */
void run_move_begin(struct runs *runs, run_id id, uint64_t offset_grains);

/* run_mark_taken, run_mark_free -- be found by the first byte, or no longer. */
void run_mark_taken(struct runs *runs, run_id id);
void run_mark_free(struct runs *runs, run_id id);

/* run_taken_at -- the taken run that begins there, or 0. */
run_id run_taken_at(const struct runs *runs, uint64_t offset_grains);

/* run_around -- the run in which that grain lies.  0 or -ENOMEM. */
int run_around(struct runs *runs, uint64_t offset_grains, run_id *ret_id) MUST_CHECK;

/* runs_check -- assert all laws of this file. */
void runs_check(const struct runs *runs);

#endif
