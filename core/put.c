/* SPDX-License-Identifier: Apache-2.0 */

/*
 *      start     one request: room on so many segments, with tokens and a write lease
 *      write     every slice to every copy, in waves; the lease is extended at its half
 *      end       one request with the sums: from now on readers find them
 *      revoke    those that failed; once more for those whose peer was lost
 */
#include "core/put.h"

#include <inttypes.h>
#include <string.h>

#include "core/get.h"
#include "core/pin.h"
#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"

#define SOME_BYTES_MAX (1ull << 30) /* objects of one round; more come in the next */
#define SOME_ATTR_MAX  (2u << 20)
#define REFUSED_TRIES  20 /* with a pause before each */

int
put_attr_check(const void *attr, size_t attr_bytes)
{
	if (attr_bytes > TIFFIN_ATTR_MAX)
		return why_set(TIFFIN_E_INVALID, "attributes are at most %d bytes, not %zu",
			       TIFFIN_ATTR_MAX, attr_bytes);
	if (attr_bytes > 0 && attr == NULL)
		return why_set(TIFFIN_E_INVALID, "attributes have a length but no place");
	return 0;
}

int
put_group_check(const char *group)
{
	if (group == NULL || strlen(group) <= TIFFIN_GROUP_MAX)
		return 0;
	return why_set(TIFFIN_E_INVALID, "the id of a group has at most %d bytes",
		       TIFFIN_GROUP_MAX);
}

static int
preferred_check(const uint64_t *preferred, size_t n)
{
	if (n <= TIFFIN_REPLICAS_MAX && (n == 0 || preferred != NULL))
		return 0;
	return why_set(TIFFIN_E_INVALID, "at most %d segments can be preferred",
		       TIFFIN_REPLICAS_MAX);
}

int
put_options_check(const struct tiffin_put_options *options)
{
	const uint32_t flags = TIFFIN_REPLACE | TIFFIN_STRICT | TIFFIN_SAME_NODE | PINS;
	uint64_t n_copies;
	int r;

	if (options == NULL)
		return 0;
	if (options->struct_bytes < sizeof(*options))
		return why_set(TIFFIN_E_INVALID, "tiffin_put_options: set struct_bytes");
	n_copies = (uint64_t)options->replica_num + options->nof_replica_num;
	if (n_copies > TIFFIN_REPLICAS_MAX)
		return why_set(TIFFIN_E_INVALID,
			       "%" PRIu64 " copies are wanted; at most %d are possible", n_copies,
			       TIFFIN_REPLICAS_MAX);
	if ((options->flags & ~flags) != 0)
		return why_set(
			TIFFIN_E_INVALID,
			"flags of a put are REPLACE, STRICT, SAME_NODE, SOFT_PIN and HARD_PIN");
	r = pin_check(options->flags & PINS, options->pin_ttl_ms);
	if (r == 0)
		r = preferred_check(options->preferred, options->n_preferred);
	if (r == 0)
		r = preferred_check(options->preferred_nof, options->n_preferred_nof);
	if (r == 0)
		r = put_group_check(options->group);
	return r != 0 ? r : put_attr_check(options->attr, options->attr_bytes);
}

int
put_why(const char *key, uint32_t status)
{
	char shown[128];

	return why_set(statuses_code(status), "\"%s\": %s",
		       why_key(shown, sizeof(shown), key, strlen(key)), status_meaning(status));
}

int
put_refused(const char *key, uint32_t status, struct span why)
{
	bool is_of_room = status == STATUS_NO_SPACE || status == STATUS_NO_SEGMENT ||
			  status == STATUS_QUOTA_EXCEEDED;
	char shown[128];

	if (!is_of_room || why.len == 0)
		return put_why(key, status);
	return why_set(statuses_code(status), "\"%s\": %.*s",
		       why_key(shown, sizeof(shown), key, strlen(key)), (int)why.len,
		       (const char *)why.at);
}

/* ---- start --------------------------------------------------------------------- */

/* The segments are read into ids, which has room for REPLICAS_MAX. */
static struct rec_id *
preferred_of(const uint64_t *preferred, size_t n, struct rec_id *ids)
{
	for (size_t i = 0; i < n; i++)
		ids[i].id = preferred[i];
	return ids;
}

