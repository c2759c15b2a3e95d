/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

static const struct option_def defs[] = {
#define OPTION(kind, field, unit, def, min, max, help)                                             \
	{#field, OPTION_##kind, unit, def, min, max, offsetof(struct fs_options, field), help},
#include "fs/options.def"
#undef OPTION
};

static const struct options_list list = {"fs", defs, array_len(defs)};

#define HOT_CACHE_BYTES_MIN (1u << 20)

/* What others write into fstab, and does not concern a mount like this. */
static const char *const ignored[] = {
	"_netdev",  "nofail", "auto",     "noauto",      "user",     "nouser",     "users",
	"owner",    "group",  "defaults", "rw",          "relatime", "atime",      "diratime",
	"nonempty", "async",  "loud",     "strictatime", "lazytime", "nolazytime", "silent",
};

/* What the kernel does for any file system. */
static const char *const for_kernel[] = {
	"suid",   "nosuid", "dev",     "nodev",   "exec",
	"noexec", "sync",   "dirsync", "noatime", "nodiratime",
};

/* Without a unit these are seconds, as libfuse has taught people. */
static const char *const seconds[] = {"timeout", "attr_timeout", "entry_timeout",
				      "negative_timeout"};

/* Other words for options of the list. */
static const struct {
	const char *word, *name;
} aliases[] = {{"threads", "max_threads"}, {"log", "log_file"}};

/* The words of one command line, and where to say why they were refused. */
struct words {
	struct fs_options *opts;
	bool is_helper; /* called by mount(8) */
	char *why;
	size_t why_cap;
};

static __attribute__((format(printf, 2, 3))) int
refuse(const struct words *words, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(words->why, words->why_cap, fmt, args);
	va_end(args);
	return -EINVAL;
}

static bool
is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int
replace(char **text, const char *with)
{
	char *fresh = strdup(with);

	if (fresh == NULL)
		return err_new(-ENOMEM);
	free(*text);
	*text = fresh;
	return 0;
}

int
fs_options_init(struct fs_options *opts)
{
	int r;

	*opts = (struct fs_options){.ready_fd = -1};
	r = options_init(&list, opts);
	if (r < 0)
		return err_up(r);
	r = replace(&opts->source, "");
	if (r == 0)
		r = replace(&opts->dir, "");
	if (r == 0)
		r = replace(&opts->mount_words, "");
	return err_up(r);
}

void
fs_options_fini(struct fs_options *opts)
{
	options_fini(&list, opts);
	free(opts->source);
	free(opts->dir);
	free(opts->mount_words);
	opts->source = opts->dir = opts->mount_words = NULL;
}

/* ---- one option ---- */

static int
add_for_kernel(struct fs_options *opts, const char *word)
{
	char *fresh;

	if (asprintf(&fresh, "%s%s%s", opts->mount_words, opts->mount_words[0] != '\0' ? "," : "",
		     word) < 0)
		return err_new(-ENOMEM);
	free(opts->mount_words);
	opts->mount_words = fresh;
	return 0;
}

/* set -- an option of the list; text NULL: the name alone. */
static int
set(const struct words *words, const char *name, const char *text)
{
	char with_unit[64];

	if (text != NULL && is_among(seconds, array_len(seconds), name) && text[0] != '\0' &&
	    text[strspn(text, "0123456789.")] == '\0') {
		snprintf(with_unit, sizeof(with_unit), "%.60ss", text);
		text = with_unit;
	}
	return options_set(&list, words->opts, name, text != NULL ? text : "1", words->why,
			   words->why_cap);
}

static bool
is_flag(const char *name)
{
	for (size_t i = 0; i < list.n; i++)
		if (strcmp(defs[i].name, name) == 0)
			return defs[i].kind == OPTION_FLAG;
	return false;
}

static bool
is_known(const char *name)
{
	for (size_t i = 0; i < list.n; i++)
		if (strcmp(defs[i].name, name) == 0)
			return true;
	return false;
}

/* take_source -- "HOST:PORT/PREFIX" has the prefix in it; a socket's path has '/' of its own. */
static int
take_source(const struct words *words, const char *text)
{
	char *slash;
	int r = replace(&words->opts->source, text);

	if (r < 0 || strncmp(text, "unix:", 5) == 0)
		return r;
	slash = strchr(words->opts->source, '/');
	if (slash == NULL)
		return 0;
	*slash = '\0';
	return slash[1] == '\0' ? 0
				: set(words, "prefix", text + (slash - words->opts->source) + 1);
}

/* take_word -- one word of -o. */
static int
take_word(const struct words *words, char *word)
{
	char *text = strchr(word, '=');

	if (word[0] == '\0' || is_among(ignored, array_len(ignored), word) ||
	    strncmp(word, "x-", 2) == 0 || strncmp(word, "comment=", 8) == 0 ||
	    strncmp(word, "subtype=", 8) == 0)
		return 0;
	if (is_among(for_kernel, array_len(for_kernel), word))
		return add_for_kernel(words->opts, word);
	if (strcmp(word, "no_default_permissions") == 0)
		return set(words, "default_permissions", "0");

	if (strcmp(word, "foreground") == 0) {
		words->opts->is_foreground = true;
		return 0;
	}
	if (text != NULL)
		*text++ = '\0';
	if (text != NULL && strcmp(word, "master") == 0)
		return take_source(words, text);
	for (size_t i = 0; i < array_len(aliases); i++)
		if (strcmp(word, aliases[i].word) == 0)
			return text != NULL ? set(words, aliases[i].name, text)
					    : refuse(words, "-o %s lacks its value; write %s=...",
						     word, word);
	if (!is_known(word))
		return refuse(words, "-o %.64s is not an option; --help lists them", word);
	if (text == NULL && !is_flag(word))
		return refuse(words, "-o %s lacks its value; write %s=...", word, word);
	return set(words, word, text);
}

/* take_words -- "a,b=c"; a comma that belongs to a value is written "\,". */
static int
take_words(const struct words *words, const char *text)
{
	char *word = malloc(strlen(text) + 1);
	int r = 0;

	if (word == NULL)
		return err_new(-ENOMEM);
	for (const char *at = text; r == 0;) {
		size_t n = 0;

		while (*at != '\0' && *at != ',') {
			if (*at == '\\' && at[1] == ',')
				at++;
			word[n++] = *at++;
		}
		word[n] = '\0';
		r = take_word(words, word);
		if (*at++ == '\0')
			break;
	}
	free(word);
	return r;
}

/* ---- the command line ---- */

static int
take_long(const struct words *words, char *arg)
{
	char *name = arg + 2;
	char *text = strchr(name, '=');
	uint64_t fd;

	if (text != NULL)
		*text++ = '\0';
	if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0) {
		words->opts->wants_help |= name[0] == 'h';
		words->opts->wants_version |= name[0] == 'v';
		return 0;
	}
	if (strcmp(name, "config") == 0 && text != NULL)
		return options_load(&list, words->opts, text, words->why, words->why_cap);
	for (char *c = name; *c != '\0'; c++)
		*c = *c == '-' ? '_' : *c;
	if (strcmp(name, "ready_fd") == 0) {
		if (text == NULL || num_parse(text, &fd) != 0 || fd > 1u << 20)
			return refuse(words, "--ready-fd wants the number of an open descriptor");
		words->opts->ready_fd = (int)fd;
		return 0;
	}
	if (!is_known(name))
		return refuse(words, "--%.64s is not an option; --help lists them", name);
	if (text == NULL && !is_flag(name))
		return refuse(words, "--%s lacks its value; write --%s=...", name, name);
	return set(words, name, text);
}

