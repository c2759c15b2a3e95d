/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_box.h -- a store in a folder of its own, on a clock that stands still, and a story to tell
 * it.
 *
 *      box_init(&box);                     an empty folder
 *      box_open(&box, NULL);               0, an outcome or a failure; box.why
 *      box_tell(&box, k);                  batch k of the story: submitted, and one step made
 *      box_dump(&box);                     all that store_load() gives, as text
 *      box_close(&box); box_fini(&box);
 *
 * The story is the same every time: batch k is made from k and what came before it.
 */
#ifndef TESTS_UNIT_STORE_BOX_H
#define TESTS_UNIT_STORE_BOX_H

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "master/store_sum.h"
#include "master/store.h"
#include "sql/sql_text.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"

#define STORY_BATCHES  30u
#define STORY_OBJECTS  256u
#define STORY_LODGINGS 99u /* a segment that is lost, and comes again */

struct box {
	char dir[64], path[96], why[512];
	struct clock_fake clock;
	struct store_config config;
	struct store *store;
	struct journal journal;
	uint64_t batch; /* the last one submitted */

	/* The story so far. */
	struct rand rand;
	uint64_t next_id;
	bool is_live[STORY_OBJECTS];
	void (*mend)(void); /* the disk, when the story can't go on without; or NULL */
};

static inline void
box_story_begin(struct box *box)
{
	rand_init(&box->rand, 20261129);
	box->next_id = 1;
	memset(box->is_live, 0, sizeof(box->is_live));
}

