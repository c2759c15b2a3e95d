/* SPDX-License-Identifier: Apache-2.0 */

/*
 * options.h -- settings as a list: one .def file feeds struct, parser, --help, config file, manual.
 *
 *      OPTION(kind, field, unit, default, min, max, help)
 *
 *      kind   NUMBER  plain                     uint64_t
 *             BYTES   "64MiB", in bytes         uint64_t
 *             MS      "5s", in milliseconds     uint64_t
 *             TEXT    default a string; max = longest, bytes    const char *
 *             FLAG    0 or 1; --field alone means 1             uint64_t
 *             CHOICE  one of the words in unit, blank between; its number from 0; min 0, max the
 *                     last one's                                uint64_t
 *
 * Each program includes its list three times; see master/options.c.  On the
 * command line "--lease-ms=5s" and "--lease-ms 5s"; in the file "lease_ms = 5s".
 * Precedence: command line, then file, then default.
 */
#ifndef TRANSFER_BASE_OPTIONS_H
#define TRANSFER_BASE_OPTIONS_H

#include <stdio.h>

#include "transfer/base/base.h"

enum option_kind {
	OPTION_NUMBER,
	OPTION_BYTES,
	OPTION_MS,
	OPTION_TEXT,
	OPTION_FLAG,
	OPTION_CHOICE
};

struct option_def {
	const char *name; /* with underscores */
	enum option_kind kind;
	const char *unit;
	const char *def; /* as text */
	uint64_t min, max;
	size_t at; /* offset in the options struct: uint64_t, or char * (owned) for TEXT */
	const char *help;
};

struct options_list {
	const char *section; /* "master": its lines stand under "[master]" in tiffin.conf(5) */
	const struct option_def *defs;
	size_t n;
};

#define OPTION_FIELD_NUMBER(field) uint64_t field;
#define OPTION_FIELD_BYTES(field)  uint64_t field;
#define OPTION_FIELD_MS(field)     uint64_t field;
#define OPTION_FIELD_FLAG(field)   uint64_t field;
#define OPTION_FIELD_CHOICE(field) uint64_t field;
#define OPTION_FIELD_TEXT(field)   char *field;

/* options_init -- every option at its default.  0 or -ENOMEM. */
int options_init(const struct options_list *list, void *opts) MUST_CHECK;
void options_fini(const struct options_list *list, void *opts);

/*
 * options_set -- one name and its text; names may be written with - or _.
 *
 * result:  0, or -EINVAL with one line in why that names option, value and range.
 */
int options_set(const struct options_list *list, void *opts, const char *name, const char *text,
		char *why, size_t why_cap) MUST_CHECK;

/*
 * options_load -- the list's section of a file; other sections are skipped.
 *
 * Lines are "name = value"; '#' at the start of a line or after a blank begins a comment.
 * result:  0; -EINVAL, or -errno of the file, with why.
 */
int options_load(const struct options_list *list, void *opts, const char *path, char *why,
		 size_t why_cap) MUST_CHECK;

/*
 * options_args -- take the list's --options out of argv, up to "--"; the rest moves to the front.
 *
 * An option --config=FILE is loaded first, so that the command line wins.  Words like "--help"
 * that are no option of the list are left, for the program to judge; "--" itself is not.
 * result:  count of words left (argv[0] included); -EINVAL with why.
 */
int options_args(const struct options_list *list, void *opts, int argc, char **argv, char *why,
		 size_t why_cap) MUST_CHECK;

/* options_print_help -- one line each: name, unit, range, default, help. */
void options_print_help(const struct options_list *list, FILE *to);

/* options_print -- "name = value" lines as in force, for --dump-config. */
void options_print(const struct options_list *list, const void *opts, FILE *to);

#endif
