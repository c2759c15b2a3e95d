/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From a path to books that can be trusted:
 *
 *      file is there?  no: made, mode 0600, its folder synced
 *      a database?     no: damaged
 *      tables?         none: schema files 1..n     version v < n: files v + 1..n
 *                                                  version v > n: newer, refused
 *      schema          word by word the one that the files make
 *      a backup?       put back: far beyond every epoch and id of before, and segments are doubted
 *      start           epoch + 1, one synced transaction with all of the above
 *
 *      quick_check     every page and row by SQLite itself: about 0.3 us an object
 *
 * What SQLite can't know of rows is judged while they are loaded (store_load.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "master/store_sum.h"
#include "master/store_internal.h"
#include "sql/sql_text.h"
#include "transfer/base/err.h"

#define APPLICATION_ID 0x54494631 /* "TIF1", for file(1) */

void
store_say(char *why, size_t why_cap, const char *path, const char *fmt, ...)
{
	va_list args;
	int n;

	if (why_cap == 0)
		return;
	n = snprintf(why, why_cap, "%s: ", path);
	if (n < 0 || (size_t)n >= why_cap)
		return;

	va_start(args, fmt);
	vsnprintf(why + n, why_cap - (size_t)n, fmt, args);
	va_end(args);
}

/* A door: what all steps of opening share. */
struct opening {
	struct store *store;
	char *why;
	size_t why_cap;
};

static int
damaged(const struct opening *opening, const char *what)
{
	const char *path = opening->store->config.path;

	store_say(opening->why, opening->why_cap, path, "damaged (%s); run: tiffin check --db %s",
		  what, path);
	return STORE_E_DAMAGED;
}

/* judge -- SQLite's code as an outcome or failure, with its line. */
static int
judge(const struct opening *opening, int rc, const char *doing)
{
	const char *path = opening->store->config.path;
	int os_errno = sqlite3_system_errno(opening->store->db.conn);
	char words[STORE_WORDS_CAP];

	if (rc == SQLITE_OK)
		return 0;
	if (store_db_is_damage(rc))
		return damaged(opening, sqlite3_errstr(rc));

	store_say(opening->why, opening->why_cap, path, "can't %s: %s (SQLite code %d)", doing,
		  store_db_words(rc, os_errno, words), rc);
	return err_new(store_db_errno(rc, os_errno));
}

/* sync_folder -- so that a power cut can't take a new file's name away. */
static int
sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd, r = 0;

	if (copy == NULL)
		return err_new(-ENOMEM);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		r = err_new(-errno);
	if (fd >= 0)
		close(fd);
	free(copy);
	return r;
}

static int
make_file(const struct opening *opening)
{
	const char *path = opening->store->config.path;
	int fd = store_file_own(path, "");
	int r = fd < 0 ? fd : sync_folder(path);

	if (fd >= 0)
		close(fd);
	if (r < 0)
		store_say(opening->why, opening->why_cap, path, "can't open it: %s", strerror(-r));
	return err_up(r);
}

/* use_wal -- rc; SQLITE_NOLFS: this file system has no memory that processes share. */
static int
use_wal(sqlite3 *conn)
{
	sqlite3_stmt *stmt;
	bool is_wal = false;
	int rc = sqlite3_prepare_v2(conn, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		is_wal = strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_OK && !is_wal ? SQLITE_NOLFS : rc;
}

static int
connect_file(const struct opening *opening)
{
	struct store *store = opening->store;
	int rc = store_db_open(&store->db, store->config.path, store->config.vfs,
			       SQLITE_OPEN_READWRITE);

	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(store->db.conn, 2000);
	if (rc == SQLITE_OK)
		rc = store_db_sync_commits(&store->db, true);
	if (rc == SQLITE_OK)
		rc = store_db_run(store->db.conn, "PRAGMA page_size = 4096");
	if (rc == SQLITE_OK)
		rc = use_wal(store->db.conn);
	return judge(opening, rc, "open it");
}

/* look -- a quick_check, which stops at the first fault. */
static int
look(const struct opening *opening, const char *pragma)
{
	sqlite3_stmt *stmt;
	char what[160] = "quick_check gave no answer";
	bool is_well = false;
	int rc = sqlite3_prepare_v2(opening->store->db.conn, pragma, -1, &stmt, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		snprintf(what, sizeof(what), "%s", (const char *)sqlite3_column_text(stmt, 0));
		for (char *at = what; (at = strchr(at, '\n')) != NULL;)
			*at = ' ';
		is_well = strcmp(what, "ok") == 0;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (rc != SQLITE_OK)
		return judge(opening, rc, "check it");
	return is_well ? 0 : damaged(opening, what);
}

/* look_at_checks -- the CHECKs of all tables but the long ones. */
static int
look_at_checks(const struct opening *opening)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(opening->store->db.conn, sql_table_names, -1, &stmt, NULL);
	int r = 0;

	while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		char pragma[128];

		rc = SQLITE_OK;
		snprintf(pragma, sizeof(pragma), "PRAGMA quick_check(%s)",
			 (const char *)sqlite3_column_text(stmt, 0));
		r = look(opening, pragma);
	}
	sqlite3_finalize(stmt);
	return r != 0 ? r : judge(opening, rc == SQLITE_DONE ? SQLITE_OK : rc, "check it");
}

