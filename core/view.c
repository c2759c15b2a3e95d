/* SPDX-License-Identifier: Apache-2.0 */

/* A version of an object under a lease that is kept alive, and read where the master says it lies.
 */
#include <string.h>

#include "core/get.h"
#include "core/get_hot.h"
#include "core/register.h"
#include "core/stand.h"
#include "core/why.h"
#include "transfer/base/num.h"

#define TRIES_MAX 4 /* stands that one read tries */

/* enter -- the door of every call on a view. */
static int
enter(const struct tiffin_view *view)
{
	if (view == NULL || view->magic != VIEW_MAGIC)
		return why_set(TIFFIN_E_INVALID, "no view: tiffin_view_open() makes one");
	return client_enter(view->client);
}

/* ---- open, close ------------------------------------------------------------------- */

static void
view_free(struct tiffin_view *view)
{
	stand_end(view);
	lock_fini(&view->lock);
	free(view->key);
	view->magic = 0;
	free(view);
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
	lock_init(&view->lock, LOCK_core_view);
	view->client = client;
	view->key = strdup(key);
	r = view->key == NULL ? why_no_memory() : stand_first(view);
	if (r != 0) {
		view_free(view);
		return r;
	}
	view->magic = VIEW_MAGIC;
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
	view_free(view);
}

void
tiffin_view_stat(const struct tiffin_view *view, struct tiffin_stat *ret_stat)
{
	*ret_stat = view->stat;
}

/* ---- read ---------------------------------------------------------------------------- */

/*
 * move -- from the nearest copy that can be had.
 *
 * When none can, each segment is asked for once more: a fence may just have cut our connections, or
 * a provider have come back elsewhere.
 */
static int
move(struct tiffin_view *view, const struct stand *stand, struct fetch *fetch)
{
	struct tiffin_client *client = view->client;
	int r = get_move(client, fetch, client_until(client));

	if (r != TIFFIN_E_UNREACHABLE || !stand_holds(view, stand))
		return r;
	for (uint32_t i = 0; i < stand->place->n_replicas; i++)
		where_drop(&client->where, stand->place->replicas[i].segment_id);
	return get_move(client, fetch, client_until(client));
}

/* read_by -- one try.  0, TIFFIN_E_*; *ret_again: by another stand it may go. */
static int
read_by(struct tiffin_view *view, struct stand *stand, struct fetch *fetch, bool *ret_again)
{
	const struct rec_object_place *place = stand->place;
	char shown[128];
	bool has_moved;
	int r = 0;

	*ret_again = false;
	fetch->key = view->key;
	fetch->place = place;
	fetch->cluster_id = stand->ask.reply.cluster_id;
	fetch->len_bytes = 0;
	if (fetch->offset_bytes < place->len_bytes) {
		fetch->len_bytes = num_min(place->len_bytes - fetch->offset_bytes,
					   get_slices_len(fetch->slices, fetch->n_slices));
		r = move(view, stand, fetch);
		if (r == 0)
			get_hot_fill(view->client, fetch, client_until(view->client));
	}
	if ((r == 0 || r == TIFFIN_E_CHECKSUM) && !stand_holds(view, stand)) {
		*ret_again = atomic_load(&stand->kept.is_lost);
		return stand_over(view); /* other bytes are no surprise then */
	}
	if (r != TIFFIN_E_UNREACHABLE)
		return r;
	if (stand_look_again(view, stand, &has_moved) != 0)
		return TIFFIN_E_LEASE;
	*ret_again = has_moved;
	return *ret_again ? r
			  : why_set(r, "\"%s\": none of its copies can be reached",
				    why_key(shown, sizeof(shown), view->key, strlen(view->key)));
}

static int
read_view(struct tiffin_view *view, struct fetch *fetch)
{
	bool again = true;
	int r = 0;

	for (int tries = 0; again && tries < TRIES_MAX; tries++) {
		struct stand *stand;

		r = stand_use(view, &stand);
		if (r != 0)
			return r;
		r = read_by(view, stand, fetch, &again);
		stand_drop(view, stand);
	}
	return r;
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
		r = read_view(view, &fetch);
	r = client_leave(view->client, r);
	if (r == 0 && ret_len_bytes != NULL)
		*ret_len_bytes = fetch.len_bytes;
	return r;
}

/* ---- borrow -------------------------------------------------------------------------- */

