/* SPDX-License-Identifier: Apache-2.0 */
#include "master/store_rows.h"

bool
broken(struct loader *loader, const char *law, uint64_t id)
{
	if (loader->law == NULL) {
		loader->law = law;
		loader->law_id = id;
	}
	return false;
}

/*
 * A column is asked for once, and its value then for its type and what it is: that costs half of
 * asking the row each time.  (Who has a connection for itself may ask a value that is
 * "unprotected".)
 */
static bool
is_number(sqlite3_value *value, uint64_t max, uint64_t *ret)
{
	sqlite3_int64 v;

	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return false;
	v = sqlite3_value_int64(value);
	if (v < 0 || (uint64_t)v > max)
		return false;
	*ret = (uint64_t)v;
	return true;
}

bool
number(sqlite3_stmt *stmt, int at, uint64_t max, uint64_t *ret)
{
	return is_number(sqlite3_column_value(stmt, at), max, ret);
}

bool
number_or_null(sqlite3_stmt *stmt, int at, uint64_t max, bool *ret_is_there, uint64_t *ret)
{
	sqlite3_value *value = sqlite3_column_value(stmt, at);

	*ret_is_there = sqlite3_value_type(value) != SQLITE_NULL;
	return !*ret_is_there || is_number(value, max, ret);
}

bool
numbers(sqlite3_stmt *stmt, int first, uint64_t *const *rets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!number(stmt, first + (int)i, INT64_MAX, rets[i]))
			return false;
	return true;
}

bool
bytes(sqlite3_stmt *stmt, int at, int type, size_t max, struct cursor *ret)
{
	sqlite3_value *value = sqlite3_column_value(stmt, at);
	const uint8_t *first;
	size_t len;

	if (sqlite3_value_type(value) != type)
		return false;
	first = type == SQLITE_TEXT ? sqlite3_value_text(value) : sqlite3_value_blob(value);
	len = (size_t)sqlite3_value_bytes(value);
	if (len > max || (first == NULL && len > 0))
		return false;
	if (len == 0)
		first = (const uint8_t *)""; /* SQLite gives no bytes at all */
	*ret = (struct cursor){first, first + len};
	return true;
}

bool
walk_start(struct loader *loader, struct walk *walk, const char *text)
{
	loader->rc = sqlite3_prepare_v2(loader->db.conn, text, -1, &walk->stmt, NULL);
	return loader->rc == SQLITE_OK;
}

bool
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

bool
give(struct loader *loader, const struct record *record, int *r)
{
	*r = loader->fn(loader->arg, record);
	return *r == 0;
}