/* take_short -- one letter.  Gives 1 when the next argument belongs to it. */
static int
take_short(const struct words *words, char letter)
{
	if (words->is_helper) {
		words->opts->is_fake |= letter == 'f';
		if (strchr("fsnv", letter) != NULL)
			return 0;
		if (letter == 'o' || letter == 'N' || letter == 't')
			return 1;
		return refuse(words, "-%c is not known to a mount helper", letter);
	}
	words->opts->is_foreground |= letter == 'f' || letter == 'd';
	words->opts->is_debug |= letter == 'd';
	words->opts->is_single |= letter == 's';
	words->opts->wants_help |= letter == 'h';
	words->opts->wants_version |= letter == 'V';
	if (strchr("fdshV", letter) != NULL)
		return 0;
	return letter == 'o' ? 1 : refuse(words, "-%c is not an option; --help lists them", letter);
}

static int
take_letters(const struct words *words, int argc, char **argv, int *at)
{
	for (char *letter = argv[*at] + 1; *letter != '\0'; letter++) {
		const char *text = letter + 1;
		int r = take_short(words, *letter);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (*text == '\0') {
			if (++*at >= argc)
				return refuse(words, "-%c lacks its value", *letter);
			text = argv[*at];
		}
		return *letter == 'o' ? take_words(words, text) : 0;
	}
	return 0;
}

static int
take_places(const struct words *words, char *const *places, size_t n)
{
	int r = 0;

	if (words->opts->wants_help || words->opts->wants_version)
		return 0;
	if (n == 0)
		return refuse(words,
			      "where to mount? tiffinfs [SOURCE] DIR [-o ...]; --help says more");
	if (n > 2)
		return refuse(words, "\"%.100s\" is one word too many; SOURCE and DIR were given",
			      places[2]);
	if (n == 2)
		r = take_source(words, places[0]);
	return r < 0 ? r : replace(&words->opts->dir, places[n - 1]);
}

