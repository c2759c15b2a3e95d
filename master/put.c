/* SPDX-License-Identifier: Apache-2.0 */
#include "master/put.h"

#include <errno.h>

#include "master/books.h"
#include "master/pin.h"
#include "master/put_room.h"
#include "master/task.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

/* ---- the puts of a key ---- */

static bool
has_key(const struct put *put, const struct tenant *tenant, const uint8_t *key, size_t key_len)
{
	return put->object->tenant == tenant && put->object->key.len_bytes == key_len &&
	       __builtin_memcmp(put->object->key.bytes, key, key_len) == 0;
}

/* has_same_key -- is there a put of that key of the tenant among those of its hash? */
static bool
has_same_key(const struct put *put, const struct tenant *tenant, const struct put_wish *wish)
{
	while (put != NULL && !has_key(put, tenant, wish->key, wish->key_len))
		put = put->next_same_key;
	return put != NULL;
}

static int
enter_key(struct master *master, struct put *put)
{
	return map_put(&master->puts_by_key, put->key_hash, put) < 0 ? err_new(-ENOMEM) : 0;
}

static void
leave_key(struct master *master, struct put *put)
{
	struct put *first = map_take(&master->puts_by_key, put->key_hash), *at = first;
	int r;

	if (first == put) {
		first = put->next_same_key;
	} else {
		while (at->next_same_key != put)
			at = at->next_same_key;
		at->next_same_key = put->next_same_key;
	}
	if (first == NULL)
		return;
	/* it takes the place that was left just now: that needs no memory */
	r = map_put(&master->puts_by_key, put->key_hash, first);
	assert(r == 0);
}

/* It is not empty any more, or is going. */
static void
fill(struct put *put)
{
	put->client->n_empty_puts -= put->is_empty;
	put->is_empty = false;
}

static void
put_free(struct master *master, struct put *put)
{
	fill(put);
	if (list_link_is_on(&put->at_client)) {
		list_remove(&put->at_client);
		put->client->n_puts--;
		if (!put->is_copy)
			put->client->tenant->n_puts--;
		counter_sub(&master->counters.puts_under_way, 1);
	}
	list_remove(&put->at_lease);
	free(put->group);
	object_free(put->object);
	put_spare(master, put);
}

/* Off the maps and lists; the object is the caller's now. */
struct object *
put_detach(struct master *master, struct put *put)
{
	struct object *object = put->object;

	if (!put->is_copy)
		leave_key(master, put);
	map_take(&master->puts_by_id, object->id);
	put->object = NULL;
	put_free(master, put);
	return object;
}

void
put_fail(struct master *master, struct put *put, bool is_quiet)
{
	if (put->task != NULL)
		task_lost_put(master, put->task);
	while (put->object->replicas != NULL)
		put_drop_copy(master, put, put->object->replicas, is_quiet);
	object_free(put_detach(master, put));
}

void
put_undo(struct master *master, struct put *put)
{
	put_fail(master, put, /* is_quiet= */ true);
}

void
put_lose_replica(struct master *master, struct put *put, struct replica *rep)
{
	/* The segment leaves with all its extents: where they rest no longer matters. */
	put_drop_copy(master, put, rep, /* is_quiet= */ true);
	if (put->object->replicas == NULL)
		put_fail(master, put, /* is_quiet= */ true);
}

/* ---- beginning ---- */

static int
keep_group(struct put *put, struct span group)
{
	if (group.len == 0)
		return 0;
	put->group = malloc(group.len);
	if (put->group == NULL)
		return err_new(-ENOMEM);
	memcpy(put->group, group.at, group.len);
	put->group_len = (uint8_t)group.len;
	return 0;
}

static int
put_new(struct master *master, const struct put_wish *wish, const struct put *model,
	struct put **ret_put)
{
	struct put *put;
	int r = put_reserve_id(master);

