/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_added.h -- objects and copies that were added one after the other, as tables.
 *
 * To begin and to end a statement costs more than the row that it writes.  So what is added is
 * gathered, and then SQLite reads it from where it lies, all of one table in one statement:
 *
 *      INSERT INTO object ... SELECT ... FROM added_object
 *
 *      added_object    a row for each object
 *      added_replica   for each copy
 *      added_extent    for each run of a copy that has none, or several
 *      added_group     for each object that is a member
 *
 * Only the connection that writes knows these tables; they stand in no file.
 *
 * thread:  the worker's.
 */
#ifndef MASTER_STORE_ADDED_H
#define MASTER_STORE_ADDED_H

#include <sqlite3.h>

#include "master/journal.h"
#include "master/proto/limits.h"

#define ADDED_MAX 32 /* more save little, and leave the processor's nearest memory */

struct added_row {
	struct record record;
	uint64_t first_copy; /* the number of its first copy: OBJECT_ADD: 0 */
	struct replica_record replicas[REPLICAS_MAX];
};

/* One of the tables. */
struct added_table {
	const struct added *added;
	const struct added_kind *kind;
};

#define ADDED_TABLES 4

struct added {
	size_t n;
	uint64_t lowest_id, highest_id; /* of their objects */
	bool has_extents, has_groups;
	struct added_row rows[ADDED_MAX];
	struct added_table tables[ADDED_TABLES];
};

/* added_register -- this connection knows the tables, as long as `added` lives.  SQLite's code. */
int added_register(sqlite3 *conn, struct added *added);

void added_clear(struct added *added);

/*
 * added_keep -- one more.
 *
 * needs:   there is room; OBJECT_ADD, or REPLICA_ADD and then first_copy is free.  What the record
 *          points to stays until it is cleared; its replicas are copied.
 */
void added_keep(struct added *added, const struct record *record, uint64_t first_copy);

static inline bool
added_is_full(const struct added *added)
{
	return added->n == ADDED_MAX;
}

/* added_is_apart -- does it come to the same whether this record's rows change before those here
 * are written, or after? */
bool added_is_apart(const struct added *added, const struct record *record);

#endif
