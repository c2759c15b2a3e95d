/* SPDX-License-Identifier: Apache-2.0 */

/*
 * object.h -- one version of the bytes under a key, and where its copies lie.
 *
 *      put_start -> [ under way: struct put ] -> put_end -> [ in the index ] -> removed, evicted,
 *                          |                                                     replaced
 *                          +-> revoked, lease over                                  |
 *                                     v                                             v
 *                              extents into quarantine, object freed at once
 *
 * An object in the index is not told to anybody before batch `batch` of the
 * journal is committed: answers that depend on it wait (answer.h).
 *
 * Read leases are promises on the whole object:
 *      lease_until_ms   the longest promise given; until then its extents are not reused
 *      n_holders        promises of this round not given back; at 0 the lease ends at once
 *      lease_id         the round: grows when a promise is given after all former ones ended,
 *                       so that a late release can't end somebody else's promise
 *
 * thread:  the loop's.
 */
#ifndef MASTER_OBJECT_H
#define MASTER_OBJECT_H

#include "master/key.h"
#include "master/replica.h"

struct tenant;

#define OBJECT_MAGIC 0x0b1ec700u

/* What a look-up reads stands first, a line of the cache for each part; its key is read anyway. */
struct object {
	unsigned magic;
	uint32_t crc;
	uint64_t id; /* also its version; never reused */
	uint64_t len_bytes;
	uint64_t batch; /* of the journal that made it durable */
	uint64_t lease_until_ms;
	uint32_t lease_id, n_holders;
	uint16_t lru_tick; /* when it was last brought to the front */
	uint16_t attr_len;
	uint8_t n_replicas;
	bool has_crc;
	bool is_indexed : 1, is_ghost : 1;
	bool is_again : 1;   /* used again since it was put (ages.h) */
	bool is_of_move : 1; /* its room is the store's own, not its tenant's (tenant.h) */
	bool is_on_disk : 1; /* object_lies_on_disks() */
	bool is_grouped : 1; /* it is a member (group.h) */
	struct replica *replicas;

	struct replica first; /* most objects have one copy */

	struct list_link
		at_lru;     /* of its tenant's ages, front: used last; a ghost: master.ghost_list */
	uint64_t put_at_ms; /* since 1970 */
	struct tenant *tenant;
	uint8_t *attr;           /* owned, attr_len bytes, or NULL */
	uint32_t pinned_until_s; /* since 1970; 0: not pinned; PIN_HARD: for ever (pin.h) */
	uint32_t used_at;        /* of its tenant's ages: the number of its last use */
	struct key key;
};

_Static_assert(offsetof(struct object, first) == 64, "what a look-up reads first is one line");
_Static_assert(sizeof(struct replica) == 64, "and where the bytes lie is the next");

/* object_of -- the object whose key the index holds. */
static inline struct object *
object_of(struct key *key)
{
	struct object *object = container_of(key, struct object, key);

	assert(object->magic == OBJECT_MAGIC);
	return object;
}

/* object_fetch -- of a key that was found: the rest of what will be read is called for. */
static inline void
object_fetch(struct key *key)
{
	const struct object *object = container_of(key, struct object, key);

	__builtin_prefetch(object, 1);
	__builtin_prefetch(&object->first);
}

/* object_payer -- who is charged with its room; NULL: nobody is. */
static inline struct tenant *
object_payer(const struct object *object)
{
	return object->is_of_move ? NULL : object->tenant;
}

/* object_new -- without replicas.  0 or -ENOMEM. */
int object_new(struct tenant *tenant, uint64_t id, const uint8_t *key, size_t key_len,
	       struct object **ret_object) MUST_CHECK;

/* object_free -- its replicas must be gone. */
void object_free(struct object *object);

/*
 * object_rekey -- the same object under another key; the struct moves.
 *
 * needs:   off the index.
 * gives:   the new struct; replicas and lists point to it, `object` is freed.
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int object_rekey(struct object *object, const uint8_t *key, size_t key_len,
		 struct object **ret_object) MUST_CHECK;

/* object_set_attr -- copied.  0 or -ENOMEM, then nothing has changed. */
int object_set_attr(struct object *object, const uint8_t *attr, size_t attr_len) MUST_CHECK;

/* object_add_replica -- one more copy, INITIALIZED.  0 or -ENOMEM. */
int object_add_replica(struct object *object, struct segment *segment, const struct extent *extents,
		       uint32_t n_extents, struct replica **ret_rep) MUST_CHECK;

/* object_drop_replica -- needs: REMOVED or FAILED, its extents passed on. */
void object_drop_replica(struct object *object, struct replica *rep);

/* object_is_readable -- some copy is COMPLETE on a segment that is there (or there is nothing to
 * read). */
bool object_is_readable(const struct object *object);

/* object_is_void -- it has bytes, and every copy of them lies on a segment that is void: it is no
 * object any more, and leaves soon. */
bool object_is_void(const struct object *object);

/* object_needs -- without that copy it would be no object any more. */
bool object_needs(const struct object *object, const struct replica *rep);

/* object_is_in_touch -- the provider of some copy has been heard of late. */
bool object_is_in_touch(const struct object *object);

/* object_lies_on_disks -- it has a copy on a disk (FILE), and none in memory. */
bool object_lies_on_disks(const struct object *object);

/* object_room_bytes -- what all its copies take up. */
uint64_t object_room_bytes(const struct object *object);

/* object_copy_on -- its COMPLETE copy on that segment, or NULL. */
struct replica *object_copy_on(const struct object *object, uint64_t segment_id);

#define object_each_replica(object, rep)                                                           \
	for (struct replica *rep = (object)->replicas; rep != NULL; rep = rep->next)

#endif
