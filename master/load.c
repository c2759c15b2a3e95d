/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The start: every row of the store becomes the books.
 *
 *      rows --> objects --64 at a time--> index
 *                  |
 *                  +-- at the end, segment by segment: extents, sorted --> allocator, in one pass
 *
 * Keys come in no order, so each look-up in the index waits for memory; many at a time wait
 * together.  An allocator that is told of all its extents in their order needs no look-up at all.
 */
#include "master/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "master/job.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define ENTER_AT_ONCE 64

struct loading {
	struct master *master;
	char *why;
	size_t why_cap;
	struct object *waiting[ENTER_AT_ONCE]; /* loaded, not in the index yet */
	size_t n_waiting;
	VEC(uint64_t) spoilt; /* objects a row of which does not bear its sum */
};

static int
refuse(const struct loading *loading, const char *what, uint64_t id)
{
	snprintf(loading->why, loading->why_cap, "the books are damaged: %s (id %" PRIu64 ")", what,
		 id);
	return err_new(-EBADMSG);
}

/* ---- segments, tenants, chunks ---- */

static int
load_segment(const struct loading *loading, const struct record *record)
{
	struct master *master = loading->master;
	struct segment_words words = {
		.id = record->segment_id,
		.epoch = record->segment_epoch,
		.size_bytes = record->len_bytes,
		.medium = record->medium,
		.name = (const uint8_t *)record->name,
		.host = (const uint8_t *)record->host,
		.endpoint = (const uint8_t *)record->endpoint,
		.name_len = record->name_len,
		.host_len = record->host_len,
		.endpoint_len = record->endpoint_len,
	};
	struct segment *segment;
	int r;

	if (segment_find(master, record->segment_id) != NULL)
		return refuse(loading, "a segment stands there twice", record->segment_id);
	if (!segment_size_is_sound(record->len_bytes))
		return refuse(loading, "a segment of an impossible size", record->segment_id);
	r = segment_new(&words, &segment);
	if (r < 0)
		return err_up(r);
	r = map_put(&master->segments, segment->id, segment);
	if (r < 0) {
		segment_free(segment);
		return err_new(-ENOMEM);
	}
	segment->away_since_ms = master->now_ms;
	segment->away_stalled_ms = master->stalled_ms;
	segment->drain = record->drain;
	segment->trusted_epoch = record->trusted_epoch;
	list_push_back(&master->all_segments, &segment->at_master);
	counter_add(&master->counters.segments, 1);
	return 0;
}

static int
load_tenant(const struct loading *loading, const struct record *record)
{
	struct master *master = loading->master;
	const uint8_t *name = (const uint8_t *)record->name;
	struct tenant *tenant;
	int r;

	if (!tenant_name_is_sound(name, record->name_len))
		return refuse(loading, "a tenant's name that is none", record->tenant_id);
	if (tenants_by_id(&master->tenants, record->tenant_id) != NULL ||
	    tenants_by_name(&master->tenants, name, record->name_len) != NULL)
		return refuse(loading, "a tenant stands there twice", record->tenant_id);
	r = tenants_add(&master->tenants, record->tenant_id, name, record->name_len, &tenant);
	if (r < 0)
		return err_up(r);
	tenant->quota = (struct tenant_quota){record->quota_bytes, record->quota_objects};
	counter_add(&master->counters.tenants, 1);
	return 0;
}

static int
load_chunk(const struct loading *loading, const struct record *record)
{
	struct segment *segment = segment_find(loading->master, record->segment_id);

	if (segment == NULL || record->chunk >= segment->n_chunks ||
	    segment->chunks[record->chunk].is_open)
		return refuse(loading, "an open chunk of no segment", record->segment_id);
	segment->chunks[record->chunk].is_open = true;
	segment->chunks[record->chunk].idle_since_ms = loading->master->now_ms;
	return vec_push(&segment->open_chunks, record->chunk);
}

/* ---- objects ---- */

static int
load_replica(const struct loading *loading, struct object *object,
	     const struct replica_record *record)
{
	struct segment *segment = segment_find(loading->master, record->segment_id);
	struct replica *rep;
	uint64_t sum = 0;
	int r;

	if (segment == NULL)
		return refuse(loading, "a replica on no segment", object->id);
	object_each_replica(object, other)
		if (other->segment == segment)
			return refuse(loading, "two replicas on one segment", object->id);
	for (uint32_t i = 0; i < record->n_extents; i++)
		sum = num_add_sat(sum, record->extents[i].len_bytes);
	if (sum == 0 || sum != object->len_bytes)
		return refuse(loading, "the extents of a replica are not as long as its object",
			      object->id);
	r = object_add_replica(object, segment, record->extents, record->n_extents, &rep);
	if (r < 0)
		return err_up(r);
	replica_move(rep, REPLICA_PROCESSING);
	replica_move(rep, REPLICA_COMPLETE);
	return 0;
}

static void
scrap_unloaded(struct object *object)
{
	while (object->replicas != NULL) {
		replica_move(object->replicas, REPLICA_REMOVED);
		object_drop_replica(object, object->replicas);
	}
	object_free(object);
}