/* spot_of -- the replica's segment, kept by the stand.  NULL: not to be had. */
static struct spot *
spot_of(struct tiffin_view *view, struct stand *stand, size_t i)
{
	const struct rec_replica *replica = &stand->place->replicas[i];
	struct spot *spot, *mine;

	lock_take(&view->lock);
	spot = stand->borrowed[i];
	lock_drop(&view->lock);
	if (spot != NULL)
		return spot;
	if (where_find(view->client, replica->segment_id, replica->segment_epoch,
		       client_until(view->client), &mine) != 0)
		return NULL;
	lock_take(&view->lock);
	if (stand->borrowed[i] == NULL)
		stand->borrowed[i] = take(&mine);
	spot = stand->borrowed[i];
	lock_drop(&view->lock);
	spot_unref(mine);
	return spot;
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
borrow(struct tiffin_view *view, struct stand *stand, uint64_t offset_bytes, struct iovec *ret_run)
{
	const struct rec_object_place *place = stand->place;
	struct rec_extent run;
	const void *base;

	for (uint32_t i = 0; i < place->n_replicas && i < REPLICAS_MAX; i++) {
		struct spot *spot;

		if (!run_at(&place->replicas[i], place->len_bytes, offset_bytes, &run))
			continue;
		spot = spot_of(view, stand, i);
		if (spot == NULL ||
		    !num_range_fits(run.offset_bytes, run.len_bytes, spot->target->desc.size_bytes))
			continue;
		if (engine_map(view->client->engine, spot->target, &spot->token, &base) != 0)
			continue;
		ret_run->iov_base = (uint8_t *)(uintptr_t)base + run.offset_bytes;
		ret_run->iov_len = run.len_bytes;
		return 0;
	}
	return why_set(TIFFIN_E_NOT_FOUND, "no copy of it lies on this host");
}

/* borrow_by -- counted only if the stand is still the one to read by. */
static int
borrow_by(struct tiffin_view *view, struct stand *stand, uint64_t offset_bytes,
	  struct iovec *ret_run, bool *ret_again)
{
	int r;

	*ret_again = false;
	if (offset_bytes >= stand->place->len_bytes)
		return why_set(TIFFIN_E_INVALID, "offset %lu is beyond the end at %lu",
			       offset_bytes, stand->place->len_bytes);
	r = borrow(view, stand, offset_bytes, ret_run);
	if (r != 0)
		return r;
	lock_take(&view->lock);
	*ret_again = view->now != stand;
	view->n_borrows += !*ret_again;
	lock_drop(&view->lock);
	return 0;
}

int
tiffin_view_borrow(struct tiffin_view *view, uint64_t offset_bytes, const void **ret_bytes,
		   uint64_t *ret_len_bytes)
{
	struct iovec run = {NULL, 0};
	bool again = true;
	int r = enter(view);

	if (r != 0)
		return r;
	for (int tries = 0; r == 0 && again && tries < TRIES_MAX; tries++) {
		struct stand *stand;

		r = stand_use(view, &stand);
		if (r != 0)
			break;
		r = borrow_by(view, stand, offset_bytes, &run, &again);
		stand_drop(view, stand);
	}
	if (r == 0 && again)
		r = stand_over(view);
	if (r == 0) {
		*ret_bytes = run.iov_base;
		*ret_len_bytes = run.iov_len;
	}
	return client_leave(view->client, r);
}

int
tiffin_view_return(struct tiffin_view *view, uint64_t n_borrows)
{
	int r = enter(view);

	if (r != 0)
		return r;
	lock_take(&view->lock);
	if (n_borrows > view->n_borrows)
		r = why_set(TIFFIN_E_INVALID, "more is given back than was borrowed");
	else
		view->n_borrows -= n_borrows;
	if (view->n_borrows == 0) {
		view->has_lost_bytes = false;
		stand_free_former(view);
	}
	lock_drop(&view->lock);
	return client_leave(view->client, r);
}

int
tiffin_view_check(struct tiffin_view *view)
{
	struct stand *stand;
	bool has_lost_bytes;
	int r = enter(view);

	if (r != 0)
		return r;
	r = stand_use(view, &stand);
	if (r == 0) {
		lock_take(&view->lock);
		has_lost_bytes = view->has_lost_bytes;
		lock_drop(&view->lock);
		stand_drop(view, stand);
		if (has_lost_bytes)
			r = why_set(TIFFIN_E_LEASE, "the copy that was borrowed is there no more");
	}
	return client_leave(view->client, r);
}
