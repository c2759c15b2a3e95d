/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

static const struct {
	const char *what, *how; /* for people who wrote it wrong */
} kinds[] = {
	[OPTION_NUMBER] = {"a number", "write decimal digits only"},
	[OPTION_BYTES] = {"a size", "write for example 4096, 64KiB or 1.5GiB"},
	[OPTION_MS] = {"a time", "write for example 250ms, 1.5s, 30m or 2h"},
	[OPTION_TEXT] = {"a text", "write fewer bytes"},
	[OPTION_FLAG] = {"yes or no", "write 1 or 0"},
};

/* What one call works on: these options, and where to say why they were refused. */
struct setting {
	const struct options_list *list;
	void *opts;
	char *why;
	size_t why_cap;
};

static uint64_t *
number_at(const struct option_def *def, void *opts)
{
	return (void *)((char *)opts + def->at);
}

static char **
text_at(const struct option_def *def, void *opts)
{
	return (void *)((char *)opts + def->at);
}

static __attribute__((format(printf, 2, 3))) int
refuse(const struct setting *to, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(to->why, to->why_cap, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* show_value -- a number as people write it, with its unit. */
static const char *
show_value(const struct option_def *def, uint64_t v, char buf[32])
{
	if (def->kind == OPTION_BYTES)
		return num_show_bytes(buf, 32, v);
	if (def->kind == OPTION_MS)
		return num_show_ms(buf, 32, v);
	if (def->kind == OPTION_CHOICE)
		return num_show_word(buf, 32, v, def->unit);
	snprintf(buf, 32, "%" PRIu64, v);
	return buf;
}

/* same_name -- `name` has len bytes and may be written with - for _. */
static bool
same_name(const char *def_name, const char *name, size_t len)
{
	if (strlen(def_name) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (def_name[i] != name[i] && !(def_name[i] == '_' && name[i] == '-'))
			return false;
	return true;
}

static const struct option_def *
find(const struct options_list *list, const char *name, size_t len)
{
	for (size_t i = 0; i < list->n; i++)
		if (same_name(list->defs[i].name, name, len))
			return &list->defs[i];
	return NULL;
}

static int
parse_flag(const char *text, uint64_t *ret)
{
	static const char *const words[2][4] = {
		{"0", "no", "false", "off"},
		{"1", "yes", "true", "on"},
	};

	for (uint64_t v = 0; v < 2; v++) {
		for (size_t i = 0; i < array_len(words[v]); i++) {
			if (strcmp(words[v][i], text) == 0) {
				*ret = v;
				return 0;
			}
		}
	}
	return NUM_E_NOT_A_NUMBER;
}

static int
parse_number(const struct option_def *def, const char *text, uint64_t *ret)
{
	switch (def->kind) {
	case OPTION_BYTES:
		return num_parse_bytes(text, ret);
	case OPTION_MS:
		return num_parse_ms(text, ret);
	case OPTION_FLAG:
		return parse_flag(text, ret);
	case OPTION_CHOICE:
		return num_parse_word(def->unit, text, ret);
	case OPTION_NUMBER:
	case OPTION_TEXT:
		break;
	}
	return num_parse(text, ret);
}

static int
set_text(const struct setting *to, const struct option_def *def, const char *text)
{
	char **at = text_at(def, to->opts);
	size_t len = strlen(text);
	char *fresh;

	if (len < def->min || len > def->max)
		return refuse(to,
			      "%s = \"%.40s\" has %zu bytes, but must have %" PRIu64 " to %" PRIu64,
			      def->name, text, len, def->min, def->max);
	fresh = strdup(text);
	if (fresh == NULL) {
		refuse(to, "%s: no memory", def->name);
		return err_new(-ENOMEM);
	}
	free(*at);
	*at = fresh;
	return 0;
}

static int
set_number(const struct setting *to, const struct option_def *def, const char *text)
{
	uint64_t min = def->kind == OPTION_FLAG ? 0 : def->min;
	uint64_t max = def->kind == OPTION_FLAG ? 1 : def->max;
	char min_text[32], max_text[32];
	uint64_t v = 0;
	int r = parse_number(def, text, &v);

	show_value(def, min, min_text);
	show_value(def, max, max_text);
	if (r == NUM_E_NOT_A_NUMBER && def->kind == OPTION_CHOICE)
		return refuse(to, "%s = \"%.40s\" is none of: %s", def->name, text, def->unit);
	if (r == NUM_E_NOT_A_NUMBER || r == NUM_E_UNIT)
		return refuse(to, "%s = \"%.40s\" is not %s from %s to %s; %s", def->name, text,
			      kinds[def->kind].what, min_text, max_text, kinds[def->kind].how);
	if (r != 0 || v < min || v > max)
		return refuse(to, "%s = \"%.40s\" is out of range; give a value from %s to %s",
			      def->name, text, min_text, max_text);
	*number_at(def, to->opts) = v;
	return 0;
}

static int
set_def(const struct setting *to, const struct option_def *def, const char *text)
{
	if (def->kind == OPTION_TEXT)
		return set_text(to, def, text);
	return set_number(to, def, text);
}

int
options_init(const struct options_list *list, void *opts)
{
	char why[200];
	struct setting to = {list, opts, why, sizeof(why)};

	for (size_t i = 0; i < list->n; i++)
		if (list->defs[i].kind == OPTION_TEXT)
			*text_at(&list->defs[i], opts) = NULL;

	for (size_t i = 0; i < list->n; i++) {
		const struct option_def *def = &list->defs[i];
		int r = set_def(&to, def, def->def);

		assert(r != -EINVAL); /* a default is ours, and lies within its own range */
		if (r < 0) {
			options_fini(list, opts);
			return err_up(r);
		}
	}
	return 0;
}

void
options_fini(const struct options_list *list, void *opts)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->defs[i].kind != OPTION_TEXT)
			continue;
		free(*text_at(&list->defs[i], opts));
		*text_at(&list->defs[i], opts) = NULL;
	}
}

