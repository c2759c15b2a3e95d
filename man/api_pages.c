/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes the pages of section 3 from core/tiffin.h: tiffin(3), and one for each function.
 *
 *      api_pages core/tiffin.h tests/example/example.c DIR
 *
 * A function that shares its comment with another one shares its page, too.  One
 * without a comment, or an error without a meaning, ends the program with 1.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "man/api_header.h"
#include "man/mdoc.h"

static struct api api; /* large, and there is one */

/* ---- words ---- */

static const char *
name_of_argument(const char *argument, size_t *ret_len)
{
	const char *end = argument + strlen(argument), *at;
	const char *pointer = strstr(argument, "(*");

	if (pointer != NULL) { /* a function */
		*ret_len = strcspn(pointer + 2, ")");
		return pointer + 2;
	}
	for (at = end; at > argument && (isalnum((unsigned char)at[-1]) || at[-1] == '_'); at--)
		continue;
	*ret_len = (size_t)(end - at);
	return at;
}

/* is_argument -- ret_len_bytes, slices; also ret_stat->is_prefix and *ret_bytes. */
static bool
is_argument(const void *arg, const char *word, size_t len)
{
	const struct api_function *fn = arg;

	if (word[0] == '*')
		word++, len--;
	for (size_t i = 0; fn != NULL && i < fn->n_arguments; i++) {
		size_t name_len;
		const char *name = name_of_argument(fn->arguments[i], &name_len);

		if (name_len <= len && strncmp(name, word, name_len) == 0 &&
		    (name_len == len || strncmp(word + name_len, "->", 2) == 0))
			return true;
	}
	return false;
}

/* is_marked -- an argument that is no English word, too. */
static bool
is_marked(const void *arg, const char *word, size_t len)
{
	static const char *const spoken[] = {"put",  "at",   "to",   "from",   "after",
					     "code", "view", "list", "client", "key"};

	for (size_t i = 0; i < sizeof(spoken) / sizeof(spoken[0]); i++)
		if (strlen(spoken[i]) == len && strncmp(spoken[i], word, len) == 0)
			return false;
	return is_argument(arg, word, len);
}

static void
say(FILE *to, const char *text, const struct api_function *fn)
{
	mdoc_say_api(to, text, is_marked, fn);
}

/* put_code -- as it stands. */
static void
put_code(FILE *to, const char *code)
{
	fputs(".Bd -literal\n", to);
	while (*code != '\0') {
		size_t len = strcspn(code, "\n");

		if (len > 0)
			mdoc_word(to, code, len, true);
		putc('\n', to);
		code += len + (code[len] == '\n');
	}
	fputs(".Ed\n", to);
}

/* put_summary -- in the line of a macro, where short words might be taken for one. */
static void
put_summary(FILE *to, const char *macro, const char *summary)
{
	fprintf(to, ".%s", macro);
	while (*summary != '\0') {
		size_t len = strcspn(summary, " ");

		fputs(len == 2 && isupper((unsigned char)summary[0]) ? " \\&" : " ", to);
		mdoc_word(to, summary, len, false);
		summary += len;
		summary += strspn(summary, " ");
	}
	putc('\n', to);
}

/* ---- one page ---- */

static void
put_names(FILE *to, const struct api_function *fn)
{
	const char *at = fn->names;

	while (*at != '\0') {
		size_t len = strcspn(at, ", ");

		fprintf(to, ".Nm %.*s%s\n", (int)len, at, at[len] == '\0' ? "" : " ,");
		at += len;
		at += strspn(at, ", ");
	}
	put_summary(to, "Nd", fn->summary);
}

static void
put_prototype(FILE *to, const struct api_function *fn)
{
	fprintf(to, ".Ft \"%s\"\n.Fo %s\n", fn->returns, fn->name);
	for (size_t i = 0; i < fn->n_arguments; i++)
		fprintf(to, ".Fa \"%s\"\n", fn->arguments[i]);
	fputs(".Fc\n", to);
}