static uint8_t
flags_of(uint32_t flags)
{
	return (uint8_t)(((flags & TIFFIN_REPLACE) != 0 ? PUT_REPLACE : 0) |
			 ((flags & TIFFIN_STRICT) != 0 ? PUT_STRICT : 0) |
			 ((flags & TIFFIN_SAME_NODE) != 0 ? PUT_SAME_NODE : 0));
}

int
put_start(struct ask *ask, const struct tiffin_put_options *options, const struct put_list *list,
	  uint64_t until_ns, struct rep_put_start *ret_rep)
{
	const struct tiffin_put_options none = {0}, *o = options != NULL ? options : &none;
	struct rec_id preferred[REPLICAS_MAX], preferred_nof[REPLICAS_MAX];
	struct msg_put_start msg = {
		.replica_num = (uint8_t)o->replica_num,
		.nof_replica_num = (uint8_t)o->nof_replica_num,
		.flags = flags_of(o->flags),
		.pin = pin_kind(o->flags),
		.pin_ttl_ms = o->pin_ttl_ms,
		.n_preferred = (uint32_t)o->n_preferred,
		.preferred = preferred_of(o->preferred, o->n_preferred, preferred),
		.n_preferred_nof = (uint32_t)o->n_preferred_nof,
		.preferred_nof = preferred_of(o->preferred_nof, o->n_preferred_nof, preferred_nof),
		.n_puts = (uint32_t)list->n,
		.puts = (struct rec_put *)list->puts,
		.n_groups = list->groups == NULL ? 0 : (uint32_t)list->n,
		.groups = (struct rec_group_id *)list->groups,
	};
	int r;

	if (msg.replica_num + msg.nof_replica_num == 0)
		msg.replica_num = 1;
	r = ask_call(ask, MSG_put_start, msg_put_start_encode(&ask->payload, &msg), until_ns);
	if (r != 0)
		return r;
	r = ask_read(ask, rep_put_start_decode(ask->reply.payload, ask->reply.arena, ret_rep));
	return r == 0 ? ask_count(ask, ret_rep->n_places, list->n) : r;
}

/* refuse_one, open_one -- the master's answer for one parcel. */
static void
refuse_one(struct parcel *parcel, uint32_t status, struct span why)
{
	parcel->result = put_refused(parcel->key, status, why);
	parcel->may_retry = status == STATUS_NO_SEGMENT;
}

static void
open_one(struct tiffin_client *client, struct parcel *parcel, const struct rec_put_place *place,
	 struct writing_granted *granted, uint64_t until_ns)
{
	granted->object_id = place->object_id;
	granted->replicas = place->replicas;
	granted->n_replicas = place->n_replicas;
	parcel->object_id = place->object_id;
	parcel->is_started = true;
	parcel->result = writing_init(&parcel->writing, client, granted, until_ns);
	if (parcel->result == 0 && parcel->writing.room_bytes < parcel->len_bytes)
		parcel->result =
			why_set(TIFFIN_E_VERSION, "the master granted less than was asked");
	parcel->may_retry = parcel->result == TIFFIN_E_UNREACHABLE;
}

/* groups_of -- one each, in groups; NULL: no parcel has one. */
static const struct rec_group_id *
groups_of(const struct parcel *parcels, size_t n, struct rec_group_id *groups)
{
	bool has_some = false;

	for (size_t i = 0; i < n; i++) {
		const char *group = parcels[i].group != NULL ? parcels[i].group : "";

		groups[i].id = span_of(group, strlen(group));
		has_some |= group[0] != '\0';
	}
	return has_some ? groups : NULL;
}

