/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tests/golden/plans/ holds how SQLite means to carry out each statement of sql/query, sql/admin
 * and sql/orders/query: a scan where a look-up was, or a lost sort order, is a failing test.  After
 * a change that is meant:
 *
 *      test_sql_plans --write
 *
 * Another version of SQLite words its plans otherwise; then only the laws are tested.
 */
#include "master/store_added.h"
#include "master/store_sum.h"
#include "tests/unit/store_box.h"

#define PLAN_CAP 16384

static bool is_writing;
static sqlite3 *books, *orders;
static struct added added;

static void
make(sqlite3 *conn, const struct sql_text *schemas, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sqlite3_exec(conn, schemas[i].text, NULL, NULL, NULL), SQLITE_OK);
}

static int
setup(void **state)
{
	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &books), SQLITE_OK);
	assert_int_equal(sqlite3_open(":memory:", &orders), SQLITE_OK);
	assert_int_equal(store_sum_register(books), SQLITE_OK);
	assert_int_equal(added_register(books, &added), SQLITE_OK);
	make(books, sql_schemas, n_sql_schemas);
	make(orders, sql_orders_schemas, n_sql_orders_schemas);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	sqlite3_close(books);
	sqlite3_close(orders);
	return 0;
}

/* depth_of -- how deep a step of the plan stands: remembers the ids of its elders. */
static unsigned
depth_of(int id, int parent, int elders[64])
{
	unsigned depth = 0;

	while (depth < 62 && elders[depth] != parent)
		depth++;
	elders[depth + 1] = id;
	return depth;
}

static void
print_plan(void *arg, sqlite3_stmt *stmt)
{
	FILE *to = arg;
	char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sqlite3_sql(stmt));
	int elders[64] = {0};
	sqlite3_stmt *plan;

	assert_int_equal(sqlite3_prepare_v2(sqlite3_db_handle(stmt), text, -1, &plan, NULL),
			 SQLITE_OK);
	while (sqlite3_step(plan) == SQLITE_ROW)
		fprintf(to, "%*s%s\n",
			2 * (int)depth_of(sqlite3_column_int(plan, 0), sqlite3_column_int(plan, 1),
					  elders),
			"", sqlite3_column_text(plan, 3));
	fprintf(to, "--\n");
	sqlite3_finalize(plan);
	sqlite3_free(text);
}

/* plans_of -- of all statements of one file, to be freed. */
static char *
plans_of(sqlite3 *conn, const struct sql_text *file)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	box_statements(conn, file->text, print_plan, to);
	fclose(to);
	return text;
}

static FILE *
open_golden(const char *folder, const char *name, const char *mode)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/golden/plans/%s_%s.txt", TIFFIN_SOURCE_DIR, folder,
		 name);
	return fopen(path, mode);
}

static void
compare(sqlite3 *conn, const char *folder, const struct sql_text *file)
{
	char wanted[PLAN_CAP], *found = plans_of(conn, file);
	FILE *golden = open_golden(folder, file->name, is_writing ? "w" : "r");
	size_t n;

	if (golden == NULL)
		fail_msg("no golden plan of sql/%s/%s.sql: run test_sql_plans --write", folder,
			 file->name);
	if (is_writing) {
		fputs(found, golden);
	} else {
		n = fread(wanted, 1, sizeof(wanted) - 1, golden);
		wanted[n] = '\0';
		if (strcmp(found, wanted) != 0)
			print_error("the plan of sql/%s/%s.sql has changed\n", folder, file->name);
		assert_string_equal(found, wanted);
	}
	fclose(golden);
	free(found);
}

/* has_golden_version -- were the golden plans made by the SQLite that runs now? */
static bool
has_golden_version(void)
{
	FILE *file = open_golden("sqlite", "version", is_writing ? "w" : "r");
	char line[64] = "";

	assert_non_null(file);
	if (is_writing)
		fprintf(file, "%s\n", sqlite3_libversion());
	else
		assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return is_writing || strcmp(line, sqlite3_libversion()) == 0;
}

static void
plan__of_each_query__is_as_it_was(void **state)
{
	(void)state;
	if (!has_golden_version())
		skip();
	for (size_t i = 0; i < n_sql_queries; i++)
		compare(books, "query", &sql_queries[i]);
}

static void
plan__of_each_admin_script__is_as_it_was(void **state)
{
	(void)state;
	if (!has_golden_version())
		skip();
	for (size_t i = 0; i < n_sql_admins; i++)
		compare(books, "admin", &sql_admins[i]);
}

static void
plan__of_each_query_of_orders__is_as_it_was(void **state)
{
	(void)state;
	if (!has_golden_version())
		skip();
	for (size_t i = 0; i < n_sql_orders_queries; i++)
		compare(orders, "orders", &sql_orders_queries[i]);
}

/* scans -- does the plan walk a table of the books?  Those of store_added.h are a handful of rows
 * in memory. */
static bool
scans(const char *plan)
{
	while ((plan = strstr(plan, "SCAN ")) != NULL) {
		plan += strlen("SCAN ");
		if (strncmp(plan, "added_", strlen("added_")) != 0)
			return true;
	}
	return false;
}

/* What the store thread runs for each record must never walk a table; row_sum_all belongs to a
 * migration. */
