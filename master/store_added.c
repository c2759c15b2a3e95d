/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A cursor goes through rows of memory in three steps, one within the other:
 *
 *      object    7                       8
 *      copy      0           1           0
 *      piece     0 1 2       0           0 1
 *
 * and each table says how many copies and pieces there are for it.
 */
#include "master/store_added.h"

#include <string.h>

#include "master/store_sum.h"
#include "transfer/base/num.h"

struct added_kind {
	const char *name, *columns;
	size_t (*n_copies)(const struct added_row *row);
	size_t (*n_pieces)(const struct replica_record *replica);
	void (*tell)(const struct added_row *row, size_t copy, size_t piece, int column,
		     sqlite3_context *to);
};

struct added_cursor {
	sqlite3_vtab_cursor base;
	size_t at, copy, piece;
};

struct added_vtab {
	sqlite3_vtab base;
	const struct added_table *table;
};

/* ---- columns --------------------------------------------------------------------- */

static void
tell_number(sqlite3_context *to, uint64_t v)
{
	assert(v <= INT64_MAX);
	sqlite3_result_int64(to, (sqlite3_int64)v);
}

/* NULL is what a column is that says nothing. */
static void
tell_number_if(sqlite3_context *to, bool is_there, uint64_t v)
{
	if (is_there)
		tell_number(to, v);
}

/* They stay where they lie until the statement has run. */
static void
tell_bytes_if(sqlite3_context *to, const void *bytes, size_t len_bytes)
{
	if (len_bytes > 0)
		sqlite3_result_blob(to, bytes, (int)len_bytes, SQLITE_STATIC);
}

static void
tell_object(const struct added_row *row, size_t copy, size_t piece, int column, sqlite3_context *to)
{
	const struct record *record = &row->record;

	(void)copy;
	(void)piece;
	switch (column) {
	case 0:
		return tell_number(to, record->object_id);
	case 1:
		return tell_number(to, record->tenant_id);
	case 2:
		return tell_bytes_if(to, record->key, record->key_len);
	case 3:
		return tell_number(to, record->len_bytes);
	case 4:
		return tell_number(to, record->put_at_ms);
	case 5:
		return tell_number_if(to, record->has_crc, record->crc);
	case 6:
		return tell_bytes_if(to, record->attr, record->attr_len);
	case 7:
		return tell_number_if(to, record->pinned_until_s > 0, record->pinned_until_s);
	default:
		sqlite3_result_int64(to, store_sum_object(record));
	}
}

static uint64_t
replica_id(const struct added_row *row, size_t copy)
{
	return row->record.object_id * REPLICAS_MAX + row->first_copy + copy;
}

static void
tell_replica(const struct added_row *row, size_t copy, size_t piece, int column,
	     sqlite3_context *to)
{
	const struct replica_record *replica = &row->replicas[copy];
	const uint64_t *offset = replica->n_extents == 1 ? &replica->extents[0].offset_bytes : NULL;

	(void)piece;
	switch (column) {
	case 0:
		return tell_number(to, replica_id(row, copy));
	case 1:
		return tell_number(to, replica->segment_id);
	case 2:
		return tell_number_if(to, offset != NULL, offset == NULL ? 0 : *offset);
	default:
		sqlite3_result_int64(
			to, store_sum_replica(replica_id(row, copy), replica->segment_id, offset));
	}
}

static void
tell_extent(const struct added_row *row, size_t copy, size_t piece, int column, sqlite3_context *to)
{
	const struct extent *extent = &row->replicas[copy].extents[piece];
	uint64_t id = replica_id(row, copy) * EXTENTS_MAX + piece;

	switch (column) {
	case 0:
		return tell_number(to, id);
	case 1:
		return tell_number(to, extent->offset_bytes);
	case 2:
		return tell_number(to, extent->len_bytes);
	default:
		sqlite3_result_int64(to, store_sum_extent(id, extent));
	}
}

static void
tell_group(const struct added_row *row, size_t copy, size_t piece, int column, sqlite3_context *to)
{
	(void)copy;
	(void)piece;
	if (column == 0)
		tell_number(to, row->record.object_id);
	else
		tell_bytes_if(to, row->record.name, row->record.name_len);
}

/* ---- tables ---------------------------------------------------------------------- */

static size_t
one_object(const struct added_row *row)
{
	return row->record.kind == RECORD_OBJECT_ADD;
}

static size_t
one_group(const struct added_row *row)
{
	return row->record.name_len > 0;
}

static size_t
all_copies(const struct added_row *row)
{
	return row->record.n_replicas;
}

static size_t
one_piece(const struct replica_record *replica)
{
	(void)replica;
	return 1;
}

/* A single run stands in its replica's row. */
static size_t
several_pieces(const struct replica_record *replica)
{
	return replica->n_extents == 1 ? 0 : replica->n_extents;
}

static const struct added_kind kinds[] = {
	{"added_object",
	 "CREATE TABLE added_object (object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr, "
	 "pinned_until_s, row_sum)",
	 one_object, one_piece, tell_object},
	{"added_replica",
	 "CREATE TABLE added_replica (replica_id, segment_id, offset_bytes, row_sum)", all_copies,
	 one_piece, tell_replica},
	{"added_extent", "CREATE TABLE added_extent (extent_id, offset_bytes, len_bytes, row_sum)",
	 all_copies, several_pieces, tell_extent},
	{"added_group", "CREATE TABLE added_group (object_id, group_id)", one_group, one_piece,
	 tell_group},
};

_Static_assert(array_len(kinds) == ADDED_TABLES, "each has its place in struct added");