	if (r < 0)
		return err_up(r);
	put = put_spare_take(master);
	if (put == NULL)
		return err_new(-ENOMEM);
	*put = *model;
	list_link_init(&put->at_client);
	list_link_init(&put->at_lease);
	r = keep_group(put, wish->group);
	if (r < 0) {
		put_spare(master, put);
		return err_up(r);
	}
	r = object_new(model->client->tenant, master->next_object_id, wish->key, wish->key_len,
		       &put->object);
	if (r < 0) {
		free(put->group);
		put_spare(master, put);
		return err_up(r);
	}
	r = enter_key(master, put);
	if (r == 0 && map_put(&master->puts_by_id, put->object->id, put) < 0) {
		leave_key(master, put);
		r = err_new(-ENOMEM);
	}
	if (r < 0) {
		put_free(master, put);
		return err_up(r);
	}
	master->next_object_id++;
	*ret_put = put;
	return 0;
}

void
put_lease_anew(struct master *master, struct put *put)
{
	put->lease_until_ms = master->now_ms + master->limits.write_lease_ms;
	list_remove(&put->at_lease);
	list_push_back(&master->puts, &put->at_lease);
}

static bool
has_object(struct master *master, struct tenant *tenant, const struct put_wish *wish, uint64_t hash)
{
	if (!wish->is_new)
		return books_find_hashed(master, tenant, wish->key, wish->key_len, hash) != NULL;
	books_miss(master, hash);
	return false;
}

int
put_open(struct master *master, struct client *client, const struct put_wish *wish,
	 struct put **ret_put)
{
	uint64_t hash = books_hash(master, wish->key, wish->key_len);
	struct put model = {
		.master = master,
		.client = client,
		.key_hash = hash,
		.next_same_key = map_get(&master->puts_by_key, hash),
		.copies = *wish->copies,
		.replaces = wish->replaces,
		.pin = wish->pin,
		.pin_ttl_ms = wish->pin_ttl_ms,
	};
	struct put *put = NULL;
	int r;

	if (!wish->replaces && (has_object(master, client->tenant, wish, hash) ||
				has_same_key(model.next_same_key, client->tenant, wish)))
		return PUT_E_EXISTS;
	if (!tenant_has_place(client->tenant, 1))
		return PUT_E_QUOTA;
	if (wish->len_bytes == 0 && client->n_empty_puts >= EMPTY_PUTS_MAX)
		return PUT_E_TOO_MANY;

	r = put_new(master, wish, &model, &put);
	if (r < 0)
		return err_up(r);
	if (wish->len_bytes > 0)
		r = put_add_copies(master, put, wish->len_bytes);
	if (r != 0) {
		put_undo(master, put);
		return r < 0 ? err_up(r) : r;
	}

	if (ages_regret(&client->tenant->ages, hash))
		counter_add(&master->counters.regrets, 1);
	put->room_bytes = wish->len_bytes;
	put->started_ms = master->now_ms;
	list_push_back(&client->puts, &put->at_client);
	client->n_puts++;
	client->tenant->n_puts++;
	put->is_empty = wish->len_bytes == 0;
	client->n_empty_puts += put->is_empty;
	put_lease_anew(master, put);
	counter_add(&master->counters.puts_started, 1);
	counter_add(&master->counters.puts_under_way, 1);
	*ret_put = put;
	return 0;
}

/* ---- going on ---- */

int
put_grow(struct master *master, struct put *put, uint64_t more_bytes)
{
	int r = 0;

	if (more_bytes > 0 && put->object->replicas != NULL)
		r = put_grow_copies(master, put, more_bytes);
	else if (more_bytes > 0)
		r = put_add_copies(master, put, more_bytes);
	if (r != 0 && put->room_bytes == 0) /* some of them, told to nobody */
		while (put->object->replicas != NULL)
			put_drop_copy(master, put, put->object->replicas, /* is_quiet= */ true);
	if (r != 0)
		return r < 0 ? err_up(r) : r;

	put->room_bytes += more_bytes;
	if (more_bytes > 0)
		fill(put);
	put_lease_anew(master, put);
	return 0;
}

