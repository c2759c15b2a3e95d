/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each key has a home, and stands there or a little further on:
 *
 *      home of     a  b     b  c
 *      slots     | a  b1 b2 c  .  .  |        `.` is free: key 0
 *      away        0  0  1  1
 *
 * Who comes takes the place of the first one that is less far from home, and
 * that one moves on.  So along a run the homes never go backwards, a look-up
 * may stop at the first one nearer home than itself, and a removal pulls the
 * rest of the run back by one.
 */
#include "transfer/base/map.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/large.h"

#define CAP_FIRST  16
#define LINE_SLOTS 4

struct map_slot {
	uint64_t key;
	void *value;
};

/*
 * home -- where a key would like to stand: four keys that follow one another share a line of
 * memory, and the fours are strewn by a product (Fibonacci hashing; Knuth, TAOCP 3, 6.4).
 */
static size_t
home(const struct map *map, uint64_t key)
{
	size_t line = (size_t)((key / LINE_SLOTS * 0x9e3779b97f4a7c15u) >> map->shift);

	return line * LINE_SLOTS + key % LINE_SLOTS;
}

static size_t
after(const struct map *map, size_t at)
{
	return (at + 1) & (map->cap - 1);
}

static size_t
away(const struct map *map, size_t at)
{
	return (at - home(map, map->slots[at].key)) & (map->cap - 1);
}

/* room -- so many keys may stand in that many slots: with more, the ways get long. */
static size_t
room(size_t cap)
{
	return cap / 4 * 3;
}

static void
map_check(const struct map *map)
{
	size_t n = 0;

	assert(map->cap == 0 || (map->cap & (map->cap - 1)) == 0);
	assert(map->n <= room(map->cap));
	if (!paranoid || map->cap > 1024)
		return;

	for (size_t i = 0; i < map->cap; i++) {
		const struct map_slot *slot = &map->slots[i];
		size_t next = after(map, i);

		n += slot->key != 0;
		assert((slot->key != 0) == (slot->value != NULL));
		assert(map->slots[next].key == 0 || away(map, next) == 0 ||
		       (slot->key != 0 && away(map, next) <= away(map, i) + 1));
	}
	assert(n == map->n);
}

void
map_init(struct map *map)
{
	*map = (struct map){0};
}

void
map_fini(struct map *map)
{
	large_free(map->slots, map->cap * sizeof(*map->slots));
	map_init(map);
}

/* seek -- true: *ret_at is the slot of key.  false: it is where key would have to go, *ret_steps
 * from home.  needs: cap > 0. */
static bool
seek(const struct map *map, uint64_t key, size_t *ret_at, size_t *ret_steps)
{
	size_t at = home(map, key), steps = 0;
	bool is_found = false;

	for (; map->slots[at].key != 0; steps++) {
		is_found = map->slots[at].key == key;
		if (is_found || away(map, at) < steps)
			break;
		at = after(map, at);
	}
	*ret_at = at;
	*ret_steps = steps;
	return is_found;
}

void *
map_get(const struct map *map, uint64_t key)
{
	size_t at, steps;

	if (map->n == 0 || !seek(map, key, &at, &steps))
		return NULL;
	return map->slots[at].value;
}

/* insert -- key is new, there is room, and seek() has told where it goes. */
static void
insert(struct map *map, struct map_slot guest, size_t at, size_t steps)
{
	for (; map->slots[at].key != 0; steps++) {
		size_t theirs = away(map, at);

		if (theirs < steps) {
			struct map_slot poorer = guest;

			guest = map->slots[at];
			map->slots[at] = poorer;
			steps = theirs;
		}
		at = after(map, at);
	}
	map->slots[at] = guest;
	map->n++;
}

/* grow -- to that many slots.  In both tables the homes come in the same order, so this reads and
 * writes memory from its beginning to its end. */
static int
grow(struct map *map, size_t cap)
{
	struct map bigger = {.cap = cap};

	bigger.shift = 64 - (unsigned)__builtin_ctzll(cap / LINE_SLOTS);
	bigger.slots = large_new(bigger.cap * sizeof(*bigger.slots));
	if (bigger.slots == NULL)
		return err_new(-ENOMEM);

	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].key != 0)
			insert(&bigger, map->slots[i], home(&bigger, map->slots[i].key), 0);
	large_free(map->slots, map->cap * sizeof(*map->slots));
	*map = bigger;
	return 0;
}

int
map_reserve(struct map *map, size_t n)
{
	size_t cap = map->cap > 0 ? map->cap : CAP_FIRST;

	if (n > SIZE_MAX / 8 - map->n)
		return err_new(-ENOMEM);
	while (room(cap) < map->n + n)
		cap *= 2;
	return cap > map->cap ? err_up(grow(map, cap)) : 0;
}

void
map_foresee(const struct map *map, uint64_t key)
{
	if (map->cap > 0)
		__builtin_prefetch(&map->slots[home(map, key)], 1);
}

int
map_put(struct map *map, uint64_t key, void *value)
{
	size_t at, steps;

	assert(key != 0 && value != NULL);

	if (map->cap > 0 && seek(map, key, &at, &steps)) {
		map->slots[at].value = value;
		return 0;
	}

	if (map->n + 1 > room(map->cap)) {
		int r = map_reserve(map, 1);

		if (r < 0)
			return err_up(r);
		seek(map, key, &at, &steps);
	}
	insert(map, (struct map_slot){key, value}, at, steps);
	map_check(map);
	return 0;
}

void *
map_take(struct map *map, uint64_t key)
{
	size_t at, steps;
	void *value;

	if (map->n == 0 || !seek(map, key, &at, &steps))
		return NULL;

	value = map->slots[at].value;
	for (size_t next = after(map, at); map->slots[next].key != 0 && away(map, next) > 0;
	     next = after(map, next)) {
		map->slots[at] = map->slots[next];
		at = next;
	}
	map->slots[at] = (struct map_slot){0};
	map->n--;
	map_check(map);
	return value;
}

bool
map_next(const struct map *map, size_t *at, uint64_t *ret_key, void **ret_value)
{
	while (*at < map->cap) {
		const struct map_slot *slot = &map->slots[(*at)++];

		if (slot->key == 0)
			continue;
		*ret_key = slot->key;
		*ret_value = slot->value;
		return true;
	}
	return false;
}

uint64_t
map_hash(const void *bytes, size_t len_bytes, uint64_t seed)
{
	unsigned char key[crypto_shorthash_siphash24_KEYBYTES] = {0};
	uint64_t hash;

	memcpy(key, &seed, sizeof(seed));
	crypto_shorthash_siphash24((unsigned char *)&hash, bytes, len_bytes, key);
	return hash != 0 ? hash : 1;
}
