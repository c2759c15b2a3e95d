/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/tell.h"

#include <inttypes.h>
#include <string.h>

#include "transfer/base/utf8.h"

#define SHOWN_CAP (4 * 1024 + 1) /* a key of the oddest bytes */

void
fs_tell_begin(struct fs_tell *tell, FILE *to, bool is_json, bool is_list)
{
	*tell = (struct fs_tell){.to = to, .is_json = is_json, .is_list = is_list};
	json_init(&tell->json, to);
	if (is_json && is_list)
		json_open_list(&tell->json, NULL);
	else if (is_json)
		json_open_object(&tell->json, NULL);
}

void
fs_tell_end(struct fs_tell *tell)
{
	if (tell->is_json)
		json_close(&tell->json);
}

void
fs_tell_record(struct fs_tell *tell)
{
	assert(tell->is_list);
	if (tell->is_json)
		json_open_object(&tell->json, NULL);
	tell->has_some = false;
}

void
fs_tell_record_end(struct fs_tell *tell)
{
	if (tell->is_json)
		json_close(&tell->json);
	else
		fputc('\n', tell->to);
}

/* name_it -- "name=" of the text, with what must stand before it. */
static void
name_it(struct fs_tell *tell, const char *name)
{
	if (tell->is_list && tell->has_some)
		fputc(' ', tell->to);
	tell->has_some = true;
	fprintf(tell->to, "%s=", name);
}

static void
end_it(struct fs_tell *tell)
{
	if (!tell->is_list)
		fputc('\n', tell->to);
}

void
fs_tell_text(struct fs_tell *tell, const char *name, const char *text)
{
	char shown[SHOWN_CAP];
	bool is_quoted;

	if (tell->is_json) {
		json_text(&tell->json, name, text);
		return;
	}
	utf8_show(shown, sizeof(shown), text);
	is_quoted = text[0] == '\0' || strcmp(shown, text) != 0 || strpbrk(text, " \"=") != NULL;
	name_it(tell, name);
	if (is_quoted)
		fputc('"', tell->to);
	for (const char *at = shown; *at != '\0'; at++) {
		if (*at == '"')
			fputc('\\', tell->to);
		fputc(*at, tell->to);
	}
	if (is_quoted)
		fputc('"', tell->to);
	end_it(tell);
}

void
fs_tell_key(struct fs_tell *tell, const char *name, const char *key)
{
	if (tell->is_json)
		json_key(&tell->json, name, key);
	else
		fs_tell_text(tell, name, key);
}

void
fs_tell_u64(struct fs_tell *tell, const char *name, uint64_t v)
{
	if (tell->is_json) {
		json_u64(&tell->json, name, v);
		return;
	}
	name_it(tell, name);
	fprintf(tell->to, "%" PRIu64, v);
	end_it(tell);
}

void
fs_tell_id(struct fs_tell *tell, const char *name, uint64_t id)
{
	if (tell->is_json)
		json_id(&tell->json, name, id);
	else
		fs_tell_u64(tell, name, id);
}

void
fs_tell_bool(struct fs_tell *tell, const char *name, bool v)
{
	if (tell->is_json)
		json_bool(&tell->json, name, v);
	else
		fs_tell_text(tell, name, v ? "yes" : "no");
}
