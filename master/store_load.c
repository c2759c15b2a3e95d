/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rows become records; those of objects are read on a thread of their own, ahead of who takes
 * them.  Three walks go side by side, each in the order of its ids, and every law that one row or
 * its neighbours can break is judged on the way:
 *
 *      object    7                 8                        9
 *      replica   56 57             64                       72
 *      extent                      262144 262145 262146
 *                (one run each)    (offset_bytes is NULL)
 *
 * A row of replica or extent that no owner asks for is an orphan: damage.
 *
 * Such damage refuses the whole.  A row of these three whose sum is not right (store_sum.h) costs
 * its object alone: all of its rows are passed over, and RECORD_OBJECT_REMOVE stands for it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "master/proto/limits.h"
#include "master/store_sum.h"
#include "master/store_feed.h"
#include "master/store_internal.h"
#include "sql/sql_text.h"
#include "transfer/base/err.h"
#include "transfer/base/map.h"
#include "transfer/base/num.h"
#include "transfer/base/vec.h"

/* More are no flipped bits: something else wrote there, or nothing did. */
#define SPOILT_MAX 1000

#define DAMAGED "damaged (%s); run: tiffin check --db %s"

#define NO_OFFSET UINT64_MAX

/* One walk over one table. */
struct walk {
	sqlite3_stmt *stmt;
	bool is_at_row; /* its first column is the id below */
	uint64_t id;
};

struct loader {
	struct store_db db;
	const char *path;
	int (*fn)(void *arg, const struct record *record);
	void *arg;
	int rc;              /* SQLite's word on why a walk ended early */
	int os_errno;        /* the system's */
	const char *law;     /* the law that a row breaks, or NULL */
	uint64_t law_id;     /* the row's */
	struct map segments; /* id -> length */
	struct map tenants;
	struct walk objects, groups, replicas, extents;
	uint64_t offset_bytes; /* of the replica at hand; NO_OFFSET: see its extents */
	bool is_spoilt;        /* a row of the object at hand does not bear its sum */
	unsigned n_spoilt;     /* such objects so far */
	struct replica_record replica_records[REPLICAS_MAX];
	VEC(struct extent) runs;
};

/* broken -- remember the first law that is broken; the walk ends. */
static bool
broken(struct loader *loader, const char *law, uint64_t id)
{
	if (loader->law == NULL) {
		loader->law = law;
		loader->law_id = id;
	}
	return false;
}

/* number -- column `at` as a number in 0..max; false: it is none. */
static bool
number(sqlite3_stmt *stmt, int at, uint64_t max, uint64_t *ret)
{
	sqlite3_int64 v;

	if (sqlite3_column_type(stmt, at) != SQLITE_INTEGER)
		return false;
	v = sqlite3_column_int64(stmt, at);
	if (v < 0 || (uint64_t)v > max)
		return false;
	*ret = (uint64_t)v;
	return true;
}

/* bytes -- column `at` of that type with min..max bytes; valid until the next step. */
static bool
bytes(sqlite3_stmt *stmt, int at, int type, size_t max, struct cursor *ret)
{
	const uint8_t *first;
	size_t len;

	if (sqlite3_column_type(stmt, at) != type)
		return false;
	first = type == SQLITE_TEXT ? sqlite3_column_text(stmt, at) : sqlite3_column_blob(stmt, at);
	len = (size_t)sqlite3_column_bytes(stmt, at);
	if (len > max || (first == NULL && len > 0))
		return false;
	*ret = (struct cursor){first, first + len};
	return true;
}

static bool
walk_start(struct loader *loader, struct walk *walk, const char *text)
{
	loader->rc = sqlite3_prepare_v2(loader->db.conn, text, -1, &walk->stmt, NULL);
	return loader->rc == SQLITE_OK;
}

/* walk_next -- to the next row, whose id is greater.  false: damage or failure; the end is no
 * failure. */
static bool
walk_next(struct loader *loader, struct walk *walk)
{
	uint64_t before = walk->is_at_row ? walk->id : 0;
	int rc = sqlite3_step(walk->stmt);

	walk->is_at_row = rc == SQLITE_ROW;
	if (rc == SQLITE_DONE)
		return true;
	if (rc != SQLITE_ROW) {
		loader->rc = rc;
		return false;
	}
	if (!number(walk->stmt, 0, INT64_MAX, &walk->id) || walk->id <= before)
		return broken(loader, "ids do not grow", before);
	return true;
}

