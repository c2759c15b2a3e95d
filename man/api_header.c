/* SPDX-License-Identifier: Apache-2.0 */
#include "man/api_header.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (1u << 20)

static char arena[ARENA_BYTES];
static size_t arena_len;
static char whole[ARENA_BYTES / 2]; /* the header */

static void
die(const char *what, const char *name)
{
	fprintf(stderr, "api_pages: %s: %s\n", what, name);
	exit(1);
}

static char *
room(size_t len)
{
	char *at = arena + arena_len;

	if (len >= ARENA_BYTES - arena_len)
		die("out of room", "arena");
	arena_len += len + 1;
	at[len] = '\0';
	return at;
}

const char *
api_keep(const char *text, size_t len)
{
	char *to = room(len);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_blank = isspace((unsigned char)text[i]);

		if (is_blank && (n == 0 || to[n - 1] == ' '))
			continue;
		to[n++] = is_blank ? ' ' : text[i];
	}
	while (n > 0 && to[n - 1] == ' ')
		n--;
	to[n] = '\0';
	return to;
}

static const char *
keep_exactly(const char *text, size_t len)
{
	return memcpy(room(len), text, len);
}

static const char *
after_word(const char *at, const char *word)
{
	return strncmp(at, word, strlen(word)) == 0 ? at + strlen(word) : NULL;
}

/* ---- comments ---- */

/* comment_text -- without the stars, its lines kept; ret has room for len bytes. */
static size_t
comment_text(const char *at, size_t len, char *ret)
{
	const char *end = at + len - 2;
	size_t n = 0;

	for (at += 2; at < end;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t line_len;

		if (line_end == NULL)
			line_end = end;
		while (at < line_end && isspace((unsigned char)*at))
			at++;
		if (at < line_end && *at == '*')
			at++;
		if (at < line_end && *at == ' ')
			at++;
		line_len = (size_t)(line_end - at);
		memcpy(ret + n, at, line_len);
		n += line_len;
		ret[n++] = '\n';
		at = line_end + 1;
	}
	ret[n] = '\0';
	return n;
}

/* argument_of -- "key  [in]  1..1024 bytes": the name's length, and where its text begins; else 0.
 */
static size_t
argument_of(const char *line, bool *ret_is_output, const char **ret_text)
{
	size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz_0123456789");
	const char *at = line + len;

	if (len == 0 || *at != ' ')
		return 0;
	at += strspn(at, " ");
	*ret_is_output = strncmp(at, "[out]", 5) == 0;
	if (!*ret_is_output && strncmp(at, "[in]", 4) != 0)
		return 0;
	*ret_text = strchr(at, ']') + 1;
	return len;
}

static void
add_part(struct api_part *parts, size_t *n, struct api_part part)
{
	if (*n == API_PARTS_MAX)
		die("too many paragraphs", part.text);
	parts[(*n)++] = part;
}

/* part_at -- what begins at this line: how far its text is, and what it is. */
static struct api_part
part_at(const char *line, const char **ret_text)
{
	struct api_part part = {.kind = API_TEXT};
	size_t len = argument_of(line, &part.is_output, ret_text);

	if (len > 0) {
		part.kind = API_ARGUMENT;
		part.name = keep_exactly(line, len);
	} else if ((*ret_text = after_word(line, "takes:")) != NULL) {
		part.kind = API_TAKES;
	} else if ((*ret_text = after_word(line, "gives:")) != NULL) {
		part.kind = API_GIVES;
	} else if ((*ret_text = after_word(line, "Errors:")) != NULL) {
		part.kind = API_ERRORS;
	} else {
		*ret_text = line;
	}
	return part;
}

