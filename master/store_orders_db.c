/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "master/store_internal.h"
#include "master/store_orders_internal.h"
#include "sql/sql_text.h"

#define BUSY_MS        200        /* a statement waits so long for the lock */
#define APPLICATION_ID 1414088271 /* as in sql/orders */

void
orders_db_close(struct orders *orders)
{
	sqlite3_close(orders->conn);
	orders->conn = NULL;
}

/* make_tables -- in a file that has none, or those of an older master.  rc. */
static int
make_tables(sqlite3 *conn)
{
	int64_t n_tables = 0, id = 0, version = 0;
	int rc = store_db_number(conn, sql_table_count, &n_tables);

	if (rc == SQLITE_OK && n_tables > 0)
		rc = store_db_number(conn, "PRAGMA application_id", &id);
	if (rc == SQLITE_OK && n_tables > 0 && id != APPLICATION_ID)
		return SQLITE_NOTADB;
	if (rc == SQLITE_OK)
		rc = store_db_number(conn, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK && (version < 0 || version > (int64_t)n_sql_orders_schemas))
		return SQLITE_MISMATCH; /* a newer master's */
	for (size_t i = (size_t)version; i < n_sql_orders_schemas && rc == SQLITE_OK; i++)
		rc = store_db_run(conn, sql_orders_schemas[i].text);
	return rc;
}

static int
add_known(sqlite3_stmt *stmt, const struct known_setting *known)
{
	int rc;

	sqlite3_bind_text(stmt, 1, known->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, known->unit, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, (sqlite3_int64)known->least);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)known->most);
	sqlite3_bind_int64(stmt, 5, (sqlite3_int64)known->configured);
	sqlite3_bind_text(stmt, 6, known->help, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
list_known(struct orders *orders)
{
	sqlite3_stmt *stmt = NULL;
	int rc = store_db_run(orders->conn, sql_orders_query_known_clear);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(orders->conn, sql_orders_query_known_add, -1, &stmt, NULL);
	for (size_t i = 0; i < orders->config.n_known && rc == SQLITE_OK; i++)
		rc = add_known(stmt, &orders->known[i]);
	sqlite3_finalize(stmt);
	return rc;
}

/* prepare -- tables and the list of settings, all or nothing.  rc. */
static int
prepare(struct orders *orders)
{
	int rc = store_db_run(orders->conn, sql_transaction_begin);

	if (rc != SQLITE_OK)
		return rc;
	rc = make_tables(orders->conn);
	if (rc == SQLITE_OK)
		rc = list_known(orders);
	if (rc == SQLITE_OK)
		rc = store_db_run(orders->conn, sql_transaction_commit);
	if (!sqlite3_get_autocommit(orders->conn))
		store_db_run(orders->conn, sql_transaction_rollback);
	return rc;
}

int
orders_db_open(struct orders *orders)
{
	int fd = store_file_own(orders->path, "");
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0) {
		orders->open_errno = fd < 0 ? -fd : errno;
		if (fd >= 0)
			close(fd);
		return SQLITE_CANTOPEN;
	}
	close(fd);
	orders->inode = st.st_ino;
	orders->must_read = true;
	rc = sqlite3_open_v2(orders->path, &orders->conn,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(orders->conn, BUSY_MS);
	if (rc == SQLITE_OK)
		rc = store_db_run(orders->conn, "PRAGMA trusted_schema = OFF");
	if (rc == SQLITE_OK)
		rc = prepare(orders);
	if (rc != SQLITE_OK) {
		orders->open_errno = sqlite3_system_errno(orders->conn);
		orders_db_close(orders);
	}
	return rc;
}

bool
orders_db_is_another(const struct orders *orders)
{
	struct stat st;

	return stat(orders->path, &st) < 0 || st.st_ino != orders->inode;
}
