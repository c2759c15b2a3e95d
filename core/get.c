/* SPDX-License-Identifier: Apache-2.0 */

/*
 *      look      one request: where is it, under which lease, until when
 *      hot       those whose bytes this host has kept need not be moved (hot_cache.h)
 *      move      the nearest copy of each, all in one batch of ops
 *      fail over the next copy, for those that failed
 *      close     does the lease still run?  give it back
 *      again     one fresh look for those without a whole copy: things may have moved
 */
#include "core/get.h"

#include <string.h>

#include "core/ask.h"
#include "core/beat.h"
#include "core/choose.h"
#include "core/get_hot.h"
#include "core/mount.h"
#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"

#define KEEP_BYTES (16ull << 20) /* leases of longer transfers are kept alive meanwhile */

uint64_t
get_slices_len(const struct iovec *slices, size_t n_slices)
{
	uint64_t len_bytes = 0;

	for (size_t i = 0; i < n_slices; i++)
		len_bytes = num_add_sat(len_bytes, slices[i].iov_len);
	return len_bytes;
}

int
get_slices_check(const struct iovec *slices, size_t n_slices)
{
	if (n_slices > 0 && slices == NULL)
		return why_set(TIFFIN_E_INVALID, "%zu slices are announced, none is given",
			       n_slices);
	for (size_t i = 0; i < n_slices; i++)
		if (slices[i].iov_len > 0 && slices[i].iov_base == NULL)
			return why_set(TIFFIN_E_INVALID, "slice %zu has a length but no place", i);
	return 0;
}

/* why_fetch -- the sentence about one object. */
static int
why_fetch(const struct fetch *fetch, int code, const char *what)
{
	char shown[128];

	return why_set(code, "\"%s\": %s",
		       why_key(shown, sizeof(shown), fetch->key, strlen(fetch->key)), what);
}

/* ---- one copy ------------------------------------------------------------------- */

static bool
wants_crc(const struct tiffin_client *client, const struct fetch *fetch)
{
	return fetch->place->has_crc != 0 && !client->no_verify && fetch->offset_bytes == 0 &&
	       fetch->len_bytes == fetch->place->len_bytes;
}

/* add_ops -- READs for the part of the replica that is wanted.  false: its extents don't reach. */
static bool
add_ops(struct tiffin_client *client, struct fetch *fetch, struct moves *moves)
{
	const struct rec_replica *replica = &fetch->place->replicas[fetch->at_replica];
	const uint64_t end = fetch->offset_bytes + fetch->len_bytes;
	struct op run = {
		.kind = OP_READ,
		.want_crc = wants_crc(client, fetch),
		.may_skip_crc = !client->verify_rdma,
		.target = fetch->spot->target,
		.token = &fetch->spot->token,
		.slices = fetch->slices,
		.n_slices = fetch->n_slices,
	};
	uint64_t at = 0, from, to;

	for (uint32_t i = 0; i < replica->n_extents && at < end; i++) {
		const struct rec_extent *extent = &replica->extents[i];

		from = num_max(at, fetch->offset_bytes);
		to = num_min(num_add_sat(at, extent->len_bytes), end);
		if (from < to) {
			run.offset_bytes = extent->offset_bytes + (from - at);
			run.len_bytes = to - from;
			run.skip_bytes = from - fetch->offset_bytes;
			moves_add_run(moves, &run);
		}
		at = num_add_sat(at, extent->len_bytes);
	}
	fetch->n_ops = moves->n - fetch->first_op;
	return at >= end;
}

/* start -- find the replica's segment and add its ops, or none: it was here.  0 or TIFFIN_E_*. */
static int
start(struct tiffin_client *client, struct fetch *fetch, struct moves *moves, uint64_t until_ns)
{
	const struct rec_replica *replica = &fetch->place->replicas[fetch->at_replica];
	int r;

	fetch->first_op = moves->n;
	fetch->n_ops = 0;
	if (get_hot_take(client, fetch))
		return 0;
	r = where_find(client, replica->segment_id, replica->segment_epoch, until_ns, &fetch->spot);
	if (r != 0)
		return r == TIFFIN_E_NOT_FOUND ? TIFFIN_E_UNREACHABLE : r;
	if (!add_ops(client, fetch, moves))
		return why_fetch(fetch, TIFFIN_E_VERSION, "the master told only a part of a copy");
	return moves->is_short ? why_no_memory() : 0;
}

