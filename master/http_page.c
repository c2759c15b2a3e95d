/* SPDX-License-Identifier: Apache-2.0 */
#include "master/http_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/books.h"
#include "transfer/base/err.h"

#define KEYS_A_PIECE  1024
#define ASKED_A_PIECE 64          /* keys looked up ... */
#define PIECE_BYTES   (64u << 10) /* ... until so much is said of them */
#define WORD_BYTES    2048        /* the longest that is said at once, keys aside */

enum { OK = 200, NOT_FOUND = 404, NOT_READY = 503 };

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static int
say(struct http_page *page, const char *fmt, ...)
{
	va_list args;
	int len, r = buf_reserve(&page->text, WORD_BYTES);

	if (r < 0)
		return err_up(r);
	va_start(args, fmt);
	len = vsnprintf((char *)buf_behind(&page->text), WORD_BYTES, fmt, args);
	va_end(args);
	page->text.end += (size_t)len < WORD_BYTES ? (size_t)len : WORD_BYTES - 1;
	return 0;
}

/* say_word -- with every byte that could end a word, a line or a JSON string as %XX. */
static int
say_word(struct http_page *page, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789ABCDEF";
	int r = buf_reserve(&page->text, 3 * len);
	uint8_t *to = buf_behind(&page->text);

	if (r < 0)
		return err_up(r);
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = bytes[i];

		if (byte > 0x20 && byte < 0x7f && byte != '%' && byte != '"' && byte != '\\') {
			*to++ = byte;
			continue;
		}
		*to++ = '%';
		*to++ = (uint8_t)digits[byte >> 4];
		*to++ = (uint8_t)digits[byte & 15];
	}
	page->text.end = (size_t)(to - page->text.at);
	return 0;
}

static int
say_text(struct http_page *page, const char *text)
{
	return say_word(page, (const uint8_t *)text, strlen(text));
}

/* ---- the pages ---- */

static int
gather_metrics(struct http_page *page, struct master *master)
{
	int r = metrics_gather(&page->metrics, master);

	page->wants_words = r == 0 && page->metrics.is_whole;
	page->is_whole = page->wants_words;
	return r;
}

static int
gather_health(struct http_page *page, struct master *master)
{
	(void)master;
	page->is_whole = true;
	return say(page, "OK\n");
}

static bool
is_without_room(const struct master *master)
{
	size_t n = 0;

	for (int i = 0; i < POOLS; i++)
		n += master->pools[i].segments.n;
	return n == 0;
}

static int
gather_ready(struct http_page *page, struct master *master)
{
	const char *why = master->progress.is_stalled ? "commits to the database fail"
			  : master->progress.is_full  ? "the disk of the database is full"
			  : is_without_room(master)   ? "no segment is mounted"
						      : NULL;

	page->is_whole = true;
	if (why == NULL)
		return say(page, "OK\n");
	page->status = NOT_READY;
	return say(page, "%s\n", why);
}

static int
gather_segments(struct http_page *page, struct master *master)
{
	int r = 0;

	page->is_whole = true;
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (r == 0 && segment_is_here(segment))
			r = say(page, "%s\n", segment->name);
	}
	return r;
}

static int
gather_segment(struct http_page *page, struct master *master)
{
	page->is_whole = true;
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (segment_is_here(segment) && strcmp(segment->name, page->argument) == 0)
			return say(page,
				   "%s\nUsed(bytes): %" PRIu64 "\nCapacity(bytes) : %" PRIu64 "\n",
				   segment->name, segment_used_bytes(segment), segment->size_bytes);
	}
	page->status = NOT_FOUND;
	return say(page, "no segment of that name is mounted\n");
}

static struct tenant *
tenant_of(const struct http_page *page, const struct master *master)
{
	const char *name = page->tenant != NULL ? page->tenant : "default";

	return tenants_by_name(&master->tenants, (const uint8_t *)name, strlen(name));
}

static int
gather_keys(struct http_page *page, struct master *master)
{
	const struct tenant *tenant = tenant_of(page, master);
	struct index_walk walk;
	const struct key *key = NULL;
	int r = 0;

	if (tenant == NULL) {
		page->is_whole = true;
		page->status = NOT_FOUND;
		return say(page, "no such tenant\n");
	}
	books_hold(master, gone_last(&master->gone)); /* some key may be missing here */
	index_walk_start(&walk, tenant->index, NULL, 0, page->last, page->last_len);
	for (int n = 0; r == 0 && n < KEYS_A_PIECE && (key = index_walk_next(&walk)) != NULL; n++) {
		const struct object *object = object_of((struct key *)(uintptr_t)key);

		books_hold(master, object->batch);
		r = say_word(page, key->bytes, key->len_bytes);
		if (r == 0)
			r = buf_append(&page->text, "\n", 1);
		page->last_len = key->len_bytes;
		memcpy(page->last, key->bytes, key->len_bytes);
	}
	page->is_whole = key == NULL;
	return r;
}

static int
say_replica(struct http_page *page, const struct replica *rep)
{
	const struct extent *extents = replica_extents(rep);
	int r = say(page, "{\"transport_endpoint_\":\"");

	if (r == 0)
		r = say_text(page, rep->segment->endpoint);
	if (r == 0)
		r = say(page, "\",\"segment\":\"");
	if (r == 0)
		r = say_text(page, rep->segment->name);
	if (r == 0)
		r = say(page, "\",\"extents\":[");
	for (uint32_t i = 0; r == 0 && i < rep->n_extents; i++)
		r = say(page, "%s{\"offset\":%" PRIu64 ",\"length\":%" PRIu64 "}",
			i == 0 ? "" : ",", extents[i].offset_bytes, extents[i].len_bytes);
	return r == 0 ? say(page, "]}") : r;
}