/*
 * check_pages -- SQLite's own look at every page and row.
 *
 * It takes half as long without CHECKs.  Those of objects, and of where they lie, store_load()
 * judges itself, row by row; and a row that has only lost a bit costs its object there, and not
 * all.
 */
static int
check_pages(const struct opening *opening)
{
	sqlite3 *conn = opening->store->db.conn;
	int r = judge(opening, store_db_run(conn, "PRAGMA ignore_check_constraints = ON"),
		      "check it");

	if (r == 0)
		r = look(opening, "PRAGMA quick_check(1)");
	if (r == 0)
		r = judge(opening, store_db_run(conn, "PRAGMA ignore_check_constraints = OFF"),
			  "check it");
	return r == 0 ? look_at_checks(opening) : r;
}

static int
create(const struct opening *opening)
{
	sqlite3 *conn = opening->store->db.conn;
	char pragma[64];
	sqlite3_stmt *stmt;
	int rc;

	snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d", APPLICATION_ID);
	rc = store_db_run(conn, pragma);
	if (rc == SQLITE_OK)
		rc = store_schema_apply(conn, 1, 1);
	if (rc != SQLITE_OK)
		return judge(opening, rc, "make its tables");

	rc = sqlite3_prepare_v2(conn, sql_cluster_create, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1,
					(sqlite3_int64)clock_wall_ms(opening->store->config.clock));
	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_DONE)
		rc = SQLITE_OK;
	sqlite3_finalize(stmt);
	return judge(opening, rc, "make its tables");
}

static int
note_version(sqlite3 *conn, int64_t version)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(conn, sql_cluster_migrate, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, version);
	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_DONE)
		rc = SQLITE_OK;
	sqlite3_finalize(stmt);
	return rc;
}

/* migrate -- from whatever is there to the newest schema. */
static int
migrate(const struct opening *opening)
{
	const struct store_config *config = &opening->store->config;
	sqlite3 *conn = opening->store->db.conn;
	int64_t newest = (int64_t)n_sql_schemas;
	int64_t version = 0, id = 0;
	int rc;

	rc = store_db_number(conn, "PRAGMA application_id", &id);
	if (rc == SQLITE_OK && id != APPLICATION_ID)
		return damaged(opening, "not a database of Tiffin");
	if (rc == SQLITE_OK)
		rc = store_db_number(conn, sql_cluster_version, &version);
	if (rc == SQLITE_NOTFOUND)
		return damaged(opening, "it does not tell its schema version");
	if (rc != SQLITE_OK)
		return judge(opening, rc, "read its version");
	if (version > newest) {
		store_say(opening->why, opening->why_cap, config->path,
			  "made by a newer version of Tiffin (schema %lld, this one knows %lld); "
			  "use that version, or restore an older backup with tiffin restore",
			  (long long)version, (long long)newest);
		return STORE_E_NEWER;
	}
	if (version < 1)
		return damaged(opening, "its schema version is not a version");
	if (version == newest)
		return 0;

	rc = store_schema_apply(conn, version + 1, newest);
	if (rc == SQLITE_OK && version < STORE_SUM_VERSION)
		rc = store_db_run(conn, sql_row_sum_all);
	if (rc == SQLITE_OK)
		rc = note_version(conn, newest);
	return judge(opening, rc, "bring it to the newest schema");
}

/* check_schema -- word by word, whatever the version says. */
static int
check_schema(const struct opening *opening)
{
	bool is_newest = false;
	int rc = store_schema_is_newest(opening->store->db.conn, &is_newest);

	if (rc != SQLITE_OK)
		return judge(opening, rc, "read its schema");
	return is_newest ? 0 : damaged(opening, "its tables are not those of its version");
}

/* Marks of a backup, as PRAGMA user_version; sql/backup makes them. */
enum { MARK_NONE = 0, MARK_ONLINE = 1, MARK_FINAL = 2 };

/* doubt_segments -- they may have been written since; see master/README.md. */
static int
doubt_segments(const struct opening *opening, int64_t epoch)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(opening->store->db.conn, sql_restore_segments, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, epoch);
	if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_DONE)
		rc = SQLITE_OK;
	sqlite3_finalize(stmt);
	return judge(opening, rc, "put it back");
}

