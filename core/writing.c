/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writing.h"

#include <stdio.h>
#include <string.h>

#include "core/ask.h"
#include "core/beat.h"
#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/num.h"

/* ---- grants --------------------------------------------------------------------- */

static struct token
token_of(const struct tiffin_client *client, const struct rec_target_replica *replica,
	 const struct rec_grant *grant)
{
	struct token token = {
		.client_id = client->client_id,
		.segment_id = replica->segment_id,
		.segment_epoch = replica->segment_epoch,
		.offset_bytes = grant->offset_bytes,
		.len_bytes = grant->len_bytes,
		.until_ms = grant->until_ms,
		.rights = TOKEN_WRITE | TOKEN_READ,
	};

	memcpy(token.mac, grant->mac.bytes, sizeof(token.mac));
	return token;
}

static void
replica_fini(struct writing_replica *replica)
{
	spot_unref(replica->spot);
	free(replica->grants);
	*replica = (struct writing_replica){0};
}

/* replica_init -- gives the room in it. */
static int
replica_init(struct writing *w, const struct rec_target_replica *from, uint64_t until_ns,
	     struct writing_replica *replica, uint64_t *ret_room)
{
	uint64_t room = 0;
	int r;

	r = where_find(w->client, from->segment_id, from->segment_epoch, until_ns, &replica->spot);
	if (r != 0)
		return r == TIFFIN_E_NOT_FOUND ? TIFFIN_E_UNREACHABLE : r;
	if (from->n_grants > 0) {
		replica->grants = malloc(from->n_grants * sizeof(replica->grants[0]));
		if (replica->grants == NULL)
			return why_no_memory();
	}
	for (uint32_t i = 0; i < from->n_grants; i++) {
		replica->grants[i] =
			(struct writing_grant){room, token_of(w->client, from, &from->grants[i])};
		room = num_add_sat(room, from->grants[i].len_bytes);
	}
	replica->n_grants = from->n_grants;
	*ret_room = room;
	return 0;
}

/* is_alike -- the same bytes at the same places, only with other tokens? */
static bool
is_alike(const struct writing *w, const struct writing_replica *fresh, size_t n)
{
	if (w->n_replicas != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct writing_replica *old = &w->replicas[i];

		if (old->n_grants != fresh[i].n_grants ||
		    old->spot->target != fresh[i].spot->target)
			return false;
		for (size_t j = 0; j < old->n_grants; j++)
			if (old->grants[j].token.offset_bytes !=
				    fresh[i].grants[j].token.offset_bytes ||
			    old->grants[j].token.len_bytes != fresh[i].grants[j].token.len_bytes)
				return false;
	}
	return true;
}

/* retire -- the grants as they are stay until the end.  false: no memory. */
static bool
retire(struct writing *w)
{
	struct writing_retired *retired = malloc(sizeof(*retired));

	if (retired == NULL)
		return false;
	memcpy(retired->replicas, w->replicas, sizeof(w->replicas));
	retired->n_replicas = w->n_replicas;
	retired->next = w->retired;
	w->retired = retired;
	w->n_replicas = 0;
	return true;
}

/* settle -- fresh grants take the place of the old; where ops point at, if they are alike. */
static int
settle(struct writing *w, struct writing_replica *fresh, size_t n, bool has_ops)
{
	bool alike = is_alike(w, fresh, n);

	for (size_t i = 0; alike && i < n; i++) {
		size_t n_grants = fresh[i].n_grants;

		memcpy(w->replicas[i].grants, fresh[i].grants,
		       n_grants * sizeof(struct writing_grant));
		replica_fini(&fresh[i]);
	}
	if (alike)
		return 0;
	if (has_ops && !retire(w))
		return why_no_memory();
	for (size_t i = 0; i < w->n_replicas; i++)
		replica_fini(&w->replicas[i]);
	memcpy(w->replicas, fresh, n * sizeof(*fresh));
	w->n_replicas = n;
	return 0;
}

