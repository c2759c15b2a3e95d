/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/args.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "transfer/base/num.h"

/* One option found: whose it is, and into which struct it goes. */
struct found {
	const struct arg_def *def;
	void *opts;
};

static int say_why(const struct args_words *words, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int
say_why(const struct args_words *words, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words->why, words->why_cap, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* store -- 0, or the outcome of num_parse*(). */
static int
store(struct found found, const char *text)
{
	void *at = (char *)found.opts + found.def->at;

	switch (found.def->kind) {
	case ARG_FLAG:
		*(bool *)at = true;
		return 0;
	case ARG_TEXT:
		*(const char **)at = text;
		return 0;
	case ARG_NUMBER:
		return num_parse(text, at);
	case ARG_BYTES:
		return num_parse_bytes(text, at);
	case ARG_MS:
		return num_parse_ms(text, at);
	}
	abort(); /* a list with a kind that does not exist */
}

static const char *
wanted(enum arg_kind kind)
{
	switch (kind) {
	case ARG_BYTES:
		return "a size like 4096, 64KiB or 1.5GiB";
	case ARG_MS:
		return "a time like 250ms, 5s or 2m";
	default:
		return "a whole number";
	}
}

static int
set(const struct args_words *words, struct found found, const char *text)
{
	int r = store(found, text);

	if (r == NUM_E_RANGE)
		return say_why(words, "--%s: '%s' is too large", found.def->name, text);
	if (r != 0)
		return say_why(words, "--%s: '%s' is not %s", found.def->name, text,
			       wanted(found.def->kind));
	return 0;
}

void
args_init(const struct args_into *into)
{
	for (size_t i = 0; i < into->list->n; i++) {
		const struct arg_def *def = &into->list->defs[i];
		int r;

		if (def->def == NULL)
			continue;
		r = store((struct found){def, into->opts}, def->def);
		assert(r == 0);
	}
}

static bool
find_letter(const struct args_into *into, size_t n_into, char letter, struct found *ret)
{
	for (size_t i = 0; i < n_into; i++)
		for (size_t k = 0; k < into[i].list->n; k++)
			if (into[i].list->defs[k].letter == letter) {
				*ret = (struct found){&into[i].list->defs[k], into[i].opts};
				return true;
			}
	return false;
}

static bool
find_name(const struct args_into *into, size_t n_into, const char *name, struct found *ret)
{
	size_t len = strcspn(name, "=");

	for (size_t i = 0; i < n_into; i++)
		for (size_t k = 0; k < into[i].list->n; k++) {
			const struct arg_def *def = &into[i].list->defs[k];

			if (strlen(def->name) == len && memcmp(def->name, name, len) == 0) {
				*ret = (struct found){def, into[i].opts};
				return true;
			}
		}
	return false;
}

/* take_long -- "--name", "--name=value" or "--name value" at argv[i].  Words used up, or -EINVAL.
 */
static int
take_long(const struct args_into *into, size_t n_into, const struct args_words *words, int i)
{
	const char *name = words->argv[i] + 2;
	const char *equals = strchr(name, '=');
	struct found found;
	int r;

	if (!find_name(into, n_into, name, &found))
		return say_why(words, "unknown option '--%.*s'", (int)strcspn(name, "="), name);

	if (found.def->kind == ARG_FLAG) {
		if (equals != NULL)
			return say_why(words, "--%s takes no value", found.def->name);
		store(found, NULL);
		return 1;
	}
	if (equals == NULL && i + 1 >= words->argc)
		return say_why(words, "--%s wants a value: %s", found.def->name, found.def->value);
	r = set(words, found, equals != NULL ? equals + 1 : words->argv[i + 1]);
	if (r < 0)
		return r;
	return equals != NULL ? 1 : 2;
}

/* take_letters -- "-lR", "-s4MiB" or "-s 4MiB" at argv[i].  Words used up, or -EINVAL. */
static int
take_letters(const struct args_into *into, size_t n_into, const struct args_words *words, int i)
{
	for (const char *at = words->argv[i] + 1; *at != '\0'; at++) {
		struct found found;
		int r;

		if (!find_letter(into, n_into, *at, &found))
			return say_why(words, "unknown option '-%c'", *at);
		if (found.def->kind == ARG_FLAG) {
			store(found, NULL);
			continue;
		}
		if (at[1] == '\0' && i + 1 >= words->argc)
			return say_why(words, "-%c wants a value: %s", *at, found.def->value);
		r = set(words, found, at[1] != '\0' ? at + 1 : words->argv[i + 1]);
		if (r < 0)
			return r;
		return at[1] != '\0' ? 1 : 2;
	}
	return 1;
}

int
args_parse(const struct args_into *into, size_t n_into, const struct args_words *words)
{
	char **argv = words->argv;
	int n_words = 0, i = 0;

	while (i < words->argc) {
		int r;

		if (argv[i][0] == '-' && argv[i][1] == '-' && argv[i][2] == '\0') {
			i++;
			break;
		}
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			if (words->extent == ARGS_TO_FIRST_WORD)
				break;
			argv[n_words++] = argv[i++];
			continue;
		}
		r = argv[i][1] == '-' ? take_long(into, n_into, words, i)
				      : take_letters(into, n_into, words, i);
		if (r < 0)
			return r;
		i += r;
	}
	if (words->ret_n_behind != NULL)
		*words->ret_n_behind = words->argc - i;
	while (i < words->argc)
		argv[n_words++] = argv[i++];
	return n_words;
}

void
args_print_help(const struct args_list *list, FILE *to)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct arg_def *def = &list->defs[i];
		char names[64], letter[8] = "    ";

		if (def->letter != '\0')
			snprintf(letter, sizeof(letter), "-%c, ", def->letter);
		snprintf(names, sizeof(names), "%s--%s%s%s", letter, def->name,
			 def->value != NULL ? " " : "", def->value != NULL ? def->value : "");
		fprintf(to, "  %-26s %s", names, def->help);
		if (def->def != NULL)
			fprintf(to, " [%s]", def->def);
		fputc('\n', to);
	}
}
