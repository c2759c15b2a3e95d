/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_gone.c -- one record says that a segment is lost; its rows go later, a few at a time.
 *
 *      SEGMENT_GONE ----> is_gone = 1: from here on its copies are void, and so are objects that
 *           |             have no others: a start clears all of them away before it loads a row
 *           v
 *      objects 1..512 | 513..1024 | ...    a step, a transaction; between them the store does what
 *           |                              others want, and rests
 *           v
 *      nothing is left: store_progress.is_clearing falls, and SEGMENT_REMOVE may come
 *
 * No step is waited for.  The one record is committed before memory forgets the first copy, so
 * nobody hears of what a restart would bring back.  And no step need be synced for the sake of the
 * room: these extents are never handed out again.  The memory comes back, if it does, as a segment
 * that is mounted after SEGMENT_REMOVE; what is put there waits for a sync of the chunk's opening,
 * and that sync covers every commit before it (store_thread.c): the mark, all steps, the removal.
 * A power cut before it finds the mark synced, and a start clears the rest; or does not find it,
 * and then nothing was written there either.
 */
#include "master/store_internal.h"
#include "sql/sql_text.h"

#define OBJECTS_A_STEP 512
#define OBJECT_ID_LAST JOURNAL_OBJECT_ID_MAX

/* Objects before their copies, by which they are judged; runs before the copies that they are of.
 */
static const enum store_statement clearings[] = {STMT_gone_extents, STMT_gone_objects,
						 STMT_gone_replicas};

int
store_gone_clear(struct store_db *db, uint64_t first_id, uint64_t last_id)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < array_len(clearings) && rc == SQLITE_OK; i++) {
		store_bind_id(db, clearings[i], 1, first_id);
		store_bind_id(db, clearings[i], 2, last_id);
		rc = store_db_exec(db, clearings[i]);
	}
	return rc;
}

int
store_gone_step(struct store_db *db, uint64_t *after_id, bool *ret_is_over)
{
	sqlite3_stmt *stmt = db->stmts[STMT_gone_next];
	uint64_t last_id;
	int rc;

	store_bind_id(db, STMT_gone_next, 1, *after_id);
	store_bind_id(db, STMT_gone_next, 2, OBJECTS_A_STEP);
	rc = sqlite3_step(stmt);
	last_id = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
	sqlite3_reset(stmt);
	if (rc != SQLITE_ROW)
		return rc;

	*ret_is_over = last_id == 0;
	if (*ret_is_over)
		return SQLITE_OK;
	rc = store_gone_clear(db, *after_id + 1, last_id);
	if (rc == SQLITE_OK)
		*after_id = last_id;
	return rc;
}

static int
run(sqlite3 *conn, const char *text, uint64_t first, uint64_t last)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(conn, text, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, (sqlite3_int64)first);
	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt) > 1)
		rc = sqlite3_bind_int64(stmt, 2, (sqlite3_int64)last);
	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_DONE)
		rc = SQLITE_OK;
	sqlite3_finalize(stmt);
	return rc;
}

int
store_gone_clear_all(sqlite3 *conn)
{
	static const char *const rows[] = {sql_gone_extents, sql_gone_objects, sql_gone_replicas};
	static const char *const segments[] = {sql_segment_remove, sql_chunk_close_all};
	int64_t id = 0;
	int rc = store_db_number(conn, sql_gone_load, &id);

	for (size_t i = 0; i < array_len(rows) && rc == SQLITE_OK; i++)
		rc = run(conn, rows[i], 1, OBJECT_ID_LAST);
	while (rc == SQLITE_OK) {
		for (size_t i = 0; i < array_len(segments) && rc == SQLITE_OK; i++)
			rc = run(conn, segments[i], (uint64_t)id, 0);
		if (rc == SQLITE_OK)
			rc = store_db_number(conn, sql_gone_load, &id);
	}
	return rc == SQLITE_NOTFOUND ? SQLITE_OK : rc; /* there is none, or none is left */
}