static int
open_all(struct tiffin_client *client, struct parcel *parcels, size_t n,
	 const struct tiffin_put_options *options, uint64_t until_ns)
{
	struct writing_granted granted = {.era = writing_era(client)};
	struct rec_put one, *puts = n == 1 ? &one : malloc(n * sizeof(*puts));
	struct put_list list;
	struct rec_group_id one_group, *groups = n == 1 ? &one_group : malloc(n * sizeof(*groups));
	cleanup_with(ask_fini) struct ask ask;
	struct rep_put_start rep;
	int r = puts == NULL || groups == NULL ? why_no_memory() : 0;

	ask_init(&ask, client);
	for (size_t i = 0; r == 0 && i < n; i++)
		puts[i] = (struct rec_put){span_of(parcels[i].key, strlen(parcels[i].key)),
					   parcels[i].len_bytes};
	if (r == 0) {
		list = (struct put_list){puts, groups_of(parcels, n, groups), n};
		r = put_start(&ask, options, &list, until_ns, &rep);
	}
	if (n != 1) {
		free(puts);
		free(groups);
	}
	if (r != 0)
		return r;

	granted.asked_ns = ask.asked_ns;
	granted.write_lease_ms = rep.write_lease_ms;
	for (size_t i = 0; i < n; i++)
		if (rep.places[i].status != STATUS_OK)
			refuse_one(&parcels[i], rep.places[i].status, rep.why);
		else
			open_one(client, &parcels[i], &rep.places[i], &granted, until_ns);
	return 0;
}

/* ---- write ----------------------------------------------------------------------- */

static void
fail(struct parcel *parcel, int code, bool may_retry)
{
	if (parcel->result == 0) {
		parcel->result = code;
		parcel->may_retry = may_retry;
	}
}

/* extend_due -- between two waves: more time for those past their half. */
static void
extend_due(struct parcel *parcels, size_t n, uint64_t until_ns)
{
	for (size_t i = 0; i < n; i++) {
		struct parcel *parcel = &parcels[i];
		int r;

		if (parcel->result != 0 || !writing_is_due(&parcel->writing))
			continue;
		r = writing_extend(&parcel->writing, 0, until_ns);
		if (r != 0)
			fail(parcel, r, r == TIFFIN_E_LEASE);
	}
}

/* all_hold -- may the next wave begin under every write lease? */
static bool
all_hold(struct parcel *parcels, size_t n)
{
	bool hold = true;

	for (size_t i = 0; i < n; i++) {
		if (parcels[i].result != 0 || writing_holds(&parcels[i].writing))
			continue;
		fail(&parcels[i],
		     why_set(TIFFIN_E_LEASE, "the write lease ran out before all was written"),
		     true);
		hold = false;
	}
	return hold;
}

/* run_waves -- gives how many ops were begun; the rest was not, since a lease ran out. */
static size_t
run_waves(struct tiffin_client *client, struct parcel *parcels, size_t n, struct moves *moves,
	  uint64_t *until_ns)
{
	size_t at = 0;

	while (at < moves->n) {
		if (at > 0)
			extend_due(parcels, n, *until_ns);
		if (!all_hold(parcels, n))
			break;
		at = moves_wave(client, moves, at, until_ns);
	}
	return at;
}

/* close_ops -- what came of one parcel's ops, and its sum. */
static void
close_ops(struct parcel *parcel, const struct moves *moves, size_t n_begun)
{
	size_t end = parcel->first_op + parcel->n_ops;
	enum op_result worst;

	worst = writing_note(&parcel->writing, moves, num_min(parcel->first_op, n_begun),
			     num_min(end, n_begun));
	if (worst != OP_DONE) {
		parcel->was_refused = worst == OP_E_REFUSED;
		fail(parcel, writing_why(&parcel->writing, parcel->key, worst),
		     worst == OP_E_LOST || worst == OP_E_REFUSED || worst == OP_E_IO);
		return;
	}
	if (end > n_begun) {
		fail(parcel, why_set(TIFFIN_E_LEASE, "a write lease ran out"), true);
		return;
	}
	for (size_t i = 0; i < parcel->n_crc; i++) {
		const struct op *op = &moves->ops[parcel->first_op + i];

		parcel->crc = i == 0 ? op->crc : crc_join(parcel->crc, op->crc, op->len_bytes);
		parcel->has_crc &= !op->skipped_crc;
	}
}

