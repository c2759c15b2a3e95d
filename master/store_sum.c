/* SPDX-License-Identifier: Apache-2.0 */
#include "master/store_sum.h"

#include <endian.h>
#include <string.h>

#include "transfer/base/crc.h"

/* A sum under way; begins as {0}. */
struct sum {
	uint32_t crc;
	unsigned n;        /* bytes that wait, so that few long pieces are summed */
	uint8_t bytes[90]; /* ten columns */
};

enum { COLUMN_NULL, COLUMN_NUMBER, COLUMN_BYTES };

static void
flush(struct sum *sum)
{
	sum->crc = crc_of(sum->crc, sum->bytes, sum->n);
	sum->n = 0;
}

static void
head(struct sum *sum, uint8_t what, uint64_t v)
{
	if (sum->n + 9 > sizeof(sum->bytes))
		flush(sum);
	sum->bytes[sum->n++] = what;
	v = htole64(v);
	memcpy(sum->bytes + sum->n, &v, sizeof(v));
	sum->n += sizeof(v);
}

static void
sum_number(struct sum *sum, uint64_t v)
{
	head(sum, COLUMN_NUMBER, v);
}

static void
sum_null(struct sum *sum)
{
	head(sum, COLUMN_NULL, 0);
}

static void
sum_bytes(struct sum *sum, const void *bytes, size_t len_bytes)
{
	head(sum, COLUMN_BYTES, len_bytes);
	flush(sum);
	sum->crc = crc_of(sum->crc, bytes, len_bytes);
}

static int32_t
sum_end(struct sum *sum)
{
	flush(sum);
	return (int32_t)sum->crc;
}

static void
sum_number_or_null(struct sum *sum, bool is_there, uint64_t v)
{
	if (is_there)
		sum_number(sum, v);
	else
		sum_null(sum);
}

int32_t
store_sum_object(const struct record *record)
{
	struct sum sum = {0};

	sum_number(&sum, record->object_id);
	sum_number(&sum, record->tenant_id);
	sum_bytes(&sum, record->key, record->key_len);
	sum_number(&sum, record->len_bytes);
	sum_number(&sum, record->put_at_ms);
	sum_number_or_null(&sum, record->has_crc, record->crc);
	if (record->attr_len > 0)
		sum_bytes(&sum, record->attr, record->attr_len);
	else
		sum_null(&sum);
	sum_number_or_null(&sum, record->pinned_until_s > 0, record->pinned_until_s);
	return sum_end(&sum);
}

int32_t
store_sum_replica(uint64_t replica_id, uint64_t segment_id, const uint64_t *offset_bytes)
{
	struct sum sum = {0};

	sum_number(&sum, replica_id);
	sum_number(&sum, segment_id);
	sum_number_or_null(&sum, offset_bytes != NULL, offset_bytes == NULL ? 0 : *offset_bytes);
	return sum_end(&sum);
}

int32_t
store_sum_extent(uint64_t extent_id, const struct extent *extent)
{
	struct sum sum = {0};

	sum_number(&sum, extent_id);
	sum_number(&sum, extent->offset_bytes);
	sum_number(&sum, extent->len_bytes);
	return sum_end(&sum);
}

static void
add_value(struct sum *sum, sqlite3_value *value)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		sum_number(sum, (uint64_t)sqlite3_value_int64(value));
		break;
	case SQLITE_NULL:
		sum_null(sum);
		break;
	default: {
		const void *bytes = sqlite3_value_blob(value);

		sum_bytes(sum, bytes, (size_t)sqlite3_value_bytes(value));
	}
	}
}

/* The columns are read as they are, in whatever type: what should not be there is no right sum. */
static void
add_column(struct sum *sum, sqlite3_stmt *stmt, int at)
{
	switch (sqlite3_column_type(stmt, at)) {
	case SQLITE_INTEGER:
		sum_number(sum, (uint64_t)sqlite3_column_int64(stmt, at));
		break;
	case SQLITE_NULL:
		sum_null(sum);
		break;
	default: {
		const void *bytes = sqlite3_column_blob(stmt, at);

		sum_bytes(sum, bytes, (size_t)sqlite3_column_bytes(stmt, at));
	}
	}
}

bool
store_sum_is(sqlite3_stmt *stmt, int column, int32_t sum)
{
	return sqlite3_column_int64(stmt, column) == sum &&
	       sqlite3_column_type(stmt, column) == SQLITE_INTEGER;
}

bool
store_sum_is_right(sqlite3_stmt *stmt, int n_columns)
{
	struct sum sum = {0};

	for (int i = 0; i < n_columns; i++)
		add_column(&sum, stmt, i);
	return store_sum_is(stmt, n_columns, sum_end(&sum));
}

static void
row_sum_of(sqlite3_context *context, int n_values, sqlite3_value **values)
{
	struct sum sum = {0};

	for (int i = 0; i < n_values; i++)
		add_value(&sum, values[i]);
	sqlite3_result_int64(context, sum_end(&sum));
}

int
store_sum_register(sqlite3 *conn)
{
	return sqlite3_create_function_v2(conn, "row_sum_of", -1,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
					  /* app= */ NULL, row_sum_of, NULL, NULL, NULL);
}