/* ---- what SQLite calls ----------------------------------------------------------- */

static const struct added_table *
table_of(const struct added_cursor *cursor)
{
	return container_of(cursor->base.pVtab, struct added_vtab, base)->table;
}

/* settle -- from where it stands to the first row of its table. */
static void
settle(struct added_cursor *cursor)
{
	const struct added_table *table = table_of(cursor);

	for (; cursor->at < table->added->n; cursor->at++, cursor->copy = 0) {
		const struct added_row *row = &table->added->rows[cursor->at];

		for (; cursor->copy < table->kind->n_copies(row); cursor->copy++, cursor->piece = 0)
			if (cursor->piece < table->kind->n_pieces(&row->replicas[cursor->copy]))
				return;
	}
}

static int
on_connect(sqlite3 *conn, void *aux, int n_args, const char *const *args, sqlite3_vtab **ret,
	   char **ret_error)
{
	const struct added_table *table = aux;
	struct added_vtab *vtab;
	int rc = sqlite3_declare_vtab(conn, table->kind->columns);

	(void)n_args;
	(void)args;
	(void)ret_error;
	if (rc == SQLITE_OK)
		rc = sqlite3_vtab_config(conn, SQLITE_VTAB_DIRECTONLY);
	if (rc != SQLITE_OK)
		return rc;
	vtab = calloc(1, sizeof(*vtab));
	if (vtab == NULL)
		return SQLITE_NOMEM;
	vtab->table = table;
	*ret = &vtab->base;
	return SQLITE_OK;
}

static int
on_disconnect(sqlite3_vtab *base)
{
	free(container_of(base, struct added_vtab, base));
	return SQLITE_OK;
}

static int
on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	(void)base;
	info->estimatedCost = ADDED_MAX;
	info->estimatedRows = ADDED_MAX;
	return SQLITE_OK;
}

static int
on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct added_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (cursor == NULL)
		return SQLITE_NOMEM;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int
on_close(sqlite3_vtab_cursor *base)
{
	free(container_of(base, struct added_cursor, base));
	return SQLITE_OK;
}

static int
on_filter(sqlite3_vtab_cursor *base, int index, const char *name, int n_args, sqlite3_value **args)
{
	struct added_cursor *cursor = container_of(base, struct added_cursor, base);

	(void)index;
	(void)name;
	(void)n_args;
	(void)args;
	cursor->at = cursor->copy = cursor->piece = 0;
	settle(cursor);
	return SQLITE_OK;
}

static int
on_next(sqlite3_vtab_cursor *base)
{
	struct added_cursor *cursor = container_of(base, struct added_cursor, base);

	cursor->piece++;
	settle(cursor);
	return SQLITE_OK;
}

static int
on_eof(sqlite3_vtab_cursor *base)
{
	const struct added_cursor *cursor = container_of(base, struct added_cursor, base);

	return cursor->at == table_of(cursor)->added->n;
}

static int
on_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column)
{
	const struct added_cursor *cursor = container_of(base, struct added_cursor, base);
	const struct added_table *table = table_of(cursor);

	table->kind->tell(&table->added->rows[cursor->at], cursor->copy, cursor->piece, column, to);
	return SQLITE_OK;
}

static int
on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct added_cursor *cursor = container_of(base, struct added_cursor, base);

	*ret = (sqlite3_int64)((cursor->at * REPLICAS_MAX + cursor->copy) * EXTENTS_MAX +
			       cursor->piece);
	return SQLITE_OK;
}

/* Without xCreate: each is there by its name alone. */
static const sqlite3_module module = {
	.xConnect = on_connect,
	.xBestIndex = on_best_index,
	.xDisconnect = on_disconnect,
	.xOpen = on_open,
	.xClose = on_close,
	.xFilter = on_filter,
	.xNext = on_next,
	.xEof = on_eof,
	.xColumn = on_column,
	.xRowid = on_rowid,
};

/* ---- what the store calls -------------------------------------------------------- */

int
added_register(sqlite3 *conn, struct added *added)
{
	int rc = SQLITE_OK;

	added_clear(added);
	for (size_t i = 0; i < array_len(kinds) && rc == SQLITE_OK; i++) {
		added->tables[i] = (struct added_table){added, &kinds[i]};
		rc = sqlite3_create_module_v2(conn, kinds[i].name, &module, &added->tables[i],
					      NULL);
	}
	return rc;
}

void
added_clear(struct added *added)
{
	added->n = 0;
	added->lowest_id = UINT64_MAX;
	added->highest_id = 0;
	added->has_extents = added->has_groups = false;
}

void
added_keep(struct added *added, const struct record *record, uint64_t first_copy)
{
	struct added_row *row = &added->rows[added->n];

	assert(added->n < ADDED_MAX);
	assert(record->kind == RECORD_OBJECT_ADD || record->kind == RECORD_REPLICA_ADD);
	assert(first_copy + record->n_replicas <= REPLICAS_MAX);

	row->record = *record;
	row->first_copy = first_copy;
	for (size_t i = 0; i < record->n_replicas; i++) {
		row->replicas[i] = record->replicas[i];
		added->has_extents |= record->replicas[i].n_extents != 1;
	}
	added->has_groups |= record->name_len > 0;
	added->lowest_id = num_min(added->lowest_id, record->object_id);
	added->highest_id = num_max(added->highest_id, record->object_id);
	added->n++;
}

bool
added_is_apart(const struct added *added, const struct record *record)
{
	if (added->n == 0)
		return true;
	return record->kind == RECORD_OBJECT_REMOVE &&
	       (record->object_id < added->lowest_id || record->object_id > added->highest_id);
}