static enum op_result
worst_of(const struct fetch *fetch, const struct moves *moves)
{
	for (size_t i = 0; i < fetch->n_ops; i++)
		if (moves->ops[fetch->first_op + i].result != OP_DONE)
			return moves->ops[fetch->first_op + i].result;
	return OP_DONE;
}

static bool
crc_is_right(const struct fetch *fetch, const struct moves *moves)
{
	uint32_t crc = 0;

	for (size_t i = 0; i < fetch->n_ops; i++) {
		const struct op *op = &moves->ops[fetch->first_op + i];

		if (op->skipped_crc)
			return true; /* one-sided, and nobody asked for it */
		crc = i == 0 ? op->crc : crc_join(crc, op->crc, op->len_bytes);
	}
	return crc == fetch->place->crc;
}

/* finish -- all ops of the fetch have completed: what came of them?  0 or TIFFIN_E_*. */
static int
finish(struct tiffin_client *client, struct fetch *fetch, const struct moves *moves)
{
	const uint64_t segment_id = fetch->place->replicas[fetch->at_replica].segment_id;
	enum op_result worst = worst_of(fetch, moves);
	bool is_right =
		worst == OP_DONE && (!wants_crc(client, fetch) || crc_is_right(fetch, moves));
	char shown[128];

	if (fetch->spot == NULL)
		return 0; /* it was here */
	if (is_right)
		get_hot_leave(client, fetch, fetch->spot->target);
	spot_unref(take(&fetch->spot));
	if (worst == OP_DONE && !is_right)
		return why_fetch(fetch, TIFFIN_E_CHECKSUM, "its bytes are not those that were put");
	if (worst == OP_DONE)
		return 0;

	if (worst == OP_E_REFUSED || worst == OP_E_INVALID)
		where_drop(&client->where, segment_id);
	else if (worst != OP_E_CANCELLED && where_fail(&client->where, segment_id))
		beat_hurry(client);
	return why_set(statuses_of_op(worst), "\"%s\": its copy in segment %lu can't be read: %s",
		       why_key(shown, sizeof(shown), fetch->key, strlen(fetch->key)), segment_id,
		       op_result_name(worst));
}

/* run_waves -- all ops, looking after the leases in between. */
static void
run_waves(struct tiffin_client *client, struct moves *moves, uint64_t until_ns)
{
	for (size_t at = 0; at < moves->n;) {
		at = moves_wave(client, moves, at, &until_ns);
		if (at < moves->n)
			lease_keeper_renew(client);
	}
}

/* try_one -- the copy at_replica, alone. */
static int
try_one(struct tiffin_client *client, struct fetch *fetch, struct moves *moves, uint64_t until_ns)
{
	int r;

	moves_clear(moves);
	r = start(client, fetch, moves, until_ns);
	if (r != 0) {
		spot_unref(take(&fetch->spot));
		return r;
	}
	run_waves(client, moves, until_ns);
	return finish(client, fetch, moves);
}

/* ---- which copy ------------------------------------------------------------------- */

static struct choice
choice_of(struct tiffin_client *client, const struct rec_replica *replica, uint64_t until_ns)
{
	struct choice choice = {.nearness = NEAR_ELSEWHERE};
	struct spot *spot;

	choice.has_failed = where_has_failed(&client->where, replica->segment_id);
	if (where_find(client, replica->segment_id, replica->segment_epoch, until_ns, &spot) != 0)
		return choice;
	choice.is_on_disk = spot->target->desc.is_on_disk;
	if (mount_is_ours(client, replica->segment_id))
		choice.nearness = NEAR_PROCESS;
	else if (spot->target->is_same_host)
		choice.nearness = NEAR_HOST;
	spot_unref(spot);
	return choice;
}

/* order -- the copies of the object, best first.  Gives their number. */
static size_t
order(struct tiffin_client *client, const struct rec_object_place *place, uint64_t until_ns,
      size_t ret_order[REPLICAS_MAX])
{
	struct choice choices[REPLICAS_MAX];
	size_t n = num_min(place->n_replicas, (uint32_t)REPLICAS_MAX);

	ret_order[0] = 0;
	if (n <= 1)
		return n;
	for (size_t i = 0; i < n; i++)
		choices[i] = choice_of(client, &place->replicas[i], until_ns);
	choose_order(choices, n, atomic_fetch_add(&client->turn, 1), ret_order);
	return n;
}

