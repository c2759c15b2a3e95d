/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A record becomes rows:
 *
 *      OBJECT_ADD   object_id ---> object
 *        replica n  object_id * 8 + n ---> replica          (one run: its offset stands there)
 *          run i    replica_id * 4096 + i ---> extent       (none, or several)
 */
#include "master/proto/limits.h"
#include "master/store_internal.h"

_Static_assert(REPLICAS_MAX == 8 && EXTENTS_MAX == 4096, "the books' ids are made of these");

static void
bind_u64(sqlite3_stmt *stmt, int at, uint64_t v)
{
	int rc;

	assert(v <= INT64_MAX);
	rc = sqlite3_bind_int64(stmt, at, (sqlite3_int64)v);
	assert(rc == SQLITE_OK);
}

void
store_bind_id(struct store_db *db, enum store_statement statement, int at, uint64_t id)
{
	bind_u64(db->stmts[statement], at, id);
}

/* Bytes stay where they lie until the statement has run. */
static void
bind_blob(sqlite3_stmt *stmt, int at, const uint8_t *bytes, size_t len_bytes)
{
	int rc = sqlite3_bind_blob(stmt, at, bytes, (int)len_bytes, SQLITE_STATIC);

	assert(rc == SQLITE_OK);
}

static void
bind_blob_or_null(sqlite3_stmt *stmt, int at, const uint8_t *bytes, size_t len_bytes)
{
	int rc = SQLITE_OK;

	if (len_bytes > 0)
		bind_blob(stmt, at, bytes, len_bytes);
	else
		rc = sqlite3_bind_null(stmt, at);
	assert(rc == SQLITE_OK);
}

static void
bind_text(sqlite3_stmt *stmt, int at, const char *text, size_t len_bytes)
{
	int rc = sqlite3_bind_text(stmt, at, len_bytes > 0 ? text : "", (int)len_bytes,
				   SQLITE_STATIC);

	assert(rc == SQLITE_OK);
}

/* with_id -- a statement whose first parameter is all that has to be bound. */
static int
with_id(struct store_db *db, enum store_statement statement, uint64_t id)
{
	bind_u64(db->stmts[statement], 1, id);
	return store_db_exec(db, statement);
}

static void
bind_pin(sqlite3_stmt *stmt, int at, uint32_t until_s)
{
	if (until_s > 0)
		bind_u64(stmt, at, until_s);
	else
		sqlite3_bind_null(stmt, at);
}

/* write_added -- what was gathered becomes rows, a statement a table. */
static int
write_added(struct store_db *db)
{
	struct added *added = db->added;
	int rc;

	if (added->n == 0)
		return SQLITE_OK;
	rc = store_db_exec(db, STMT_object_add);
	if (rc == SQLITE_OK)
		rc = store_db_exec(db, STMT_replica_add);
	if (rc == SQLITE_OK && added->has_extents)
		rc = store_db_exec(db, STMT_extent_add);
	if (rc == SQLITE_OK && added->has_groups)
		rc = store_db_exec(db, STMT_group_add);
	added_clear(added);
	return rc;
}

static int
object_add(struct store_db *db, const struct record *record)
{
	added_keep(db->added, record, /* first_copy= */ 0);
	return added_is_full(db->added) ? write_added(db) : SQLITE_OK;
}

static int
object_remove(struct store_db *db, uint64_t object_id)
{
	int rc = with_id(db, STMT_object_remove, object_id);

	if (rc == SQLITE_OK)
		rc = with_id(db, STMT_replica_remove_all, object_id);
	if (rc == SQLITE_OK)
		rc = with_id(db, STMT_extent_remove_all, object_id);
	return rc;
}

static int
object_rename(struct store_db *db, const struct record *record)
{
	bind_blob(db->stmts[STMT_object_rename], 1, record->key, record->key_len);
	bind_u64(db->stmts[STMT_object_rename], 2, record->object_id);
	return store_db_exec(db, STMT_object_rename);
}

static int
object_attr(struct store_db *db, const struct record *record)
{
	bind_blob_or_null(db->stmts[STMT_object_attr], 1, record->attr, record->attr_len);
	bind_u64(db->stmts[STMT_object_attr], 2, record->object_id);
	return store_db_exec(db, STMT_object_attr);
}

static int
object_pin(struct store_db *db, const struct record *record)
{
	bind_pin(db->stmts[STMT_object_pin], 1, record->pinned_until_s);
	bind_u64(db->stmts[STMT_object_pin], 2, record->object_id);
	return store_db_exec(db, STMT_object_pin);
}

