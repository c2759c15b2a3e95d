/* SPDX-License-Identifier: Apache-2.0 */
#include "master/lease.h"

#include "master/ghost.h"
#include "transfer/base/num.h"

/* The master's promise lasts a little longer than what it says, for clocks that run apart. */
static uint64_t
with_margin(uint64_t len_ms)
{
	return len_ms + len_ms / 64 + 10;
}

void
lease_stretch(const struct master *master, struct object *object, uint64_t len_ms)
{
	uint64_t until_ms = num_add_sat(master->now_ms, with_margin(len_ms));

	object->lease_until_ms = num_max(object->lease_until_ms, until_ms);
	group_use(&master->groups, object, until_ms);
}

uint32_t
lease_grant(struct master *master, struct object *object, uint64_t len_ms)
{
	if (!lease_runs(object, master->now_ms)) {
		object->lease_id++;
		object->n_holders = 0;
	}
	object->n_holders++;
	lease_stretch(master, object, len_ms);
	return object->lease_id;
}

bool
lease_renew(struct master *master, struct object *object, uint32_t lease_id, uint64_t len_ms)
{
	if (lease_id == 0 || object->lease_id != lease_id || !lease_runs(object, master->now_ms))
		return false;
	lease_stretch(master, object, len_ms);
	return true;
}

void
lease_release(struct master *master, struct object *object, uint32_t lease_id)
{
	if (lease_id == 0 || object->lease_id != lease_id || !lease_runs(object, master->now_ms))
		return;
	if (object->n_holders > 0 && --object->n_holders == 0)
		object->lease_until_ms = 0;
}

void
lease_break(const struct master *master, struct object *object)
{
	if (!lease_runs(object, master->now_ms))
		return;
	object->lease_id++;
	object->n_holders = 1; /* those of before, who never release this round */
}

bool
lease_renew_of(struct master *master, uint64_t object_id, uint32_t lease_id, uint64_t len_ms)
{
	struct object *object = object_id == 0 ? NULL : map_get(&master->objects, object_id);

	return (object != NULL && lease_renew(master, object, lease_id, len_ms)) ||
	       ghost_renew(master, object_id, object, lease_id, len_ms);
}

void
lease_release_of(struct master *master, uint64_t object_id, uint32_t lease_id)
{
	struct object *object = object_id == 0 ? NULL : map_get(&master->objects, object_id);

	if (object != NULL)
		lease_release(master, object, lease_id);
	ghost_release(master, object_id, lease_id);
}
