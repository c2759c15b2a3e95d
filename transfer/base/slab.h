/* SPDX-License-Identifier: Apache-2.0 */

/*
 * slab.h -- many small things for years: side by side, and on large pages.
 *
 * Whoever keeps millions of things and meets them in no order waits for memory twice: for the
 * thing, and for the page table that tells where it is.  Here a page is 2 MiB, where the system has
 * such (transparent huge pages), so the tables of all fit the processor; and nothing of the
 * allocator's stands between two things, so that one of 64 bytes is one line of the cache.
 *
 *      block   | span | span | span | span |        2 MiB and more, one after the other
 *                 |
 *      span    | head | slot | slot |......|        64 KiB, for things of one size; when all are
 *                                                   given back, for those of any other
 *
 * A thing whose length is a multiple of 64 begins a line.  Blocks stay until the end.
 * The owner may have the next large pages told of before they are used (slab_ahead), so that
 * another thread makes them ready.
 * In builds that check everything each thing is malloc's, whose watchers know it then.
 *
 * thread:  the owner's.
 */
#ifndef TRANSFER_BASE_SLAB_H
#define TRANSFER_BASE_SLAB_H

#include "transfer/base/list.h"

#define SLAB_STEP_BYTES 8
#define SLAB_MOST_BYTES 2304

/* This memory will be used soon; nothing lies there yet. */
typedef void slab_ahead_fn(void *arg, void *at, size_t len_bytes);

struct slab {
	struct list sizes[SLAB_MOST_BYTES / SLAB_STEP_BYTES]; /* spans with a slot to give */
	struct list spare;                                    /* spans with nothing in them */
	struct slab_block *blocks; /* newest first; it alone has fresh spans */
	size_t n_spans_used;       /* of the newest block */
	struct slab_block *next;   /* the one after it, made early; NULL: not yet */
	size_t n_pages_told;       /* large pages of the newest block, and behind it of the next */
	slab_ahead_fn *ahead;      /* NULL: nobody is told */
	void *ahead_arg;
	size_t n_things; /* taken and not given back */
};

void slab_init(struct slab *slab);

/* slab_fini -- needs: everything was given back. */
void slab_fini(struct slab *slab);

/*
 * slab_ahead -- tell of each large page, once, while two others are still to be used before it.
 *
 * What is told of stays mapped until slab_fini().
 */
void slab_ahead(struct slab *slab, slab_ahead_fn *fn, void *arg);

/* slab_alloc -- needs: 0 < len_bytes <= SLAB_MOST_BYTES.  Aligned to 8; NULL: no memory. */
void *slab_alloc(struct slab *slab, size_t len_bytes);

/* slab_give -- back.  NULL is nothing. */
void slab_give(struct slab *slab, void *thing);

#endif
