/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stand.h"

#include <string.h>

#include "core/statuses.h"
#include "core/where.h"
#include "core/why.h"
#include "transfer/base/num.h"

#define TRIES_MAX 4 /* while the version moves all the time */

int
stand_over(const struct tiffin_view *view)
{
	char shown[128];

	return why_set(TIFFIN_E_LEASE, "\"%s\": the lease on it is over",
		       why_key(shown, sizeof(shown), view->key, strlen(view->key)));
}

static void
stand_free(struct stand *stand)
{
	for (size_t i = 0; i < REPLICAS_MAX; i++)
		spot_unref(stand->borrowed[i]);
	ask_fini(&stand->ask);
	free(stand);
}

static bool
has_borrowed(const struct stand *stand)
{
	for (size_t i = 0; i < REPLICAS_MAX; i++)
		if (stand->borrowed[i] != NULL)
			return true;
	return false;
}

void
stand_free_former(struct tiffin_view *view)
{
	struct stand **at = &view->former;

	assert(lock_held(&view->lock));
	while (*at != NULL) {
		struct stand *stand = *at;

		if (stand->n_users > 0 || (has_borrowed(stand) && view->n_borrows > 0)) {
			at = &stand->next;
			continue;
		}
		*at = stand->next;
		stand_free(stand);
	}
}

static struct stand *
take_now(struct tiffin_view *view)
{
	struct stand *stand;

	lock_take(&view->lock);
	stand = view->now;
	stand->n_users++;
	lock_drop(&view->lock);
	return stand;
}

void
stand_drop(struct tiffin_view *view, struct stand *stand)
{
	lock_take(&view->lock);
	stand->n_users--;
	if (stand != view->now)
		stand_free_former(view);
	lock_drop(&view->lock);
}

bool
stand_holds(const struct tiffin_view *view, const struct stand *stand)
{
	if (kept_holds(&stand->kept, view->client->clock))
		return true;
	lease_keeper_renew(view->client);
	return kept_holds(&stand->kept, view->client->clock);
}

/* ask_where -- 0 or TIFFIN_E_*; *ret_place with any status. */
static int
ask_where(const struct tiffin_view *view, struct ask *ask, uint64_t until_ns,
	  const struct rec_object_place **ret_place)
{
	struct rec_key_only key = {span_of(view->key, strlen(view->key))};
	struct msg_get_replica_list msg = {.n_keys = 1, .keys = &key};
	struct rep_get_replica_list rep;
	int r;

	for (;;) {
		ask_again(ask);
		r = ask_call(ask, MSG_get_replica_list,
			     msg_get_replica_list_encode(&ask->payload, &msg), until_ns);
		if (r == 0)
			r = ask_read(ask, rep_get_replica_list_decode(ask->reply.payload,
								      ask->reply.arena, &rep));
		if (r == 0)
			r = ask_count(ask, rep.n_objects, 1);
		if (r != 0)
			return r;
		if (rep.objects[0].status != STATUS_NOT_COMPLETE ||
		    !client_settling(view->client, true) || !client_pause(view->client, until_ns))
			break;
	}
	*ret_place = &rep.objects[0];
	return 0;
}

/* look -- a stand by what the master says now, its lease kept.  0, TIFFIN_E_*. */
static int
look(struct tiffin_view *view, uint64_t until_ns, struct stand **ret_stand)
{
	struct stand *stand = calloc(1, sizeof(*stand));
	char shown[128];
	int r;

	if (stand == NULL)
		return why_no_memory();
	ask_init(&stand->ask, view->client);
	r = ask_where(view, &stand->ask, until_ns, &stand->place);
	if (r == 0 && stand->place->status != STATUS_OK)
		r = why_set(statuses_code(stand->place->status), "\"%s\": %s",
			    why_key(shown, sizeof(shown), view->key, strlen(view->key)),
			    status_meaning(stand->place->status));
	if (r != 0) {
		stand_free(stand);
		return r;
	}
	lease_keeper_add(&view->client->lease_keeper, &stand->kept, view->key, stand->place,
			 &stand->ask);
	*ret_stand = stand;
	return 0;
}

/* ---- the same version, elsewhere --------------------------------------------------- */