/* is_final -- an end that no other copy can better. */
static bool
is_final(struct tiffin_client *client, int r, uint64_t until_ns)
{
	return r == 0 || r == TIFFIN_E_CLOSED || r == TIFFIN_E_SYSTEM ||
	       clock_ns(client->clock) >= until_ns;
}

int
get_move(struct tiffin_client *client, struct fetch *fetch, uint64_t until_ns)
{
	size_t order_of[REPLICAS_MAX], n;
	struct moves moves;
	int r = 0;

	if (fetch->len_bytes == 0)
		return 0;
	n = order(client, fetch->place, until_ns, order_of);
	if (n == 0)
		return why_fetch(fetch, TIFFIN_E_UNREACHABLE, "there is no copy of it");

	moves_init(&moves);
	for (size_t i = 0; i < n; i++) {
		fetch->at_replica = order_of[i];
		r = try_one(client, fetch, &moves, until_ns);
		if (r ==
		    TIFFIN_E_DENIED) /* the token may have grown old: once more with a new one */
			r = try_one(client, fetch, &moves, until_ns);
		if (is_final(client, r, until_ns))
			break;
	}
	moves_fini(&moves);
	if (r == TIFFIN_E_DENIED)
		return TIFFIN_E_UNREACHABLE; /* the segment has a new life: this copy is gone */
	return r;
}

/* ---- many at once ------------------------------------------------------------------ */

/* look -- ask where they are.  The answer lives in ask. */
static int
look(struct ask *ask, struct fetch *fetches, size_t n, uint64_t until_ns)
{
	struct rec_key_only one, *keys = &one;
	struct msg_get_replica_list msg = {.n_keys = (uint32_t)n};
	struct rep_get_replica_list rep;
	int r;

	if (n > 1)
		keys = malloc(n * sizeof(*keys));
	if (keys == NULL)
		return why_no_memory();
	for (size_t i = 0; i < n; i++)
		keys[i].key = span_of(fetches[i].key, strlen(fetches[i].key));
	msg.keys = keys;
	r = ask_call(ask, MSG_get_replica_list, msg_get_replica_list_encode(&ask->payload, &msg),
		     until_ns);
	if (keys != &one)
		free(keys);
	if (r != 0)
		return r;

	r = ask_read(ask, rep_get_replica_list_decode(ask->reply.payload, ask->reply.arena, &rep));
	if (r == 0)
		r = ask_count(ask, rep.n_objects, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		fetches[i].place = &rep.objects[i];
		fetches[i].cluster_id = ask->reply.cluster_id;
		fetches[i].asked_ns = ask->asked_ns;
	}
	return r;
}

/* judge -- may its bytes be moved, and how many?  Sets result and len_bytes. */
static void
judge(struct fetch *fetch)
{
	const struct rec_object_place *place = fetch->place;
	uint64_t room = get_slices_len(fetch->slices, fetch->n_slices);

	fetch->object_id = place->object_id;
	fetch->result = statuses_code(place->status);
	if (fetch->result != 0) {
		fetch->may_retry = fetch->is_away = place->status == STATUS_NOT_COMPLETE;
		why_fetch(fetch, fetch->result, status_meaning(place->status));
		return;
	}
	if (fetch->is_range) {
		fetch->len_bytes = fetch->offset_bytes >= place->len_bytes
					   ? 0
					   : num_min(place->len_bytes - fetch->offset_bytes, room);
		return;
	}
	fetch->offset_bytes = 0;
	fetch->len_bytes = place->len_bytes;
	if (room < place->len_bytes) {
		char shown[128];

		fetch->result =
			why_set(TIFFIN_E_TOO_SMALL, "\"%s\": it is %lu bytes, the slices hold %lu",
				why_key(shown, sizeof(shown), fetch->key, strlen(fetch->key)),
				place->len_bytes, room);
	}
}

