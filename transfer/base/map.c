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

#define CAP_FIRST 16

struct map_slot {
	uint64_t key;
	void *value;
};

/* home -- where a key would like to stand; near ids must not crowd, so their bits are mixed. */
static size_t
home(const struct map *map, uint64_t key)
{
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	key ^= key >> 32;
	return (size_t)key & (map->cap - 1);
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

static void
map_check(const struct map *map)
{
	size_t n = 0;

	assert(map->cap == 0 || (map->cap & (map->cap - 1)) == 0);
	assert(map->n == 0 || map->n < map->cap);
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
	free(map->slots);
	map_init(map);
}

/* find -- the slot of key, or cap. */
static size_t
find(const struct map *map, uint64_t key)
{
	size_t at;

	if (map->n == 0)
		return map->cap;

	at = home(map, key);
	for (size_t steps = 0; map->slots[at].key != 0; steps++) {
		if (map->slots[at].key == key)
			return at;
		if (away(map, at) < steps)
			break;
		at = after(map, at);
	}
	return map->cap;
}

void *
map_get(const struct map *map, uint64_t key)
{
	size_t at = find(map, key);

	return at < map->cap ? map->slots[at].value : NULL;
}

/* insert -- key is new and there is room. */
static void
insert(struct map *map, struct map_slot guest)
{
	size_t at = home(map, guest.key);

	for (size_t steps = 0; map->slots[at].key != 0; steps++) {
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

static int
grow(struct map *map)
{
	struct map bigger = {.cap = map->cap > 0 ? map->cap * 2 : CAP_FIRST};

	if (map->cap > SIZE_MAX / 2)
		return err_new(-ENOMEM);
	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (bigger.slots == NULL)
		return err_new(-ENOMEM);

	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].key != 0)
			insert(&bigger, map->slots[i]);
	free(map->slots);
	*map = bigger;
	return 0;
}

int
map_put(struct map *map, uint64_t key, void *value)
{
	size_t at;
	int r;

	assert(key != 0 && value != NULL);

	at = find(map, key);
	if (at < map->cap) {
		map->slots[at].value = value;
		return 0;
	}

	if (map->n + 1 > map->cap / 8 * 7) {
		r = grow(map);
		if (r < 0)
			return err_up(r);
	}
	insert(map, (struct map_slot){key, value});
	map_check(map);
	return 0;
}

void *
map_take(struct map *map, uint64_t key)
{
	size_t at = find(map, key);
	void *value;

	if (at == map->cap)
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