/* skip_ahead -- gives the epoch of the backup. */
static int
skip_ahead(const struct opening *opening, int64_t *ret_epoch)
{
	int rc = store_db_number(opening->store->db.conn, sql_restore_cluster, ret_epoch);

	if ((rc & 0xff) == SQLITE_CONSTRAINT) {
		store_say(opening->why, opening->why_cap, opening->store->config.path,
			  "was put back so often that its object ids are used up; begin with a new "
			  "file");
		return err_new(-EOVERFLOW);
	}
	return judge(opening, rc, "put it back");
}

/*
 * put_back -- if this is a backup: ids and epochs that were given out after it are never given out
 * again, and what it says of segments is doubted until their providers tell under which epoch they
 * were lent last.
 */
static int
put_back(const struct opening *opening)
{
	struct store *store = opening->store;
	int64_t mark = MARK_NONE, epoch = 0;
	int rc, r;

	rc = store_db_number(store->db.conn, "PRAGMA user_version", &mark);
	if (rc != SQLITE_OK)
		return judge(opening, rc, "read it");
	if (mark == MARK_NONE)
		return 0;
	if (mark != MARK_ONLINE && mark != MARK_FINAL)
		return damaged(opening, "its mark is none of Tiffin's");

	r = skip_ahead(opening, &epoch);
	if (r == 0)
		r = doubt_segments(opening, mark == MARK_FINAL ? epoch : 0);
	if (r == 0)
		r = judge(opening, store_db_run(store->db.conn, "PRAGMA user_version = 0"),
			  "put it back");
	store->was_put_back = r == 0;
	return r;
}

static int
start(const struct opening *opening)
{
	struct store *store = opening->store;
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(store->db.conn, sql_cluster_start, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 1, (sqlite3_int64)clock_wall_ms(store->config.clock));
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(stmt, 2, (sqlite3_int64)store->config.lease_ms);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		store->epoch = (uint64_t)sqlite3_column_int64(stmt, 0);
		store->next_object_id = (uint64_t)sqlite3_column_int64(stmt, 1);
		store->longest_lease_ms = (uint64_t)sqlite3_column_int64(stmt, 2);
		store->cluster_id = (uint64_t)sqlite3_column_int64(stmt, 3);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	if (rc == SQLITE_DONE && store->epoch == 0)
		return damaged(opening, "its table cluster is empty");
	return judge(opening, rc == SQLITE_DONE ? SQLITE_OK : rc, "write to it");
}

/* enter -- everything that happens within the first transaction. */
static int
enter(const struct opening *opening)
{
	int64_t n_tables = 0;
	int rc, r;

	rc = store_db_number(opening->store->db.conn, sql_table_count, &n_tables);
	r = judge(opening, rc, "read it");
	if (r == 0 && n_tables == 0)
		r = create(opening);
	if (r == 0)
		r = migrate(opening);
	if (r == 0)
		r = check_schema(opening);
	if (r == 0)
		r = check_pages(opening);
	if (r == 0)
		r = judge(opening, store_gone_clear_all(opening->store->db.conn), "clear it");
	if (r == 0)
		r = put_back(opening);
	if (r == 0)
		r = start(opening);
	return r;
}

/* first_transaction -- all of it or nothing. */
static int
first_transaction(const struct opening *opening)
{
	sqlite3 *conn = opening->store->db.conn;
	int r = judge(opening, store_db_run(conn, sql_transaction_begin), "write to it");

	if (r != 0)
		return r;
	r = enter(opening);
	if (r == 0)
		r = judge(opening, store_db_run(conn, sql_transaction_commit), "write to it");
	if (!sqlite3_get_autocommit(conn))
		store_db_run(conn, sql_transaction_rollback);
	return r;
}

static int
enter_file(const struct opening *opening)
{
	int r = connect_file(opening);

	return r != 0 ? r : first_transaction(opening);
}

int
store_database_open(struct store *store, char *why, size_t why_cap)
{
	struct opening opening = {store, why, why_cap};
	int r;

	r = make_file(&opening);
	if (r == 0)
		r = enter_file(&opening);
	if (r == -ENOSPC && store_files_drop_reserve(&store->files)) {
		store_db_close(&store->db);
		r = enter_file(&opening); /* a full disk can be cleared by removals only */
	}
	if (r != 0)
		return r;

	r = judge(&opening, store_db_prepare(&store->db), "prepare its statements");
	if (r == 0)
		r = judge(&opening, store_db_sync_commits(&store->db, false), "set it up");
	sqlite3_busy_timeout(store->db.conn, 0);
	return r;
}