/* box_settle -- in a new folder. */
static inline void
box_settle(struct box *box)
{
	snprintf(box->dir, sizeof(box->dir), "%s/test-store-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(box->dir));
	snprintf(box->path, sizeof(box->path), "%s/books.db", box->dir);
}

static inline void
box_init(struct box *box)
{
	*box = (struct box){0};
	box_settle(box);
	clock_fake_init(&box->clock, 1000);
	box->clock.wall_at = 1790000000000;
	box->config = (struct store_config){
		.path = box->path,
		.clock = &box->clock.base,
		.is_inline = true,
		.wal_cap_bytes = 128u << 10,
		.sync_every_ms = 250,
	};
	journal_init(&box->journal);
	box_story_begin(box);
}

static inline int
box_open(struct box *box, const char *vfs)
{
	box->config.vfs = vfs;
	return store_open(&box->config, &box->store, box->why, sizeof(box->why));
}

static inline void
box_close(struct box *box)
{
	store_close(box->store);
	box->store = NULL;
}

/* box_empty -- remove every file of the folder. */
static inline void
box_empty(struct box *box)
{
	DIR *dir = opendir(box->dir);
	struct dirent *file;
	char name[400];

	assert_non_null(dir);
	while ((file = readdir(dir)) != NULL) {
		snprintf(name, sizeof(name), "%s/%s", box->dir, file->d_name);
		unlink(name);
	}
	closedir(dir);
}

static inline void
box_fini(struct box *box)
{
	box_close(box);
	journal_fini(&box->journal);
	box_empty(box);
	rmdir(box->dir);
}

/* ---- records ------------------------------------------------------------------------ */

static inline void
box_add(struct box *box, const struct record *record)
{
	assert_int_equal(journal_add(&box->journal, record), 0);
}

static inline void
box_add_segment(struct box *box, uint64_t id)
{
	char name[32];
	int len = snprintf(name, sizeof(name), "segment-%llu", (unsigned long long)id);

	box_add(box, &(struct record){.kind = RECORD_SEGMENT_ADD,
				      .segment_id = id,
				      .segment_epoch = 1,
				      .client_id = 42,
				      .len_bytes = 1u << 30,
				      .put_at_ms = 1790000000000,
				      .medium = 1,
				      .name = name,
				      .name_len = (uint16_t)len,
				      .host = "host",
				      .host_len = 4,
				      .endpoint = "unix:/x",
				      .endpoint_len = 7});
}

/* box_add_object -- n_replicas on the segments 1.., each of n_extents runs that nobody else has. */
static inline void
box_add_object(struct box *box, uint64_t id, uint8_t n_replicas, uint32_t n_extents)
{
	struct replica_record replicas[8];
	struct extent runs[8];
	char key[64];
	int len = snprintf(key, sizeof(key), "dir%llu/key-%llu", (unsigned long long)id % 7,
			   (unsigned long long)id);

	assert_true(n_replicas <= 8 && n_extents <= 8);
	for (uint32_t i = 0; i < n_extents; i++)
		runs[i] = (struct extent){id * 65536 + i * 8192ull, 1000};
	for (uint8_t i = 0; i < n_replicas; i++)
		replicas[i] = (struct replica_record){i + 1u, n_extents, runs};
	box_add(box, &(struct record){.kind = RECORD_OBJECT_ADD,
				      .object_id = id,
				      .tenant_id = 1,
				      .len_bytes = 1000ull * n_extents,
				      .put_at_ms = 1790000000000 + id,
				      .has_crc = id % 3 != 0,
				      .crc = id % 3 != 0 ? (uint32_t)id * 77777u : 0,
				      .key = (const uint8_t *)key,
				      .key_len = (uint16_t)len,
				      .attr = (const uint8_t *)"attr",
				      .attr_len = id % 5 == 0 ? 4 : 0,
				      .n_replicas = n_replicas,
				      .replicas = replicas});
}

static inline void
box_remove_object(struct box *box, uint64_t id)
{
	box_add(box, &(struct record){.kind = RECORD_OBJECT_REMOVE, .object_id = id});
}

static inline void
box_submit(struct box *box)
{
	assert_int_equal(store_submit(box->store, &box->journal, &box->batch), 0);
}

static inline struct store_progress
box_progress(struct box *box)
{
	struct store_progress progress;

	store_progress(box->store, &progress);
	return progress;
}

/* box_commit -- submit what was added and make one step. */
static inline void
box_commit(struct box *box)
{
	box_submit(box);
	store_step(box->store);
}

/* ---- the story ------------------------------------------------------------------------- */

static inline void
box_story_remove(struct box *box)
{
	uint64_t id = 1 + rand_below(&box->rand, box->next_id - 1);

	if (!box->is_live[id])
		return;
	box->is_live[id] = false;
	box_remove_object(box, id);
	box->journal.wants_sync = true;
}

static inline void
box_story_change(struct box *box)
{
	uint64_t id = 1 + rand_below(&box->rand, box->next_id - 1);
	char key[32];
	int len = snprintf(key, sizeof(key), "renamed/%llu-%llu", (unsigned long long)id,
			   (unsigned long long)box->next_id);

	if (!box->is_live[id])
		return;
	box_add(box, &(struct record){.kind = RECORD_OBJECT_RENAME,
				      .object_id = id,
				      .key = (const uint8_t *)key,
				      .key_len = (uint16_t)len});
	box_add(box, &(struct record){.kind = RECORD_OBJECT_ATTR,
				      .object_id = id,
				      .attr = (const uint8_t *)key,
				      .attr_len = (uint16_t)(len % 3 == 0 ? 0 : len)});
}

/* The copy that just went from segment 2 comes back there, elsewhere. */
static inline void
box_story_copy(struct box *box, uint64_t id)
{
	struct extent runs[4];
	struct replica_record replica = {2, (uint32_t)(id % 4), runs};

	for (uint32_t i = 0; i < replica.n_extents; i++)
		runs[i] = (struct extent){id * 65536 + i * 8192ull + 4096, 1000};
	box_add(box, &(struct record){.kind = RECORD_REPLICA_ADD,
				      .object_id = id,
				      .len_bytes = 1000 * (id % 4),
				      .n_replicas = 1,
				      .replicas = &replica});
}

/* Tenants that hold nothing come, change and go. */
static inline void
box_story_tenant(struct box *box, unsigned k)
{
	char name[32];
	int len = snprintf(name, sizeof(name), "tenant-%u", 2 + k / 12);

	if (k % 18 == 0)
		box_add(box, &(struct record){.kind = RECORD_TENANT_REMOVE,
					      .tenant_id = 2 + (k - 6) / 12});
	box_add(box, &(struct record){.kind = RECORD_TENANT_SET,
				      .tenant_id = 2 + k / 12,
				      .quota_bytes = k * 1000,
				      .quota_objects = k % 12,
				      .name = name,
				      .name_len = (uint16_t)len});
}

/* Tasks and jobs come, end and are forgotten; their ids are out of the story's objects' reach. */
static inline void
box_story_task(struct box *box, unsigned k)
{
	uint64_t id = k / 4;
	struct task_row task = {.task_id = id,
				.job_id = k % 8 == 0 ? id : 0,
				.object_id = id,
				.len_bytes = 10 * k,
				.from_id = k % 3,
				.to_id = 1,
				.made_at_ms = k,
				.reason = k % 5,
				.kind = (uint8_t)(1 + (k % 3 != 0)),
				.state = 5,
				.tries = 2};
	struct job_row job = {.job_id = id,
			      .made_at_ms = k,
			      .n_done = k,
			      .bytes_done = 7 * k,
			      .state = 2,
			      .concurrency = 16,
			      .n_segments = 2,
			      .n_targets = 1,
			      .ids = {1, 2, 3}};

	box_add(box, &(struct record){.kind = RECORD_TASK_SET,
				      .task = &task,
				      .key = (const uint8_t *)"a key",
				      .key_len = 5});
	box_add(box, &(struct record){.kind = RECORD_JOB_SET, .job = &job});
	job.n_segments = job.n_targets = 0;
	job.n_failed = k;
	box_add(box, &(struct record){.kind = RECORD_JOB_SET, .job = &job});
	if (k % 8 != 0)
		return;
	box_add(box, &(struct record){.kind = RECORD_TASK_REMOVE, .object_id = id - 1});
	box_add(box, &(struct record){.kind = RECORD_JOB_REMOVE, .object_id = id - 1});
}

/* An object of its own kind: its first copy on that segment, perhaps another on segment 1. */
static inline void
box_story_lodger(struct box *box, uint64_t segment_id, uint8_t n_replicas, uint32_t n_extents)
{
	uint64_t id = box->next_id++;
	struct extent runs[8];
	struct replica_record replicas[2] = {{segment_id, n_extents, runs}, {1, n_extents, runs}};
	char key[32];
	int len = snprintf(key, sizeof(key), "lodger-%llu", (unsigned long long)id);

	for (uint32_t i = 0; i < n_extents; i++)
		runs[i] = (struct extent){id * 65536 + i * 8192ull, 1000};
	box_add(box, &(struct record){.kind = RECORD_OBJECT_ADD,
				      .object_id = id,
				      .tenant_id = 1,
				      .len_bytes = 1000ull * n_extents,
				      .key = (const uint8_t *)key,
				      .key_len = (uint16_t)len,
				      .n_replicas = n_replicas,
				      .replicas = replicas});
}

/* box_await_clear -- everything submitted is committed, and no rows of gone segments are left?
 * Patience ends. */
static inline bool
box_await_clear(struct box *box)
{
	for (unsigned i = 0; i < 16; i++) {
		struct store_progress progress = box_progress(box);

		if (progress.committed == box->batch && !progress.is_clearing)
			return true;
		clock_fake_advance_ms(&box->clock, 1100);
		store_step(box->store);
	}
	return false;
}

/* A segment comes, is lost with what lies there, and comes again with other bytes. */
static inline void
box_story_gone(struct box *box, unsigned k)
{
	if (k == 6 || k == 12)
		box_add_segment(box, STORY_LODGINGS);
	if (k == 6 || k == 7 || k == 12)
		for (unsigned i = 0; i < 6; i++)
			box_story_lodger(box, STORY_LODGINGS, (uint8_t)(1 + i % 2), 1 + i % 3);
	if (k == 9)
		box_add(box, &(struct record){.kind = RECORD_SEGMENT_GONE,
					      .segment_id = STORY_LODGINGS});
	if (k != 11)
		return;
	/* As the master does: its end is not told, nor may it come again, before its rows are
	 * cleared.  Whoever breaks the disk for ever mends it for that, or nothing comes of it. */
	if (!box_await_clear(box) && box->mend != NULL) {
		box->mend();
		assert_true(box_await_clear(box));
	}
	box_add(box, &(struct record){.kind = RECORD_SEGMENT_REMOVE, .segment_id = STORY_LODGINGS});
}

/* box_story -- add the records of batch k, 1... */
static inline void
box_story(struct box *box, unsigned k)
{
	if (k == 1)
		for (uint64_t id = 1; id <= 3; id++)
			box_add_segment(box, id);
	if (k % 10 == 1)
		box_add(box, &(struct record){.kind = RECORD_NEXT_OBJECT_ID,
					      .object_id = box->next_id + 100});
	box_add(box, &(struct record){.kind = k % 4 == 3 ? RECORD_CHUNK_CLOSE : RECORD_CHUNK_OPEN,
				      .segment_id = 1 + k % 3,
				      .chunk = k / 4});
	for (unsigned i = 0; i < 1 + k % 8; i++) {
		uint64_t id = box->next_id++;

		assert_true(id < STORY_OBJECTS);
		box->is_live[id] = true;
		box_add_object(box, id, (uint8_t)(1 + id % 3), (uint32_t)(id % 4));
		if (id % 3 == 2 && id % 4 != 0)
			box_add(box, &(struct record){.kind = RECORD_REPLICA_REMOVE,
						      .object_id = id,
						      .segment_id = 2});
		if (id % 6 == 5 && id % 4 != 0)
			box_story_copy(box, id);
	}
	if (k % 2 == 0)
		box_story_remove(box);
	if (k % 3 == 0)
		box_story_change(box);
	if (k % 5 == 0)
		box_add_segment(box, 2);
	if (k % 6 == 0)
		box_story_tenant(box, k);
	if (k % 4 == 0)
		box_story_task(box, k);
	if (box->config.is_inline)
		box_story_gone(box, k);
}

/* box_tell -- submit batch k and do what is at hand. */
static inline void
box_tell(struct box *box, unsigned k)
{
	box_story(box, k);
	box_commit(box);
	clock_fake_advance_ms(&box->clock, k % 7 == 0 ? 2000 : 40);
	store_step(box->store);
}

/* ---- what is in it ------------------------------------------------------------------------ */

static inline void
box_print_object(FILE *to, const struct record *record)
{
	fprintf(to, "object %llu tenant %llu len %llu at %llu crc %d %x key %.*s attr %.*s\n",
		(unsigned long long)record->object_id, (unsigned long long)record->tenant_id,
		(unsigned long long)record->len_bytes, (unsigned long long)record->put_at_ms,
		record->has_crc, record->crc, record->key_len, (const char *)record->key,
		record->attr_len, record->attr_len > 0 ? (const char *)record->attr : "");
	for (size_t i = 0; i < record->n_replicas; i++) {
		const struct replica_record *replica = &record->replicas[i];

		fprintf(to, "  on %llu:", (unsigned long long)replica->segment_id);
		for (size_t k = 0; k < replica->n_extents; k++)
			fprintf(to, " %llu+%llu",
				(unsigned long long)replica->extents[k].offset_bytes,
				(unsigned long long)replica->extents[k].len_bytes);
		fprintf(to, "\n");
	}
}

/* box_print -- every book has the tenant default: it is told of only when it has a quota.  The
 * lodgers' segment is not told of: once it is gone its row may go with any restart. */
static inline int
box_print(void *arg, const struct record *record)
{
	FILE *to = arg;

	if (record->kind == RECORD_TENANT_SET && record->tenant_id == 1 &&
	    record->quota_bytes == 0 && record->quota_objects == 0)
		return 0;
	if (record->kind == RECORD_SEGMENT_ADD && record->segment_id == STORY_LODGINGS)
		return 0;
	if (record->kind == RECORD_OBJECT_ADD)
		box_print_object(to, record);
	else if (record->kind == RECORD_TENANT_SET)
		fprintf(to, "tenant %llu %.*s bytes %llu objects %llu\n",
			(unsigned long long)record->tenant_id, record->name_len, record->name,
			(unsigned long long)record->quota_bytes,
			(unsigned long long)record->quota_objects);
	else if (record->kind == RECORD_TASK_SET)
		fprintf(to,
			"task %llu of %llu kind %u state %u object %llu from %llu to %llu key "
			"%.*s\n",
			(unsigned long long)record->task->task_id,
			(unsigned long long)record->task->job_id, record->task->kind,
			record->task->state, (unsigned long long)record->task->object_id,
			(unsigned long long)record->task->from_id,
			(unsigned long long)record->task->to_id, record->key_len,
			(const char *)record->key);
	else if (record->kind == RECORD_JOB_SET)
		fprintf(to, "job %llu state %u done %llu failed %llu from %u: %llu to %u\n",
			(unsigned long long)record->job->job_id, record->job->state,
			(unsigned long long)record->job->n_done,
			(unsigned long long)record->job->n_failed, record->job->n_segments,
			(unsigned long long)record->job->ids[0], record->job->n_targets);
	else if (record->kind == RECORD_OBJECT_REMOVE)
		fprintf(to, "spoilt %llu\n", (unsigned long long)record->object_id);
	else if (record->kind == RECORD_CHUNK_OPEN)
		fprintf(to, "chunk %llu %u\n", (unsigned long long)record->segment_id,
			record->chunk);
	else
		fprintf(to,
			"segment %llu epoch %llu len %llu client %llu medium %u %.*s %.*s %.*s\n",
			(unsigned long long)record->segment_id,
			(unsigned long long)record->segment_epoch,
			(unsigned long long)record->len_bytes,
			(unsigned long long)record->client_id, record->medium, record->name_len,
			record->name, record->host_len, record->host, record->endpoint_len,
			record->endpoint);
	return 0;
}

/* box_load -- as store_load(); *ret_text is to be freed. */
static inline int
box_load(struct box *box, char **ret_text)
{
	size_t len;
	FILE *to = open_memstream(ret_text, &len);
	int r;

	assert_non_null(to);
	r = store_load(box->store, box_print, to, box->why, sizeof(box->why));
	fclose(to);
	return r;
}

static inline char *
box_dump(struct box *box)
{
	char *text = NULL;
	int r = box_load(box, &text);

	if (r != 0)
		print_error("%s\n", box->why);
	assert_int_equal(r, 0);
	return text;
}

/* box_reseal -- every row bears the right sum again, as if the master had written it so. */
static inline void
box_reseal(struct box *box)
{
	sqlite3 *conn;

	assert_int_equal(sqlite3_open_v2(box->path, &conn, SQLITE_OPEN_READWRITE, box->config.vfs),
			 SQLITE_OK);
	assert_int_equal(store_sum_register(conn), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(conn, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(conn, sql_row_sum_all, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(conn);
}

/* box_sql -- run SQL beside the store, as an admin must never do.  The books are changed behind its
 * back. */
static inline void
box_sql(struct box *box, const char *sql)
{
	sqlite3 *conn;
	int rc = sqlite3_open_v2(box->path, &conn, SQLITE_OPEN_READWRITE, box->config.vfs);

	assert_int_equal(rc, SQLITE_OK);
	rc = sqlite3_exec(conn, sql, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		print_error("%s: %s\n", sql, sqlite3_errmsg(conn));
	assert_int_equal(rc, SQLITE_OK);
	sqlite3_close(conn);
}

static inline const char *
box_admin(const char *name)
{
	for (size_t i = 0; i < n_sql_admins; i++)
		if (strcmp(sql_admins[i].name, name) == 0)
			return sql_admins[i].text;
	fail_msg("no sql/admin/%s.sql", name);
	return NULL;
}

/*
 * box_statements -- each statement of a script, without the dot lines of the shell.
 *
 * fn gets it prepared, and finalizes nothing.
 */
static inline void
box_statements(sqlite3 *conn, const char *script, void (*fn)(void *arg, sqlite3_stmt *stmt),
	       void *arg)
{
	char *text = strdup(script), *at = text;
	const char *rest;

	assert_non_null(text);
	for (char *line = text; line != NULL && *line != '\0';) {
		char *end = strchr(line, '\n');

		if (*line == '.')
			memset(line, ' ', end != NULL ? (size_t)(end - line) : strlen(line));
		line = end != NULL ? end + 1 : NULL;
	}
	for (rest = at; *rest != '\0';) {
		sqlite3_stmt *stmt;
		int rc = sqlite3_prepare_v2(conn, rest, -1, &stmt, &rest);

		if (rc != SQLITE_OK)
			print_error("%s\n", sqlite3_errmsg(conn));
		assert_int_equal(rc, SQLITE_OK);
		if (stmt != NULL)
			fn(arg, stmt);
		sqlite3_finalize(stmt);
	}
	free(text);
}

static inline void
box_print_finding(void *arg, sqlite3_stmt *stmt)
{
	FILE *to = arg;

	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			fprintf(to, "%s%s", i > 0 ? "|" : "",
				sqlite3_column_text(stmt, i) != NULL
					? (const char *)sqlite3_column_text(stmt, i)
					: "");
		fprintf(to, "\n");
	}
}

/* box_check -- what check.sql finds, to be freed; "" when all is well. */
static inline char *
box_check(struct box *box)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	sqlite3 *conn;

	assert_non_null(to);
	assert_int_equal(sqlite3_open_v2(box->path, &conn, SQLITE_OPEN_READONLY, box->config.vfs),
			 SQLITE_OK);
	box_statements(conn, box_admin("check"), box_print_finding, to);
	sqlite3_close(conn);
	fclose(to);
	return text;
}

static inline void
assert_check_finds_nothing(struct box *box)
{
	char *found = box_check(box);

	assert_string_equal(found, "");
	free(found);
}

#endif