static void
put_synopsis(FILE *to, const struct api_function *fn)
{
	fputs(".Sh SYNOPSIS\n.In tiffin.h\n", to);
	for (size_t i = 0; i < api.n_functions; i++)
		if (strcmp(api.functions[i].page, fn->page) == 0)
			put_prototype(to, &api.functions[i]);
}

static void
put_arguments(FILE *to, const struct api_function *fn)
{
	size_t n = 0;

	for (size_t i = 0; i < fn->n_parts; i++) {
		const struct api_part *part = &fn->parts[i];

		if (part->kind != API_ARGUMENT)
			continue;
		if (n++ == 0)
			fputs(".Bl -tag -width Ds\n", to);
		fprintf(to, ".It Fa %s%s\n", part->name, part->is_output ? " No (output)" : "");
		say(to, part->text, fn);
	}
	if (n > 0)
		fputs(".El\n", to);
}

static void
put_paragraphs(FILE *to, const struct api_function *fn, size_t first, size_t n)
{
	for (size_t i = first; i < n; i++) {
		const struct api_part *part = &fn->parts[i];

		if (part->kind == API_ARGUMENT || part->kind == API_ERRORS)
			continue;
		if (part->text[0] == '\0')
			continue;
		fputs(".Pp\n", to);
		if (part->kind == API_TAKES)
			fputs("Takes over:\n", to);
		if (part->kind == API_GIVES)
			fputs("Gives\n", to);
		say(to, part->text, fn);
	}
}

/* opens_with -- the first letter of a sentence, unless it begins with a name. */
static char
opens_with(const char *sentence)
{
	size_t len = strcspn(sentence, " ");

	return memchr(sentence, '_', len) != NULL ? sentence[0]
						  : (char)toupper((unsigned char)sentence[0]);
}

/* put_description -- the rest of the first paragraph, the arguments, what else is said, the types.
 */
static void
put_description(FILE *to, const struct api_function *fn)
{
	char opening[1024];

	fputs(".Sh DESCRIPTION\n", to);
	snprintf(opening, sizeof(opening), "%c%s. %s", opens_with(fn->summary), fn->summary + 1,
		 fn->parts[0].text);
	say(to, opening, fn);
	put_arguments(to, fn);
	put_paragraphs(to, fn, 1, fn->n_parts);
}

static bool
speaks_of(const struct api_function *fn, const char *tag)
{
	if (strcmp(tag, "tiffin_flags") == 0) {
		for (size_t i = 0; i < fn->n_arguments; i++)
			if (strcmp(fn->arguments[i], "uint32_t flags") == 0)
				return true;
	}
	for (size_t i = 0; i < fn->n_arguments; i++)
		if (strstr(fn->arguments[i], tag) != NULL &&
		    strstr(fn->arguments[i], tag)[strlen(tag)] == ' ')
			return true;
	for (size_t i = 0; i < fn->n_parts; i++)
		if (strstr(fn->parts[i].text, tag) != NULL &&
		    strstr(fn->parts[i].text, tag)[-1] == ' ' &&
		    strstr(fn->parts[i].text, tag)[strlen(tag)] != '(')
			return true;
	return false;
}

/* put_type -- what is said of it, and the code. */
static void
put_type(FILE *to, const struct api_type *type)
{
	fputs(type->words[0] != '\0' ? ".Pp\n" : "", to);
	say(to, type->words, NULL);
	put_code(to, type->code);
}

static bool
page_speaks_of(const char *page, const char *tag)
{
	for (size_t i = 0; i < api.n_functions; i++)
		if (strcmp(api.functions[i].page, page) == 0 && speaks_of(&api.functions[i], tag))
			return true;
	return false;
}