/* split -- a comment's text into paragraphs; each line of arguments begins one. */
static void
split(const char *text, struct api_part *parts, size_t *n_parts)
{
	bool is_new = true;
	const char *begin = NULL;
	struct api_part part = {0};

	for (const char *line = text;; line = strchr(line, '\n') + 1) {
		bool is_end = *line == '\0', is_empty = *line == '\n' || is_end;
		bool is_output;
		const char *ignored;

		is_new |= !is_empty && argument_of(line, &is_output, &ignored) > 0;
		if (begin != NULL && (is_empty || is_new)) {
			part.text = api_keep(begin, (size_t)(line - begin));
			add_part(parts, n_parts, part);
			begin = NULL;
		}
		if (is_end)
			return;
		if (!is_empty && begin == NULL)
			part = part_at(line, &begin);
		is_new = is_empty;
	}
}

/* ---- functions ---- */

/* take_summary -- off the first paragraph: "NAMES -- SUMMARY.  The rest." */
static void
take_summary(struct api_function *fn)
{
	const char *text = fn->parts[0].text;
	const char *dashes = strstr(text, " -- "), *end;
	size_t page_len = strcspn(text, ", ");

	if (fn->n_parts == 0 || dashes == NULL || strstr(text, fn->name) > dashes)
		die("the comment above does not begin with the name", fn->name);
	fn->names = keep_exactly(text, (size_t)(dashes - text));
	fn->page = keep_exactly(text, page_len);
	text = dashes + 4;
	end = strstr(text, ". ");
	if (end == NULL)
		end = text + strlen(text) - 1;
	fn->summary = keep_exactly(text, (size_t)(end - text));
	fn->parts[0].text = *end == '\0' || end[1] == '\0' ? "" : end + 2;
}

static void
take_arguments(struct api_function *fn, const char *at)
{
	const char *begin = at;
	int depth = 0;

	for (;; at++) {
		bool is_end = depth == 0 && (*at == ',' || *at == ')');

		if (*at == '\0')
			die("a prototype without an end", fn->name);
		if (is_end) {
			if (fn->n_arguments == 12)
				die("too many arguments", fn->name);
			fn->arguments[fn->n_arguments++] = api_keep(begin, (size_t)(at - begin));
			begin = at + 1;
		}
		if (is_end && *at == ')')
			return;
		depth += (*at == '(') - (*at == ')');
	}
}

/* take_function -- "TIFFIN_API int tiffin_put(...)" and the comment above it. */
static void
take_function(struct api *api, const char *at, const char *comment)
{
	struct api_function *fn = &api->functions[api->n_functions];
	const char *open, *name;

	if (api->n_functions == API_PIECES_MAX || api->n_sections == 0)
		die("too many functions, or no section", "");
	*fn = (struct api_function){.section = api->sections[api->n_sections - 1]};
	at += strlen("TIFFIN_API ");
	open = strchr(at, '(');
	if (open == NULL)
		die("no prototype", at);
	for (name = open; name > at && (isalnum((unsigned char)name[-1]) || name[-1] == '_');
	     name--)
		continue;
	fn->name = keep_exactly(name, (size_t)(open - name));
	fn->returns = api_keep(at, (size_t)(name - at));
	take_arguments(fn, open + 1);
	if (comment[0] == '\0')
		die("no comment above", fn->name);
	split(comment, fn->parts, &fn->n_parts);
	take_summary(fn);
	api->n_functions++;
}

/* ---- types ---- */

/* take_errors -- "TIFFIN_E_LEASE = -9, (comment)" of the enum without a name. */
static void
take_errors(struct api *api, const char *code)
{
	for (const char *at = code; (at = strstr(at, "TIFFIN_E_")) != NULL;) {
		size_t len = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
		const char *open = strstr(at, "/*"),
			   *close = open == NULL ? NULL : strstr(open, "*/");
		char text[512];

		if (close == NULL || (size_t)(close - open) > sizeof(text) - 2)
			die("an error without a comment", keep_exactly(at, len));
		comment_text(open, (size_t)(close - open) + 2, text);
		api->errors[api->n_errors++] = (struct api_error){
			.name = keep_exactly(at, len),
			.meaning = api_keep(text, strlen(text)),
		};
		at = close;
	}
}

