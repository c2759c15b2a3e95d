/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/json.h"

#include <inttypes.h>
#include <string.h>

#include "transfer/base/utf8.h"

void
json_init(struct json *json, FILE *to)
{
	*json = (struct json){.to = to};
}

static void
write_text(FILE *to, const char *text)
{
	fputc('"', to);
	while (*text != '\0') {
		size_t len = utf8_len(text);

		if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else if (*text == '\n')
			fputs("\\n", to);
		else if (*text == '\t')
			fputs("\\t", to);
		else if (*text == '\r')
			fputs("\\r", to);
		else if (len == 0 || (uint8_t)*text < 0x20 || *text == 0x7f)
			fprintf(to, "\\u%04x", (uint8_t)*text);
		else
			fwrite(text, 1, len, to);
		text += len > 0 ? len : 1;
	}
	fputc('"', to);
}

/* begin -- the comma, the line and the name before a value. */
static void
begin(struct json *json, const char *name)
{
	if (json->depth == 0)
		return;
	assert(json->is_list[json->depth - 1] == (name == NULL));

	if (json->has_some[json->depth - 1])
		fputc(',', json->to);
	json->has_some[json->depth - 1] = true;
	if (json->depth == 1 && json->is_list[0])
		fputc('\n', json->to);
	if (name != NULL) {
		write_text(json->to, name);
		fputc(':', json->to);
	}
}

static void
open_any(struct json *json, const char *name, bool is_list)
{
	assert(json->depth < JSON_DEPTH_MAX);

	begin(json, name);
	fputc(is_list ? '[' : '{', json->to);
	json->is_list[json->depth] = is_list;
	json->has_some[json->depth] = false;
	json->depth++;
}

void
json_open_object(struct json *json, const char *name)
{
	open_any(json, name, false);
}

void
json_open_list(struct json *json, const char *name)
{
	open_any(json, name, true);
}

void
json_close(struct json *json)
{
	assert(json->depth > 0);

	json->depth--;
	if (json->depth == 0 && json->is_list[0] && json->has_some[0])
		fputc('\n', json->to);
	fputc(json->is_list[json->depth] ? ']' : '}', json->to);
	if (json->depth == 0)
		fputc('\n', json->to);
}

void
json_text(struct json *json, const char *name, const char *text)
{
	begin(json, name);
	write_text(json->to, text);
}

void
json_u64(struct json *json, const char *name, uint64_t v)
{
	begin(json, name);
	fprintf(json->to, "%" PRIu64, v);
}

void
json_id(struct json *json, const char *name, uint64_t id)
{
	begin(json, name);
	fprintf(json->to, "\"%" PRIu64 "\"", id);
}

void
json_number(struct json *json, const char *name, double v)
{
	assert(v - v == 0.0);
	begin(json, name);
	fprintf(json->to, "%.3f", v);
}

void
json_bool(struct json *json, const char *name, bool v)
{
	begin(json, name);
	fputs(v ? "true" : "false", json->to);
}

void
json_base64(struct json *json, const char *name, const void *bytes, size_t n_bytes)
{
	char part[4 * 256 + 1];

	begin(json, name);
	fputc('"', json->to);
	for (size_t at = 0; at < n_bytes; at += 768) {
		size_t n = n_bytes - at < 768 ? n_bytes - at : 768;

		fputs(base64(part, sizeof(part), (const char *)bytes + at, n), json->to);
	}
	fputc('"', json->to);
}

void
json_key(struct json *json, const char *name, const char *key)
{
	char beside[64];

	json_text(json, name, key);
	if (utf8_is_valid(key))
		return;
	snprintf(beside, sizeof(beside), "%s_base64", name);
	json_base64(json, beside, key, strlen(key));
}

const char *
base64(char *buf, size_t cap, const void *bytes, size_t n_bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;
	size_t n = 0;

	assert(cap >= 4 * ((n_bytes + 2) / 3) + 1);
	for (size_t i = 0; i < n_bytes; i += 3) {
		size_t left = n_bytes - i;
		uint32_t v = (uint32_t)at[i] << 16;

		if (left > 1)
			v |= (uint32_t)at[i + 1] << 8;
		if (left > 2)
			v |= at[i + 2];
		buf[n++] = digits[v >> 18];
		buf[n++] = digits[v >> 12 & 63];
		buf[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
		buf[n++] = left > 2 ? digits[v & 63] : '=';
	}
	buf[n] = '\0';
	return buf;
}