static void
put_types(FILE *to, const struct api_function *fn)
{
	bool wants_flags = page_speaks_of(fn->page, "tiffin_flags");

	for (size_t i = 0; i < api.n_types; i++) {
		const struct api_type *type = &api.types[i];
		bool is_flags = strcmp(type->tag, "tiffin_flags") == 0;

		if (type->tag[0] == '\0' || is_flags || !page_speaks_of(fn->page, type->tag))
			continue;
		put_type(to, type);
		wants_flags |= strstr(type->code, "enum tiffin_flags */") != NULL;
	}
	for (size_t i = 0; i < api.n_types && wants_flags; i++)
		if (strcmp(api.types[i].tag, "tiffin_flags") == 0)
			put_type(to, &api.types[i]);
}

static void
put_returns(FILE *to, const struct api_function *fn)
{
	fputs(".Sh RETURN VALUES\n", to);
	if (strcmp(fn->returns, "void") == 0)
		fputs("None.\n", to);
	else if (strcmp(fn->returns, "int") != 0)
		fputs("What is described above; there is no failure.\n", to);
	else if (strncmp(fn->summary, "1 ", 2) == 0)
		fputs("1, 0 or a negative code, as described above.\n", to);
	else
		fputs("0, or a negative code; then no output is written, and\n.Xr tiffin_why 3\n"
		      "gives one line on the reason.\n",
		      to);
}

/* put_errors -- "TIFFIN_E_TOO_SMALL (slices untouched), ...": each with its meaning and the remark.
 */