static void
write_all(struct tiffin_client *client, struct parcel *parcels, size_t n, uint64_t *until_ns)
{
	struct writing_span span;
	struct moves moves;
	size_t n_begun = 0;
	const struct writing_era *era = NULL;

	moves_init(&moves);
	for (size_t i = 0; i < n; i++) {
		struct parcel *parcel = &parcels[i];
		const struct op whole = {.slices = parcel->slices,
					 .n_slices = parcel->n_slices,
					 .len_bytes = parcel->len_bytes};

		parcel->crc = 0;
		parcel->has_crc = true;
		parcel->first_op = moves.n;
		if (parcel->result == 0) {
			writing_add_ops(&parcel->writing, &moves, &whole, &parcel->n_crc);
			era = &parcel->writing.era;
		}
		parcel->n_ops = moves.n - parcel->first_op;
	}
	for (size_t i = 0; moves.is_short && i < n; i++)
		fail(&parcels[i], why_no_memory(), false);
	if (!moves.is_short && moves.n > 0 && writing_begin(client, &span, era)) {
		n_begun = run_waves(client, parcels, n, &moves, until_ns);
		writing_finish(client, &span);
	}
	for (size_t i = 0; i < n; i++)
		if (parcels[i].is_started && !moves.is_short)
			close_ops(&parcels[i], &moves, n_begun);
	moves_fini(&moves);
}

/* ---- end ------------------------------------------------------------------------------ */

/*
 * judge_end -- the master's word on one put_end.
 *
 * When the question had gone out before, "no such put" may also mean that the object was there and
 * has been removed or replaced since: putting it again would bring it back.
 */
static void
judge_end(struct parcel *parcel, uint32_t status, bool is_repeat)
{
	if (status == STATUS_OK)
		return;
	if (status == STATUS_NOT_FOUND || status == STATUS_NOT_YOURS) {
		fail(parcel,
		     why_set(TIFFIN_E_LEASE, "the put was given up by the master: its write lease "
					     "ran out, or the master was restarted"),
		     !is_repeat);
		return;
	}
	fail(parcel, put_why(parcel->key, status), false);
}

/* end_all -- publish those without a failure. */
static void
end_all(struct tiffin_client *client, struct parcel *parcels, size_t n, uint64_t until_ns)
{
	struct rec_put_done one, *done = n == 1 ? &one : malloc(n * sizeof(*done));
	struct msg_put_end msg = {.puts = done};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_put_end rep = {0};
	int r;

	ask_init(&ask, client);
	for (size_t i = 0; i < n && done != NULL; i++)
		if (parcels[i].result == 0)
			done[msg.n_puts++] = (struct rec_put_done){
				.object_id = parcels[i].object_id,
				.len_bytes = parcels[i].len_bytes,
				.has_crc = parcels[i].has_crc,
				.crc = parcels[i].has_crc ? parcels[i].crc : 0,
				.attr = span_of(parcels[i].attr, parcels[i].attr_bytes)};
	r = done == NULL ? why_no_memory() : 0;
	if (r == 0 && msg.n_puts > 0)
		r = ask_call(&ask, MSG_put_end, msg_put_end_encode(&ask.payload, &msg), until_ns);
	if (done != &one)
		free(done);
	if (r == 0 && msg.n_puts > 0)
		r = ask_read(&ask, rep_put_end_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, msg.n_puts);
	for (size_t i = 0, at = 0; i < n; i++) {
		if (parcels[i].result != 0)
			continue;
		if (r != 0)
			fail(&parcels[i], r, false);
		else
			judge_end(&parcels[i], rep.fates[at++].status, ask.reply.is_repeat);
	}
}

/* revoke_all -- give up those that failed after they were started. */
static void
revoke_all(struct parcel *parcels, size_t n, uint64_t until_ns)
{
	for (size_t i = 0; i < n; i++) {
		struct parcel *parcel = &parcels[i];

		if (!parcel->is_started)
			continue;
		if (parcel->result != 0)
			writing_revoke(&parcel->writing, until_ns);
		writing_fini(&parcel->writing);
		parcel->is_started = false;
	}
}

