/* SPDX-License-Identifier: Apache-2.0 */

/* handle_key.c -- remove, rename, stat, list, set_attr: objects by their keys. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "master/books.h"
#include "master/handle.h"
#include "master/lease.h"
#include "master/pin.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define EXIT_NO_MEMORY 3 /* as main.c's EXIT_SYSTEM */

/* ---- remove ---- */

static uint32_t
remove_one(struct peer *peer, struct span key, bool force)
{
	struct master *master = peer->master;
	struct object *object = books_find(master, peer->client->tenant, key.at, key.len);

	if (object == NULL)
		return STATUS_NOT_FOUND;
	if (!force && lease_runs(object, master->now_ms))
		return STATUS_HAS_LEASE;
	if (books_remove(master, object, REPLICA_REMOVED) < 0)
		return STATUS_UNAVAILABLE;
	counter_add(&master->counters.removes, 1);
	return STATUS_OK;
}

int
handle_remove(struct peer *peer, const struct msg_remove *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_keys);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_keys; i++)
		statuses[i] = remove_one(peer, msg->keys[i].key, msg->force != 0);
	return handle_fates(out, statuses, msg->n_keys);
}

/* ---- rename ---- */

static int
compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int order = memcmp(x->at, y->at, num_min(x->len, y->len));

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* Each key may stand in the request once, or the order of the pairs would matter. */
static int
all_differ(struct peer *peer, const struct msg_rename *msg)
{
	uint32_t n = 2 * msg->n_pairs;
	struct span *keys = arena_alloc(&peer->master->arena, n + 1u, sizeof(*keys));

	if (keys == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_pairs; i++) {
		keys[2 * i] = msg->pairs[i].from;
		keys[2 * i + 1] = msg->pairs[i].to;
	}
	qsort(keys, n, sizeof(*keys), compare_spans);
	for (uint32_t i = 1; i < n; i++)
		if (span_equal(keys[i - 1], keys[i]))
			return STATUS_INVALID;
	return STATUS_OK;
}

static int
judge_pairs(struct peer *peer, const struct msg_rename *msg)
{
	struct tenant *tenant = peer->client->tenant;

	for (uint32_t i = 0; i < msg->n_pairs; i++) {
		const struct rec_rename_pair *pair = &msg->pairs[i];
		bool has_to = books_find(peer->master, tenant, pair->to.at, pair->to.len) != NULL;
		bool has_from =
			books_find(peer->master, tenant, pair->from.at, pair->from.len) != NULL;

		if (!has_from && (!has_to || msg->flags != RENAME_EXCHANGE_ANY_FLAG))
			return STATUS_NOT_FOUND;
		if (!has_to && msg->flags == RENAME_EXCHANGE_FLAG)
			return STATUS_NOT_FOUND;
		if (has_to && (msg->flags & RENAME_NOREPLACE_FLAG) != 0)
			return STATUS_EXISTS;
	}
	return all_differ(peer, msg);
}

static int
journal_key(struct master *master, const struct object *object, struct span key)
{
	struct record record = {
		.kind = RECORD_OBJECT_RENAME,
		.object_id = object->id,
		.key = key.at,
		.key_len = (uint16_t)key.len,
	};

	return books_journal(master, &record);
}

static int
journal_pairs(struct peer *peer, const struct msg_rename *msg)
{
	bool is_exchange = (msg->flags & (RENAME_EXCHANGE_FLAG | RENAME_EXCHANGE_ANY_FLAG)) != 0;
	struct tenant *tenant = peer->client->tenant;

	for (uint32_t i = 0; i < msg->n_pairs; i++) {
		const struct rec_rename_pair *pair = &msg->pairs[i];
		struct object *object =
			books_find(peer->master, tenant, pair->from.at, pair->from.len);
		struct object *old = books_find(peer->master, tenant, pair->to.at, pair->to.len);
		struct record gone = {.kind = RECORD_OBJECT_REMOVE,
				      .object_id = old == NULL ? 0 : old->id};
		int r = 0;

		if (is_exchange && old != NULL)
			r = journal_key(peer->master, old, pair->from);
		else if (old != NULL)
			r = books_journal(peer->master, &gone);
		if (r == 0 && object != NULL)
			r = journal_key(peer->master, object, pair->to);
		if (r < 0)
			return err_up(r);
	}
	return 0;
}

/* The records are written.  Without memory half-way only a restart, which reads the books, is
 * right: as after kill -9, but with a reason and a status (tiffin-master(8)). */
static _Noreturn void
end_half_way(void)
{
	fputs("tiffin-master: out of memory in the midst of a rename; the books are whole: start "
	      "it again\n",
	      stderr);
	_exit(EXIT_NO_MEMORY);
}