static void
put_errors(FILE *to, const struct api_function *fn, const char *list)
{
	fputs(".Bl -tag -width Ds\n", to);
	while ((list = strstr(list, "TIFFIN_E_")) != NULL) {
		size_t len = strspn(list, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"),
		       remark_len = strcspn(list + len, ",.");
		const char *meaning = api_error_meaning(&api, list, len);
		char text[1024];

		if (meaning == NULL) {
			fprintf(stderr, "api_pages: %s: no such error: %.*s\n", fn->name, (int)len,
				list);
			exit(1);
		}
		snprintf(text, sizeof(text), "%s%.*s.", meaning, (int)remark_len, list + len);
		fprintf(to, ".It Dv %.*s\n", (int)len, list);
		say(to, text, fn);
		list += len;
	}
	fputs(".El\n", to);
}

static void
put_failures(FILE *to, const struct api_function *fn)
{
	const char *list = NULL;

	if (strcmp(fn->returns, "int") != 0)
		return;
	fputs(".Sh ERRORS\n", to);
	for (size_t i = 0; i < fn->n_parts; i++)
		if (fn->parts[i].kind == API_ERRORS)
			list = fn->parts[i].text;
	if (list != NULL)
		put_errors(to, fn, list);
	else
		fputs("Any of those described in\n.Xr tiffin 3 .\n", to);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* put_see_also -- the pages of the same section, in the order of the alphabet. */
static void
put_see_also(FILE *to, const struct api_function *fn)
{
	const char *names[API_PIECES_MAX];
	size_t n = 0;

	names[n++] = "tiffin";
	for (size_t i = 0; i < api.n_functions; i++)
		if (api.functions[i].section == fn->section &&
		    strcmp(api.functions[i].page, fn->page) != 0)
			names[n++] = api.functions[i].name;
	if (strcmp(fn->page, "tiffin_why") != 0 && strcmp(fn->returns, "int") == 0 &&
	    strcmp(fn->section, "errors") != 0)
		names[n++] = "tiffin_why";
	qsort(names, n, sizeof(names[0]), by_name);
	fputs(".Sh SEE ALSO\n", to);
	for (size_t i = 0; i < n; i++)
		fprintf(to, ".Xr %s 3%s\n", names[i], i + 1 == n ? "" : " ,");
}

/* ---- files ---- */

static FILE *
create(const char *dir, const char *name)
{
	char path[4096];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s.3", dir, name);
	to = fopen(path, "w");
	if (to == NULL) {
		fprintf(stderr, "api_pages: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return to;
}

static void
finish(FILE *to)
{
	if (ferror(to) != 0 || fclose(to) != 0) {
		fprintf(stderr, "api_pages: %s\n", strerror(errno));
		exit(1);
	}
}

static void
link_page(const char *dir, const struct api_function *fn)
{
	char path[4096], to[256];

	snprintf(path, sizeof(path), "%s/%s.3", dir, fn->name);
	snprintf(to, sizeof(to), "%s.3", fn->page);
	unlink(path);
	if (symlink(to, path) < 0) {
		fprintf(stderr, "api_pages: %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

static void
write_page(const char *dir, const struct api_function *fn)
{
	FILE *to = create(dir, fn->name);

	mdoc_head(to, "man/api_pages.c from core/tiffin.h", fn->name, 3);
	put_names(to, fn);
	put_synopsis(to, fn);
	put_description(to, fn);
	put_types(to, fn);
	put_returns(to, fn);
	put_failures(to, fn);
	put_see_also(to, fn);
	finish(to);
}

/* ---- tiffin(3) ---- */

static void
put_functions(FILE *to)
{
	for (size_t s = 0; s < api.n_sections; s++) {
		fprintf(to, ".Ss %c%s\n.Bl -tag -width Ds -compact\n",
			toupper((unsigned char)api.sections[s][0]), api.sections[s] + 1);
		for (size_t i = 0; i < api.n_functions; i++) {
			const struct api_function *fn = &api.functions[i];

			if (fn->section != api.sections[s])
				continue;
			fprintf(to, ".It Xr %s 3\n", fn->name);
			say(to, fn->summary, fn);
		}
		fputs(".El\n", to);
	}
}

static void
put_example(FILE *to, const char *path)
{
	static char text[65536];
	FILE *from = fopen(path, "r");
	size_t len = from == NULL ? 0 : fread(text, 1, sizeof(text) - 1, from);

	if (len == 0 || len == sizeof(text) - 1) {
		fprintf(stderr, "api_pages: %s: can't be read\n", path);
		exit(1);
	}
	fclose(from);
	fputs(".Sh EXAMPLES\n", to);
	put_code(to, text);
}

static void
write_overview(const char *dir, const char *example)
{
	FILE *to = create(dir, "tiffin");

	mdoc_head(to, "man/api_pages.c from core/tiffin.h", "tiffin", 3);
	fputs(".Nm tiffin\n.Nd the C interface of the Tiffin object store\n", to);
	fputs(".Sh SYNOPSIS\n.In tiffin.h\n.Pp\n.Dl cc program.c $(pkg-config --cflags --libs "
	      "tiffin)\n",
	      to);
	fputs(".Sh DESCRIPTION\n", to);
	for (size_t i = 1; i < api.n_intro; i++) {
		if (i > 1)
			fputs(".Pp\n", to);
		say(to, api.intro[i].text, NULL);
	}
	put_functions(to);
	put_example(to, example);
	fputs(".Sh ERRORS\n.Bl -tag -width Ds\n", to);
	for (size_t i = 0; i < api.n_errors; i++) {
		fprintf(to, ".It Dv %s\n", api.errors[i].name);
		say(to, api.errors[i].meaning, NULL);
	}
	fputs(".El\n.Sh SEE ALSO\n.Xr tiffin 1 ,\n.Xr tiffin.conf 5 ,\n.Xr tiffin 7\n", to);
	finish(to);
}

int
main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: api_pages HEADER EXAMPLE DIR\n");
		return 2;
	}
	if (!api_read(&api, argv[1]))
		return 1;
	for (size_t i = 0; i < api.n_functions; i++) {
		const struct api_function *fn = &api.functions[i];

		if (strcmp(fn->name, fn->page) == 0)
			write_page(argv[3], fn);
		else
			link_page(argv[3], fn);
	}
	write_overview(argv[3], argv[2]);
	printf("%zu functions\n", api.n_functions);
	return 0;
}
