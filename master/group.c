/* SPDX-License-Identifier: Apache-2.0 */
#include "master/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "master/object.h"
#include "master/tenant.h"
#include "master/proto/limits.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

void
groups_init(struct groups *groups)
{
	*groups = (struct groups){0};
	map_init(&groups->by_object);
	list_init(&groups->going);
}

static struct group *
group_of_key(struct key *key)
{
	return container_of(key, struct group, key);
}

static struct member *
member_at(struct list_link *link)
{
	return list_of(link, struct member, at_group);
}

struct group *
group_find(const struct tenant *tenant, const uint8_t *id, size_t id_len)
{
	struct key *key = tenant->groups == NULL ? NULL : index_get(tenant->groups, id, id_len);

	return key == NULL ? NULL : group_of_key(key);
}

struct group *
group_of(const struct groups *groups, const struct object *object)
{
	const struct member *member;

	if (!object->is_grouped)
		return NULL;
	member = map_get(&groups->by_object, object->id);
	return member->group;
}

/* ---- coming ---- */

static int
group_new(struct groups *groups, struct tenant *tenant, const uint8_t *id, size_t id_len,
	  struct group **ret_group)
{
	struct group *group;
	struct key *old;
	int r = tenant->groups == NULL ? index_new(tenant->slab, &tenant->groups) : 0;

	if (r < 0)
		return err_up(r);
	group = calloc(1, num_max(sizeof(*group), offsetof(struct group, key.bytes) + id_len));
	if (group == NULL)
		return err_new(-ENOMEM);
	group->tenant = tenant;
	list_init(&group->members);
	list_link_init(&group->at_going);
	group->key.len_bytes = (uint16_t)id_len;
	memcpy(group->key.bytes, id, id_len);
	r = index_put(tenant->groups, &group->key, &old);
	if (r < 0) {
		free(group);
		return err_up(r);
	}
	assert(old == NULL);
	groups->n++;
	*ret_group = group;
	return 0;
}

static void
group_free(struct groups *groups, struct group *group)
{
	struct key *key = index_take(group->tenant->groups, group->key.bytes, group->key.len_bytes);

	assert(key == &group->key && list_is_empty(&group->members));
	list_remove(&group->at_going);
	groups->n--;
	free(group);
}

static void
push_back(struct group *group, struct member *member)
{
	member->serial = ++group->last_serial;
	list_push_back(&group->members, &member->at_group);
}

int
group_join(struct groups *groups, struct object *object, const uint8_t *id, size_t id_len)
{
	struct group *group = group_find(object->tenant, id, id_len);
	struct member *member = malloc(sizeof(*member));
	int r = member == NULL ? err_new(-ENOMEM) : 0;

	assert(!object->is_grouped && id_len > 0 && id_len <= GROUP_MAX);

	if (r == 0 && map_put(&groups->by_object, object->id, member) < 0)
		r = err_new(-ENOMEM);
	if (r < 0) {
		free(member);
		return err_up(r);
	}
	if (group == NULL)
		r = group_new(groups, object->tenant, id, id_len, &group);
	if (r < 0) {
		map_take(&groups->by_object, object->id);
		free(member);
		return err_up(r);
	}

	*member = (struct member){.object_id = object->id, .group = group};
	list_link_init(&member->at_group);
	push_back(group, member);
	group->n_members++;
	group->used_at = object->tenant->ages.n_uses;
	object->is_grouped = true;
	return 0;
}

/* ---- going ---- */

static void
drop(struct groups *groups, struct member *member)
{
	struct group *group = member->group;

	list_remove(&member->at_group);
	free(member);
	group->n_members--;
	if (group->n_members == 0)
		group_free(groups, group);
}

void
group_leave(struct groups *groups, struct object *object)
{
	if (!object->is_grouped)
		return;
	drop(groups, map_take(&groups->by_object, object->id));
	object->is_grouped = false;
}

void
groups_fini(struct groups *groups)
{
	uint64_t id;
	void *member;

	for (size_t at = 0; map_next(&groups->by_object, &at, &id, &member);)
		drop(groups, member);
	map_fini(&groups->by_object);
	assert(groups->n == 0);
}

void
group_use(const struct groups *groups, const struct object *object, uint64_t until_ms)
{
	struct group *group = group_of(groups, object);

	if (group == NULL)
		return;
	group->lease_until_ms = num_max(group->lease_until_ms, until_ms);
	group->used_at = object->tenant->ages.n_uses;
}

bool
group_is_in_use(const struct group *group, const struct object *object, uint64_t now_ms)
{
	return group->lease_until_ms > now_ms || (int32_t)(group->used_at - object->used_at) > 0;
}

void
group_go(struct groups *groups, struct group *group, uint8_t from)
{
	group->going_from = from;
	group->going_until = group->last_serial + 1;
	list_remove(&group->at_going);
	list_push_back(&groups->going, &group->at_going);
}

struct member *
group_next(struct group *group)
{
	struct member *first = member_at(list_first(&group->members));

	if (first->serial < group->going_until)
		return first;
	group->going_until = 0;
	list_remove(&group->at_going);
	return NULL;
}

void
group_spare(const struct groups *groups, uint64_t object_id)
{
	struct member *member = map_get(&groups->by_object, object_id);

	if (member == NULL)
		return;
	list_remove(&member->at_group);
	push_back(member->group, member);
}

/* ---- every law ---- */

static void
check_group(const struct groups *groups, const struct map *objects, const struct group *group)
{
	uint64_t serial = 0;
	size_t n = 0;

	assert(group_find(group->tenant, group->key.bytes, group->key.len_bytes) == group);
	assert(group->n_members > 0 && group->key.len_bytes > 0);
	assert((group->going_until > 0) == list_link_is_on(&group->at_going));
	list_each(&group->members, link) {
		const struct member *member = list_of(link, struct member, at_group);
		const struct object *object = map_get(objects, member->object_id);

		assert(object != NULL && object->is_grouped && object->tenant == group->tenant);
		assert(member->group == group && member->serial > serial);
		assert(map_get(&groups->by_object, object->id) == member);
		serial = member->serial;
		n++;
	}
	assert(serial <= group->last_serial && n == group->n_members);
}

void
groups_check(const struct groups *groups, const struct map *objects)
{
	size_t n_groups = 0, n_objects = 0;
	uint64_t id;
	void *value;

	for (size_t at = 0; map_next(&groups->by_object, &at, &id, &value);) {
		const struct member *member = value;

		if (list_first(&member->group->members) != &member->at_group)
			continue; /* each group once */
		check_group(groups, objects, member->group);
		n_groups++;
		n_objects += member->group->n_members;
	}
	assert(n_groups == groups->n && n_objects == groups->by_object.n);
	for (size_t at = 0; map_next(objects, &at, &id, &value);) {
		const struct object *object = value;

		assert(object->is_grouped == (map_get(&groups->by_object, id) != NULL));
	}
}
