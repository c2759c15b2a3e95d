/* SPDX-License-Identifier: Apache-2.0 */
#include "master/object.h"

#include <errno.h>
#include <string.h>

#include "master/ages.h"
#include "master/pool.h"
#include "master/segment.h"
#include "master/tenant.h"
#include "master/proto/limits.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

/* Its parts are lines of the cache when the whole begins one. */
static struct object *
object_alloc(const struct tenant *tenant, size_t key_len)
{
	size_t len_bytes =
		num_max(offsetof(struct object, key.bytes) + key_len, sizeof(struct object));

	return slab_alloc(tenant->slab, num_align_up(len_bytes, 64));
}

int
object_new(struct tenant *tenant, uint64_t id, const uint8_t *key, size_t key_len,
	   struct object **ret_object)
{
	struct object *object = object_alloc(tenant, key_len);

	assert(id != 0 && key_len > 0 && key_len <= KEY_MAX);

	if (object == NULL)
		return err_new(-ENOMEM);

	*object = (struct object){.magic = OBJECT_MAGIC, .id = id, .tenant = tenant};
	object->first.is_embedded = true;
	list_link_init(&object->at_lru);
	object->key.len_bytes = (uint16_t)key_len;
	memcpy(object->key.bytes, key, key_len);
	*ret_object = object;
	return 0;
}

void
object_free(struct object *object)
{
	if (object == NULL)
		return;

	assert(object->magic == OBJECT_MAGIC);
	assert(object->replicas == NULL && !object->is_indexed);

	list_remove(&object->at_lru);
	free(object->attr);
	object->magic = 0;
	slab_give(object->tenant->slab, object);
}

/* The neighbours of a link that was moved in memory still point to where it was. */
static void
relink(struct list_link *link, const struct list_link *was)
{
	if (link->next == was) {
		list_link_init(link);
		return;
	}
	link->prev->next = link;
	link->next->prev = link;
}

int
object_rekey(struct object *object, const uint8_t *key, size_t key_len, struct object **ret_object)
{
	struct object *moved;

	assert(object->magic == OBJECT_MAGIC && !object->is_indexed);

	moved = object_alloc(object->tenant, key_len);
	if (moved == NULL)
		return err_new(-ENOMEM);

	memcpy(moved, object, sizeof(*object));
	moved->key.len_bytes = (uint16_t)key_len;
	memcpy(moved->key.bytes, key, key_len);
	relink(&moved->at_lru, &object->at_lru);
	if (moved->replicas == &object->first)
		moved->replicas = &moved->first;
	for (struct replica *rep = moved->replicas; rep != NULL; rep = rep->next) {
		rep->object = moved;
		if (rep->next == &object->first)
			rep->next = &moved->first;
		if (rep->is_embedded)
			relink(&rep->at_segment, &object->first.at_segment);
	}
	object->magic = 0;
	slab_give(object->tenant->slab, object);
	*ret_object = moved;
	return 0;
}

int
object_set_attr(struct object *object, const uint8_t *attr, size_t attr_len)
{
	uint8_t *copy = NULL;

	assert(attr_len <= ATTR_MAX);

	if (attr_len > 0) {
		copy = malloc(attr_len);
		if (copy == NULL)
			return err_new(-ENOMEM);
		memcpy(copy, attr, attr_len);
	}
	free(object->attr);
	object->attr = copy;
	object->attr_len = (uint16_t)attr_len;
	return 0;
}

static void
charge(struct object *object, uint64_t room_bytes)
{
	if (object->is_of_move)
		object->tenant->moving_bytes += room_bytes;
	else
		tenant_charge(object->tenant, room_bytes);
}

bool
object_lies_on_disks(const struct object *object)
{
	bool has_any = false;

	object_each_replica(object, rep) {
		if (pool_kind_of(rep->segment) == POOL_MEMORY)
			return false;
		has_any |= pool_kind_of(rep->segment) == POOL_DISK;
	}
	return has_any;
}

static void
note_tier(struct object *object)
{
	bool is_on_disk = object_lies_on_disks(object);

	if (is_on_disk != object->is_on_disk)
		ages_sink(object, is_on_disk);
}

int
object_add_replica(struct object *object, struct segment *segment, const struct extent *extents,
		   uint32_t n_extents, struct replica **ret_rep)
{
	struct replica *rep = &object->first;
	struct replica **end = &object->replicas;
	int r;

	object_each_replica(object, other) {
		assert(other->segment != segment);
		if (other == rep)
			rep = NULL;
		end = &other->next;
	}
	if (rep == NULL) {
		rep = calloc(1, sizeof(*rep));
		if (rep == NULL)
			return err_new(-ENOMEM);
	}

	r = replica_init(rep, object, segment, extents, n_extents);
	if (r < 0) {
		if (!rep->is_embedded)
			free(rep);
		return err_up(r);
	}
	*end = rep;
	object->n_replicas++;
	charge(object, replica_room_bytes(rep));
	note_tier(object);
	*ret_rep = rep;
	return 0;
}

void
object_drop_replica(struct object *object, struct replica *rep)
{
	struct replica **at = &object->replicas;

	while (*at != rep) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = rep->next;
	object->n_replicas--;
	charge(object, 0 - replica_room_bytes(rep));
	replica_fini(rep);
	if (!rep->is_embedded)
		free(rep);
	note_tier(object);
}

bool
object_is_readable(const struct object *object)
{
	if (object->len_bytes == 0)
		return true;

	object_each_replica(object, rep)
		if (rep->state == REPLICA_COMPLETE && segment_is_here(rep->segment))
			return true;
	return false;
}

bool
object_is_void(const struct object *object)
{
	object_each_replica(object, rep)
		if (!segment_is_void(rep->segment))
			return false;
	return object->len_bytes > 0;
}

bool
object_needs(const struct object *object, const struct replica *rep)
{
	object_each_replica(object, other)
		if (other != rep && !segment_is_void(other->segment))
			return false;
	return true;
}

bool
object_is_in_touch(const struct object *object)
{
	object_each_replica(object, rep)
		if (rep->segment->state == SEGMENT_OK)
			return true;
	return false;
}

uint64_t
object_room_bytes(const struct object *object)
{
	uint64_t bytes = 0;

	object_each_replica(object, rep)
		bytes += replica_room_bytes(rep);
	return bytes;
}

struct replica *
object_copy_on(const struct object *object, uint64_t segment_id)
{
	object_each_replica(object, rep)
		if (rep->segment->id == segment_id && rep->state == REPLICA_COMPLETE)
			return rep;
	return NULL;
}
