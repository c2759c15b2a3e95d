/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rows become records; those of objects are read on a thread of their own, ahead of who takes
 * them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "master/store_feed.h"
#include "master/store_rows.h"
#include "sql/sql_text.h"
#include "transfer/base/err.h"

#define DAMAGED "damaged (%s); run: tiffin check --db %s"

/* ---- segments, chunks, tenants ----------------------------------------------------- */

static bool
read_segment(struct loader *loader, sqlite3_stmt *stmt, struct record *ret)
{
	bool is_doubted = sqlite3_column_type(stmt, 9) != SQLITE_NULL;
	struct cursor name, host, endpoint;
	uint64_t medium, drain;

	*ret = (struct record){.kind = RECORD_SEGMENT_ADD, .trusted_epoch = UINT64_MAX};
	if (!number(stmt, 0, INT64_MAX, &ret->segment_id) || ret->segment_id == 0)
		return broken(loader, "a segment's id is no id", 0);
	if (!number(stmt, 1, INT64_MAX, &ret->segment_epoch) ||
	    !number(stmt, 2, INT64_MAX, &ret->client_id) || !number(stmt, 3, 3, &medium) ||
	    medium == 0 || !number(stmt, 4, INT64_MAX, &ret->len_bytes) || ret->len_bytes == 0 ||
	    !number(stmt, 5, INT64_MAX, &ret->put_at_ms) ||
	    !bytes(stmt, 6, SQLITE_TEXT, TEXT_MAX, &name) ||
	    !bytes(stmt, 7, SQLITE_TEXT, TEXT_MAX, &host) ||
	    !bytes(stmt, 8, SQLITE_TEXT, TEXT_MAX, &endpoint) ||
	    (is_doubted && !number(stmt, 9, INT64_MAX, &ret->trusted_epoch)) ||
	    !number(stmt, 10, 2, &drain))
		return broken(loader, "a segment has a value out of range", ret->segment_id);

	ret->medium = (uint8_t)medium;
	ret->drain = (uint8_t)drain;
	ret->name = (const char *)name.at;
	ret->name_len = (uint16_t)cursor_left(&name);
	ret->host = (const char *)host.at;
	ret->host_len = (uint16_t)cursor_left(&host);
	ret->endpoint = (const char *)endpoint.at;
	ret->endpoint_len = (uint16_t)cursor_left(&endpoint);
	return true;
}

static bool
load_segments(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_segment_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct record record;

		is_well = read_segment(loader, walk.stmt, &record);
		if (!is_well)
			break;
		*r = map_put(&loader->segments, record.segment_id,
			     (void *)(uintptr_t)record.len_bytes);
		is_well = *r == 0 && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

static bool
load_chunks(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_chunk_load);

	while (is_well && (loader->rc = sqlite3_step(walk.stmt)) == SQLITE_ROW) {
		struct record record = {.kind = RECORD_CHUNK_OPEN};
		uint64_t chunk = 0;

		loader->rc = SQLITE_OK;
		is_well = (number(walk.stmt, 0, INT64_MAX, &record.segment_id) &&
			   number(walk.stmt, 1, UINT32_MAX, &chunk)) ||
			  broken(loader, "an open chunk has a value out of range", 0);
		if (is_well && map_get(&loader->segments, record.segment_id) == NULL)
			is_well = broken(loader, "an open chunk has no segment", record.segment_id);
		record.chunk = (uint32_t)chunk;
		is_well = is_well && give(loader, &record, r);
	}
	if (loader->rc == SQLITE_DONE)
		loader->rc = SQLITE_OK;
	sqlite3_finalize(walk.stmt);
	return is_well && loader->rc == SQLITE_OK;
}

static bool
read_tenant(struct loader *loader, const struct walk *walk, struct record *ret)
{
	struct cursor name;

	*ret = (struct record){.kind = RECORD_TENANT_SET, .tenant_id = walk->id};
	if (!bytes(walk->stmt, 1, SQLITE_TEXT, NAME_MAX_BYTES, &name) ||
	    !number(walk->stmt, 2, INT64_MAX, &ret->quota_bytes) ||
	    !number(walk->stmt, 3, INT64_MAX, &ret->quota_objects))
		return broken(loader, "a tenant has a value out of range", walk->id);
	ret->name = (const char *)name.at;
	ret->name_len = (uint16_t)cursor_left(&name);
	return true;
}

