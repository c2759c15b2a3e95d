/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "master/store_sum.h"
#include "master/store_internal.h"
#include "sql/sql_text.h"
#include "transfer/base/err.h"

static const struct {
	const char *text, *params;
} statements[] = {
#define STATEMENT(name, params) [STMT_##name] = {sql_##name, params},
	STORE_STATEMENTS(STATEMENT)
#undef STATEMENT
};

/*
 * Settings of every connection.  Checkpoints are made by hand; secure_delete would
 * write freed pages once more; cell_size_check finds damaged pages while they are read.
 */
static const char settings[] = "PRAGMA locking_mode = NORMAL;"
			       "PRAGMA wal_autocheckpoint = 0;"
			       "PRAGMA secure_delete = OFF;"
			       "PRAGMA foreign_keys = OFF;"
			       "PRAGMA trusted_schema = OFF;"
			       "PRAGMA cell_size_check = ON;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -16384;";

int
store_db_open(struct store_db *db, const char *path, const char *vfs, int flags)
{
	int rc;

	*db = (struct store_db){0};
	rc = sqlite3_open_v2(path, &db->conn, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     vfs);
	if (rc == SQLITE_OK)
		rc = store_db_run(db->conn, settings);
	if (rc == SQLITE_OK)
		rc = store_sum_register(db->conn);
	return rc;
}

/* The bind calls go by position: the names must stand where store_bind.c thinks. */
static void
check_params(sqlite3_stmt *stmt, const char *params)
{
	char found[256] = "";
	size_t len = 0;

	for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++)
		len += (size_t)snprintf(found + len, sizeof(found) - len, "%s",
					sqlite3_bind_parameter_name(stmt, i));
	assert(len < sizeof(found));
	assert(strcmp(found, params) == 0);
}

int
store_db_prepare(struct store_db *db)
{
	int rc;

	db->added = malloc(sizeof(*db->added));
	if (db->added == NULL)
		return SQLITE_NOMEM;
	rc = added_register(db->conn, db->added);
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < STORE_N_STATEMENTS; i++) {
		rc = sqlite3_prepare_v3(db->conn, statements[i].text, -1, SQLITE_PREPARE_PERSISTENT,
					&db->stmts[i], NULL);
		if (rc != SQLITE_OK)
			return rc;
		check_params(db->stmts[i], statements[i].params);
	}
	return SQLITE_OK;
}

void
store_db_close(struct store_db *db)
{
	for (size_t i = 0; i < STORE_N_STATEMENTS; i++) {
		sqlite3_finalize(db->stmts[i]);
		db->stmts[i] = NULL;
	}
	sqlite3_close(db->conn);
	db->conn = NULL;
	free(db->added);
	db->added = NULL;
}

int
store_db_run(sqlite3 *conn, const char *text)
{
	return sqlite3_exec(conn, text, NULL, NULL, NULL);
}

int
store_db_number(sqlite3 *conn, const char *text, int64_t *ret)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(conn, text, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;

	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_INTEGER) {
		*ret = sqlite3_column_int64(stmt, 0);
		rc = SQLITE_OK;
	} else if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
		rc = SQLITE_NOTFOUND;
	}
	sqlite3_finalize(stmt);
	return rc;
}

int
store_db_exec(struct store_db *db, enum store_statement statement)
{
	sqlite3_stmt *stmt = db->stmts[statement];
	int rc;

	do {
		rc = sqlite3_step(stmt);
	} while (rc == SQLITE_ROW);
	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int
store_db_sync_commits(struct store_db *db, bool is_on)
{
	return store_db_run(db->conn,
			    is_on ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

bool
store_db_is_damage(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_NOTFOUND:
	case SQLITE_ERROR: /* a statement does not fit the schema */
		return true;
	default:
		return rc == SQLITE_IOERR_SHORT_READ;
	}
}

/* has_errno -- does SQLite ask the system why, when it says so?  Else it tells of an earlier call.
 */
static bool
has_errno(int rc)
{
	return (rc & 0xff) == SQLITE_CANTOPEN ||
	       ((rc & 0xff) == SQLITE_IOERR && rc != SQLITE_IOERR_SHORT_READ);
}

const char *
store_db_words(int rc, int os_errno, char text[STORE_WORDS_CAP])
{
	if (has_errno(rc) && os_errno != 0)
		snprintf(text, STORE_WORDS_CAP, "%s: %s", sqlite3_errstr(rc), strerror(os_errno));
	else
		snprintf(text, STORE_WORDS_CAP, "%s", sqlite3_errstr(rc));
	return text;
}

int
store_db_errno(int rc, int os_errno)
{
	if (has_errno(rc) && os_errno != 0)
		return -os_errno;
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	default:
		return -EIO;
	}
}
