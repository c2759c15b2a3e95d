/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The head of a span is found by the address of any of its things.  Slots that were given back hang
 * one behind the other, each with the next one's address in its first bytes; those never given
 * stand behind them all and cost no memory yet.
 *
 *      | head | a | b |   | d |   |   |......|
 *         |         ^-----------^     ^ n_ever
 *         +-- given back
 */
#include "transfer/base/slab.h"

#include <sys/mman.h>

#include "transfer/base/num.h"

#define SPAN_BYTES        ((size_t)64 << 10)
#define BLOCK_FIRST_BYTES ((size_t)512 << 10) /* who keeps little needs no large page */
#define BLOCK_MOST_BYTES  ((size_t)16 << 20)
#define LARGE_PAGE_BYTES  ((size_t)2 << 20)
#define SPANS_A_PAGE      (LARGE_PAGE_BYTES / SPAN_BYTES)
#define PAGES_AHEAD       2    /* a page is some 8000 objects: that many puts take longer than it */
#define FETCH_BYTES       320u /* an object with its key */

struct slab_span {
	struct list_link at_size; /* or slab.spare; off while all slots are taken */
	void *given_back;
	uint32_t slot_bytes, n_slots;
	uint32_t n_ever; /* slots that were taken at least once */
	uint32_t n_taken;
	_Alignas(64) uint8_t slots[];
};

_Static_assert(sizeof(struct slab_span) == 64, "so that slots of 64 bytes are lines");
_Static_assert(SLAB_MOST_BYTES <= SPAN_BYTES / 16, "little is left over at the end of a span");

/* Stands apart: the spans of a block begin where its pages do. */
struct slab_block {
	struct slab_block *next;
	uint8_t *spans;
	size_t n_spans;
};

void
slab_init(struct slab *slab)
{
	*slab = (struct slab){0};
	list_init(&slab->spare);
	for (size_t i = 0; i < array_len(slab->sizes); i++)
		list_init(&slab->sizes[i]);
}

void
slab_fini(struct slab *slab)
{
	assert(slab->n_things == 0);
	if (slab->next != NULL) {
		slab->next->next = slab->blocks;
		slab->blocks = slab->next;
	}
	while (slab->blocks != NULL) {
		struct slab_block *block = slab->blocks;

		slab->blocks = block->next;
		free(block->spans);
		free(block);
	}
	slab_init(slab);
}

/* Twice as large as the last one; from the second on of large pages. */
static struct slab_block *
block_new(const struct slab_block *last)
{
	size_t len_bytes = last == NULL ? BLOCK_FIRST_BYTES
					: num_min(last->n_spans * SPAN_BYTES * 2, BLOCK_MOST_BYTES);
	struct slab_block *block = malloc(sizeof(*block));

	if (block == NULL)
		return NULL;
	len_bytes = last == NULL ? len_bytes : num_max(len_bytes, LARGE_PAGE_BYTES);
	block->spans = aligned_alloc(last == NULL ? SPAN_BYTES : LARGE_PAGE_BYTES, len_bytes);
	if (block->spans == NULL) {
		free(block);
		return NULL;
	}
	block->n_spans = len_bytes / SPAN_BYTES;
	if (last != NULL)
		(void)madvise(block->spans, len_bytes, MADV_HUGEPAGE); /* it goes without, too */
	return block;
}

void
slab_ahead(struct slab *slab, slab_ahead_fn *fn, void *arg)
{
	slab->ahead = fn;
	slab->ahead_arg = arg;
}

/* The first span of a large page is about to be used. */
static void
tell_ahead(struct slab *slab)
{
	size_t n_pages = slab->blocks->n_spans / SPANS_A_PAGE;
	size_t until = slab->n_spans_used / SPANS_A_PAGE + 1 + PAGES_AHEAD;

	for (; slab->n_pages_told < until; slab->n_pages_told++) {
		const struct slab_block *block = slab->blocks;
		size_t page = slab->n_pages_told;

		if (page >= n_pages) {
			if (slab->next == NULL)
				slab->next = block_new(slab->blocks);
			block = slab->next;
			page -= n_pages;
		}
		if (block == NULL || page >= block->n_spans / SPANS_A_PAGE)
			return; /* no memory: then it is asked for again when it is needed */
		slab->ahead(slab->ahead_arg, block->spans + page * LARGE_PAGE_BYTES,
			    LARGE_PAGE_BYTES);
	}
}

