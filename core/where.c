/* SPDX-License-Identifier: Apache-2.0 */
#include "core/where.h"

#include <errno.h>
#include <string.h>

#include "core/ask.h"
#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define AVOID_MS 3000 /* a segment that failed is read last for so long */

/* What is kept for one segment; `spot` is a reference, NULL when it must be asked for. */
struct known {
	struct spot *spot;
	uint64_t avoid_until_ns;
	bool is_to_tell;
};

void
where_init(struct where *where, struct engine *engine, const struct clock *clock,
	   uint64_t client_id)
{
	*where = (struct where){.engine = engine, .clock = clock, .client_id = client_id};
	lock_init(&where->lock, LOCK_core_where);
	map_init(&where->known);
}

void
where_fini(struct where *where)
{
	size_t at = 0;
	uint64_t id;
	void *value;

	while (map_next(&where->known, &at, &id, &value)) {
		struct known *known = value;

		spot_unref(known->spot);
		free(known);
	}
	map_fini(&where->known);
	lock_fini(&where->lock);
}

void
spot_ref(struct spot *spot)
{
	atomic_fetch_add_explicit(&spot->n_refs, 1, memory_order_relaxed);
}

void
spot_unref(struct spot *spot)
{
	if (spot == NULL)
		return;
	if (atomic_fetch_sub_explicit(&spot->n_refs, 1, memory_order_acq_rel) != 1)
		return;
	engine_target_unref(spot->engine, spot->target);
	free(spot);
}

struct spot *
where_get(struct where *where, uint64_t segment_id, uint64_t segment_epoch)
{
	struct spot *spot = NULL;
	struct known *known;

	lock_take(&where->lock);
	known = map_get(&where->known, segment_id);
	if (known != NULL && known->spot != NULL &&
	    known->spot->target->desc.segment_epoch == segment_epoch &&
	    clock_ns(where->clock) < known->spot->fresh_until_ns) {
		spot = known->spot;
		spot_ref(spot);
	}
	lock_drop(&where->lock);
	return spot;
}

/* copy_text -- needs: to is zeroed and long enough. */
static void
copy_text(char *to, struct span from)
{
	if (from.len > 0)
		memcpy(to, from.at, from.len);
}

/* spot_new -- with a target of the engine and the token as the master signed it. */
static int
spot_new(struct where *where, const struct rec_segment_state *state, uint64_t asked_ns,
	 struct spot **ret_spot)
{
	struct target_desc desc = {.segment_id = state->segment_id,
				   .segment_epoch = state->segment_epoch,
				   .size_bytes = state->size_bytes,
				   .is_on_disk = state->medium >= MEDIUM_FILE};
	struct spot *spot;
	int r;

	if (state->host.len > TARGET_HOST_MAX || state->endpoint.len > TARGET_ENDPOINT_MAX)
		return err_new(-EMSGSIZE);
	copy_text(desc.host, state->host);
	copy_text(desc.endpoint, state->endpoint);

	spot = calloc(1, sizeof(*spot));
	if (spot == NULL)
		return err_new(-ENOMEM);
	r = engine_target(where->engine, &desc, &spot->target);
	if (r < 0) {
		free(spot);
		return err_up(r);
	}
	atomic_init(&spot->n_refs, 1);
	spot->engine = where->engine;
	spot->fresh_until_ns = num_add_sat(
		asked_ns, num_min(state->token_ms, UINT64_MAX / NS_PER_S) * (NS_PER_MS / 4 * 3));
	spot->token = (struct token){.client_id = where->client_id,
				     .segment_id = state->segment_id,
				     .segment_epoch = state->segment_epoch,
				     .until_ms = state->until_ms,
				     .rights = TOKEN_READ | TOKEN_MAP};
	memcpy(spot->token.mac, state->mac.bytes, sizeof(spot->token.mac));
	*ret_spot = spot;
	return 0;
}

/* known_of -- its place, made when there is none; NULL: no memory. */
static struct known *
known_of(struct where *where, uint64_t segment_id)
{
	struct known *known = map_get(&where->known, segment_id);

	assert(lock_held(&where->lock));
	if (known != NULL)
		return known;
	known = calloc(1, sizeof(*known));
	if (known != NULL && map_put(&where->known, segment_id, known) < 0) {
		free(known);
		return NULL;
	}
	return known;
}