/* ---- segments, chunks, tenants ----------------------------------------------------- */

static bool
give(struct loader *loader, const struct record *record, int *r)
{
	*r = loader->fn(loader->arg, record);
	return *r == 0;
}

static bool
read_segment(struct loader *loader, sqlite3_stmt *stmt, struct record *ret)
{
	bool is_doubted = sqlite3_column_type(stmt, 9) != SQLITE_NULL;
	struct cursor name, host, endpoint;
	uint64_t medium, drain;

	*ret = (struct record){.kind = RECORD_SEGMENT_ADD, .trusted_epoch = UINT64_MAX};
	if (!number(stmt, 0, INT64_MAX, &ret->segment_id) || ret->segment_id == 0)
		return broken(loader, "a segment's id is no id", 0);
	if (!number(stmt, 1, INT64_MAX, &ret->segment_epoch) ||
	    !number(stmt, 2, INT64_MAX, &ret->client_id) || !number(stmt, 3, 3, &medium) ||
	    medium == 0 || !number(stmt, 4, INT64_MAX, &ret->len_bytes) || ret->len_bytes == 0 ||
	    !number(stmt, 5, INT64_MAX, &ret->put_at_ms) ||
	    !bytes(stmt, 6, SQLITE_TEXT, TEXT_MAX, &name) ||
	    !bytes(stmt, 7, SQLITE_TEXT, TEXT_MAX, &host) ||
	    !bytes(stmt, 8, SQLITE_TEXT, TEXT_MAX, &endpoint) ||
	    (is_doubted && !number(stmt, 9, INT64_MAX, &ret->trusted_epoch)) ||
	    !number(stmt, 10, 2, &drain))
		return broken(loader, "a segment has a value out of range", ret->segment_id);

	ret->medium = (uint8_t)medium;
	ret->drain = (uint8_t)drain;
	ret->name = (const char *)name.at;
	ret->name_len = (uint16_t)cursor_left(&name);
	ret->host = (const char *)host.at;
	ret->host_len = (uint16_t)cursor_left(&host);
	ret->endpoint = (const char *)endpoint.at;
	ret->endpoint_len = (uint16_t)cursor_left(&endpoint);
	return true;
}

static bool
load_segments(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_segment_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct record record;

		is_well = read_segment(loader, walk.stmt, &record);
		if (!is_well)
			break;
		*r = map_put(&loader->segments, record.segment_id,
			     (void *)(uintptr_t)record.len_bytes);
		is_well = *r == 0 && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

static bool
load_chunks(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_chunk_load);

	while (is_well && (loader->rc = sqlite3_step(walk.stmt)) == SQLITE_ROW) {
		struct record record = {.kind = RECORD_CHUNK_OPEN};
		uint64_t chunk = 0;

		loader->rc = SQLITE_OK;
		is_well = (number(walk.stmt, 0, INT64_MAX, &record.segment_id) &&
			   number(walk.stmt, 1, UINT32_MAX, &chunk)) ||
			  broken(loader, "an open chunk has a value out of range", 0);
		if (is_well && map_get(&loader->segments, record.segment_id) == NULL)
			is_well = broken(loader, "an open chunk has no segment", record.segment_id);
		record.chunk = (uint32_t)chunk;
		is_well = is_well && give(loader, &record, r);
	}
	if (loader->rc == SQLITE_DONE)
		loader->rc = SQLITE_OK;
	sqlite3_finalize(walk.stmt);
	return is_well && loader->rc == SQLITE_OK;
}

static bool
read_tenant(struct loader *loader, const struct walk *walk, struct record *ret)
{
	struct cursor name;

	*ret = (struct record){.kind = RECORD_TENANT_SET, .tenant_id = walk->id};
	if (!bytes(walk->stmt, 1, SQLITE_TEXT, NAME_MAX_BYTES, &name) ||
	    !number(walk->stmt, 2, INT64_MAX, &ret->quota_bytes) ||
	    !number(walk->stmt, 3, INT64_MAX, &ret->quota_objects))
		return broken(loader, "a tenant has a value out of range", walk->id);
	ret->name = (const char *)name.at;
	ret->name_len = (uint16_t)cursor_left(&name);
	return true;
}

