/* SPDX-License-Identifier: Apache-2.0 */

/*
 * json.h -- one JSON value, written as it becomes known.
 *
 *      [
 *      {"key":"a","len_bytes":3},
 *      {"key":"b","len_bytes":5}
 *      ]
 *
 * What lies directly within the outermost list stands on a line of its own, so
 * a million keys stream in bounded memory, and line tools see one a line.
 * Numbers that are ids are written as text: many readers keep only 53 bits.
 */
#ifndef TRANSFER_BASE_JSON_H
#define TRANSFER_BASE_JSON_H

#include <stdio.h>

#include "transfer/base/base.h"

#define JSON_DEPTH_MAX 16

struct json {
	FILE *to;
	int depth;
	bool is_list[JSON_DEPTH_MAX];
	bool has_some[JSON_DEPTH_MAX]; /* a comma is due before the next value */
};

void json_init(struct json *json, FILE *to);

/* The name is NULL within a list and for the outermost value. */
void json_open_object(struct json *json, const char *name);
void json_open_list(struct json *json, const char *name);

/* json_close -- end what was opened last; behind the outermost value comes a newline. */
void json_close(struct json *json);

void json_text(struct json *json, const char *name, const char *text);
void json_u64(struct json *json, const char *name, uint64_t v);

/* json_id -- a number of 64 bits as text. */
void json_id(struct json *json, const char *name, uint64_t id);

/* json_number -- three digits behind the point.  needs: a finite number. */
void json_number(struct json *json, const char *name, double v);
void json_bool(struct json *json, const char *name, bool v);

/* json_key -- "NAME", and "NAME_base64" beside it when the key is not valid UTF-8. */
void json_key(struct json *json, const char *name, const char *key);

/* json_base64 -- bytes as text. */
void json_base64(struct json *json, const char *name, const void *bytes, size_t n_bytes);

/* base64 -- RFC 4648 with padding.  needs: cap >= 4 * ((n_bytes + 2) / 3) + 1. */
const char *base64(char *buf, size_t cap, const void *bytes, size_t n_bytes);

#endif
