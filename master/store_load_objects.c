/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Three walks go side by side, each in the order of its ids, and every law that one row or its
 * neighbours can break is judged on the way:
 *
 *      object    7                 8                        9
 *      replica   56 57             64                       72
 *      extent                      262144 262145 262146
 *                (one run each)    (offset_bytes is NULL)
 *
 * A row of replica or extent that no owner asks for is an orphan: damage.  A fourth walk, over
 * groups, stands still for most objects.
 *
 * Such damage refuses the whole.  A row of the first three whose sum is not right (store_sum.h)
 * costs its object alone: all of its rows are passed over, and RECORD_OBJECT_REMOVE stands for it.
 */
#include <string.h>

#include "master/store_rows.h"
#include "master/store_sum.h"
#include "sql/sql_text.h"
#include "transfer/base/num.h"

/* More are no flipped bits: something else wrote there, or nothing did. */
#define SPOILT_MAX 1000

#define NO_OFFSET UINT64_MAX

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
	bool has_attr = sqlite3_column_type(stmt, 6) != SQLITE_NULL;
	bool is_pinned;

	if (ret->object_id > JOURNAL_OBJECT_ID_MAX ||
	    !number(stmt, 1, INT64_MAX, &ret->tenant_id) ||
	    !number(stmt, 3, OBJECT_LEN_MAX, &ret->len_bytes) ||
	    !number(stmt, 4, INT64_MAX, &ret->put_at_ms) ||
	    !number_or_null(stmt, 5, UINT32_MAX, &ret->has_crc, &crc) ||
	    (has_attr &&
	     !(bytes(stmt, 6, SQLITE_BLOB, ATTR_MAX, &attr) && cursor_left(&attr) > 0)) ||
	    !number_or_null(stmt, 7, UINT32_MAX, &is_pinned, &pinned_until_s) ||
	    (is_pinned && pinned_until_s == 0))
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
	bool is_one_run;

	*offset = NO_OFFSET;
	if (!number(walk->stmt, 1, INT64_MAX, ret_segment_id) ||
	    !number_or_null(walk->stmt, 2, INT64_MAX, &is_one_run, offset))
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

bool
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