/* ---- ending ---- */

static int
journal_object(struct master *master, const struct object *object, struct span group,
	       const struct put_done *done)
{
	struct replica_record replicas[REPLICAS_MAX];
	struct record record = {
		.kind = RECORD_OBJECT_ADD,
		.object_id = object->id,
		.tenant_id = object->tenant->id,
		.len_bytes = object->len_bytes,
		.put_at_ms = object->put_at_ms,
		.crc = object->crc,
		.has_crc = object->has_crc,
		.pinned_until_s = object->pinned_until_s,
		.key = object->key.bytes,
		.key_len = object->key.len_bytes,
		.attr = done->attr,
		.attr_len = done->attr_len,
		.name = (const char *)group.at,
		.name_len = (uint16_t)group.len,
		.replicas = replicas,
	};

	object_each_replica(object, rep)
		if (!segment_is_void(rep->segment))
			replicas[record.n_replicas++] = (struct replica_record){
				rep->segment->id, rep->n_extents, replica_extents(rep)};
	return books_journal(master, &record);
}

/* The record first, and taken back when memory fails; the index takes the place of `old` in one
 * step. */
static int
publish(struct master *master, struct object *object, struct span group, const struct object *old,
	const struct put_done *done)
{
	struct books_mark mark = books_mark(master);
	struct record removal = {.kind = RECORD_OBJECT_REMOVE};
	struct object *gone;
	int r = object_set_attr(object, done->attr, done->attr_len);

	removal.object_id = old == NULL ? 0 : old->id;
	if (r == 0 && group.len > 0)
		r = group_join(&master->groups, object, group.at, group.len);
	if (r == 0 && old != NULL)
		r = books_journal(master, &removal);
	if (r == 0)
		r = journal_object(master, object, group, done);
	if (r == 0)
		r = books_enter(master, object, &gone);
	if (r < 0) {
		group_leave(&master->groups, object);
		books_rewind(master, mark);
		return err_up(r);
	}

	assert(gone == old);
	if (gone != NULL) {
		books_scrap(master, gone, REPLICA_REMOVED);
		counter_add(&master->counters.removes, 1);
	}
	return 0;
}

int
put_close(struct master *master, struct put *put, const struct put_done *done)
{
	struct object *object = put->object;
	struct object *old = books_find_hashed(master, object->tenant, object->key.bytes,
					       object->key.len_bytes, put->key_hash);
	int r;

	assert(done->len_bytes <= put->room_bytes);

	if (old != NULL && !put->replaces) {
		put_fail(master, put, /* is_quiet= */ true);
		return PUT_E_EXISTS;
	}
	if (done->len_bytes > 0 && !object_is_in_touch(object))
		return PUT_E_AWAY;
	if (done->len_bytes < put->room_bytes) {
		r = put_cut_copies(master, put, done->len_bytes);
		if (r < 0)
			return err_up(r);
		master->has_new_room = true;
	}

	object->len_bytes = done->len_bytes;
	object->crc = done->crc;
	object->has_crc = done->has_crc;
	object->put_at_ms = done->put_at_ms;
	object->pinned_until_s = pin_until_s(put->pin, put->pin_ttl_ms, done->put_at_ms);
	object->batch = master->batch;
	r = publish(master, object, span_of(put->group, put->group_len), old, done);
	if (r < 0)
		return err_up(r);

	put_detach(master, put);
	object_each_replica(object, rep) {
		put_unclaim(master, rep);
		replica_move(rep, REPLICA_COMPLETE);
	}
	if (!list_is_empty(&master->parked))
		master->has_new_room = true; /* it may be evicted now */
	counter_add(&master->counters.puts_ended, 1);
	counter_add(&master->counters.put_bytes, object->len_bytes);
	books_changed(master, CHANGE_PUT, object);
	return 0;
}