static const char *
take_type(struct api *api, const char *at, const char *comment)
{
	const char *end = strstr(at, "\n};"), *tag = strchr(at, ' ') + 1, *brace = strchr(at, '}');
	struct api_type *type = &api->types[api->n_types++];

	if (brace != NULL && (end == NULL || brace < end))
		end = brace - 1; /* on one line */
	if (end == NULL || api->n_types == API_PIECES_MAX)
		die("a type without an end", at);
	type->code = keep_exactly(at, (size_t)(end + 3 - at));
	type->words = api_keep(comment, strlen(comment));
	type->tag = keep_exactly(tag, *tag == '{' ? 0 : strcspn(tag, " {"));
	if (type->tag[0] == '\0')
		take_errors(api, type->code);
	return end;
}

/* ---- the whole ---- */

static void
take_section(struct api *api, const char *text)
{
	const char *title = text + strlen("---- ");

	api->sections[api->n_sections++] = api_keep(title, (size_t)(strstr(title, " --") - title));
}

/* take_comment -- a section's title, or what is said of what comes next. */
static const char *
take_comment(struct api *api, const char *at, char *comment)
{
	const char *end = strstr(at, "*/");

	if (end == NULL)
		die("a comment without an end", at);
	comment_text(at, (size_t)(end - at) + 2, comment);
	if (after_word(comment, "---- ") != NULL) {
		take_section(api, comment);
		comment[0] = '\0';
	} else if (api->n_intro == 0 && strstr(comment, "tiffin.h -- ") != NULL) {
		split(comment, api->intro, &api->n_intro);
		comment[0] = '\0';
	}
	return end;
}

/* said_of -- does the comment, which stood above another function, name this one, too? */
static bool
said_of(const char *comment, const char *line)
{
	const char *dashes = strstr(comment, " -- "), *name = strstr(line, "tiffin_");
	size_t len = name == NULL ? 0 : strcspn(name, "(");

	for (const char *at = comment;
	     dashes != NULL && (at = strstr(at, "tiffin_")) != NULL && at < dashes; at++)
		if (len > 0 && strncmp(at, name, len) == 0 && strchr(", \n", at[len]) != NULL)
			return true;
	return false;
}

bool
api_read(struct api *api, const char *path)
{
	FILE *from = fopen(path, "r");
	size_t len = from == NULL ? 0 : fread(whole, 1, sizeof(whole) - 1, from);
	char *comment = room(16384);
	bool is_fresh = false; /* the comment was not used yet */

	if (from == NULL || len == 0 || len == sizeof(whole) - 1) {
		fprintf(stderr, "api_pages: %s: can't be read\n", path);
		return false;
	}
	fclose(from);
	comment[0] = '\0';
	for (const char *at = whole; at != NULL && *at != '\0';) {
		if (after_word(at, "/*") != NULL) {
			at = take_comment(api, at, comment);
			is_fresh = true;
		} else if ((after_word(at, "struct ") != NULL || after_word(at, "enum ") != NULL) &&
			   strcspn(at, "{") < strcspn(at, ";")) {
			at = take_type(api, at, is_fresh ? comment : "");
			is_fresh = false;
		} else if (after_word(at, "TIFFIN_API ") != NULL) {
			take_function(api, at, said_of(comment, at) ? comment : "");
			at = strchr(at, ';');
			is_fresh = false;
		}
		at = strchr(at, '\n');
		if (at != NULL)
			at++;
	}
	return true;
}

const char *
api_error_meaning(const struct api *api, const char *name, size_t len)
{
	for (size_t i = 0; i < api->n_errors; i++)
		if (strlen(api->errors[i].name) == len &&
		    strncmp(api->errors[i].name, name, len) == 0)
			return api->errors[i].meaning;
	return NULL;
}
