/* SPDX-License-Identifier: Apache-2.0 */

#include "core/hot_ring.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/crc.h"
#include "transfer/base/map.h"
#include "transfer/base/num.h"
#include "transfer/base/proc.h"

#define MAGIC          0x31474e5254484f54ull
#define SLOT_BYTES     4096 /* of the log for each slot of the index: a five-hundredth of it */
#define WAYS           4    /* slots where one id may stand */
#define LINE           64
#define PART_OF_LOG    4 /* an object takes at most one part in so many */
#define SLOT_EMPTY     0
#define slot_of_at(at) ((at) + 1)

enum state { STATE_VOID, STATE_WRITING, STATE_READY };

struct hot_ring_head {
	uint64_t magic, len_bytes, n_slots;
	_Atomic uint64_t holder; /* who moves what grows below, as me_of() names it; 0: nobody */
	_Atomic uint64_t tail, cursor;
};

/* Other processes write it: each field is read once, and judged. */
struct entry_head {
	_Atomic uint64_t at, room_bytes; /* room: this head and what follows, a multiple of LINE */
	_Atomic uint64_t cluster_id, object_id, len_bytes;
	_Atomic uint64_t start_ticks; /* of the process that writes it */
	_Atomic uint32_t pid, crc, state;
};

static_assert(sizeof(struct entry_head) <= LINE, "bytes begin a line after it");

/* The thread sanitizer knows no fences; it would see the copies of readers as races anyhow. */
#ifdef __SANITIZE_THREAD__
#define fence(order) ((void)0)
#else
#define fence(order) atomic_thread_fence(order)
#endif

#define get(field)        atomic_load_explicit(&(field), memory_order_relaxed)
#define set(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

/* ---- the memory ------------------------------------------------------------------ */

static uint64_t
n_slots_of(uint64_t len_bytes)
{
	uint64_t n = WAYS;

	while (n * SLOT_BYTES < len_bytes)
		n *= 2;
	return n;
}

static uint64_t
log_at(uint64_t n_slots)
{
	return num_align_up(sizeof(struct hot_ring_head) + n_slots * sizeof(uint64_t), 4096);
}

void
hot_ring_make(void *bytes, uint64_t len_bytes)
{
	struct hot_ring_head *head = bytes;

	assert(len_bytes >= HOT_RING_BYTES_MIN && (uintptr_t)bytes % 4096 == 0);
	head->len_bytes = len_bytes;
	head->n_slots = n_slots_of(len_bytes);
	head->magic = MAGIC;
}

bool
hot_ring_join(struct hot_ring *ring, void *bytes, uint64_t len_bytes)
{
	struct hot_ring_head *head = bytes;

	if (len_bytes < HOT_RING_BYTES_MIN || head->magic != MAGIC ||
	    head->len_bytes != len_bytes || head->n_slots != n_slots_of(len_bytes))
		return false;
	*ring = (struct hot_ring){
		.head = head,
		.slots = (_Atomic uint64_t *)(head + 1),
		.n_slots = n_slots_of(len_bytes),
		.log = (uint8_t *)bytes + log_at(n_slots_of(len_bytes)),
		.log_bytes = (len_bytes - log_at(n_slots_of(len_bytes))) / LINE * LINE,
		.pid = getpid(),
		.start_ticks = proc_start_ticks(getpid()),
	};
	return true;
}

static struct entry_head *
head_at(const struct hot_ring *ring, uint64_t at)
{
	return (struct entry_head *)(ring->log + at % ring->log_bytes);
}

static uint8_t *
bytes_at(const struct hot_ring *ring, uint64_t at)
{
	return ring->log + at % ring->log_bytes + LINE;
}

/* first_slot -- of the WAYS where this id may stand. */
static _Atomic uint64_t *
first_slot(const struct hot_ring *ring, const struct hot_id *id)
{
	return &ring->slots[map_hash(id, sizeof(*id), 0) % ring->n_slots / WAYS * WAYS];
}

/* still_holds -- after entry `at` was looked at: was it the same all the while? */
static bool
still_holds(const struct hot_ring *ring, uint64_t at)
{
	fence(memory_order_acquire);
	return get(ring->head->tail) <= at;
}

