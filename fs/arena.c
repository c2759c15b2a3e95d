/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/arena.h"

#include <errno.h>

#include "transfer/base/num.h"

static uint64_t
room_for(uint64_t len_bytes)
{
	return num_align_up(len_bytes, FS_ARENA_PAGE);
}

static void
check(const struct fs_arena *arena)
{
	assert(lock_held(&arena->lock));
	assert(arena->counts.used_bytes <= arena->limits.size_bytes);
	assert(arena->counts.n_slots <= arena->limits.n_slots);
	assert(arena->counts.n_slots == arena->by_id.n);
}

void
fs_arena_init(struct fs_arena *arena, struct fs_arena_limits limits,
	      const struct fs_arena_files *files, void *owner)
{
	*arena = (struct fs_arena){.files = files, .owner = owner, .limits = limits};
	arena->limits.size_bytes = limits.size_bytes / FS_ARENA_PAGE * FS_ARENA_PAGE;
	lock_init(&arena->lock, LOCK_fs_arena);
	lock_cond_init(&arena->settled);
	map_init(&arena->by_id);
	list_init(&arena->kept);
}

/* forget -- a slot that nobody uses is none of the arena's any more. */
static void
forget(struct fs_arena *arena, struct fs_slot *slot)
{
	assert(slot->n_users == 0);

	list_remove(&slot->at);
	map_take(&arena->by_id, slot->object_id);
	arena->counts.used_bytes -= slot->room_bytes;
	arena->counts.n_slots--;
	check(arena);
}

/* drop -- its file, too.  needs: forget(), no lock. */
static void
drop(struct fs_arena *arena, struct fs_slot *slot)
{
	arena->files->drop(arena->owner, slot);
	free(slot);
}

void
fs_arena_fini(struct fs_arena *arena)
{
	struct list_link *coldest;

	for (;;) {
		lock_take(&arena->lock);
		coldest = list_first(&arena->kept);
		if (coldest != NULL)
			forget(arena, list_of(coldest, struct fs_slot, at));
		lock_drop(&arena->lock);
		if (coldest == NULL)
			break;
		drop(arena, list_of(coldest, struct fs_slot, at));
	}
	assert(arena->counts.n_slots == 0);
	map_fini(&arena->by_id);
	pthread_cond_destroy(&arena->settled);
	lock_fini(&arena->lock);
}

bool
fs_arena_fits(const struct fs_arena *arena, uint64_t len_bytes)
{
	return len_bytes > 0 && len_bytes <= arena->limits.size_bytes / FS_ARENA_SHARE &&
	       arena->limits.n_slots > 0;
}

struct fs_slot *
fs_arena_find(struct fs_arena *arena, uint64_t object_id)
{
	struct fs_slot *slot;

	lock_take(&arena->lock);
	while ((slot = map_get(&arena->by_id, object_id)) != NULL && !slot->is_filled)
		lock_wait(&arena->lock, &arena->settled);
	if (slot != NULL) {
		slot->n_users++;
		list_remove(&slot->at);
		arena->counts.n_hits++;
	}
	lock_drop(&arena->lock);
	return slot;
}

/* is_room -- for one more slot, if those already are gone that leave so much. */
static bool
is_room(const struct fs_arena *arena, uint64_t room_bytes, uint64_t gone_bytes, uint64_t n_gone)
{
	return arena->counts.used_bytes - gone_bytes <= arena->limits.size_bytes - room_bytes &&
	       arena->counts.n_slots - n_gone < arena->limits.n_slots;
}

/* make_room -- the coldest go from the arena to the list, until it is enough.  All, or none. */
static bool
make_room(struct fs_arena *arena, uint64_t room_bytes, struct list *gone)
{
	uint64_t gone_bytes = 0, n_gone = 0;

	check(arena);
	list_each(&arena->kept, at) {
		if (is_room(arena, room_bytes, gone_bytes, n_gone))
			break;
		gone_bytes += list_of(at, struct fs_slot, at)->room_bytes;
		n_gone++;
	}
	if (!is_room(arena, room_bytes, gone_bytes, n_gone))
		return false;
	while (n_gone-- > 0) {
		struct fs_slot *slot = list_of(list_first(&arena->kept), struct fs_slot, at);

		forget(arena, slot);
		list_push_back(gone, &slot->at);
	}
	return true;
}

/* add -- a slot without a file as yet.  0, outcome or -ENOMEM. */
static int
add(struct fs_arena *arena, struct fs_slot *slot, struct list *gone)
{
	int r;

	if (map_get(&arena->by_id, slot->object_id) != NULL)
		return FS_ARENA_E_BUSY;
	if (!make_room(arena, slot->room_bytes, gone)) {
		arena->counts.n_refused++;
		return FS_ARENA_E_FULL;
	}
	r = map_put(&arena->by_id, slot->object_id, slot);
	if (r < 0)
		return r;
	slot->n_users = 1;
	arena->counts.used_bytes += slot->room_bytes;
	arena->counts.n_slots++;
	check(arena);
	return 0;
}

int
fs_arena_make(struct fs_arena *arena, uint64_t object_id, uint64_t len_bytes,
	      struct fs_slot **ret_slot)
{
	struct fs_slot *slot = calloc(1, sizeof(*slot));
	struct list gone;
	int r;

	assert(object_id != 0 && fs_arena_fits(arena, len_bytes));
	if (slot == NULL)
		return -ENOMEM;
	*slot = (struct fs_slot){
		.arena = arena,
		.object_id = object_id,
		.len_bytes = len_bytes,
		.room_bytes = room_for(len_bytes),
		.fd = -1,
	};
	list_link_init(&slot->at);
	list_init(&gone);

	lock_take(&arena->lock);
	r = add(arena, slot, &gone);
	lock_drop(&arena->lock);
	while (!list_is_empty(&gone)) {
		struct fs_slot *old = list_of(list_first(&gone), struct fs_slot, at);

		list_remove(&old->at);
		drop(arena, old);
	}
	if (r != 0) {
		free(slot);
		return r;
	}

	slot->fd = arena->files->make(arena->owner);
	if (slot->fd < 0) {
		r = slot->fd;
		fs_arena_let_go(slot);
		return r;
	}
	*ret_slot = slot;
	return 0;
}

void
fs_arena_filled(struct fs_slot *slot)
{
	struct fs_arena *arena = slot->arena;

	lock_take(&arena->lock);
	slot->is_filled = true;
	arena->counts.n_fills++;
	pthread_cond_broadcast(&arena->settled);
	lock_drop(&arena->lock);
}

void
fs_arena_let_go(struct fs_slot *slot)
{
	struct fs_arena *arena;
	bool is_gone;

	if (slot == NULL)
		return;
	arena = slot->arena;
	lock_take(&arena->lock);
	assert(slot->n_users > 0);
	slot->n_users--;
	is_gone = slot->n_users == 0 && !slot->is_filled;
	if (is_gone) {
		forget(arena, slot);
		pthread_cond_broadcast(&arena->settled);
	} else if (slot->n_users == 0) {
		list_push_back(&arena->kept, &slot->at);
	}
	lock_drop(&arena->lock);
	if (is_gone)
		drop(arena, slot);
}

void
fs_arena_count(struct fs_arena *arena, struct fs_arena_counts *ret_counts)
{
	lock_take(&arena->lock);
	*ret_counts = arena->counts;
	lock_drop(&arena->lock);
}