static int
replica_remove(struct store_db *db, const struct record *record)
{
	sqlite3_stmt *stmt = db->stmts[STMT_replica_remove];
	uint64_t replica_id = 0;
	int rc;

	bind_u64(stmt, 1, record->object_id);
	bind_u64(stmt, 2, record->segment_id);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		replica_id = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	if (rc != SQLITE_DONE)
		return rc;
	if (replica_id == 0)
		return SQLITE_OK; /* gone before, with its object */

	return with_id(db, STMT_extent_remove, replica_id);
}

/* The lowest number that no copy of the object has; void ones are cleared away. */
static int
free_slot(struct store_db *db, uint64_t object_id, uint64_t *ret_copy)
{
	sqlite3_stmt *stmt = db->stmts[STMT_replica_slots];
	uint64_t first_id = object_id * REPLICAS_MAX, id = first_id;
	int rc;

	bind_u64(stmt, 1, object_id);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		if ((uint64_t)sqlite3_column_int64(stmt, 0) == id)
			id++;
	sqlite3_reset(stmt);
	assert(rc != SQLITE_DONE || id < first_id + REPLICAS_MAX);
	*ret_copy = id - first_id;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
replica_add(struct store_db *db, const struct record *record)
{
	uint64_t copy;
	int rc = store_gone_clear(db, record->object_id, record->object_id);

	if (rc == SQLITE_OK)
		rc = free_slot(db, record->object_id, &copy);
	if (rc == SQLITE_OK)
		added_keep(db->added, record, copy);
	return rc;
}

static int
task_set(struct store_db *db, const struct record *record)
{
	sqlite3_stmt *stmt = db->stmts[STMT_task_set];
	const struct task_row *task = record->task;

	bind_u64(stmt, 1, task->task_id);
	bind_u64(stmt, 2, task->job_id);
	bind_u64(stmt, 3, task->kind);
	bind_u64(stmt, 4, task->state);
	bind_u64(stmt, 5, task->tries);
	bind_u64(stmt, 6, task->reason);
	bind_u64(stmt, 7, task->object_id);
	bind_u64(stmt, 8, task->len_bytes);
	bind_u64(stmt, 9, task->from_id);
	bind_u64(stmt, 10, task->to_id);
	bind_u64(stmt, 11, task->made_at_ms);
	bind_u64(stmt, 12, task->ended_at_ms);
	bind_blob(stmt, 13, record->key, record->key_len);
	return store_db_exec(db, STMT_task_set);
}

static int
add_job_segments(struct store_db *db, const struct job_row *job)
{
	sqlite3_stmt *stmt = db->stmts[STMT_job_segment_add];
	int rc = SQLITE_OK;

	for (uint32_t i = 0; i < job->n_segments + job->n_targets && rc == SQLITE_OK; i++) {
		bind_u64(stmt, 1, job->job_id);
		bind_u64(stmt, 2, i >= job->n_segments);
		bind_u64(stmt, 3, job->ids[i]);
		rc = store_db_exec(db, STMT_job_segment_add);
	}
	return rc;
}

static int
job_set(struct store_db *db, const struct job_row *job)
{
	sqlite3_stmt *stmt = db->stmts[STMT_job_set];
	int rc;

	bind_u64(stmt, 1, job->job_id);
	bind_u64(stmt, 2, job->state);
	bind_u64(stmt, 3, job->reason);
	bind_u64(stmt, 4, job->concurrency);
	bind_u64(stmt, 5, job->n_done);
	bind_u64(stmt, 6, job->n_failed);
	bind_u64(stmt, 7, job->bytes_done);
	bind_u64(stmt, 8, job->bytes_failed);
	bind_u64(stmt, 9, job->made_at_ms);
	bind_u64(stmt, 10, job->ended_at_ms);
	rc = store_db_exec(db, STMT_job_set);
	return rc == SQLITE_OK ? add_job_segments(db, job) : rc;
}

static int
job_remove(struct store_db *db, uint64_t job_id)
{
	int rc = with_id(db, STMT_job_segment_remove_all, job_id);

	return rc == SQLITE_OK ? with_id(db, STMT_job_remove, job_id) : rc;
}

static int
segment_add(struct store_db *db, const struct record *record)
{
	sqlite3_stmt *stmt = db->stmts[STMT_segment_add];

	bind_u64(stmt, 1, record->segment_id);
	bind_u64(stmt, 2, record->segment_epoch);
	bind_u64(stmt, 3, record->client_id);
	bind_u64(stmt, 4, record->medium);
	bind_u64(stmt, 5, record->len_bytes);
	bind_u64(stmt, 6, record->put_at_ms);
	bind_text(stmt, 7, record->name, record->name_len);
	bind_text(stmt, 8, record->host, record->host_len);
	bind_text(stmt, 9, record->endpoint, record->endpoint_len);
	bind_u64(stmt, 10, record->drain);
	return store_db_exec(db, STMT_segment_add);
}

static int
segment_remove(struct store_db *db, uint64_t segment_id)
{
	int rc = with_id(db, STMT_segment_remove, segment_id);

	return rc == SQLITE_OK ? with_id(db, STMT_chunk_close_all, segment_id) : rc;
}

static int
chunk_record(struct store_db *db, enum store_statement statement, const struct record *record)
{
	bind_u64(db->stmts[statement], 1, record->segment_id);
	bind_u64(db->stmts[statement], 2, record->chunk);
	return store_db_exec(db, statement);
}

static int
tenant_set(struct store_db *db, const struct record *record)
{
	sqlite3_stmt *stmt = db->stmts[STMT_tenant_set];

	bind_u64(stmt, 1, record->tenant_id);
	bind_text(stmt, 2, record->name, record->name_len);
	bind_u64(stmt, 3, record->quota_bytes);
	bind_u64(stmt, 4, record->quota_objects);
	return store_db_exec(db, STMT_tenant_set);
}

static int
event_add(struct store_db *db, const struct record *record)
{
	sqlite3_stmt *stmt = db->stmts[STMT_event_add];
	int rc;

	bind_u64(stmt, 1, record->object_id);
	bind_u64(stmt, 2, record->put_at_ms);
	bind_text(stmt, 3, record->name, record->name_len);
	bind_u64(stmt, 4, record->count);
	bind_u64(stmt, 5, record->len_bytes);
	bind_u64(stmt, 6, record->segment_id);
	bind_text(stmt, 7, record->host, record->host_len);
	rc = store_db_exec(db, STMT_event_add);
	return rc == SQLITE_OK ? with_id(db, STMT_event_trim, record->keep_from) : rc;
}

static int
apply(struct store_db *db, const struct record *record)
{
	switch (record->kind) {
	case RECORD_OBJECT_ADD:
		return object_add(db, record);
	case RECORD_OBJECT_REMOVE:
		return object_remove(db, record->object_id);
	case RECORD_OBJECT_RENAME:
		return object_rename(db, record);
	case RECORD_OBJECT_ATTR:
		return object_attr(db, record);
	case RECORD_OBJECT_PIN:
		return object_pin(db, record);
	case RECORD_REPLICA_REMOVE:
		return replica_remove(db, record);
	case RECORD_SEGMENT_ADD:
		return segment_add(db, record);
	case RECORD_SEGMENT_GONE:
		return with_id(db, STMT_segment_gone, record->segment_id);
	case RECORD_SEGMENT_REMOVE:
		return segment_remove(db, record->segment_id);
	case RECORD_CHUNK_OPEN:
		return chunk_record(db, STMT_chunk_open, record);
	case RECORD_CHUNK_CLOSE:
		return chunk_record(db, STMT_chunk_close, record);
	case RECORD_NEXT_OBJECT_ID:
		return with_id(db, STMT_cluster_next_object_id, record->object_id);
	case RECORD_LONGEST_LEASE:
		return with_id(db, STMT_cluster_lease, record->count);
	case RECORD_TENANT_SET:
		return tenant_set(db, record);
	case RECORD_TENANT_REMOVE:
		return with_id(db, STMT_tenant_remove, record->tenant_id);
	case RECORD_EVENT:
		return event_add(db, record);
	case RECORD_TASK_SET:
		return task_set(db, record);
	case RECORD_TASK_REMOVE:
		return with_id(db, STMT_task_remove, record->object_id);
	case RECORD_JOB_SET:
		return job_set(db, record->job);
	case RECORD_JOB_REMOVE:
		return job_remove(db, record->object_id);
	case RECORD_REPLICA_ADD:
		return replica_add(db, record);
	}
	assert(false); /* every kind is handled above */
	return SQLITE_INTERNAL;
}

void
store_apply_begin(struct store_db *db)
{
	added_clear(db->added); /* what a transaction left that failed */
}

int
store_apply(struct store_db *db, const struct record *record)
{
	int rc = SQLITE_OK;

	if (record->kind != RECORD_OBJECT_ADD && !added_is_apart(db->added, record))
		rc = write_added(db);
	return rc == SQLITE_OK ? apply(db, record) : rc;
}

int
store_apply_end(struct store_db *db)
{
	return write_added(db);
}
