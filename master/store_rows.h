/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_rows.h -- what the files that load the books know of each other.
 *
 *      store_load.c          the whole: a snapshot, threads, the order, segments, chunks, tenants,
 * events store_load_objects.c  objects with their copies, runs and groups: three walks and a fourth
 *      store_load_tasks.c    tasks and jobs
 *      store_rows.c          a walk over one table, and what a column says
 *
 * thread:  the one that reads.
 */
#ifndef MASTER_STORE_ROWS_H
#define MASTER_STORE_ROWS_H

#include <sqlite3.h>

#include "master/proto/limits.h"
#include "master/store_internal.h"
#include "transfer/base/map.h"
#include "transfer/base/vec.h"

/* One walk over one table. */
struct walk {
	sqlite3_stmt *stmt;
	bool is_at_row; /* its first column is the id below */
	uint64_t id;
};

struct loader {
	struct store_db db;
	const char *path;
	int (*fn)(void *arg, const struct record *record);
	void *arg;
	int rc;              /* SQLite's word on why a walk ended early */
	int os_errno;        /* the system's */
	const char *law;     /* the law that a row breaks, or NULL */
	uint64_t law_id;     /* the row's */
	struct map segments; /* id -> length */
	struct map tenants;
	struct walk objects, groups, replicas, extents;
	uint64_t offset_bytes; /* of the replica at hand; NO_OFFSET: see its extents */
	bool is_spoilt;        /* a row of the object at hand does not bear its sum */
	unsigned n_spoilt;     /* such objects so far */
	struct replica_record replica_records[REPLICAS_MAX];
	VEC(struct extent) runs;
};

/* broken -- remember the first law that is broken; the walk ends.  Gives false. */
bool broken(struct loader *loader, const char *law, uint64_t id);

/* number -- column `at` as a number in 0..max; false: it is none. */
bool number(sqlite3_stmt *stmt, int at, uint64_t max, uint64_t *ret);

/* number_or_null -- the same, or nothing stands there: then *ret is as it was. */
bool number_or_null(sqlite3_stmt *stmt, int at, uint64_t max, bool *ret_is_there, uint64_t *ret);

/* numbers -- columns from `first` on, each 0..INT64_MAX. */
bool numbers(sqlite3_stmt *stmt, int first, uint64_t *const *rets, size_t n);

/* bytes -- column `at` of that type with at most max bytes; valid until the next step. */
bool bytes(sqlite3_stmt *stmt, int at, int type, size_t max, struct cursor *ret);

bool walk_start(struct loader *loader, struct walk *walk, const char *text);

/* walk_next -- to the next row, whose id is greater.  false: damage or failure; the end is no
 * failure. */
bool walk_next(struct loader *loader, struct walk *walk);

/* give -- a record to who takes them; *r is what that says.  false: it is not 0. */
bool give(struct loader *loader, const struct record *record, int *r);

/* load_objects, load_tasks, load_jobs -- all rows of theirs.  false: loader or *r says why. */
bool load_objects(struct loader *loader, int *r);
bool load_tasks(struct loader *loader, int *r);
bool load_jobs(struct loader *loader, int *r);

#endif