static int
put_some(struct tiffin_client *client, struct parcel *parcels, size_t n,
	 const struct tiffin_put_options *options, uint64_t until_ns)
{
	int r;

	for (size_t i = 0; i < n; i++)
		parcels[i].is_started = parcels[i].may_retry = parcels[i].was_refused = false;
	r = open_all(client, parcels, n, options, until_ns);
	if (r != 0)
		return r;
	/*
	 * What is replaced would keep its room as long as gets of ours, though they are over,
	 * are not known to be: said now, while the bytes move, it costs no time.
	 */
	if (options != NULL && (options->flags & TIFFIN_REPLACE) != 0)
		lease_keeper_flush(client);
	write_all(client, parcels, n, &until_ns);
	end_all(client, parcels, n, until_ns);
	revoke_all(parcels, n, until_ns);
	return 0;
}

/* is_worth_it -- once more?  Waits a little where time may help. */
static bool
is_worth_it(struct tiffin_client *client, const struct parcel *parcel, unsigned n_tried,
	    uint64_t until_ns)
{
	if (!parcel->may_retry)
		return false;
	if (parcel->result == TIFFIN_E_NO_SPACE) /* nobody lends memory: providers may come back */
		return client_settling(client, true) && client_pause(client, until_ns);
	if (parcel->was_refused) /* a fence was under way when the token was made */
		return n_tried < REFUSED_TRIES && client_pause(client, until_ns);
	return n_tried < 1;
}

/* put_again -- one that failed for a reason that may have gone. */
static void
put_again(struct tiffin_client *client, struct parcel *parcel,
	  const struct tiffin_put_options *options, uint64_t until_ns)
{
	for (unsigned n = 0; is_worth_it(client, parcel, n, until_ns); n++) {
		int r = put_some(client, parcel, 1, options, until_ns);

		if (r != 0) {
			parcel->result = r;
			return;
		}
	}
}

/* how_many -- parcels of the next round. */
static size_t
how_many(const struct parcel *parcels, size_t n)
{
	uint64_t len_bytes = 0, attr_bytes = 0;
	size_t i;

	for (i = 0; i < n && i < BATCH_MAX; i++) {
		len_bytes = num_add_sat(len_bytes, parcels[i].len_bytes);
		attr_bytes += parcels[i].attr_bytes;
		if (i > 0 && (len_bytes > SOME_BYTES_MAX || attr_bytes > SOME_ATTR_MAX))
			break;
	}
	return i;
}

int
put_run(struct tiffin_client *client, struct parcel *parcels, size_t n,
	const struct tiffin_put_options *options, uint64_t until_ns)
{
	size_t n_told = 0, n_some;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		parcels[i].len_bytes = get_slices_len(parcels[i].slices, parcels[i].n_slices);
	for (size_t from = 0; from < n; from += n_some) {
		n_some = how_many(parcels + from, n - from);
		r = put_some(client, parcels + from, n_some, options, until_ns);
		for (size_t i = from; r != 0 && i < from + n_some; i++)
			parcels[i].result = r;
		n_told += r == 0 ? n_some : 0;
	}
	for (size_t i = 0; i < n; i++)
		if (parcels[i].may_retry)
			put_again(client, &parcels[i], options, until_ns);
	return n_told == 0 ? r : 0;
}

int
tiffin_put(struct tiffin_client *client, const char *key, const struct iovec *slices,
	   size_t n_slices, const struct tiffin_put_options *options, uint64_t *ret_id)
{
	struct parcel parcel = {.key = key, .slices = slices, .n_slices = n_slices};
	uint64_t len;
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = client_key_check(key);
	if (r == 0)
		r = get_slices_check(slices, n_slices);
	if (r == 0)
		r = put_options_check(options);
	len = r == 0 ? get_slices_len(slices, n_slices) : 0;
	if (r == 0 && len > OBJECT_LEN_MAX)
		r = why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	if (r == 0) {
		parcel.attr = options != NULL ? options->attr : NULL;
		parcel.attr_bytes = options != NULL ? options->attr_bytes : 0;
		parcel.group = options != NULL ? options->group : NULL;
		r = put_run(client, &parcel, 1, options, client_until(client));
	}
	if (r == 0)
		r = parcel.result;
	r = client_leave(client, r);
	if (r == 0 && ret_id != NULL)
		*ret_id = parcel.object_id;
	return r;
}