static bool
is_same_run(const struct rec_replica *a, const struct rec_replica *b)
{
	if (a->segment_id != b->segment_id || a->segment_epoch != b->segment_epoch ||
	    a->n_extents != b->n_extents)
		return false;
	for (uint32_t i = 0; i < a->n_extents; i++)
		if (a->extents[i].offset_bytes != b->extents[i].offset_bytes ||
		    a->extents[i].len_bytes != b->extents[i].len_bytes)
			return false;
	return true;
}

/* carry_over -- what was borrowed, as far as it is a copy still. */
static void
carry_over(struct tiffin_view *view, struct stand *from, struct stand *to)
{
	uint32_t n_from = num_min(from->place->n_replicas, (uint32_t)REPLICAS_MAX);
	uint32_t n_to = num_min(to->place->n_replicas, (uint32_t)REPLICAS_MAX);

	for (uint32_t i = 0; i < n_from; i++) {
		if (from->borrowed[i] == NULL)
			continue;
		for (uint32_t j = 0; j < n_to && from->borrowed[i] != NULL; j++)
			if (is_same_run(&from->place->replicas[i], &to->place->replicas[j]))
				to->borrowed[j] = take(&from->borrowed[i]);
	}
	view->has_lost_bytes |= has_borrowed(from) && view->n_borrows > 0;
}

/* adopt -- readers go on by fresh, if it is of the same version.  Takes it.  0 or TIFFIN_E_LEASE.
 */
static int
adopt(struct tiffin_view *view, struct stand *old, struct stand *fresh)
{
	bool is_same = fresh->kept.cluster_id == old->kept.cluster_id &&
		       fresh->place->object_id == old->place->object_id,
	     is_taken;

	lock_take(&view->lock);
	view->is_lost |= !is_same;
	is_taken = is_same && view->now == old; /* else somebody was faster */
	if (is_taken) {
		carry_over(view, old, fresh);
		view->now = fresh;
		old->next = view->former;
		view->former = old;
	}
	lock_drop(&view->lock);

	lease_keeper_remove(view->client, is_taken ? &old->kept : &fresh->kept);
	if (!is_taken)
		stand_free(fresh);
	return is_same ? 0 : stand_over(view);
}

int
stand_look_again(struct tiffin_view *view, struct stand *old, bool *ret_moved)
{
	struct stand *fresh;
	bool is_lost;
	int r;

	*ret_moved = false;
	lock_take(&view->lock);
	is_lost = view->is_lost;
	lock_drop(&view->lock);
	if (is_lost)
		return stand_over(view);
	r = look(view, client_until(view->client), &fresh);
	if (r == 0) {
		*ret_moved = lease_shape(fresh->place) != lease_shape(old->place);
		return adopt(view, old, fresh);
	}
	if (r == TIFFIN_E_NOT_FOUND) {
		lock_take(&view->lock);
		view->is_lost = true;
		lock_drop(&view->lock);
	}
	return stand_over(view);
}

int
stand_use(struct tiffin_view *view, struct stand **ret_stand)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		struct stand *stand = take_now(view);
		bool moved;
		int r = 0;

		if (stand_holds(view, stand)) {
			*ret_stand = stand;
			return 0;
		}
		if (atomic_load(&stand->kept.is_lost))
			r = stand_look_again(view, stand, &moved);
		else
			r = stand_over(view); /* not lost, only not proven: the master is away */
		stand_drop(view, stand);
		if (r != 0)
			return r;
	}
	return stand_over(view);
}

/* ---- first and last -------------------------------------------------------------------- */

int
stand_first(struct tiffin_view *view)
{
	const struct rec_object_place *place;
	int r = look(view, client_until(view->client), &view->now);

	if (r != 0)
		return r;
	place = view->now->place;
	view->stat = (struct tiffin_stat){.object_id = place->object_id,
					  .len_bytes = place->len_bytes,
					  .crc = place->crc,
					  .has_crc = place->has_crc != 0,
					  .n_replicas = place->n_replicas};
	return 0;
}

void
stand_end(struct tiffin_view *view)
{
	if (view->now == NULL)
		return;
	lease_keeper_remove(view->client, &view->now->kept);
	lock_take(&view->lock);
	view->n_borrows = 0;
	stand_free_former(view);
	lock_drop(&view->lock);
	assert(view->former == NULL && view->now->n_users == 0);
	stand_free(take(&view->now));
}