/* say_copies -- a JSON list; no lease is granted. */
static int
say_copies(struct http_page *page, const struct object *object)
{
	bool is_first = true;
	int r = say(page, "[");

	object_each_replica(object, rep) {
		if (r != 0 || rep->state != REPLICA_COMPLETE)
			continue;
		if (!is_first)
			r = say(page, ",");
		if (r == 0)
			r = say_replica(page, rep);
		is_first = false;
	}
	return r == 0 ? say(page, "]") : r;
}

static const struct object *
look_up(const struct http_page *page, struct master *master, const char *key, size_t len)
{
	struct tenant *tenant = tenant_of(page, master);

	if (tenant == NULL || len == 0 || len > KEY_MAX)
		return NULL;
	return books_find(master, tenant, (const uint8_t *)key, len);
}

static int
gather_key(struct http_page *page, struct master *master)
{
	const struct object *object = look_up(page, master, page->argument, strlen(page->argument));
	int r;

	page->is_whole = true;
	if (object == NULL) {
		page->status = NOT_FOUND;
		return say(page, "{\"error\":\"no such key\"}\n");
	}
	r = say(page, "{\"object_id\":%" PRIu64 ",\"length\":%" PRIu64 ",\"copies\":", object->id,
		object->len_bytes);
	if (r == 0)
		r = say_copies(page, object);
	return r == 0 ? say(page, "}\n") : r;
}

static int
say_looked_up(struct http_page *page, struct master *master, const char *key, size_t len)
{
	const struct object *object = look_up(page, master, key, len);
	int r = say(page, "\"");

	if (r == 0)
		r = say_word(page, (const uint8_t *)key, len);
	if (r == 0 && object == NULL)
		return say(page, "\":{\"ok\":false,\"error\":\"no such key\"}");
	if (r == 0)
		r = say(page, "\":{\"ok\":true,\"values\":");
	if (r == 0)
		r = say_copies(page, object);
	return r == 0 ? say(page, "}") : r;
}

/* A copy of many extents is long, and may be asked for as often as fits a URL: so in pieces. */
static int
gather_batch(struct http_page *page, struct master *master)
{
	int r = page->at == 0 ? say(page, "{\"success\":true,\"data\":{") : 0;

	for (int n = 0; r == 0 && !page->is_whole; n++) {
		const char *key = page->argument + page->at;
		size_t len = strcspn(key, ",");

		if (n == ASKED_A_PIECE || (n > 0 && buf_len(&page->text) >= PIECE_BYTES))
			break;
		r = say_looked_up(page, master, key, len);
		page->is_whole = key[len] == '\0';
		page->at += len + !page->is_whole;
		if (r == 0)
			r = say(page, page->is_whole ? "}}\n" : ",");
	}
	return r;
}

#define TEXT "text/plain; version=0.0.4; charset=utf-8"
#define JSON "application/json; charset=utf-8"

static const struct http_route routes[] = {
	{"/metrics", NULL, TEXT, NULL, gather_metrics},
	{"/health", NULL, TEXT, NULL, gather_health},
	{"/ready", NULL, TEXT, NULL, gather_ready},
	{"/get_all_segments", NULL, TEXT, NULL, gather_segments},
	{"/query_segment", "segment", TEXT, "which one? ?segment=NAME\n", gather_segment},
	{"/get_all_keys", NULL, TEXT, NULL, gather_keys},
	{"/query_key", "key", JSON, "which one? ?key=KEY\n", gather_key},
	{"/batch_query_keys", "keys", JSON, "which ones? ?keys=KEY,KEY\n", gather_batch},
};

const struct http_route *
http_route_find(const char *path)
{
	for (size_t i = 0; i < array_len(routes); i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

/* ---- a page ---- */

static char *
copy_text(struct http_page *page, const char *text)
{
	char *copy = text == NULL ? NULL : strdup(text);

	if (text != NULL && copy == NULL)
		page->lacks_memory = true;
	return copy;
}

void
http_page_init(struct http_page *page, const struct http_route *route, const char *argument,
	       const char *tenant)
{
	memset(page, 0, sizeof(*page));
	page->route = route;
	page->status = OK;
	page->argument = copy_text(page, argument);
	page->tenant = copy_text(page, tenant);
	buf_init(&page->text);
	metrics_init(&page->metrics);
}

void
http_page_fini(struct http_page *page)
{
	metrics_fini(&page->metrics);
	buf_fini(&page->text);
	free(page->argument);
	free(page->tenant);
}

int
http_page_gather(struct http_page *page, struct master *master)
{
	int r = 0;

	if (page->lacks_memory)
		return err_new(-ENOMEM);
	if (!page->has_gathered) {
		master->hold_batch = 0;
		r = page->route->gather(page, master);
		page->wait_batch = master->hold_batch;
		page->has_gathered = true;
	}
	if (r < 0)
		return err_up(r);
	if (page->wait_batch > master->progress.committed)
		return HTTP_PAGE_WAITS;
	page->has_gathered = false;
	return 0;
}

int
http_page_write(struct http_page *page)
{
	if (!page->wants_words)
		return 0;
	page->wants_words = false;
	return metrics_text(&page->metrics, &page->text);
}