/* ---- texts to numbers ---- */

static int
read_id(const struct words *words, const char *name, const char *text, uint32_t self,
	uint32_t *ret_id)
{
	uint64_t v = self;

	if (text[0] != '\0' && (num_parse(text, &v) != 0 || v >= UINT32_MAX))
		return refuse(words, "%s = \"%s\" is not a number below %u", name, text,
			      UINT32_MAX);
	*ret_id = (uint32_t)v;
	return 0;
}

static int
read_texts(const struct words *words)
{
	struct fs_options *opts = words->opts;
	int r;

	r = read_id(words, "uid", opts->uid, getuid(), &opts->uid_is);
	if (r == 0)
		r = read_id(words, "gid", opts->gid, getgid(), &opts->gid_is);
	if (r < 0)
		return r;
	if (opts->hot_cache > 0 && opts->hot_cache < HOT_CACHE_BYTES_MIN)
		return refuse(words, "hot_cache is 0, or 1MiB at least");
	if (opts->umask[strspn(opts->umask, "01234567")] != '\0' ||
	    strtoul(opts->umask, NULL, 8) > 0777)
		return refuse(words, "umask = \"%s\" is not an octal number from 0 to 777",
			      opts->umask);
	opts->umask_is = (mode_t)strtoul(opts->umask, NULL, 8);
	if (log_level_parse(opts->log_level, &opts->log_level_is) < 0)
		return refuse(words, "log_level = \"%s\" is none of error, warn, info, debug",
			      opts->log_level);
	return 0;
}

int
fs_options_args(struct fs_options *opts, int argc, char **argv, char *why, size_t why_cap)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";
	struct words words = {opts, strncmp(name, "mount.", 6) == 0, why, why_cap};
	char *places[3];
	size_t n_places = 0;
	bool is_over = false;
	int r = 0;

	for (int at = 1; at < argc && r == 0; at++) {
		char *arg = argv[at];

		if (is_over || arg[0] != '-' || arg[1] == '\0') {
			if (n_places < array_len(places))
				places[n_places++] = arg;
		} else if (strcmp(arg, "--") == 0) {
			is_over = true;
		} else if (arg[1] == '-') {
			r = take_long(&words, arg);
		} else {
			r = take_letters(&words, argc, argv, &at);
		}
	}
	if (r == 0)
		r = take_places(&words, places, n_places);
	if (r == -ENOMEM)
		snprintf(why, why_cap, "no memory");
	return r < 0 ? r : read_texts(&words);
}

void
fs_options_each(const struct fs_options *opts,
		void (*fn)(void *arg, const char *name, const char *text), void *arg)
{
	for (size_t i = 0; i < list.n; i++) {
		const char *at = (const char *)opts + defs[i].at;
		char number[32];

		if (defs[i].kind == OPTION_TEXT) {
			fn(arg, defs[i].name, *(char *const *)(const void *)at);
			continue;
		}
		if (defs[i].kind == OPTION_CHOICE)
			num_show_word(number, sizeof(number), *(const uint64_t *)(const void *)at,
				      defs[i].unit);
		else
			snprintf(number, sizeof(number), "%" PRIu64 "%s",
				 *(const uint64_t *)(const void *)at,
				 defs[i].kind == OPTION_MS ? "ms" : "");
		fn(arg, defs[i].name, number);
	}
}

void
fs_options_print_help(FILE *to)
{
	fputs("usage: tiffinfs [SOURCE] DIR [-o OPTION[=VALUE],...] [FLAGS]\n"
	      "\n"
	      "Shows the objects of a Tiffin store as files below DIR.  SOURCE is the master's\n"
	      "address: unix:PATH, HOST:PORT or HOST:PORT/PREFIX; without it this user's own.\n"
	      "\n"
	      "  -f              stay in the foreground\n"
	      "  -d              stay in the foreground and show every request\n"
	      "  -s              one thread\n"
	      "  --ready-fd=N    write a line to descriptor N when the mount can be used\n"
	      "  --config=FILE   read section [fs] of FILE first\n"
	      "  --help, --version\n"
	      "\n"
	      "Options, as -o NAME=VALUE or --NAME=VALUE:\n",
	      to);
	options_print_help(&list, to);
	fputs("\n"
	      "Exit status: 0 mounted (or, in the foreground, unmounted); 1 wrong usage;\n"
	      "2 system error; 3 the master does not answer or refuses; 32 mounting failed.\n",
	      to);
}