/* take_grants -- in place of the former, if any. */
static int
take_grants(struct writing *w, const struct writing_granted *granted, uint64_t until_ns)
{
	struct writing_replica fresh[REPLICAS_MAX] = {0};
	uint64_t room = UINT64_MAX, one = 0;
	int r = 0;

	if (granted->n_replicas > REPLICAS_MAX)
		return why_set(TIFFIN_E_VERSION, "the master granted too many copies");
	for (uint32_t i = 0; i < granted->n_replicas && r == 0; i++) {
		r = replica_init(w, &granted->replicas[i], until_ns, &fresh[i], &one);
		room = num_min(room, one);
	}
	if (r == 0)
		r = settle(w, fresh, granted->n_replicas, granted->has_ops);
	if (r != 0) {
		for (size_t i = 0; i < REPLICAS_MAX; i++)
			replica_fini(&fresh[i]);
		return r;
	}

	w->room_bytes = granted->n_replicas > 0 ? room : 0;
	w->half_ns = granted->asked_ns + granted->write_lease_ms * NS_PER_MS / 2;
	w->until_ns = granted->asked_ns + granted->write_lease_ms * NS_PER_MS / 10 * 9;
	return 0;
}

int
writing_init(struct writing *w, struct tiffin_client *client, const struct writing_granted *granted,
	     uint64_t until_ns)
{
	*w = (struct writing){.client = client,
			      .object_id = granted->object_id,
			      .era = granted->era,
			      .is_quiet = true};
	return take_grants(w, granted, until_ns);
}

void
writing_fini(struct writing *w)
{
	struct writing_retired *retired;

	for (size_t i = 0; i < w->n_replicas; i++)
		replica_fini(&w->replicas[i]);
	w->n_replicas = 0;
	while ((retired = w->retired) != NULL) {
		for (size_t i = 0; i < retired->n_replicas; i++)
			replica_fini(&retired->replicas[i]);
		w->retired = retired->next;
		free(retired);
	}
}

/* ---- ops -------------------------------------------------------------------------- */

/* add_range -- ops for one part of the object, in one replica. */
static void
add_range(const struct writing_replica *replica, struct moves *moves, const struct op *part)
{
	const uint64_t begin = part->offset_bytes, end = begin + part->len_bytes;
	struct op run = *part;

	run.target = replica->spot->target;
	for (size_t i = 0; i < replica->n_grants; i++) {
		const struct writing_grant *grant = &replica->grants[i];
		uint64_t from = num_max(begin, grant->at_bytes);
		uint64_t to = num_min(end, grant->at_bytes + grant->token.len_bytes);

		if (from >= to)
			continue;
		run.token = &grant->token;
		run.offset_bytes = grant->token.offset_bytes + (from - grant->at_bytes);
		run.len_bytes = to - from;
		run.skip_bytes = part->skip_bytes + (from - begin);
		moves_add_run(moves, &run);
	}
}

void
writing_add_ops(const struct writing *w, struct moves *moves, const struct op *part,
		size_t *ret_n_crc)
{
	struct op like = *part;
	size_t first = moves->n;

	assert(num_range_fits(part->offset_bytes, part->len_bytes, w->room_bytes));
	like.kind = OP_WRITE;
	like.want_crc = true;
	*ret_n_crc = 0;
	for (size_t i = 0; i < w->n_replicas; i++) {
		add_range(&w->replicas[i], moves, &like);
		if (i == 0)
			*ret_n_crc = moves->n - first;
		like.want_crc = false;
	}
}

void
writing_add_reads(const struct writing *w, struct moves *moves, const struct op *part)
{
	struct op like = *part;

	assert(num_range_fits(part->offset_bytes, part->len_bytes, w->room_bytes));
	like.kind = OP_READ;
	if (w->n_replicas > 0)
		add_range(&w->replicas[0], moves, &like);
}

