/* SPDX-License-Identifier: Apache-2.0 */

/*
 *      blocks -> | used ####### | room ... |  -> | full | -> | full |
 *      spare  -> | empty | -> | empty |
 *
 * Only the newest block is filled.  When it is full the first spare one that is
 * large enough follows, or a fresh one; arena_reset() makes all of them spare.
 */
#include "transfer/base/arena.h"

#include <string.h>

#include "transfer/base/num.h"

#define ALIGN_BYTES     16
#define BLOCK_MIN_BYTES (16u << 10)

struct arena_block {
	struct arena_block *next;
	size_t cap_bytes;
	size_t used_bytes;
	_Alignas(ALIGN_BYTES) uint8_t bytes[];
};

void
arena_init(struct arena *arena)
{
	*arena = (struct arena){0};
}

static void
free_all(struct arena_block *block)
{
	while (block != NULL) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
}

void
arena_fini(struct arena *arena)
{
	free_all(arena->blocks);
	free_all(arena->spare);
	arena_init(arena);
}

/* take_spare -- the first that has room for n_bytes, off the list; or NULL. */
static struct arena_block *
take_spare(struct arena *arena, size_t n_bytes)
{
	for (struct arena_block **at = &arena->spare; *at != NULL; at = &(*at)->next) {
		struct arena_block *block = *at;

		if (block->cap_bytes >= n_bytes) {
			*at = block->next;
			return block;
		}
	}
	return NULL;
}

static struct arena_block *
block_new(size_t n_bytes)
{
	size_t cap_bytes = num_max(n_bytes, (size_t)BLOCK_MIN_BYTES);
	struct arena_block *block = malloc(sizeof(*block) + cap_bytes);

	if (block != NULL)
		block->cap_bytes = cap_bytes;
	return block;
}

void *
arena_alloc(struct arena *arena, size_t n, size_t item_bytes)
{
	struct arena_block *block = arena->blocks;
	uint64_t n_bytes;
	uint8_t *at;

	if (!num_mul(n, item_bytes, &n_bytes) || n_bytes > PTRDIFF_MAX / 2)
		return NULL;
	n_bytes = num_align_up(num_max(n_bytes, 1u), ALIGN_BYTES);

	if (block == NULL || block->cap_bytes - block->used_bytes < n_bytes) {
		block = take_spare(arena, n_bytes);
		if (block == NULL)
			block = block_new(n_bytes);
		if (block == NULL)
			return NULL;
		block->used_bytes = 0;
		block->next = arena->blocks;
		arena->blocks = block;
	}

	at = block->bytes + block->used_bytes;
	block->used_bytes += n_bytes;
	return memset(at, 0, n_bytes);
}

void
arena_reset(struct arena *arena)
{
	while (arena->blocks != NULL) {
		struct arena_block *block = arena->blocks;

		arena->blocks = block->next;
		block->next = arena->spare;
		arena->spare = block;
	}
}
