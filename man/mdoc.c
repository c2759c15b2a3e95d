/* SPDX-License-Identifier: Apache-2.0 */
#include "man/mdoc.h"

#include <ctype.h>
#include <string.h>

#define LINE_MAX_BYTES 72 /* as read; what stands for some characters is longer */

/* spelled -- how roff is told of a character that means something to it; NULL: as it is. */
static const char *
spelled(char c)
{
	return c == '\\' ? "\\e" : c == '"' ? "\\(dq" : c == '`' ? "\\(ga" : NULL;
}

size_t
mdoc_word(FILE *to, const char *word, size_t len, bool is_first)
{
	size_t n = 0;

	if (is_first && (word[0] == '.' || word[0] == '\'')) {
		fputs("\\&", to);
		n += 2;
	}
	for (size_t i = 0; i < len; i++) {
		const char *text = spelled(word[i]);

		if (text != NULL)
			fputs(text, to);
		else
			putc(word[i], to);
		n += text != NULL ? strlen(text) : 1;
	}
	return n;
}

/* ---- lines ---- */

struct lines {
	FILE *to;
	size_t column;
};

static void
end_line(struct lines *lines)
{
	if (lines->column > 0)
		putc('\n', lines->to);
	lines->column = 0;
}

static void
put_plain(struct lines *lines, const char *word, size_t len)
{
	if (lines->column > 0 && lines->column + 1 + len > LINE_MAX_BYTES)
		end_line(lines);
	if (lines->column > 0) {
		putc(' ', lines->to);
		lines->column++;
	}
	lines->column += mdoc_word(lines->to, word, len, lines->column == 0);
}

static bool
ends_sentence(const char *word, size_t len, const char *after)
{
	return strchr(".?!", word[len - 1]) != NULL && *after == ' ';
}

void
mdoc_say(FILE *to, const char *text)
{
	struct lines lines = {.to = to};

	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		put_plain(&lines, text, len);
		if (ends_sentence(text, len, text + len))
			end_line(&lines);
		text += len;
		text += strspn(text, " ");
	}
	end_line(&lines);
}

/* ---- names of the C interface ---- */

/* A word without the marks around it: "(TIFFIN_E_LEASE)," is name[1..] between before and after. */
struct marked {
	size_t before, name, after; /* lengths */
};

static struct marked
take_marks(const char *word, size_t len)
{
	struct marked m = {.before = strspn(word, "(["), .name = len};

	if (m.before > len)
		m.before = len;
	m.name -= m.before;
	while (m.name > 0 && strchr(".,;:?!)]", word[m.before + m.name - 1]) != NULL) {
		bool is_call = m.name > 2 && word[m.before + m.name - 1] == ')' &&
			       memchr(word + m.before, '(', m.name) != NULL;

		if (is_call)
			break;
		m.name--;
		m.after++;
	}
	return m;
}

static bool
begins(const char *name, size_t len, const char *with)
{
	return len >= strlen(with) && strncmp(name, with, strlen(with)) == 0;
}

/* macro_of -- "Dv", "Fn", "Xr" and how much of the name is its argument; NULL: an ordinary word. */
static const char *
macro_of(const char *name, size_t len, size_t *ret_len)
{
	*ret_len = len;
	if (begins(name, len, "TIFFIN_"))
		return "Dv";
	if (len > 3 && name[len - 1] == ')' && name[len - 3] == '(' &&
	    isdigit((unsigned char)name[len - 2])) {
		*ret_len = len - 3;
		return "Xr";
	}
	if (len > 2 && name[len - 1] == ')' && name[len - 2] == '(') {
		*ret_len = len - 2;
		return "Fn";
	}
	return NULL;
}

/* put_macro -- ".Dv ( TIFFIN_E_LEASE ) ,": the marks around a name are words of their own. */
static void
put_macro(struct lines *lines, const char *macro, const char *word, struct marked m, size_t len)
{
	FILE *to = lines->to;

	end_line(lines);
	fprintf(to, ".%s", macro);
	for (size_t i = 0; i < m.before; i++)
		fprintf(to, " %c", word[i]);
	fprintf(to, " %.*s", (int)len, word + m.before);
	if (strcmp(macro, "Xr") == 0)
		fprintf(to, " %c", word[m.before + len + 1]);
	for (size_t i = 0; i < m.after; i++)
		fprintf(to, " %c", word[m.before + m.name + i]);
	putc('\n', to);
}

void
mdoc_say_api(FILE *to, const char *text,
	     bool (*is_argument)(const void *arg, const char *word, size_t len), const void *arg)
{
	struct lines lines = {.to = to};

	while (*text != '\0') {
		size_t len = strcspn(text, " "), name_len;
		struct marked m = take_marks(text, len);
		const char *macro =
			m.name == 0 ? NULL : macro_of(text + m.before, m.name, &name_len);

		if (macro == NULL && m.name > 0 && is_argument(arg, text + m.before, m.name)) {
			macro = "Fa";
			name_len = m.name;
		}
		if (macro != NULL)
			put_macro(&lines, macro, text, m, name_len);
		else
			put_plain(&lines, text, len);
		if (macro == NULL && ends_sentence(text, len, text + len))
			end_line(&lines);
		text += len;
		text += strspn(text, " ");
	}
	end_line(&lines);
}

void
mdoc_head(FILE *to, const char *made_by, const char *title, int section)
{
	fprintf(to, ".\\\" SPDX-License-Identifier: Apache-2.0\n");
	fprintf(to, ".\\\" Written by %s: change that.\n", made_by);
	fprintf(to, ".Dd November 29, 2026\n.Dt ");
	for (; *title != '\0'; title++)
		putc(toupper((unsigned char)*title), to);
	fprintf(to, " %d\n.Os\n.Sh NAME\n", section);
}
