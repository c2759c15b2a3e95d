/* SPDX-License-Identifier: Apache-2.0 */

/*
 * http_page.h -- what stands on one page that is read by HTTP, a piece at a time.
 *
 *      loop's thread:  http_page_gather()   looks at the books; a bounded piece
 *      any other:      http_page_write()    makes words of what only has numbers yet
 *      until is_whole
 *
 * Keys are written with odd bytes, blanks and % as %XX, so that each is one word on one line.
 */
#ifndef MASTER_HTTP_PAGE_H
#define MASTER_HTTP_PAGE_H

#include "master/metrics.h"

struct http_page;

struct http_route {
	const char *path;
	const char *argument; /* that must be given, or NULL */
	const char *content_type;
	const char *usage; /* when it is not given */
	int (*gather)(struct http_page *page, struct master *master);
};

/* http_route_find -- NULL: there is no such page. */
const struct http_route *http_route_find(const char *path);

struct http_page {
	const struct http_route *route;
	char *argument, *tenant; /* owned; NULL: not given, or no memory */
	bool lacks_memory;
	struct buf text;
	int status; /* of HTTP; known after the first piece */
	bool is_whole;
	bool has_gathered; /* the piece at hand, but it waits for wait_batch */
	uint64_t wait_batch;
	struct metrics metrics;
	bool wants_words; /* metrics are whole and no text yet */
	uint16_t last_len;
	uint8_t last[KEY_MAX]; /* the key told last */
	size_t at;             /* so much of the argument is answered */
};

void http_page_init(struct http_page *page, const struct http_route *route, const char *argument,
		    const char *tenant);
void http_page_fini(struct http_page *page);

#define HTTP_PAGE_WAITS 1 /* what the piece says is not committed yet */

/* http_page_gather -- 0, HTTP_PAGE_WAITS, -ENOMEM. */
int http_page_gather(struct http_page *page, struct master *master) MUST_CHECK;

/* http_page_write -- 0 or -ENOMEM. */
int http_page_write(struct http_page *page) MUST_CHECK;

#endif