static void
query__that_writes__looks_rows_up_and_never_scans(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sql_queries; i++) {
		const char *name = sql_queries[i].name;
		char *plan = plans_of(books, &sql_queries[i]);

		if (strstr(name, "_load") == NULL && strstr(name, "_count") == NULL &&
		    strcmp(name, "table_names") != 0 && strcmp(name, "row_sum_all") != 0 &&
		    scans(plan))
			fail_msg("sql/query/%s.sql: %s", name, plan);
		free(plan);
	}
}

/* What is told of an order goes to its row; known_clear empties a table at a start. */
static void
query_of_orders__that_writes__looks_rows_up_and_never_scans(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sql_orders_queries; i++) {
		const char *name = sql_orders_queries[i].name;
		char *plan = plans_of(orders, &sql_orders_queries[i]);

		if (strstr(name, "_load") == NULL && strcmp(name, "known_clear") != 0 &&
		    scans(plan))
			fail_msg("sql/orders/query/%s.sql: %s", name, plan);
		free(plan);
	}
}

static void
script__begins_with_its_name_and_what_it_is_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sql_queries + n_sql_admins; i++) {
		const struct sql_text *file =
			i < n_sql_queries ? &sql_queries[i] : &sql_admins[i - n_sql_queries];
		char head[256];

		snprintf(head, sizeof(head),
			 "-- SPDX-License-Identifier: Apache-2.0\n-- %s.sql -- ", file->name);
		if (strncmp(file->text, head, strlen(head)) != 0)
			fail_msg("%s.sql has no heading", file->name);
	}
}

static void
assert_reads(void *arg, sqlite3_stmt *stmt)
{
	const char *name = arg;
	int rc;

	if (!sqlite3_stmt_readonly(stmt))
		fail_msg("sql/admin/%s.sql writes", name);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		;
	assert_int_equal(rc, SQLITE_DONE);
}

static void
admin_script__on_books_in_use__runs_and_writes_nothing(void **state)
{
	struct box box;
	sqlite3 *reader;

	(void)state;
	box_init(&box);
	assert_int_equal(box_open(&box, NULL), 0);
	for (unsigned k = 1; k <= STORY_BATCHES; k++)
		box_tell(&box, k);
	assert_int_equal(sqlite3_open_v2(box.path, &reader, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	for (size_t i = 0; i < n_sql_admins; i++)
		box_statements(reader, sql_admins[i].text, assert_reads,
			       (void *)sql_admins[i].name);
	sqlite3_close(reader);
	box_fini(&box);
}

static void
view__shows_a_key_that_no_terminal_can__as_hex(void **state)
{
	static const struct {
		const char *key, *shown;
	} keys[] = {
		{"model/layer 7", "model/layer 7"},
		{"k\xc3\xa4se", "k\xc3\xa4se"},
		{"a\x1b[2J", "x'611B5B324A'"},
		{"a\nb", "x'610A62'"},
		{"\xff\xfe", "x'FFFE'"},
		{"a\x80", "x'6180'"},
		{"\xf0\x9f\x8d\xb1", "\xf0\x9f\x8d\xb1"},
	};
	struct box box;

	(void)state;
	box_init(&box);
	assert_int_equal(box_open(&box, NULL), 0);
	for (size_t i = 0; i < array_len(keys); i++)
		box_add(&box, &(struct record){.kind = RECORD_OBJECT_ADD,
					       .object_id = i + 1,
					       .tenant_id = 1,
					       .key = (const uint8_t *)keys[i].key,
					       .key_len = (uint16_t)strlen(keys[i].key)});
	box_commit(&box);
	for (size_t i = 0; i < array_len(keys); i++) {
		sqlite3 *reader;
		sqlite3_stmt *stmt;

		assert_int_equal(sqlite3_open_v2(box.path, &reader, SQLITE_OPEN_READONLY, NULL),
				 SQLITE_OK);
		assert_int_equal(
			sqlite3_prepare_v2(reader,
					   "SELECT shown_key FROM v_object WHERE object_id = ?", -1,
					   &stmt, NULL),
			SQLITE_OK);
		sqlite3_bind_int64(stmt, 1, (sqlite3_int64)i + 1);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_string_equal(sqlite3_column_text(stmt, 0), keys[i].shown);
		sqlite3_finalize(stmt);
		sqlite3_close(reader);
	}
	box_fini(&box);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan__of_each_query__is_as_it_was),
		cmocka_unit_test(plan__of_each_admin_script__is_as_it_was),
		cmocka_unit_test(plan__of_each_query_of_orders__is_as_it_was),
		cmocka_unit_test(query_of_orders__that_writes__looks_rows_up_and_never_scans),
		cmocka_unit_test(query__that_writes__looks_rows_up_and_never_scans),
		cmocka_unit_test(script__begins_with_its_name_and_what_it_is_for),
		cmocka_unit_test(admin_script__on_books_in_use__runs_and_writes_nothing),
		cmocka_unit_test(view__shows_a_key_that_no_terminal_can__as_hex),
	};

	is_writing = argc > 1 && strcmp(argv[1], "--write") == 0;
	return cmocka_run_group_tests(tests, setup, teardown);
}