int
where_put(struct where *where, const struct rec_segment_state *state, uint64_t asked_ns)
{
	struct spot *spot = NULL, *old = NULL;
	struct known *known;
	int r;

	if (state->segment_id == 0)
		return err_new(-EINVAL);
	r = spot_new(where, state, asked_ns, &spot);
	if (r < 0)
		return err_up(r);

	lock_take(&where->lock);
	known = known_of(where, state->segment_id);
	if (known != NULL) {
		old = known->spot;
		known->spot = take(&spot);
	}
	lock_drop(&where->lock);

	spot_unref(old);
	spot_unref(spot);
	return known != NULL ? 0 : err_new(-ENOMEM);
}

void
where_drop(struct where *where, uint64_t segment_id)
{
	struct spot *old = NULL;
	struct known *known;

	lock_take(&where->lock);
	known = map_get(&where->known, segment_id);
	if (known != NULL)
		old = take(&known->spot);
	lock_drop(&where->lock);
	spot_unref(old);
}

/* query -- ask for one segment and keep the answer. */
static int
query(struct tiffin_client *client, uint64_t segment_id, uint64_t until_ns)
{
	struct rec_id id = {segment_id};
	struct msg_query_segment msg = {.n_segments = 1, .segments = &id};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_segment rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_query_segment, msg_query_segment_encode(&ask.payload, &msg),
		     until_ns);
	if (r != 0)
		return r;
	r = ask_read(&ask, rep_query_segment_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r != 0)
		return r;
	r = ask_count(&ask, rep.n_segments, 1);
	if (r != 0)
		return r;
	if (rep.segments[0].status != STATUS_OK || rep.segments[0].segment_id != segment_id)
		return why_set(TIFFIN_E_NOT_FOUND, "segment %lu is not lent any more", segment_id);

	r = where_put(&client->where, &rep.segments[0], ask.asked_ns);
	return r < 0 ? why_system(r, "keeping what is known of a segment") : 0;
}

int
where_find(struct tiffin_client *client, uint64_t segment_id, uint64_t segment_epoch,
	   uint64_t until_ns, struct spot **ret_spot)
{
	struct spot *spot = where_get(&client->where, segment_id, segment_epoch);
	int r;

	if (spot == NULL) {
		r = query(client, segment_id, until_ns);
		if (r != 0)
			return r;
		spot = where_get(&client->where, segment_id, segment_epoch);
	}
	if (spot == NULL)
		return why_set(TIFFIN_E_NOT_FOUND, "segment %lu has begun a new life", segment_id);
	*ret_spot = spot;
	return 0;
}

bool
where_fail(struct where *where, uint64_t segment_id)
{
	uint64_t now_ns = clock_ns(where->clock);
	struct known *known;
	bool is_news = false;

	lock_take(&where->lock);
	known = known_of(where, segment_id);
	if (known != NULL) {
		is_news = known->avoid_until_ns <= now_ns;
		known->avoid_until_ns = now_ns + AVOID_MS * NS_PER_MS;
		known->is_to_tell = true;
	}
	lock_drop(&where->lock);
	return is_news;
}

bool
where_has_failed(struct where *where, uint64_t segment_id)
{
	struct known *known;
	bool has_failed;

	lock_take(&where->lock);
	known = map_get(&where->known, segment_id);
	has_failed = known != NULL && known->avoid_until_ns > clock_ns(where->clock);
	lock_drop(&where->lock);
	return has_failed;
}

size_t
where_take_failing(struct where *where, struct rec_id *ret_ids, size_t cap)
{
	size_t at = 0, n = 0;
	uint64_t id;
	void *value;

	lock_take(&where->lock);
	while (n < cap && map_next(&where->known, &at, &id, &value)) {
		struct known *known = value;

		if (known->is_to_tell)
			ret_ids[n++].id = id;
		known->is_to_tell = false;
	}
	lock_drop(&where->lock);
	return n;
}