/* move_all -- the best copy of each in one go, then others for those that failed. */
static void
move_all(struct tiffin_client *client, struct fetch *fetches, size_t n, uint64_t until_ns)
{
	size_t order_of[REPLICAS_MAX];
	struct moves moves;

	moves_init(&moves);
	for (size_t i = 0; i < n; i++) {
		struct fetch *fetch = &fetches[i];

		fetch->n_ops = 0;
		if (fetch->result != 0 || fetch->len_bytes == 0)
			continue;
		if (order(client, fetch->place, until_ns, order_of) == 0) {
			fetch->result = why_fetch(fetch, TIFFIN_E_UNREACHABLE, "there is no copy");
			continue;
		}
		fetch->at_replica = order_of[0];
		fetch->result = start(client, fetch, &moves, until_ns);
		if (fetch->result != 0) {
			moves.n = fetch->first_op;
			spot_unref(take(&fetch->spot));
			fetch->n_ops = 0;
		}
	}
	if (!moves.is_short)
		run_waves(client, &moves, until_ns);
	for (size_t i = 0; i < n; i++) {
		if (fetches[i].spot == NULL)
			continue;
		fetches[i].result =
			moves.is_short ? why_no_memory() : finish(client, &fetches[i], &moves);
		spot_unref(take(&fetches[i].spot));
	}
	moves_fini(&moves);
}

/* fail_over -- those whose first copy failed. */
static void
fail_over(struct tiffin_client *client, struct fetch *fetches, size_t n, uint64_t until_ns)
{
	for (size_t i = 0; i < n; i++) {
		struct fetch *fetch = &fetches[i];

		if (fetch->place->status != STATUS_OK || fetch->result == TIFFIN_E_TOO_SMALL ||
		    is_final(client, fetch->result, until_ns))
			continue;
		if (fetch->place->n_replicas > 1)
			atomic_fetch_add_explicit(&client->n_other_copy, 1, memory_order_relaxed);
		if (fetch->place->n_replicas > 1 || fetch->result == TIFFIN_E_DENIED)
			fetch->result = get_move(client, fetch, until_ns);
		fetch->may_retry = fetch->result != 0;
	}
}

/* close_lease -- the bytes have arrived: did the promise hold so long? */
static void
close_lease(struct tiffin_client *client, struct fetch *fetch, struct kept *kept)
{
	uint64_t until = num_add_sat(fetch->asked_ns, fetch->place->lease_ms * NS_PER_MS);
	bool holds =
		kept != NULL ? kept_holds(kept, client->clock) : clock_ns(client->clock) < until;

	if (fetch->place->status != STATUS_OK)
		return;
	if (kept != NULL)
		lease_keeper_remove(client, kept);
	else
		lease_keeper_release(client, fetch->place->object_id, fetch->place->lease_id);
	/* Without the promise other bytes are no surprise, and no proof that a copy has rotted. */
	if ((fetch->result == 0 || fetch->result == TIFFIN_E_CHECKSUM) && fetch->len_bytes > 0 &&
	    !holds) {
		fetch->result = why_fetch(fetch, TIFFIN_E_LEASE, "its lease ran out meanwhile");
		fetch->may_retry = true;
	}
}

/* keep_all -- keep their leases alive, when so much is to be moved.  NULL: short, or no memory. */
static struct kept *
keep_all(struct tiffin_client *client, const struct ask *ask, struct fetch *fetches, size_t n)
{
	uint64_t len_bytes = 0;
	struct kept *kept;

	for (size_t i = 0; i < n; i++)
		len_bytes =
			num_add_sat(len_bytes, fetches[i].result == 0 ? fetches[i].len_bytes : 0);
	if (len_bytes <= KEEP_BYTES)
		return NULL;
	kept = calloc(n, sizeof(*kept));
	for (size_t i = 0; kept != NULL && i < n; i++)
		if (fetches[i].place->status == STATUS_OK)
			lease_keeper_add(&client->lease_keeper, &kept[i], fetches[i].key,
					 fetches[i].place, ask);
	return kept;
}

/* get_some -- one look, and all that follows from it.  0, or why none has a result. */
static int
get_some(struct tiffin_client *client, struct fetch *fetches, size_t n, uint64_t until_ns)
{
	cleanup_with(ask_fini) struct ask ask;
	struct kept *kept;
	int r;

	ask_init(&ask, client);
	r = look(&ask, fetches, n, until_ns);
	if (n > 1 && ask.has_reply && ask.reply.status == STATUS_TOO_MANY) {
		/* The answer would have been too long: two halves. */
		r = get_some(client, fetches, n / 2, until_ns);
		return r != 0 ? r : get_some(client, fetches + n / 2, n - n / 2, until_ns);
	}
	if (r != 0)
		return r;

	for (size_t i = 0; i < n; i++) {
		fetches[i].may_retry = fetches[i].is_away = fetches[i].is_wanted_whole = false;
		judge(&fetches[i]);
	}
	kept = keep_all(client, &ask, fetches, n);
	move_all(client, fetches, n, until_ns);
	fail_over(client, fetches, n, until_ns);
	for (size_t i = 0; i < n; i++)
		get_hot_fill(client, &fetches[i], until_ns);
	for (size_t i = 0; i < n; i++)
		close_lease(client, &fetches[i], kept != NULL ? &kept[i] : NULL);
	free(kept);
	return 0;
}