/* is_over -- can nothing of an op that ended so arrive any more? */
static bool
is_over(enum op_result result)
{
	return result == OP_DONE || result == OP_E_REFUSED || result == OP_E_INVALID;
}

enum op_result
writing_note(struct writing *w, const struct moves *moves, size_t from, size_t to)
{
	enum op_result worst = OP_DONE;

	for (size_t i = from; i < to; i++) {
		const struct op *op = &moves->ops[i];

		if (op->kind == OP_WRITE && !is_over(op->result))
			w->is_quiet = false;
		if (op->result == OP_DONE)
			continue;
		worst = op->result;
		if (worst == OP_E_REFUSED || worst == OP_E_INVALID)
			where_drop(&w->client->where, op->target->desc.segment_id);
		else if (worst != OP_E_CANCELLED &&
			 where_fail(&w->client->where, op->target->desc.segment_id))
			beat_hurry(w->client);
	}
	return worst;
}

int
writing_why(const struct writing *w, const char *key, enum op_result result)
{
	/* A refused token is no matter of rights: the segment or its provider has begun anew. */
	int code = result == OP_E_REFUSED ? TIFFIN_E_UNREACHABLE : statuses_of_op(result);
	char shown[128];

	return why_set(code, "\"%s\": writing to segment %lu failed: %s",
		       why_key(shown, sizeof(shown), key, strlen(key)),
		       w->n_replicas > 0 ? w->replicas[0].spot->target->desc.segment_id : 0,
		       op_result_name(result));
}

/*
 * is_of_now -- does what was granted then still hold?
 *
 * Looked at with the lock held under which fences of ourselves look at the writings: an order to
 * fence us comes over a join that this sees, so none of before begins once it is carried out.
 */
static bool
is_of_now(struct tiffin_client *client, const struct writing_era *era)
{
	struct link_session session;

	assert(lock_held(&client->lock));
	client->link->ops->session(client->link, &session);
	return era->master_epoch >= client->quiet_epoch && era->n_joins >= session.fresh_join &&
	       era->n_adopted == client->n_adopted;
}

bool
writing_is_due(const struct writing *w)
{
	return clock_ns(w->client->clock) >= w->half_ns;
}

bool
writing_holds(const struct writing *w)
{
	bool is_valid;

	lock_take(&w->client->lock);
	is_valid = is_of_now(w->client, &w->era);
	lock_drop(&w->client->lock);
	return is_valid && clock_ns(w->client->clock) < w->until_ns;
}

/* ---- requests ----------------------------------------------------------------------- */

/* lost_put -- the master does not know the put any more: its lease ran out, or it was restarted. */
static int
lost_put(int r)
{
	if (r != TIFFIN_E_NOT_FOUND && r != TIFFIN_E_DENIED)
		return r;
	return why_set(TIFFIN_E_LEASE, "the put was given up by the master: its write lease ran "
				       "out, or the master was restarted; put it again");
}

int
writing_extend(struct writing *w, uint64_t more_bytes, uint64_t until_ns)
{
	struct msg_put_extend msg = {.object_id = w->object_id, .more_bytes = more_bytes};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_put_extend rep;
	int r;

	ask_init(&ask, w->client);
	r = ask_call(&ask, MSG_put_extend, msg_put_extend_encode(&ask.payload, &msg), until_ns);
	if (r != 0)
		return lost_put(r);
	r = ask_read(&ask, rep_put_extend_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r != 0)
		return r;

	return take_grants(w,
			   &(struct writing_granted){.replicas = rep.replicas,
						     .n_replicas = rep.n_replicas,
						     .write_lease_ms = rep.write_lease_ms,
						     .asked_ns = ask.asked_ns,
						     .has_ops = more_bytes == 0},
			   until_ns);
}

