/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A version of an object under a lease that is kept alive.  Where it lies stands in the master's
 * answer, which is kept as it came; the lease keeper makes sure that it stays true.
 */
#include <string.h>

#include "core/ask.h"
#include "core/get.h"
#include "core/statuses.h"
#include "core/register.h"
#include "core/why.h"
#include "transfer/base/num.h"

#define VIEW_MAGIC 0x74766965u

struct tiffin_view {
	unsigned magic;
	struct tiffin_client *client;
	char *key;
	struct ask ask; /* place lives in its reply */
	const struct rec_object_place *place;
	struct kept kept;
	struct spot
		*_Atomic borrowed[REPLICAS_MAX]; /* set once: mapped as long as the view is open */
};

/* enter -- the door of every call on a view. */
static int
enter(const struct tiffin_view *view)
{
	if (view == NULL || view->magic != VIEW_MAGIC)
		return why_set(TIFFIN_E_INVALID, "no view: tiffin_view_open() makes one");
	return client_enter(view->client);
}

static int
check(const struct tiffin_view *view)
{
	char shown[128];

	if (kept_holds(&view->kept, view->client->clock))
		return 0;
	return why_set(TIFFIN_E_LEASE, "\"%s\": the lease on it is over",
		       why_key(shown, sizeof(shown), view->key, strlen(view->key)));
}

/* refresh -- a lease that ran out may still be won back: the object may be just the same. */
static int
refresh(struct tiffin_view *view)
{
	if (check(view) == 0)
		return 0;
	lease_keeper_renew(view->client);
	return check(view);
}

static void
view_free(struct tiffin_view *view)
{
	for (size_t i = 0; i < REPLICAS_MAX; i++)
		spot_unref(atomic_load(&view->borrowed[i]));
	ask_fini(&view->ask);
	free(view->key);
	view->magic = 0;
	free(view);
}

/* look -- where is it?  0 or TIFFIN_E_*. */
static int
look(struct tiffin_view *view, uint64_t until_ns)
{
	struct rec_key_only key = {span_of(view->key, strlen(view->key))};
	struct msg_get_replica_list msg = {.n_keys = 1, .keys = &key};
	struct ask *ask = &view->ask;
	struct rep_get_replica_list rep;
	char shown[128];
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
	view->place = &rep.objects[0];
	if (view->place->status == STATUS_OK)
		return 0;
	return why_set(statuses_code(view->place->status), "\"%s\": %s",
		       why_key(shown, sizeof(shown), view->key, strlen(view->key)),
		       status_meaning(view->place->status));
}

static int
open_view(struct tiffin_client *client, const char *key, struct tiffin_view **ret_view)
{
	struct tiffin_view *view;
	int r = client_key_check(key);

	if (r != 0)
		return r;
	view = calloc(1, sizeof(*view));
	if (view == NULL)
		return why_no_memory();
	ask_init(&view->ask, client);
	view->client = client;
	view->key = strdup(key);
	r = view->key == NULL ? why_no_memory() : look(view, client_until(client));
	if (r != 0) {
		view_free(view);
		return r;
	}
	view->magic = VIEW_MAGIC;
	lease_keeper_add(&client->lease_keeper, &view->kept, view->key, view->place,
			 view->ask.asked_ns);
	*ret_view = view;
	return 0;
}

int
tiffin_view_open(struct tiffin_client *client, const char *key, struct tiffin_view **ret_view)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = open_view(client, key, ret_view);
	return r == 0 ? (client_leave(client, 0), 0) : client_leave(client, r);
}

void
tiffin_view_close(struct tiffin_view *view)
{
	if (view == NULL || view->magic != VIEW_MAGIC)
		return;
	lease_keeper_remove(view->client, &view->kept);
	view_free(view);
}

void
tiffin_view_stat(const struct tiffin_view *view, struct tiffin_stat *ret_stat)
{
	*ret_stat = (struct tiffin_stat){.object_id = view->place->object_id,
					 .len_bytes = view->place->len_bytes,
					 .crc = view->place->crc,
					 .has_crc = view->place->has_crc != 0,
					 .n_replicas = view->place->n_replicas};
}

/*
 * move -- from the nearest copy that can be had.
 *
 * When none can, each segment is asked for once more: a fence may just have cut our connections, or
 * a provider have come back elsewhere.  The version is the same as long as the lease holds.
 */