static int
fill_object(const struct loading *loading, struct object *object, const struct record *record)
{
	int r = object_set_attr(object, record->attr, record->attr_len);

	object->len_bytes = record->len_bytes;
	object->put_at_ms = record->put_at_ms;
	object->crc = record->crc;
	object->has_crc = record->has_crc;
	object->pinned_until_s = record->pinned_until_s;
	for (unsigned i = 0; i < record->n_replicas && r == 0; i++)
		r = load_replica(loading, object, &record->replicas[i]);
	if (r < 0)
		return err_up(r);
	if (object->n_replicas == 0 && object->len_bytes > 0)
		return refuse(loading, "an object without replicas", object->id);
	return 0;
}

/* enter -- into the index, or it is freed. */
static int
enter(const struct loading *loading, struct object *object)
{
	struct object *old = NULL;
	uint64_t id = object->id;
	int r = books_enter(loading->master, object, &old);

	if (r == 0 && old == NULL)
		return 0;
	if (old != NULL) {
		books_leave(loading->master, object);
		scrap_unloaded(old);
	}
	scrap_unloaded(object);
	return r < 0 ? err_up(r) : refuse(loading, "two objects of one key", id);
}

/* foresee -- the memory around the places of n objects of one tenant is called for. */
static void
foresee(const struct master *master, struct object **objects, size_t n)
{
	struct index_probe probes[ENTER_AT_ONCE];

	for (size_t i = 0; i < n; i++) {
		probes[i] = (struct index_probe){objects[i]->key.bytes, objects[i]->key.len_bytes};
		map_foresee(&master->objects, objects[i]->id);
	}
	index_foresee_puts(objects[0]->tenant->index, probes, n);
}

static void
scrap_waiting(struct loading *loading, size_t from)
{
	for (size_t i = from; i < loading->n_waiting; i++)
		scrap_unloaded(loading->waiting[i]);
	loading->n_waiting = 0;
}

/* enter_waiting -- all of them; with a failure none waits any more. */
static int
enter_waiting(struct loading *loading)
{
	struct object **waiting = loading->waiting;

	for (size_t from = 0, until; from < loading->n_waiting; from = until) {
		for (until = from + 1; until < loading->n_waiting; until++)
			if (waiting[until]->tenant != waiting[from]->tenant)
				break;
		foresee(loading->master, waiting + from, until - from);
	}
	for (size_t i = 0; i < loading->n_waiting; i++) {
		int r = enter(loading, waiting[i]);

		if (r < 0) {
			scrap_waiting(loading, i + 1);
			return err_up(r);
		}
	}
	loading->n_waiting = 0;
	return 0;
}

static int
load_object(struct loading *loading, const struct record *record)
{
	struct master *master = loading->master;
	struct tenant *tenant = tenants_by_id(&master->tenants, record->tenant_id);
	struct object *object;
	int r;

	if (tenant == NULL)
		return refuse(loading, "an object of no tenant", record->object_id);
	if (record->key_len == 0 || record->key_len > KEY_MAX ||
	    memchr(record->key, '\0', record->key_len) != NULL)
		return refuse(loading, "a key that is none", record->object_id);
	if (record->object_id >= master->next_object_id)
		return refuse(loading, "an object with an id that was never given out",
			      record->object_id);
	r = object_new(tenant, record->object_id, record->key, record->key_len, &object);
	if (r < 0)
		return err_up(r);
	r = fill_object(loading, object, record);
	if (r == 0 && record->name_len > 0)
		r = group_join(&master->groups, object, (const uint8_t *)record->name,
			       record->name_len);
	if (r < 0) {
		scrap_unloaded(object);
		return err_up(r);
	}
	loading->waiting[loading->n_waiting++] = object;
	return loading->n_waiting == ENTER_AT_ONCE ? err_up(enter_waiting(loading)) : 0;
}

/* -EBADMSG of those who load it becomes words. */
static int
load_or_refuse(const struct loading *loading, int r, uint64_t id)
{
	return r == -EBADMSG ? refuse(loading, "a task or job that can't be", id) : r;
}

static int
load_record(void *arg, const struct record *record)
{
	struct loading *loading = arg;

	switch (record->kind) {
	case RECORD_SEGMENT_ADD:
		return load_segment(loading, record);
	case RECORD_CHUNK_OPEN:
		return load_chunk(loading, record);
	case RECORD_TENANT_SET:
		return load_tenant(loading, record);
	case RECORD_OBJECT_ADD:
		return load_object(loading, record);
	case RECORD_EVENT:
		return events_load(&loading->master->events, record);
	case RECORD_JOB_SET:
		return load_or_refuse(loading, job_load(loading->master, record),
				      record->job->job_id);
	case RECORD_TASK_SET:
		return load_or_refuse(loading, task_load(loading->master, record),
				      record->task->task_id);
	case RECORD_OBJECT_REMOVE:
		return vec_push(&loading->spoilt, record->object_id);
	case RECORD_TASK_REMOVE:
	case RECORD_JOB_REMOVE:
	case RECORD_REPLICA_ADD:
	case RECORD_OBJECT_RENAME:
	case RECORD_OBJECT_ATTR:
	case RECORD_OBJECT_PIN:
	case RECORD_REPLICA_REMOVE:
	case RECORD_SEGMENT_REMOVE:
	case RECORD_SEGMENT_GONE:
	case RECORD_CHUNK_CLOSE:
	case RECORD_NEXT_OBJECT_ID:
	case RECORD_TENANT_REMOVE:
	case RECORD_LONGEST_LEASE:
		break;
	}
	return refuse(loading, "a row that is no state", record->object_id);
}

