/* SPDX-License-Identifier: Apache-2.0 */

#include "transfer/base/sketch.h"

#include "transfer/base/num.h"

#define SEEN_PER_WIDTH 8

size_t
sketch_bytes(uint32_t width)
{
	assert(width >= SKETCH_WIDTH_MIN && (width & (width - 1)) == 0);
	return sizeof(struct sketch) + (size_t)SKETCH_ROWS * width;
}

void
sketch_init(struct sketch *sketch, uint32_t width)
{
	sketch->width = width;
	atomic_init(&sketch->n_seen, 0);
}

/* mix -- the finalizer of splitmix64: each bit of the key moves each bit of the result. */
static uint64_t
mix(uint64_t key)
{
	key += 0x9e3779b97f4a7c15ull;
	key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
	return key ^ (key >> 31);
}

/* place -- of a key whose mix is h, in that row: each row steps differently. */
static size_t
place(const struct sketch *sketch, uint64_t h, unsigned row)
{
	uint32_t step = (uint32_t)(h >> 32) | 1;

	return (size_t)row * sketch->width + (((uint32_t)h + row * step) & (sketch->width - 1));
}

static unsigned
count_at(const struct sketch *sketch, size_t at)
{
	return atomic_load_explicit(&sketch->counts[at], memory_order_relaxed);
}

static void
halve(struct sketch *sketch)
{
	for (size_t i = 0; i < (size_t)SKETCH_ROWS * sketch->width; i++)
		atomic_store_explicit(&sketch->counts[i], (uint8_t)(count_at(sketch, i) / 2),
				      memory_order_relaxed);
}

unsigned
sketch_of(const struct sketch *sketch, uint64_t key)
{
	uint64_t h = mix(key);
	unsigned least = SKETCH_COUNT_MAX;

	for (unsigned row = 0; row < SKETCH_ROWS; row++)
		least = num_min(least, count_at(sketch, place(sketch, h, row)));
	return least;
}

unsigned
sketch_see(struct sketch *sketch, uint64_t key)
{
	uint64_t h = mix(key);
	unsigned least = sketch_of(sketch, key);

	/* Only the least of its counts grow: the others are others'. */
	for (unsigned row = 0; row < SKETCH_ROWS && least < SKETCH_COUNT_MAX; row++) {
		size_t at = place(sketch, h, row);

		if (count_at(sketch, at) == least)
			atomic_store_explicit(&sketch->counts[at], (uint8_t)(least + 1),
					      memory_order_relaxed);
	}
	if (atomic_fetch_add_explicit(&sketch->n_seen, 1, memory_order_relaxed) + 1 ==
	    SEEN_PER_WIDTH * sketch->width) {
		halve(sketch);
		atomic_store_explicit(&sketch->n_seen, 0, memory_order_relaxed);
	}
	return num_min(least + 1, (unsigned)SKETCH_COUNT_MAX);
}