static bool
load_tenants(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_tenant_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct record record;

		*r = map_put(&loader->tenants, walk.id, loader);
		is_well =
			*r == 0 && read_tenant(loader, &walk, &record) && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

static bool
read_event(struct loader *loader, const struct walk *walk, struct record *ret)
{
	struct cursor kind, words;

	*ret = (struct record){.kind = RECORD_EVENT, .object_id = walk->id};
	if (walk->id > JOURNAL_OBJECT_ID_MAX ||
	    !number(walk->stmt, 1, INT64_MAX, &ret->put_at_ms) ||
	    !bytes(walk->stmt, 2, SQLITE_TEXT, 64, &kind) || cursor_left(&kind) == 0 ||
	    !number(walk->stmt, 3, INT64_MAX, &ret->count) || ret->count == 0 ||
	    !number(walk->stmt, 4, INT64_MAX, &ret->len_bytes) ||
	    !number(walk->stmt, 5, INT64_MAX, &ret->segment_id) ||
	    !bytes(walk->stmt, 6, SQLITE_TEXT, TEXT_MAX, &words))
		return broken(loader, "an event has a value out of range", walk->id);

	ret->name = (const char *)kind.at;
	ret->name_len = (uint16_t)cursor_left(&kind);
	ret->host = (const char *)words.at;
	ret->host_len = (uint16_t)cursor_left(&words);
	return true;
}

static bool
load_events(struct loader *loader, int *r)
{
	struct walk walk = {0};
	bool is_well = walk_start(loader, &walk, sql_event_load);

	while (is_well && (is_well = walk_next(loader, &walk)) && walk.is_at_row) {
		struct record record;

		is_well = read_event(loader, &walk, &record) && give(loader, &record, r);
	}
	sqlite3_finalize(walk.stmt);
	return is_well;
}

/* ---- all of it --------------------------------------------------------------------- */

/* verdict -- how the load ended, in words. */
static int
verdict(const struct loader *loader, int r, char *why, size_t why_cap)
{
	char what[128];

	if (loader->law != NULL) {
		snprintf(what, sizeof(what), "%s: %llu", loader->law,
			 (unsigned long long)loader->law_id);
		store_say(why, why_cap, loader->path, DAMAGED, what, loader->path);
		return STORE_E_DAMAGED;
	}
	if (store_db_is_damage(loader->rc)) {
		store_say(why, why_cap, loader->path, DAMAGED, sqlite3_errstr(loader->rc),
			  loader->path);
		return STORE_E_DAMAGED;
	}
	if (loader->rc != SQLITE_OK) {
		char words[STORE_WORDS_CAP];

		store_say(why, why_cap, loader->path, "can't read it: %s (SQLite code %d)",
			  store_db_words(loader->rc, loader->os_errno, words), loader->rc);
		return err_new(store_db_errno(loader->rc, loader->os_errno));
	}
	if (r != 0)
		store_say(why, why_cap, loader->path, "can't load it: %s", strerror(-r));
	return err_up(r);
}

/* A thread that reads objects ahead of the one that takes them. */
struct reading {
	struct loader *loader;
	struct feed feed;
	int r;
};

static void *
read_ahead(void *arg)
{
	struct reading *reading = arg;

	load_objects(reading->loader, &reading->r);
	feed_end(&reading->feed);
	return NULL;
}

/* load_objects_ahead -- SQLite steps on one thread while the records are taken on this one. */
static void
load_objects_ahead(struct loader *loader, int *r)
{
	int (*fn)(void *arg, const struct record *record) = loader->fn;
	void *arg = loader->arg;
	struct reading reading = {.loader = loader};
	pthread_t thread;

	feed_init(&reading.feed);
	loader->fn = feed_add;
	loader->arg = &reading.feed;
	*r = -pthread_create(&thread, NULL, read_ahead, &reading);
	if (*r < 0) {
		*r = err_new(*r);
	} else {
		*r = feed_drain(&reading.feed, fn, arg);
		pthread_join(thread, NULL);
		if (*r == 0 && reading.r < 0)
			*r = err_new(reading.r);
	}
	feed_fini(&reading.feed);
	loader->fn = fn; /* for what is read after them */
	loader->arg = arg;
}

int
store_load(struct store *store, int (*fn)(void *arg, const struct record *record), void *arg,
	   char *why, size_t why_cap)
{
	struct loader loader = {.path = store->config.path, .fn = fn, .arg = arg};
	int r = 0;

	assert(store->magic == STORE_MAGIC);

	map_init(&loader.segments);
	map_init(&loader.tenants);
	loader.rc = store_db_open(&loader.db, store->config.path, store->config.vfs,
				  SQLITE_OPEN_READONLY);
	if (loader.rc == SQLITE_OK)
		loader.rc = sqlite3_busy_timeout(loader.db.conn, 2000);
	if (loader.rc == SQLITE_OK)
		loader.rc = store_db_run(loader.db.conn, sql_snapshot_begin);
	if (loader.rc == SQLITE_OK && load_tenants(&loader, &r) && load_segments(&loader, &r) &&
	    load_chunks(&loader, &r) && load_events(&loader, &r)) {
		if (store->config.is_inline)
			load_objects(&loader, &r);
		else
			load_objects_ahead(&loader, &r);
		if (r == 0 && loader.rc == SQLITE_OK && loader.law == NULL &&
		    load_jobs(&loader, &r))
			load_tasks(&loader, &r);
	}

	loader.os_errno = sqlite3_system_errno(loader.db.conn);
	store_db_close(&loader.db);
	map_fini(&loader.segments);
	map_fini(&loader.tenants);
	vec_fini(&loader.runs);
	return verdict(&loader, r, why, why_cap);
}