/* ---- what is taken of each segment ---- */

/* owner_of -- the youngest object that has a byte of that extent. */
static uint64_t
owner_of(const struct segment *segment, struct extent extent)
{
	uint64_t id = 0;

	list_each(&segment->replicas, link) {
		const struct replica *rep = list_of(link, struct replica, at_segment);

		for (uint32_t i = 0; i < rep->n_extents; i++) {
			struct extent own = replica_extents(rep)[i];

			if (own.offset_bytes < extent.offset_bytes + extent.len_bytes &&
			    extent.offset_bytes < own.offset_bytes + own.len_bytes)
				id = num_max(id, rep->object->id);
		}
	}
	return id;
}

struct extents {
	VEC(struct extent) all;
};

static int
gather(const struct segment *segment, struct extents *extents)
{
	int r = vec_reserve(&extents->all, segment->n_replicas);

	list_each(&segment->replicas, link) {
		const struct replica *rep = list_of(link, struct replica, at_segment);

		for (uint32_t i = 0; i < rep->n_extents && r == 0; i++)
			r = vec_push(&extents->all, replica_extents(rep)[i]);
	}
	return r < 0 ? err_new(r) : 0;
}

static int
take_extents(const struct loading *loading, struct segment *segment)
{
	struct extents extents = {0};
	struct extent bad;
	int r = gather(segment, &extents);

	if (r == 0)
		r = alloc_take_all(segment->alloc, extents.all.at, extents.all.n, &bad);
	vec_fini(&extents.all);
	if (r == ALLOC_E_TAKEN)
		return refuse(loading, "two replicas share bytes, or one lies outside its segment",
			      owner_of(segment, bad));
	return err_up(r);
}

static int
load_room(const struct loading *loading, uint64_t until_ms)
{
	struct master *master = loading->master;

	list_each(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);
		int r = take_extents(loading, segment);

		if (r == 0)
			r = quarantine_gaps(&master->quarantine, segment, until_ms);
		if (r < 0)
			return err_up(r);
	}
	return 0;
}

/* ---- what can't be believed ---- */

/*
 * drop_spoilt -- their rows go.
 *
 * Where they lay is not known for sure, and somebody may still read there: so all that is free,
 * anywhere, rests as long as that may last.  That is in the books, by chunks that are open, with
 * the same batch that takes the rows away.
 */
static int
drop_spoilt(const struct loading *loading, uint64_t until_ms)
{
	struct master *master = loading->master;
	int r = 0;

	for (size_t i = 0; i < loading->spoilt.n && r == 0; i++) {
		uint64_t id = loading->spoilt.at[i];
		struct record record = {.kind = RECORD_OBJECT_REMOVE, .object_id = id};

		log_event(LOG_WARN, "object_row_damaged",
			  "object=%" PRIu64
			  " note=\"a row of it in the books does not bear its sum; "
			  "it is dropped\"",
			  id);
		event_tell(master, EVENT_object_damaged, id,
			   "a row of it in the books does not bear its sum; it is dropped");
		counter_add(&master->counters.objects_lost, 1);
		r = books_journal(master, &record);
	}
	if (loading->spoilt.n == 0)
		return 0;
	list_each(&master->all_segments, link)
		if (r == 0)
			r = quarantine_whole(&master->quarantine,
					     list_of(link, struct segment, at_master), until_ms);
	return err_up(r);
}

/* ---- all of it ---- */

static bool
has_default(const struct master *master)
{
	const struct tenant *tenant = tenants_by_id(&master->tenants, TENANT_DEFAULT_ID);

	return tenant != NULL && strcmp(tenant->name, "default") == 0;
}

int
books_load(struct master *master, char *why, size_t why_cap)
{
	struct loading loading = {.master = master, .why = why, .why_cap = why_cap};
	uint64_t until_ms = master->now_ms + 2 * master->longest_lease_ms;
	int r;

	master->leases_of_before_ms = master->epoch > 1 ? until_ms : 0;
	r = store_load(master->store, load_record, &loading, why, why_cap);
	if (r == 0)
		r = enter_waiting(&loading);
	scrap_waiting(&loading, 0);
	if (r > 0)
		r = err_new(-EBADMSG); /* STORE_E_DAMAGED: why names the row */
	if (r == 0 && !has_default(master))
		r = refuse(&loading, "the tenant default is not number 1", TENANT_DEFAULT_ID);
	if (r == 0)
		r = load_room(&loading, until_ms);
	if (r == 0)
		r = drop_spoilt(&loading, until_ms);
	vec_fini(&loading.spoilt);
	return err_up(r);
}