/* get_again -- a fresh look for one that failed; more while its providers may be coming back. */
static void
get_again(struct tiffin_client *client, struct fetch *fetch, uint64_t until_ns)
{
	bool was_away;
	int r;

	do {
		was_away = fetch->is_away;
		if (was_away && (!client_settling(client, true) || !client_pause(client, until_ns)))
			return;
		r = get_some(client, fetch, 1, until_ns);
		if (r != 0) {
			fetch->result = r;
			return;
		}
	} while (was_away && fetch->may_retry);
}

/* get_again_all -- one more look for all that failed, together; then for those still away. */
static void
get_again_all(struct tiffin_client *client, struct fetch *fetches, size_t n, uint64_t until_ns)
{
	struct fetch *again = malloc(n * sizeof(*again));
	size_t n_again = 0, at = 0;

	for (size_t i = 0; i < n && again != NULL; i++)
		if (fetches[i].may_retry && !fetches[i].is_away)
			again[n_again++] = fetches[i];
	for (size_t i = 0; i < n_again; i += BATCH_MAX) {
		size_t n_some = num_min(n_again - i, (size_t)BATCH_MAX);
		int r = get_some(client, again + i, n_some, until_ns);

		for (size_t j = i; r != 0 && j < i + n_some; j++)
			again[j].result = r;
	}
	for (size_t i = 0; i < n; i++) {
		if (fetches[i].may_retry && fetches[i].is_away)
			get_again(client, &fetches[i], until_ns);
		else if (fetches[i].may_retry && at < n_again)
			fetches[i] = again[at++];
	}
	free(again);
}

int
get_run(struct tiffin_client *client, struct fetch *fetches, size_t n, uint64_t until_ns)
{
	size_t n_told = 0, n_failed = 0;
	int r = 0;

	for (size_t from = 0; from < n; from += BATCH_MAX) {
		size_t n_some = num_min(n - from, (size_t)BATCH_MAX);

		r = get_some(client, fetches + from, n_some, until_ns);
		for (size_t i = from; r != 0 && i < from + n_some; i++)
			fetches[i].result = r;
		n_told += r == 0 ? n_some : 0;
	}
	for (size_t i = 0; i < n; i++)
		n_failed += fetches[i].may_retry;
	atomic_fetch_add_explicit(&client->n_other_look, n_failed, memory_order_relaxed);
	if (n_failed == 1 && n == 1)
		get_again(client, fetches, until_ns);
	else if (n_failed > 0)
		get_again_all(client, fetches, n, until_ns);
	return n_told == 0 ? r : 0;
}

/* ---- the public calls ---------------------------------------------------------------- */

static int
get_one(struct tiffin_client *client, struct fetch *fetch, uint64_t *ret_len_bytes)
{
	int r;

	r = client_enter(client);
	if (r != 0)
		return r;
	r = client_key_check(fetch->key);
	if (r == 0)
		r = get_slices_check(fetch->slices, fetch->n_slices);
	if (r == 0)
		r = get_run(client, fetch, 1, client_until(client));
	if (r == 0)
		r = fetch->result;
	r = client_leave(client, r);
	if (r == 0 && ret_len_bytes != NULL)
		*ret_len_bytes = fetch->len_bytes;
	return r;
}

int
tiffin_get(struct tiffin_client *client, const char *key, const struct iovec *slices,
	   size_t n_slices, uint64_t *ret_len_bytes)
{
	struct fetch fetch = {.key = key, .slices = slices, .n_slices = n_slices};

	return get_one(client, &fetch, ret_len_bytes);
}

int
tiffin_get_range(struct tiffin_client *client, const char *key, uint64_t offset_bytes,
		 const struct iovec *slices, size_t n_slices, uint64_t *ret_len_bytes)
{
	struct fetch fetch = {.key = key,
			      .slices = slices,
			      .n_slices = n_slices,
			      .offset_bytes = offset_bytes,
			      .is_range = true};

	return get_one(client, &fetch, ret_len_bytes);
}