/* ---- readers --------------------------------------------------------------------- */

/* look -- is there an entry of this id at that place? */
static bool
look(const struct hot_ring *ring, const struct hot_id *id, uint64_t at, struct hot_entry *ret)
{
	const struct entry_head *head;
	uint64_t len_bytes;

	if (at % LINE != 0 || at >= atomic_load_explicit(&ring->head->cursor, memory_order_acquire))
		return false;
	head = head_at(ring, at);
	if (atomic_load_explicit(&head->state, memory_order_acquire) != STATE_READY ||
	    get(head->at) != at || get(head->cluster_id) != id->cluster_id ||
	    get(head->object_id) != id->object_id)
		return false;
	len_bytes = get(head->len_bytes);
	if (!num_range_fits(at % ring->log_bytes + LINE, len_bytes, ring->log_bytes))
		return false;
	*ret = (struct hot_entry){.at = at, .len_bytes = len_bytes, .crc = get(head->crc)};
	return still_holds(ring, at);
}

bool
hot_ring_find(const struct hot_ring *ring, const struct hot_id *id, struct hot_entry *ret_entry)
{
	const _Atomic uint64_t *slot = first_slot(ring, id);

	for (size_t i = 0; i < WAYS; i++) {
		uint64_t value = get(slot[i]);

		if (value != SLOT_EMPTY && look(ring, id, value - 1, ret_entry))
			return true;
	}
	return false;
}

/* warm -- have its pages at hand, where somebody looks after them. */
static void
warm(const struct hot_ring *ring, const uint8_t *at, uint64_t len_bytes)
{
	if (ring->mapping != NULL && len_bytes > 0)
		mapping_warm(ring->mapping, (uint64_t)(at - ring->mapping->bytes), len_bytes);
}

bool
hot_ring_read(const struct hot_ring *ring, const struct hot_entry *entry,
	      const struct hot_part *part, uint32_t *ret_crc)
{
	const uint8_t *from = bytes_at(ring, entry->at) + part->offset_bytes;
	uint64_t left = part->len_bytes;
	uint32_t crc = 0;

	assert(num_range_fits(part->offset_bytes, left, entry->len_bytes));
	warm(ring, from, left);
	for (size_t i = 0; i < part->n_slices && left > 0; i++) {
		size_t n = num_min(part->slices[i].iov_len, left);

		crc = crc_copy(crc, part->slices[i].iov_base, from, n);
		from += n;
		left -= n;
	}
	assert(left == 0);
	*ret_crc = crc;
	return still_holds(ring, entry->at);
}

void
hot_ring_forget(const struct hot_ring *ring, const struct hot_entry *entry)
{
	uint32_t ready = STATE_READY;

	/* If it has just become another's, that one is lost, too: a loss of time alone. */
	atomic_compare_exchange_strong(&head_at(ring, entry->at)->state, &ready, STATE_VOID);
}

/* ---- writers --------------------------------------------------------------------- */

/* is_written -- by a process that may go on doing so? */
static bool
is_written(const struct entry_head *head)
{
	pid_t pid = (pid_t)get(head->pid);

	if (atomic_load_explicit(&head->state, memory_order_acquire) != STATE_WRITING)
		return false;
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return false;
	return proc_start_ticks(pid) == get(head->start_ticks);
}

/* make_way -- move the tail to `to` at least.  false: somebody still writes there. */
static bool
make_way(struct hot_ring *ring, uint64_t to)
{
	uint64_t tail = get(ring->head->tail), cursor = get(ring->head->cursor);

	while (tail < to) {
		const struct entry_head *head = head_at(ring, tail);
		uint64_t room_bytes = get(head->room_bytes);

		if (get(head->at) != tail || room_bytes == 0 || room_bytes % LINE != 0 ||
		    room_bytes > cursor - tail)
			return false; /* somebody wrote where nobody should: no log any more */
		if (is_written(head))
			return false;
		tail += room_bytes;
	}
	set(ring->head->tail, tail);
	/* Whoever sees a byte of what comes now sees the tail, too. */
	fence(memory_order_release);
	return true;
}