/* rekey -- off the index it was; without memory only a restart is right. */
static struct object *
rekey(struct master *master, struct object *object, struct span key)
{
	struct object *moved, *old;

	if (object_rekey(object, key.at, key.len, &moved) < 0)
		end_half_way();
	moved->batch = master->batch;
	if (books_enter(master, moved, &old) < 0)
		end_half_way();
	return old;
}

static void
move_one(struct master *master, struct tenant *tenant, const struct rec_rename_pair *pair)
{
	struct object *object = books_find(master, tenant, pair->from.at, pair->from.len);
	struct object *old;

	books_changed(master, CHANGE_REMOVED, object);
	books_leave(master, object);
	old = rekey(master, object, pair->to);
	if (old != NULL)
		books_scrap(master, old, REPLICA_REMOVED);
	books_changed(master, CHANGE_PUT, books_find(master, tenant, pair->to.at, pair->to.len));
}

/* exchange_one -- both leave before one enters: no moment has two of one key.  One that is alone
 * moves. */
static void
exchange_one(struct master *master, struct tenant *tenant, const struct rec_rename_pair *pair)
{
	const struct rec_rename_pair back = {.from = pair->to, .to = pair->from};
	struct object *a = books_find(master, tenant, pair->from.at, pair->from.len);
	struct object *b = books_find(master, tenant, pair->to.at, pair->to.len);

	if (a == NULL || b == NULL) {
		move_one(master, tenant, a == NULL ? &back : pair);
		return;
	}
	books_leave(master, a);
	books_leave(master, b);
	rekey(master, a, pair->to);
	rekey(master, b, pair->from);
	books_changed(master, CHANGE_PUT,
		      books_find(master, tenant, pair->from.at, pair->from.len));
	books_changed(master, CHANGE_PUT, books_find(master, tenant, pair->to.at, pair->to.len));
}

int
handle_rename(struct peer *peer, const struct msg_rename *msg, struct buf *out)
{
	struct books_mark mark = books_mark(peer->master);
	void (*change)(struct master *, struct tenant *, const struct rec_rename_pair *) =
		msg->flags >= RENAME_EXCHANGE_FLAG ? exchange_one : move_one;
	int r = judge_pairs(peer, msg);

	(void)out;
	if (msg->flags > RENAME_EXCHANGE_ANY_FLAG || (msg->flags & (msg->flags - 1)) != 0)
		return STATUS_INVALID; /* one of the three, or none */
	if (r != STATUS_OK)
		return r;
	r = journal_pairs(peer, msg);
	if (r < 0) {
		books_rewind(peer->master, mark);
		return err_up(r);
	}
	for (uint32_t i = 0; i < msg->n_pairs; i++)
		change(peer->master, peer->client->tenant, &msg->pairs[i]);
	return STATUS_OK;
}

/* ---- stat ---- */

static uint64_t
lease_left(const struct master *master, const struct object *object)
{
	return lease_runs(object, master->now_ms) ? object->lease_until_ms - master->now_ms : 0;
}

/* has_below -- "key/" itself counts: it is what keeps a directory that is empty. */
static bool
has_below(const struct peer *peer, struct span key)
{
	const struct index *index = peer->client->tenant->index;
	uint8_t below[KEY_MAX + 1];

	if (key.len >= KEY_MAX)
		return false;
	memcpy(below, key.at, key.len);
	below[key.len] = '/';
	return index_get(index, below, key.len + 1u) != NULL ||
	       index_has_below(index, below, key.len + 1u);
}

static void
tell_pin(const struct object *object, uint64_t now_wall_ms, struct rec_object_state *rec)
{
	rec->pin = (uint8_t)pin_now(object, now_wall_ms);
	if (rec->pin == PIN_KIND_SOFT)
		rec->pin_left_ms = object->pinned_until_s * 1000ull - now_wall_ms;
}

static int
stat_one(struct peer *peer, struct span key, struct buf *out)
{
	struct master *master = peer->master;
	const struct object *object = books_find(master, peer->client->tenant, key.at, key.len);
	struct rec_object_state rec = {.status = STATUS_NOT_FOUND,
				       .has_below = has_below(peer, key)};

	if (object != NULL) {
		rec.status = STATUS_OK;
		rec.object_id = object->id;
		rec.len_bytes = object->len_bytes;
		rec.has_crc = object->has_crc;
		rec.crc = object->crc;
		rec.put_at_ms = object->put_at_ms;
		rec.n_replicas = object->n_replicas;
		rec.lease_left_ms = lease_left(master, object);
		rec.attr = span_of(object->attr, object->attr_len);
		rec.group = handle_group(master, object);
		tell_pin(object, clock_wall_ms(master->clock), &rec);
	}
	return rec_object_state_encode(out, &rec);
}

