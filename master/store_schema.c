/* SPDX-License-Identifier: Apache-2.0 */

/* store_schema.c -- the tables as the files of sql/schema make them, and are they those? */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "master/store_internal.h"
#include "sql/sql_text.h"
#include "transfer/base/buf.h"

int
store_schema_apply(sqlite3 *conn, int64_t from, int64_t to)
{
	int rc = SQLITE_OK;

	for (int64_t version = from; version <= to && rc == SQLITE_OK; version++)
		rc = store_db_run(conn, sql_schemas[version - 1].text);
	return rc;
}

/* read_text -- all of sqlite_schema in one buffer. */
static int
read_text(sqlite3 *conn, struct buf *ret)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(conn, sql_schema_load, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const void *text = sqlite3_column_text(stmt, 0);
		size_t len = (size_t)sqlite3_column_bytes(stmt, 0);

		if (text == NULL || buf_append(ret, text, len + 1) < 0) {
			rc = SQLITE_NOMEM;
			break;
		}
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* make_newest -- by a database made for the purpose, in memory. */
static int
make_newest(struct buf *ret)
{
	sqlite3 *conn = NULL;
	int rc = sqlite3_open_v2(":memory:", &conn, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				 NULL);

	if (rc == SQLITE_OK)
		rc = store_schema_apply(conn, 1, (int64_t)n_sql_schemas);
	if (rc == SQLITE_OK)
		rc = read_text(conn, ret);
	sqlite3_close(conn);
	return rc;
}

/*
 * newest -- NULL: *ret_rc says why not.
 *
 * Making it takes longer than all else of a start with few objects, and it never changes: so it is
 * made once a process.  Who sees the pointer sees the whole text, which nobody writes any more; of
 * two that make it at once the later one throws its own away.
 */
static const struct buf *
newest(int *ret_rc)
{
	static _Atomic(struct buf *) made;
	struct buf *text = atomic_load(&made), *first = NULL;

	if (text != NULL)
		return text;
	text = malloc(sizeof(*text));
	if (text == NULL) {
		*ret_rc = SQLITE_NOMEM;
		return NULL;
	}
	buf_init(text);
	*ret_rc = make_newest(text);
	if (*ret_rc == SQLITE_OK && atomic_compare_exchange_strong(&made, &first, text))
		return text;
	buf_fini(text);
	free(text);
	return first;
}

int
store_schema_is_newest(sqlite3 *conn, bool *ret_is)
{
	const struct buf *wanted;
	struct buf found;
	int rc = SQLITE_OK;

	wanted = newest(&rc);
	if (wanted == NULL)
		return rc;
	buf_init(&found);
	rc = read_text(conn, &found);
	if (rc == SQLITE_OK)
		*ret_is = buf_len(&found) == buf_len(wanted) &&
			  memcmp(found.at, wanted->at, buf_len(&found)) == 0;
	buf_fini(&found);
	return rc;
}