static int
set_by_name(const struct setting *to, const char *name, const char *text)
{
	const struct option_def *def = find(to->list, name, strlen(name));

	if (def == NULL)
		return refuse(to, "%.64s is not an option of [%s]; --help lists them", name,
			      to->list->section);
	return set_def(to, def, text);
}

int
options_set(const struct options_list *list, void *opts, const char *name, const char *text,
	    char *why, size_t why_cap)
{
	struct setting to = {list, opts, why, why_cap};

	return set_by_name(&to, name, text);
}

/* ---- the file ---- */

/* strip -- without blanks at both ends, in place. */
static char *
strip(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

/* cut_comment -- '#' begins one at the start of a line or after a blank, so "a#b" is a value. */
static void
cut_comment(char *line)
{
	for (char *c = line; *c != '\0'; c++) {
		if (*c == '#' && (c == line || isspace((unsigned char)c[-1]))) {
			*c = '\0';
			return;
		}
	}
}

enum where { BEFORE_ANY, IN_OURS, IN_OTHER };

/* load_line -- one line of the file.  0 or -errno with why. */
static int
load_line(const struct setting *to, char *line, enum where *where)
{
	char *equals;

	cut_comment(line);
	line = strip(line);
	if (line[0] == '\0')
		return 0;
	if (line[0] == '[') {
		size_t len = strlen(line);

		if (line[len - 1] != ']')
			return refuse(to, "\"%.40s\" lacks its ']'", line);
		line[len - 1] = '\0';
		*where = strcmp(strip(line + 1), to->list->section) == 0 ? IN_OURS : IN_OTHER;
		return 0;
	}
	if (*where == IN_OTHER)
		return 0;
	if (*where == BEFORE_ANY)
		return refuse(to, "\"%.40s\" stands before any [section]", line);

	equals = strchr(line, '=');
	if (equals == NULL)
		return refuse(to, "\"%.40s\" is not \"name = value\"", line);
	*equals = '\0';
	return set_by_name(to, strip(line), strip(equals + 1));
}

static int
load_lines(const struct setting *to, FILE *file, size_t *ret_line_no)
{
	enum where where = BEFORE_ANY;
	size_t line_no = 0, cap = 0;
	char *line = NULL;
	ssize_t len;
	int r = 0;

	while (r == 0 && (len = getline(&line, &cap, file)) >= 0) {
		line_no++;
		if (strlen(line) != (size_t)len)
			r = refuse(to, "the line holds a NUL; is this a text file?");
		else
			r = load_line(to, line, &where);
	}
	if (r == 0 && !feof(file)) {
		r = err_new(-errno);
		refuse(to, "can't be read: %s", strerrordesc_np(-r));
	}
	free(line);
	*ret_line_no = line_no;
	return r;
}

int
options_load(const struct options_list *list, void *opts, const char *path, char *why,
	     size_t why_cap)
{
	char cause[256] = "";
	struct setting to = {list, opts, cause, sizeof(cause)};
	FILE *file = fopen(path, "re");
	size_t line_no = 0;
	int r;

	if (file == NULL) {
		r = err_new(-errno);
		snprintf(why, why_cap, "%.200s: %s", path, strerrordesc_np(-r));
		return r;
	}
	r = load_lines(&to, file, &line_no);
	fclose(file);
	if (r < 0)
		snprintf(why, why_cap, "%.200s:%zu: %s", path, line_no, cause);
	return r;
}

/* ---- the command line ---- */

#define CONFIG_NAME "config"

struct args {
	int argc;
	char **argv;
	int at; /* the word looked at */
};

/* One --option: its name and the text given to it. */
struct given {
	const char *name;
	size_t name_len;
	const struct option_def *def; /* NULL: --config, when the list has no such option */
	const char *text;
};

/*
 * take_given -- is the word at args->at an option of the list, or --config?
 *
 * gives:   *ret_given, and args stands on the last word of it.
 * result:  1 it is, 0 it is not, -EINVAL with why: its value is missing.
 */
static int
take_given(const struct setting *to, struct args *args, struct given *ret_given)
{
	const char *word = args->argv[args->at];
	struct given given = {.name = word + 2};
	const char *equals;

	if (strncmp(word, "--", 2) != 0)
		return 0;
	equals = strchr(given.name, '=');
	given.name_len = equals != NULL ? (size_t)(equals - given.name) : strlen(given.name);
	given.def = find(to->list, given.name, given.name_len);
	if (given.def == NULL && !same_name(CONFIG_NAME, given.name, given.name_len))
		return 0;

	if (equals != NULL)
		given.text = equals + 1;
	else if (given.def != NULL && given.def->kind == OPTION_FLAG)
		given.text = "1";
	else if (args->at + 1 < args->argc)
		given.text = args->argv[++args->at];
	else
		return refuse(to, "%.64s needs a value; write %.64s=VALUE", word, word);
	*ret_given = given;
	return 1;
}

static bool
is_end_of_options(const char *word)
{
	return strcmp(word, "--") == 0;
}

/* load_config -- the files named by --config, before anything else is set. */
static int
load_config(const struct setting *to, struct args args)
{
	struct given given;
	int r;

	for (; args.at < args.argc && !is_end_of_options(args.argv[args.at]); args.at++) {
		r = take_given(to, &args, &given);
		if (r < 0)
			return r;
		if (r == 0 || !same_name(CONFIG_NAME, given.name, given.name_len))
			continue;
		r = options_load(to->list, to->opts, given.text, to->why, to->why_cap);
		if (r < 0)
			return -EINVAL;
	}
	return 0;
}

int
options_args(const struct options_list *list, void *opts, int argc, char **argv, char *why,
	     size_t why_cap)
{
	struct setting to = {list, opts, why, why_cap};
	struct args args = {.argc = argc, .argv = argv, .at = 1};
	struct given given;
	int n_left = num_min(argc, 1);
	int r;

	r = load_config(&to, args);
	for (; r >= 0 && args.at < argc && !is_end_of_options(argv[args.at]); args.at++) {
		r = take_given(&to, &args, &given);
		if (r == 0)
			argv[n_left++] = argv[args.at];
		else if (r > 0 && given.def != NULL)
			r = set_def(&to, given.def, given.text);
	}
	if (r < 0)
		return r;

	for (args.at++; args.at < argc; args.at++) /* behind "--" nothing is an option */
		argv[n_left++] = argv[args.at];
	if (n_left < argc)
		argv[n_left] = NULL;
	return n_left;
}

/* ---- showing ---- */

/* print_dashed -- the name as it is written on the command line. */
static void
print_dashed(const char *name, FILE *to)
{
	for (; *name != '\0'; name++)
		fputc(*name == '_' ? '-' : *name, to);
}

static void
print_range(const struct option_def *def, FILE *to)
{
	char min_text[32], max_text[32];

	if (def->kind == OPTION_FLAG)
		fputs("0 or 1", to);
	else if (def->kind == OPTION_CHOICE)
		fprintf(to, "one of: %s", def->unit);
	else if (def->kind == OPTION_TEXT)
		fprintf(to, "at most %" PRIu64 " bytes", def->max);
	else
		fprintf(to, "%s to %s%s%s", show_value(def, def->min, min_text),
			show_value(def, def->max, max_text),
			def->kind == OPTION_NUMBER && def->unit[0] != '\0' ? " " : "",
			def->kind == OPTION_NUMBER ? def->unit : "");
}

void
options_print_help(const struct options_list *list, FILE *to)
{
	static const char *const values[] = {
		[OPTION_NUMBER] = "=N",  [OPTION_BYTES] = "=SIZE", [OPTION_MS] = "=TIME",
		[OPTION_TEXT] = "=TEXT", [OPTION_FLAG] = "",       [OPTION_CHOICE] = "=WORD",
	};

	for (size_t i = 0; i < list->n; i++) {
		const struct option_def *def = &list->defs[i];

		fputs("  --", to);
		print_dashed(def->name, to);
		fprintf(to, "%s\n        %s [", values[def->kind], def->help);
		print_range(def, to);
		fprintf(to, ", default %s]\n", def->def[0] != '\0' ? def->def : "empty");
	}
}

void
options_print(const struct options_list *list, const void *opts, FILE *to)
{
	fprintf(to, "[%s]\n", list->section);
	for (size_t i = 0; i < list->n; i++) {
		const struct option_def *def = &list->defs[i];
		const char *at = (const char *)opts + def->at;
		char word[32];

		if (def->kind == OPTION_TEXT)
			fprintf(to, "%s = %s\n", def->name, *(char *const *)(const void *)at);
		else if (def->kind == OPTION_CHOICE)
			fprintf(to, "%s = %s\n", def->name,
				num_show_word(word, sizeof(word),
					      *(const uint64_t *)(const void *)at, def->unit));
		else
			fprintf(to, "%s = %" PRIu64 "\n", def->name,
				*(const uint64_t *)(const void *)at);
	}
}