static bool
load_tenants(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_tenant_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct record record;

		*r = map_put(&loader->tenants, walk.id, loader);
		is_well =
			*r == 0 && read_tenant(loader, &walk, &record) && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

static bool
read_event(struct loader *loader, const struct walk *walk, struct record *ret)
{
	struct cursor kind, words;

	*ret = (struct record){.kind = RECORD_EVENT, .object_id = walk->id};
	if (walk->id > JOURNAL_OBJECT_ID_MAX ||
	    !number(walk->stmt, 1, INT64_MAX, &ret->put_at_ms) ||
	    !bytes(walk->stmt, 2, SQLITE_TEXT, 64, &kind) || cursor_left(&kind) == 0 ||
	    !number(walk->stmt, 3, INT64_MAX, &ret->count) || ret->count == 0 ||
	    !number(walk->stmt, 4, INT64_MAX, &ret->len_bytes) ||
	    !number(walk->stmt, 5, INT64_MAX, &ret->segment_id) ||
	    !bytes(walk->stmt, 6, SQLITE_TEXT, TEXT_MAX, &words))
		return broken(loader, "an event has a value out of range", walk->id);

	ret->name = (const char *)kind.at;
	ret->name_len = (uint16_t)cursor_left(&kind);
	ret->host = (const char *)words.at;
	ret->host_len = (uint16_t)cursor_left(&words);
	return true;
}

static bool
load_events(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_event_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct record record;

		is_well = read_event(loader, &walk, &record) && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

/* ---- objects ----------------------------------------------------------------------- */

/* spoilt_or_broken -- of a row that can't be: is it spoilt, or did somebody write it so? */
static bool
spoilt_or_broken(struct loader *loader, struct walk *walk, int n_columns, const char *law)
{
	loader->is_spoilt = !store_sum_is_right(walk->stmt, n_columns);
	return loader->is_spoilt || broken(loader, law, walk->id);
}

/* parse_object -- the law that this row breaks, or NULL. */
static const char *
parse_object(sqlite3_stmt *stmt, struct record *ret)
{
	struct cursor key, attr = {0};
	uint64_t crc = 0, pinned_until_s = 0;
	bool is_pinned = sqlite3_column_type(stmt, 7) != SQLITE_NULL;
	bool has_attr = sqlite3_column_type(stmt, 6) != SQLITE_NULL;

	ret->has_crc = sqlite3_column_type(stmt, 5) != SQLITE_NULL;
	if (ret->object_id > JOURNAL_OBJECT_ID_MAX ||
	    !number(stmt, 1, INT64_MAX, &ret->tenant_id) ||
	    !number(stmt, 3, OBJECT_LEN_MAX, &ret->len_bytes) ||
	    !number(stmt, 4, INT64_MAX, &ret->put_at_ms) ||
	    (ret->has_crc && !number(stmt, 5, UINT32_MAX, &crc)) ||
	    (has_attr && !bytes(stmt, 6, SQLITE_BLOB, ATTR_MAX, &attr)) ||
	    (is_pinned && (!number(stmt, 7, UINT32_MAX, &pinned_until_s) || pinned_until_s == 0)))
		return "an object has a value out of range";
	if (!bytes(stmt, 2, SQLITE_BLOB, KEY_MAX, &key) || cursor_left(&key) == 0 ||
	    memchr(key.at, 0, cursor_left(&key)) != NULL)
		return "an object's key is no key";

	ret->key = key.at;
	ret->key_len = (uint16_t)cursor_left(&key);
	ret->attr = attr.at;
	ret->attr_len = (uint16_t)cursor_left(&attr);
	ret->crc = (uint32_t)crc;
	ret->pinned_until_s = (uint32_t)pinned_until_s;
	return NULL;
}

/* read_object -- or loader->is_spoilt. */
static bool
read_object(struct loader *loader, struct record *ret)
{
	const char *law;

	*ret = (struct record){.kind = RECORD_OBJECT_ADD, .object_id = loader->objects.id};
	law = parse_object(loader->objects.stmt, ret);
	if (law != NULL)
		return spoilt_or_broken(loader, &loader->objects, 8, law);
	loader->is_spoilt = !store_sum_is(loader->objects.stmt, 8, store_sum_object(ret));
	if (!loader->is_spoilt && map_get(&loader->tenants, ret->tenant_id) == NULL)
		return broken(loader, "an object has no tenant", ret->object_id);
	return true;
}

/* take_group -- of the object, if the walk stands on its row; the bytes live until the next one. */
static bool
take_group(struct loader *loader, struct record *record)
{
	struct walk *groups = &loader->groups;
	struct cursor id;

	if (!groups->is_at_row || groups->id > record->object_id)
		return true;
	if (groups->id < record->object_id)
		return broken(loader, "a group has no object", groups->id);
	if (!bytes(groups->stmt, 1, SQLITE_BLOB, GROUP_MAX, &id) || cursor_left(&id) == 0 ||
	    memchr(id.at, 0, cursor_left(&id)) != NULL)
		return broken(loader, "a group has a value out of range", groups->id);
	record->name = (const char *)id.at;
	record->name_len = (uint16_t)cursor_left(&id);
	return true;
}

/* next_group -- behind the row of the object at hand, if it has one. */
static bool
next_group(struct loader *loader)
{
	return !loader->groups.is_at_row || loader->groups.id > loader->objects.id ||
	       walk_next(loader, &loader->groups);
}

/* read_run -- or loader->is_spoilt. */
static bool
read_run(struct loader *loader, uint64_t replica_id, uint64_t piece, struct extent *ret)
{
	sqlite3_stmt *stmt = loader->extents.stmt;

	if (!number(stmt, 1, INT64_MAX, &ret->offset_bytes) ||
	    !number(stmt, 2, OBJECT_LEN_MAX, &ret->len_bytes) || ret->len_bytes == 0)
		return spoilt_or_broken(loader, &loader->extents, 3,
					"an extent has a value out of range");
	loader->is_spoilt = !store_sum_is(stmt, 3, store_sum_extent(loader->extents.id, ret));
	if (!loader->is_spoilt && loader->extents.id % EXTENTS_MAX != piece)
		return broken(loader, "a replica lacks an extent", replica_id);
	return true;
}

/* read_replica -- its segment, and loader->offset_bytes; or loader->is_spoilt. */
static bool
read_replica(struct loader *loader, uint64_t *ret_segment_id)
{
	struct walk *walk = &loader->replicas;
	uint64_t *offset = &loader->offset_bytes;
	bool is_one_run = sqlite3_column_type(walk->stmt, 2) != SQLITE_NULL;

	*offset = NO_OFFSET;
	if (!number(walk->stmt, 1, INT64_MAX, ret_segment_id) ||
	    (is_one_run && !number(walk->stmt, 2, INT64_MAX, offset)))
		return spoilt_or_broken(loader, walk, 3, "a replica has a value out of range");
	loader->is_spoilt = !store_sum_is(
		walk->stmt, 3,
		store_sum_replica(walk->id, *ret_segment_id, is_one_run ? offset : NULL));
	return true;
}

/* take_runs -- the extents of the replica that the walk stands on; loader->runs grows. */
static bool
take_runs(struct loader *loader, uint64_t object_len_bytes, uint64_t segment_len_bytes,
	  uint32_t *ret_n, int *r)
{
	uint64_t replica_id = loader->replicas.id;
	uint64_t sum = 0;
	struct extent run;

	*ret_n = 0;
	if (loader->offset_bytes != NO_OFFSET) {
		run = (struct extent){loader->offset_bytes, object_len_bytes};
		if (!num_range_fits(run.offset_bytes, run.len_bytes, segment_len_bytes))
			return broken(loader, "a replica lies outside its segment", replica_id);
		*ret_n = 1;
		*r = vec_push(&loader->runs, run);
		return *r == 0;
	}

	while (loader->extents.is_at_row && loader->extents.id / EXTENTS_MAX == replica_id) {
		if (!read_run(loader, replica_id, *ret_n, &run))
			return false;
		if (loader->is_spoilt)
			return true;
		if (!num_range_fits(run.offset_bytes, run.len_bytes, segment_len_bytes))
			return broken(loader, "an extent lies outside its segment",
				      loader->extents.id);
		sum += run.len_bytes;
		(*ret_n)++;
		*r = vec_push(&loader->runs, run);
		if (*r < 0 || !walk_next(loader, &loader->extents))
			return false;
	}
	if (sum != object_len_bytes)
		return broken(loader, "a replica's extents are not its object's length",
			      replica_id);
	return true;
}

static bool
take_replica(struct loader *loader, struct record *record, int *r)
{
	struct replica_record *replica = &loader->replica_records[record->n_replicas];
	uint64_t id = loader->replicas.id;
	uint64_t segment_len_bytes;

	if (!read_replica(loader, &replica->segment_id))
		return false;
	if (loader->is_spoilt)
		return true;
	segment_len_bytes = replica->segment_id == 0
				    ? 0
				    : (uintptr_t)map_get(&loader->segments, replica->segment_id);
	if (segment_len_bytes == 0)
		return broken(loader, "a replica has no segment", id);
	for (size_t i = 0; i < record->n_replicas; i++)
		if (loader->replica_records[i].segment_id == replica->segment_id)
			return broken(loader, "two replicas of an object share a segment", id);
	if (loader->extents.is_at_row && loader->extents.id / EXTENTS_MAX < id)
		return broken(loader, "an extent has no replica", loader->extents.id);
	if (!take_runs(loader, record->len_bytes, segment_len_bytes, &replica->n_extents, r))
		return false;
	if (loader->is_spoilt)
		return true;

	record->n_replicas++;
	return walk_next(loader, &loader->replicas);
}

/* take_replicas -- all of the object's, with their extents; up to the first row that is spoilt. */
static bool
take_replicas(struct loader *loader, struct record *record, int *r)
{
	size_t at = 0;

	loader->runs.n = 0;
	while (loader->replicas.is_at_row &&
	       loader->replicas.id / REPLICAS_MAX <= record->object_id) {
		if (loader->replicas.id / REPLICAS_MAX < record->object_id)
			return broken(loader, "a replica has no object", loader->replicas.id);
		if (!take_replica(loader, record, r))
			return false;
		if (loader->is_spoilt)
			return true;
	}
	if (record->n_replicas == 0 && record->len_bytes > 0)
		return broken(loader, "an object has no replica", record->object_id);

	/* Only now do the runs stay where they are. */
	for (size_t i = 0; i < record->n_replicas; i++) {
		loader->replica_records[i].extents =
			loader->runs.at == NULL ? NULL : loader->runs.at + at;
		at += loader->replica_records[i].n_extents;
	}
	record->replicas = loader->replica_records;
	return true;
}

/* pass_over -- all rows of the object at hand that its walks have not come by. */
static bool
pass_over(struct loader *loader)
{
	struct walk *replicas = &loader->replicas, *extents = &loader->extents;
	uint64_t id = loader->objects.id;

	while (replicas->is_at_row && replicas->id / REPLICAS_MAX == id)
		if (!walk_next(loader, replicas))
			return false;
	while (extents->is_at_row && extents->id / EXTENTS_MAX / REPLICAS_MAX == id)
		if (!walk_next(loader, extents))
			return false;
	return next_group(loader);
}

static bool
take_object(struct loader *loader, int *r)
{
	struct record record;

	if (!read_object(loader, &record))
		return false;
	if (!loader->is_spoilt &&
	    (!take_group(loader, &record) || !take_replicas(loader, &record, r)))
		return false;
	if (!loader->is_spoilt)
		return give(loader, &record, r) && next_group(loader);

	if (++loader->n_spoilt > SPOILT_MAX)
		return broken(loader, "many rows do not bear their sums", loader->objects.id);
	record = (struct record){.kind = RECORD_OBJECT_REMOVE, .object_id = loader->objects.id};
	return pass_over(loader) && give(loader, &record, r);
}

static bool
load_objects(struct loader *loader, int *r)
{
	bool is_well = walk_start(loader, &loader->objects, sql_object_load) &&
		       walk_start(loader, &loader->replicas, sql_replica_load) &&
		       walk_start(loader, &loader->extents, sql_extent_load) &&
		       walk_start(loader, &loader->groups, sql_group_load) &&
		       walk_next(loader, &loader->replicas) &&
		       walk_next(loader, &loader->extents) && walk_next(loader, &loader->groups);

	while (is_well && (is_well = walk_next(loader, &loader->objects)) &&
	       loader->objects.is_at_row)
		is_well = take_object(loader, r);
	if (is_well && loader->replicas.is_at_row)
		is_well = broken(loader, "a replica has no object", loader->replicas.id);
	if (is_well && loader->extents.is_at_row)
		is_well = broken(loader, "an extent has no replica", loader->extents.id);
	if (is_well && loader->groups.is_at_row)
		is_well = broken(loader, "a group has no object", loader->groups.id);

	sqlite3_finalize(loader->groups.stmt);
	sqlite3_finalize(loader->objects.stmt);
	sqlite3_finalize(loader->replicas.stmt);
	sqlite3_finalize(loader->extents.stmt);
	return is_well;
}

/* ---- tasks and jobs ------------------------------------------------------------------ */

/* numbers -- columns from `first` on, each 0..INT64_MAX. */
static bool
numbers(sqlite3_stmt *stmt, int first, uint64_t *const *rets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!number(stmt, first + (int)i, INT64_MAX, rets[i]))
			return false;
	return true;
}

static bool
read_task(struct loader *loader, const struct walk *walk, struct task_row *ret,
	  struct record *record)
{
	uint64_t kind, state, tries, reason;
	uint64_t *const rets[] = {&ret->object_id, &ret->len_bytes,  &ret->from_id,
				  &ret->to_id,     &ret->made_at_ms, &ret->ended_at_ms};
	struct cursor key;

	*ret = (struct task_row){.task_id = walk->id};
	*record = (struct record){.kind = RECORD_TASK_SET, .task = ret};
	if (walk->id > JOURNAL_OBJECT_ID_MAX || !number(walk->stmt, 1, INT64_MAX, &ret->job_id) ||
	    !number(walk->stmt, 2, 2, &kind) || kind == 0 || !number(walk->stmt, 3, 6, &state) ||
	    state == 0 || !number(walk->stmt, 4, UINT8_MAX, &tries) ||
	    !number(walk->stmt, 5, UINT16_MAX, &reason) ||
	    !numbers(walk->stmt, 6, rets, array_len(rets)) ||
	    !bytes(walk->stmt, 12, SQLITE_BLOB, KEY_MAX, &key) || cursor_left(&key) == 0)
		return broken(loader, "a task has a value out of range", walk->id);
	ret->kind = (uint8_t)kind;
	ret->state = (uint8_t)state;
	ret->tries = (uint8_t)tries;
	ret->reason = (uint32_t)reason;
	record->key = key.at;
	record->key_len = (uint16_t)cursor_left(&key);
	return true;
}

static bool
load_tasks(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_task_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct task_row task;
		struct record record;

		is_well = read_task(loader, &walk, &task, &record) && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

static bool
read_job(struct loader *loader, const struct walk *walk, struct job_row *ret)
{
	uint64_t state, reason, concurrency;
	uint64_t *const rets[] = {&ret->n_done,       &ret->n_failed,   &ret->bytes_done,
				  &ret->bytes_failed, &ret->made_at_ms, &ret->ended_at_ms};

	*ret = (struct job_row){.job_id = walk->id};
	if (walk->id > JOURNAL_OBJECT_ID_MAX || !number(walk->stmt, 1, 4, &state) || state == 0 ||
	    !number(walk->stmt, 2, UINT16_MAX, &reason) ||
	    !number(walk->stmt, 3, 256, &concurrency) || concurrency == 0 ||
	    !numbers(walk->stmt, 4, rets, array_len(rets)))
		return broken(loader, "a job has a value out of range", walk->id);
	ret->state = (uint32_t)state;
	ret->reason = (uint32_t)reason;
	ret->concurrency = (uint32_t)concurrency;
	return true;
}

/* take_job_segments -- of the job at hand; they stand in the order of jobs, targets last. */
static bool
take_job_segments(struct loader *loader, struct walk *segments, struct job_row *job)
{
	while (segments->is_at_row && segments->id == job->job_id) {
		uint64_t is_target, segment_id;
		uint32_t n = job->n_segments + job->n_targets;

		if (!number(segments->stmt, 1, 1, &is_target) ||
		    !number(segments->stmt, 2, INT64_MAX, &segment_id) || segment_id == 0 ||
		    n == array_len(job->ids))
			return broken(loader, "a job has a value out of range", job->job_id);
		job->ids[n] = segment_id;
		job->n_targets += is_target == 1;
		job->n_segments += is_target == 0;
		loader->rc = sqlite3_step(segments->stmt);
		segments->is_at_row = loader->rc == SQLITE_ROW;
		if (!segments->is_at_row && loader->rc != SQLITE_DONE)
			return false;
		loader->rc = SQLITE_OK;
		if (segments->is_at_row && !number(segments->stmt, 0, INT64_MAX, &segments->id))
			return broken(loader, "a job has a value out of range", job->job_id);
	}
	return true;
}

static bool
load_jobs(struct loader *loader, int *r)
{
	struct walk walk = {0}, segments = {0};
	bool is_well = walk_start(loader, &walk, sql_job_load) &&
		       walk_start(loader, &segments, sql_job_segment_load) &&
		       walk_next(loader, &segments);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct job_row job;
		struct record record = {.kind = RECORD_JOB_SET, .job = &job};

		is_well = read_job(loader, &walk, &job) &&
			  take_job_segments(loader, &segments, &job) && give(loader, &record, r);
	}
	if (is_well && segments.is_at_row)
		is_well = broken(loader, "a job's segment has no job", segments.id);
	sqlite3_finalize(walk.stmt);
	sqlite3_finalize(segments.stmt);
	return is_well;
}

/* ---- all of it --------------------------------------------------------------------- */

/* verdict -- how the load ended, in words. */
static int
verdict(const struct loader *loader, int r, char *why, size_t why_cap)
{
	char what[128];

	if (loader->law != NULL) {
		snprintf(what, sizeof(what), "%s: %llu", loader->law,
			 (unsigned long long)loader->law_id);
		store_say(why, why_cap, loader->path, DAMAGED, what, loader->path);
		return STORE_E_DAMAGED;
	}
	if (store_db_is_damage(loader->rc)) {
		store_say(why, why_cap, loader->path, DAMAGED, sqlite3_errstr(loader->rc),
			  loader->path);
		return STORE_E_DAMAGED;
	}
	if (loader->rc != SQLITE_OK) {
		char words[STORE_WORDS_CAP];

		store_say(why, why_cap, loader->path, "can't read it: %s (SQLite code %d)",
			  store_db_words(loader->rc, loader->os_errno, words), loader->rc);
		return err_new(store_db_errno(loader->rc, loader->os_errno));
	}
	if (r != 0)
		store_say(why, why_cap, loader->path, "can't load it: %s", strerror(-r));
	return err_up(r);
}

/* A thread that reads objects ahead of the one that takes them. */
struct reading {
	struct loader *loader;
	struct feed feed;
	int r;
};

static void *
read_ahead(void *arg)
{
	struct reading *reading = arg;

	load_objects(reading->loader, &reading->r);
	feed_end(&reading->feed);
	return NULL;
}

/* load_objects_ahead -- SQLite steps on one thread while the records are taken on this one. */
static void
load_objects_ahead(struct loader *loader, int *r)
{
	int (*fn)(void *arg, const struct record *record) = loader->fn;
	void *arg = loader->arg;
	struct reading reading = {.loader = loader};
	pthread_t thread;

	feed_init(&reading.feed);
	loader->fn = feed_add;
	loader->arg = &reading.feed;
	*r = -pthread_create(&thread, NULL, read_ahead, &reading);
	if (*r < 0) {
		*r = err_new(*r);
	} else {
		*r = feed_drain(&reading.feed, fn, arg);
		pthread_join(thread, NULL);
		if (*r == 0 && reading.r < 0)
			*r = err_new(reading.r);
	}
	feed_fini(&reading.feed);
	loader->fn = fn; /* for what is read after them */
	loader->arg = arg;
}

int
store_load(struct store *store, int (*fn)(void *arg, const struct record *record), void *arg,
	   char *why, size_t why_cap)
{
	struct loader loader = {.path = store->config.path, .fn = fn, .arg = arg};
	int r = 0;

	assert(store->magic == STORE_MAGIC);

	map_init(&loader.segments);
	map_init(&loader.tenants);
	loader.rc = store_db_open(&loader.db, store->config.path, store->config.vfs,
				  SQLITE_OPEN_READONLY);
	if (loader.rc == SQLITE_OK)
		loader.rc = sqlite3_busy_timeout(loader.db.conn, 2000);
	if (loader.rc == SQLITE_OK)
		loader.rc = store_db_run(loader.db.conn, sql_snapshot_begin);
	if (loader.rc == SQLITE_OK && load_tenants(&loader, &r) && load_segments(&loader, &r) &&
	    load_chunks(&loader, &r) && load_events(&loader, &r)) {
		if (store->config.is_inline)
			load_objects(&loader, &r);
		else
			load_objects_ahead(&loader, &r);
		if (r == 0 && loader.rc == SQLITE_OK && loader.law == NULL &&
		    load_jobs(&loader, &r))
			load_tasks(&loader, &r);
	}

	loader.os_errno = sqlite3_system_errno(loader.db.conn);
	store_db_close(&loader.db);
	map_fini(&loader.segments);
	map_fini(&loader.tenants);
	vec_fini(&loader.runs);
	return verdict(&loader, r, why, why_cap);
}