/* next_block -- the newest from now on.  false: no memory. */
static bool
next_block(struct slab *slab)
{
	struct slab_block *block = slab->next != NULL ? slab->next : block_new(slab->blocks);
	size_t n_pages = slab->blocks == NULL ? 0 : slab->blocks->n_spans / SPANS_A_PAGE;

	if (block == NULL)
		return false;
	block->next = slab->blocks;
	slab->blocks = block;
	slab->next = NULL;
	slab->n_spans_used = 0;
	slab->n_pages_told -= num_min(slab->n_pages_told, n_pages);
	return true;
}

/* span_fresh -- one that holds nothing, on no list; NULL: no memory. */
static struct slab_span *
span_fresh(struct slab *slab)
{
	struct list_link *spare = list_first(&slab->spare);

	if (spare != NULL) {
		list_remove(spare);
		return list_of(spare, struct slab_span, at_size);
	}
	if ((slab->blocks == NULL || slab->n_spans_used == slab->blocks->n_spans) &&
	    !next_block(slab))
		return NULL;
	if (slab->ahead != NULL && slab->n_spans_used % SPANS_A_PAGE == 0)
		tell_ahead(slab);
	return (struct slab_span *)(void *)(slab->blocks->spans +
					    SPAN_BYTES * slab->n_spans_used++);
}

static struct list *
spans_of(struct slab *slab, size_t slot_bytes)
{
	return &slab->sizes[slot_bytes / SLAB_STEP_BYTES - 1];
}

static struct slab_span *
span_with_room(struct slab *slab, size_t slot_bytes)
{
	struct list *spans = spans_of(slab, slot_bytes);
	struct slab_span *span;

	if (!list_is_empty(spans))
		return list_of(list_first(spans), struct slab_span, at_size);

	span = span_fresh(slab);
	if (span == NULL)
		return NULL;
	*span = (struct slab_span){
		.slot_bytes = (uint32_t)slot_bytes,
		.n_slots = (uint32_t)((SPAN_BYTES - sizeof(*span)) / slot_bytes),
	};
	list_link_init(&span->at_size);
	list_push_front(spans, &span->at_size);
	return span;
}

/* fetch_next -- who takes a thing takes another soon: its memory is on its way until then. */
static void
fetch_next(const struct slab_span *span)
{
	const uint8_t *next = span->given_back;

	if (next == NULL)
		next = span->slots + (size_t)span->n_ever * span->slot_bytes;
	for (uint32_t at = 0; at < span->slot_bytes && at < FETCH_BYTES; at += 64)
		__builtin_prefetch(next + at, 1);
}

static void *
span_take(struct slab_span *span)
{
	void *slot = span->given_back;

	if (slot != NULL)
		span->given_back = *(void **)slot;
	else
		slot = span->slots + (size_t)span->n_ever++ * span->slot_bytes;
	span->n_taken++;
	assert(span->n_taken <= span->n_slots && span->n_ever <= span->n_slots);
	if (span->n_taken == span->n_slots)
		list_remove(&span->at_size);
	else
		fetch_next(span);
	return slot;
}

void *
slab_alloc(struct slab *slab, size_t len_bytes)
{
	size_t slot_bytes = num_align_up(len_bytes, SLAB_STEP_BYTES);
	struct slab_span *span;
	void *thing;

	assert(len_bytes > 0 && len_bytes <= SLAB_MOST_BYTES);
	if (paranoid) {
		thing = aligned_alloc(slot_bytes % 64 == 0 ? 64 : SLAB_STEP_BYTES, slot_bytes);
	} else {
		span = span_with_room(slab, slot_bytes);
		thing = span == NULL ? NULL : span_take(span);
	}
	slab->n_things += thing != NULL;
	return thing;
}

void
slab_give(struct slab *slab, void *thing)
{
	struct slab_span *span = (struct slab_span *)((uintptr_t)thing & ~(SPAN_BYTES - 1));

	if (thing == NULL)
		return;
	assert(slab->n_things > 0);
	slab->n_things--;
	if (paranoid) {
		free(thing);
		return;
	}
	assert(span->n_taken > 0);
	*(void **)thing = span->given_back;
	span->given_back = thing;
	if (span->n_taken-- == span->n_slots)
		list_push_front(spans_of(slab, span->slot_bytes), &span->at_size);
	if (span->n_taken == 0) {
		list_remove(&span->at_size);
		list_push_front(&slab->spare, &span->at_size);
	}
}