static void
write_head(struct hot_ring *ring, uint64_t at, uint64_t room_bytes, enum state state)
{
	struct entry_head *head = head_at(ring, at);

	set(head->state, STATE_VOID);
	fence(memory_order_release);
	set(head->at, at);
	set(head->room_bytes, room_bytes);
	set(head->pid, (uint32_t)ring->pid);
	set(head->start_ticks, ring->start_ticks);
	atomic_store_explicit(&head->state, state, memory_order_release);
}

/* reserve_held -- room for one entry. */
static bool
reserve_held(struct hot_ring *ring, uint64_t room_bytes, uint64_t *ret_at)
{
	uint64_t cursor = get(ring->head->cursor);
	uint64_t left = ring->log_bytes - cursor % ring->log_bytes;
	uint64_t pad = left < room_bytes ? left : 0;
	uint64_t end = cursor + pad + room_bytes;

	if (end > ring->log_bytes && !make_way(ring, end - ring->log_bytes))
		return false;
	if (pad > 0)
		write_head(ring, cursor, pad, STATE_VOID);
	write_head(ring, cursor + pad, room_bytes, STATE_WRITING);
	atomic_store_explicit(&ring->head->cursor, end, memory_order_release);
	*ret_at = cursor + pad;
	return true;
}

/* me_of -- a process in one word. */
static uint64_t
me_of(uint32_t pid, uint64_t start_ticks)
{
	return (uint64_t)pid << 32 | (uint32_t)start_ticks;
}

/* hold -- without waiting.  Who died while it held left cursor and tail each whole. */
static bool
hold(struct hot_ring *ring)
{
	uint64_t holder = 0, me = me_of((uint32_t)ring->pid, ring->start_ticks);

	if (atomic_compare_exchange_strong(&ring->head->holder, &holder, me))
		return true;
	if (me_of((uint32_t)(holder >> 32), proc_start_ticks((pid_t)(holder >> 32))) == holder)
		return false; /* another thread of ours, perhaps */
	return atomic_compare_exchange_strong(&ring->head->holder, &holder, me);
}

static bool
reserve(struct hot_ring *ring, uint64_t room_bytes, uint64_t *ret_at)
{
	bool has_room;

	if (!hold(ring))
		return false;
	has_room = reserve_held(ring, room_bytes, ret_at);
	atomic_store_explicit(&ring->head->holder, 0, memory_order_release);
	return has_room;
}

/* point -- the index to the entry, in place of one that is gone, or of the oldest. */
static void
point(struct hot_ring *ring, const struct hot_id *id, uint64_t at)
{
	_Atomic uint64_t *slot = first_slot(ring, id), *oldest = slot;

	for (size_t i = 1; i < WAYS; i++)
		if (get(slot[i]) < get(*oldest))
			oldest = &slot[i];
	atomic_store_explicit(oldest, slot_of_at(at), memory_order_release);
}

bool
hot_ring_fits(const struct hot_ring *ring, uint64_t len_bytes)
{
	return len_bytes <= ring->log_bytes / PART_OF_LOG - LINE;
}

bool
hot_ring_add(struct hot_ring *ring, const struct hot_object *object, const struct iovec *slices,
	     size_t n_slices)
{
	uint64_t at, left = object->len_bytes;
	struct entry_head *head;
	uint32_t crc = 0;
	uint8_t *to;

	if (!hot_ring_fits(ring, left) || !reserve(ring, LINE + num_align_up(left, LINE), &at))
		return false;

	head = head_at(ring, at);
	set(head->cluster_id, object->id.cluster_id);
	set(head->object_id, object->id.object_id);
	set(head->len_bytes, object->len_bytes);
	set(head->crc, object->crc);
	to = bytes_at(ring, at);
	warm(ring, to, left);
	for (size_t i = 0; i < n_slices && left > 0; i++) {
		size_t n = num_min(slices[i].iov_len, left);

		crc = crc_copy(crc, to, slices[i].iov_base, n);
		to += n;
		left -= n;
	}
	assert(left == 0);
	atomic_store_explicit(&head->state, crc == object->crc ? STATE_READY : STATE_VOID,
			      memory_order_release);
	if (crc == object->crc)
		point(ring, &object->id, at);
	return crc == object->crc;
}