int
handle_stat(struct peer *peer, const struct msg_stat *msg, struct buf *out)
{
	int r = codec_put_u32(out, msg->n_keys);

	for (uint32_t i = 0; i < msg->n_keys && r == 0; i++)
		r = stat_one(peer, msg->keys[i].key, out);
	return handle_encoded(r);
}

/* ---- list ---- */

/* Where the key has its next delimiter behind the prefix, the length up to and with it; else 0. */
static uint32_t
prefix_len(const struct key *key, uint32_t from, uint8_t delimiter)
{
	const uint8_t *at;

	if (delimiter == 0)
		return 0;
	at = memchr(key->bytes + from, delimiter, key->len_bytes - from);
	return at == NULL ? 0 : (uint32_t)(at - key->bytes) + 1;
}

static int
tell_listed(struct master *master, struct buf *out, struct key *key, uint32_t n_prefix)
{
	const struct object *object = object_of(key);
	struct rec_listed rec = {.key = span_of(key->bytes, n_prefix), .is_prefix = 1};

	books_hold(master, object->batch);
	if (n_prefix ==
	    key->len_bytes) /* the prefix is a key as well: a directory's own attributes */
		rec.attr = span_of(object->attr, object->attr_len);
	if (n_prefix == 0)
		rec = handle_listed(master, object);
	return rec_listed_encode(out, &rec);
}

#define LIST_BYTES_MAX (1u << 20) /* a reply ends there; the asker goes on behind its last key */

/* A prefix that was told last stands for all its keys: go on behind the last of them. */
static void
start_walk(struct index_walk *walk, const struct peer *peer, const struct msg_list *msg)
{
	const struct index *index = peer->client->tenant->index;
	struct span after = msg->after;
	bool is_told_prefix = msg->delimiter != 0 && after.len > msg->prefix.len &&
			      after.at[after.len - 1] == msg->delimiter &&
			      memcmp(after.at, msg->prefix.at, msg->prefix.len) == 0;

	index_walk_start(walk, index, msg->prefix.at, msg->prefix.len, after.at, after.len);
	if (is_told_prefix)
		index_walk_skip(walk, after.at, after.len);
}

int
handle_list(struct peer *peer, const struct msg_list *msg, struct buf *out)
{
	struct index_walk walk;
	struct key *key;
	size_t head = buf_len(out), at;
	uint32_t n = 0;

	if (msg->most == 0 || msg->most > BATCH_MAX)
		return STATUS_INVALID;
	books_hold(peer->master, gone_last(&peer->master->gone)); /* some key may be missing here */
	if (codec_put_u8(out, 0) != 0 || codec_list_begin(out, &at) != 0)
		return STATUS_UNAVAILABLE;

	start_walk(&walk, peer, msg);
	while ((key = index_walk_next(&walk)) != NULL) {
		uint32_t n_prefix = prefix_len(key, msg->prefix.len, msg->delimiter);

		if (n == msg->most || buf_len(out) - head > LIST_BYTES_MAX) {
			buf_first(out)[head] = 1; /* has_more */
			break;
		}
		if (tell_listed(peer->master, out, key, n_prefix) != 0)
			return STATUS_UNAVAILABLE;
		if (n_prefix > 0)
			index_walk_skip(&walk, key->bytes, n_prefix);
		n++;
	}
	codec_list_end(out, at, n);
	return STATUS_OK;
}

/* ---- set_attr ---- */

static bool
has_attr(const struct object *object, const struct rec_attr_set *set)
{
	return object->attr_len == set->former.len &&
	       (object->attr_len == 0 ||
		memcmp(object->attr, set->former.at, object->attr_len) == 0);
}

static uint32_t
set_one(struct peer *peer, const struct rec_attr_set *set)
{
	struct master *master = peer->master;
	struct object *object = books_find(master, peer->client->tenant, set->key.at, set->key.len);
	struct books_mark mark = books_mark(master);
	struct record record = {
		.kind = RECORD_OBJECT_ATTR,
		.attr = set->attr.at,
		.attr_len = (uint16_t)set->attr.len,
	};

	if (object == NULL || (set->object_id != 0 && set->object_id != object->id))
		return STATUS_NOT_FOUND;
	if (set->if_former != 0 && !has_attr(object, set)) {
		books_hold(master, object->batch);
		return STATUS_CHANGED;
	}
	record.object_id = object->id;
	if (books_journal(master, &record) < 0)
		return STATUS_UNAVAILABLE;
	if (object_set_attr(object, set->attr.at, set->attr.len) < 0) {
		books_rewind(master, mark);
		return STATUS_UNAVAILABLE;
	}
	object->batch = master->batch;
	books_changed(master, CHANGE_ATTR, object);
	return STATUS_OK;
}

int
handle_set_attr(struct peer *peer, const struct msg_set_attr *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_sets);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_sets; i++)
		statuses[i] = set_one(peer, &msg->sets[i]);
	return handle_fates(out, statuses, msg->n_sets);
}
