/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_sum.h -- the sum that a row of the books bears (sql/schema/0008_row_sum.sql).
 *
 * CRC-32C of the row's columns in their order, each of them as
 *
 *      number     01  eight bytes, the low one first
 *      bytes      02  their number as eight bytes, the bytes
 *      nothing    00  eight bytes of zero
 *
 * so that no two rows are summed as the same bytes.  In SQL: row_sum_of(column, ...), which every
 * connection of the store knows.
 *
 * thread:  the owner's.
 */
#ifndef MASTER_STORE_SUM_H
#define MASTER_STORE_SUM_H

#include <sqlite3.h>

#include "master/journal.h"

#define STORE_SUM_VERSION 8 /* of the schema: rows bear sums from then on */

/* Of what such a row says. */
int32_t store_sum_object(const struct record *record);
int32_t store_sum_replica(uint64_t replica_id, uint64_t segment_id, const uint64_t *offset_bytes);
int32_t store_sum_extent(uint64_t extent_id, const struct extent *extent);

/* store_sum_is -- is that what stands in this column? */
bool store_sum_is(sqlite3_stmt *stmt, int column, int32_t sum);

/* store_sum_is_right -- of the row that stmt stands on, whatever it is made of: is column n_columns
 * the sum of those before? */
bool store_sum_is_right(sqlite3_stmt *stmt, int n_columns);

/* store_sum_register -- this connection knows row_sum_of().  SQLite's code. */
int store_sum_register(sqlite3 *conn);

#endif