int
writing_end(struct writing *w, const struct rec_put_done *done, uint64_t until_ns)
{
	struct rec_put_done one = *done;
	struct msg_put_end msg = {.n_puts = 1, .puts = &one};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_put_end rep;
	int r;

	ask_init(&ask, w->client);
	r = ask_call(&ask, MSG_put_end, msg_put_end_encode(&ask.payload, &msg), until_ns);
	if (r == 0)
		r = ask_read(&ask, rep_put_end_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, 1);
	if (r != 0 || rep.fates[0].status == STATUS_OK)
		return r;
	r = why_set(statuses_code(rep.fates[0].status), "put_end: %s",
		    status_meaning(rep.fates[0].status));
	return lost_put(r);
}

void
writing_revoke(struct writing *w, uint64_t until_ns)
{
	struct rec_id id = {w->object_id};
	struct msg_put_revoke msg = {.is_quiet = w->is_quiet, .n_puts = 1, .puts = &id};
	cleanup_with(ask_fini) struct ask ask;
	char why[WHY_MAX];

	/* The caller's reason is told, not how giving up went. */
	snprintf(why, sizeof(why), "%s", tiffin_why());
	ask_init(&ask, w->client);
	if (clock_ns(w->client->clock) < until_ns)
		(void)ask_call(&ask, MSG_put_revoke, msg_put_revoke_encode(&ask.payload, &msg),
			       until_ns);
	else
		ask_post(&ask, MSG_put_revoke, msg_put_revoke_encode(&ask.payload, &msg));
	why_set(0, "%s", why);
}

/* ---- writes under way, by epoch -------------------------------------------------------- */

bool
writing_begin(struct tiffin_client *client, struct writing_span *span,
	      const struct writing_era *era)
{
	bool is_fine;

	list_link_init(&span->at);
	span->master_epoch = era->master_epoch;
	lock_take(&client->lock);
	is_fine = is_of_now(client, era);
	span->number = client->n_writings;
	if (is_fine) {
		list_push_back(&client->writings, &span->at);
		client->n_writings++;
	}
	lock_drop(&client->lock);
	if (!is_fine)
		why_set(TIFFIN_E_LEASE, "the master was restarted, or has not heard of us for "
					"long; put it again");
	return is_fine;
}

void
writing_finish(struct tiffin_client *client, struct writing_span *span)
{
	lock_take(&client->lock);
	list_remove(&span->at);
	lock_drop(&client->lock);
}

/* Spans stand in the order of their numbers: the first is the oldest. */
bool
writing_fence(struct tiffin_client *client, uint64_t fence_id)
{
	const struct list_link *oldest;
	bool is_over;

	lock_take(&client->lock);
	if (fence_id > client->own_fence_id) {
		client->own_fence_id = fence_id;
		client->own_fence_before = client->n_writings;
	}
	oldest = list_first(&client->writings);
	is_over = oldest == NULL ||
		  list_of(oldest, struct writing_span, at)->number >= client->own_fence_before;
	lock_drop(&client->lock);
	return is_over;
}

struct writing_era
writing_era(struct tiffin_client *client)
{
	struct writing_era era;
	struct link_session session;

	lock_take(&client->lock);
	client->link->ops->session(client->link, &session);
	era = (struct writing_era){session.master_epoch, session.n_joins, client->n_adopted};
	client->has_asked = true;
	lock_drop(&client->lock);
	return era;
}

uint64_t
writing_quiet_epoch(struct tiffin_client *client)
{
	struct link_session session;
	uint64_t epoch;

	lock_take(&client->lock);
	client->link->ops->session(client->link, &session);
	epoch = session.master_epoch;
	list_each(&client->writings, at) {
		uint64_t one = list_of(at, struct writing_span, at)->master_epoch;

		epoch = num_min(epoch, one);
	}
	client->quiet_epoch = num_max(client->quiet_epoch, epoch);
	lock_drop(&client->lock);
	return epoch;
}
