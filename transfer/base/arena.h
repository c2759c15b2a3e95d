/* SPDX-License-Identifier: Apache-2.0 */

/*
 * arena.h -- memory that is given back all at once: one decoded request, one turn.
 *
 * Blocks are kept across arena_reset(), so a steady state allocates nothing.
 * thread:  the owner's.
 */
#ifndef TRANSFER_BASE_ARENA_H
#define TRANSFER_BASE_ARENA_H

#include "transfer/base/base.h"

struct arena {
	struct arena_block *blocks; /* newest first */
	struct arena_block *spare;
};

void arena_init(struct arena *arena);
void arena_fini(struct arena *arena);

/* arena_alloc -- n items of item_bytes, zeroed, aligned to 16.  NULL: no memory, or it wraps. */
void *arena_alloc(struct arena *arena, size_t n, size_t item_bytes);

/* arena_reset -- everything allocated so far is gone. */
void arena_reset(struct arena *arena);

#endif