static int
move(struct tiffin_view *view, struct fetch *fetch)
{
	struct tiffin_client *client = view->client;
	int r = get_move(client, fetch, client_until(client));

	if (r != TIFFIN_E_UNREACHABLE || refresh(view) != 0)
		return r;
	for (uint32_t i = 0; i < view->place->n_replicas; i++)
		where_drop(&client->where, view->place->replicas[i].segment_id);
	return get_move(client, fetch, client_until(client));
}

int
tiffin_view_read(struct tiffin_view *view, uint64_t offset_bytes, const struct iovec *slices,
		 size_t n_slices, uint64_t *ret_len_bytes)
{
	struct fetch fetch = {.slices = slices, .n_slices = n_slices, .offset_bytes = offset_bytes};
	int r = enter(view);

	if (r != 0)
		return r;
	r = get_slices_check(slices, n_slices);
	if (r == 0)
		r = register_check(view->client, slices, n_slices);
	if (r == 0)
		r = refresh(view);
	if (r == 0 && offset_bytes < view->place->len_bytes) {
		fetch.key = view->key;
		fetch.place = view->place;
		fetch.len_bytes = num_min(view->place->len_bytes - offset_bytes,
					  get_slices_len(slices, n_slices));
		r = move(view, &fetch);
	}
	if (r == 0) {
		r = refresh(view); /* did it hold until the last byte? */
	} else if (r == TIFFIN_E_CHECKSUM && refresh(view) != 0) {
		r = TIFFIN_E_LEASE; /* other bytes are no surprise then */
	}
	r = client_leave(view->client, r);
	if (r == 0 && ret_len_bytes != NULL)
		*ret_len_bytes = fetch.len_bytes;
	return r;
}

/* spot_of -- the replica's segment, kept until the view is closed.  NULL: not to be had. */
static struct spot *
spot_of(struct tiffin_view *view, size_t i)
{
	const struct rec_replica *replica = &view->place->replicas[i];
	struct spot *spot = atomic_load(&view->borrowed[i]), *none = NULL;

	if (spot != NULL)
		return spot;
	if (where_find(view->client, replica->segment_id, replica->segment_epoch,
		       client_until(view->client), &spot) != 0)
		return NULL;
	if (atomic_compare_exchange_strong(&view->borrowed[i], &none, spot))
		return spot;
	spot_unref(spot);
	return none;
}

/* run_at -- the run of bytes of one replica that begins at offset. */
static bool
run_at(const struct rec_replica *replica, uint64_t len_bytes, uint64_t offset_bytes,
       struct rec_extent *ret_run)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < replica->n_extents; i++) {
		const struct rec_extent *extent = &replica->extents[i];

		if (offset_bytes - at < extent->len_bytes) {
			uint64_t skip = offset_bytes - at;

			ret_run->offset_bytes = extent->offset_bytes + skip;
			ret_run->len_bytes =
				num_min(extent->len_bytes - skip, len_bytes - offset_bytes);
			return true;
		}
		at += extent->len_bytes;
	}
	return false;
}

static int
borrow(struct tiffin_view *view, uint64_t offset_bytes, const void **ret_bytes,
       uint64_t *ret_len_bytes)
{
	const struct rec_object_place *place = view->place;
	struct rec_extent run;
	const void *base;

	for (uint32_t i = 0; i < place->n_replicas && i < REPLICAS_MAX; i++) {
		struct spot *spot;

		if (!run_at(&place->replicas[i], place->len_bytes, offset_bytes, &run))
			continue;
		spot = spot_of(view, i);
		if (spot == NULL ||
		    !num_range_fits(run.offset_bytes, run.len_bytes, spot->target->desc.size_bytes))
			continue;
		if (engine_map(view->client->engine, spot->target, &spot->token, &base) != 0)
			continue;
		*ret_bytes = (const uint8_t *)base + run.offset_bytes;
		*ret_len_bytes = run.len_bytes;
		return 0;
	}
	return why_set(TIFFIN_E_NOT_FOUND, "no copy of it lies on this host");
}

int
tiffin_view_borrow(struct tiffin_view *view, uint64_t offset_bytes, const void **ret_bytes,
		   uint64_t *ret_len_bytes)
{
	int r = enter(view);

	if (r != 0)
		return r;
	r = refresh(view);
	if (r == 0 && offset_bytes >= view->place->len_bytes)
		r = why_set(TIFFIN_E_INVALID, "offset %lu is beyond the end at %lu", offset_bytes,
			    view->place->len_bytes);
	if (r == 0)
		r = borrow(view, offset_bytes, ret_bytes, ret_len_bytes);
	return client_leave(view->client, r);
}

int
tiffin_view_check(struct tiffin_view *view)
{
	int r = enter(view);

	return r != 0 ? r : client_leave(view->client, refresh(view));
}
