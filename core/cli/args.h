/* SPDX-License-Identifier: Apache-2.0 */

/*
 * args.h -- a command's options as a list, and the words of the command line sorted by it.
 *
 *      -lR --size 4MiB --size=4MiB -s 4MiB -s4MiB KEY ... -- -KEY
 *
 * A lone "-" is a word, not an option.  Behind "--" everything is a word.
 */
#ifndef CORE_CLI_ARGS_H
#define CORE_CLI_ARGS_H

#include <stdio.h>

#include "transfer/base/base.h"

enum arg_kind {
	ARG_FLAG,   /* bool, takes no value */
	ARG_TEXT,   /* const char *, borrowed from argv */
	ARG_NUMBER, /* uint64_t */
	ARG_BYTES,  /* uint64_t, "64MiB" */
	ARG_MS,     /* uint64_t, "5s" */
};

struct arg_def {
	char letter; /* '\0': only the long name */
	const char *name;
	enum arg_kind kind;
	size_t at;         /* offset in the options struct */
	const char *value; /* how help names the value; NULL for a FLAG */
	const char *def;   /* default as text; NULL: zero */
	const char *help;
};

struct args_list {
	const struct arg_def *defs;
	size_t n;
};

/* A list together with the struct that it fills. */
struct args_into {
	const struct args_list *list;
	void *opts;
};

enum args_extent {
	ARGS_ALL,           /* options and words in any order */
	ARGS_TO_FIRST_WORD, /* stop at the first word: it names the command */
};

struct args_words {
	enum args_extent extent;
	int argc;
	char **argv;
	char *why; /* one line on what is wrong */
	size_t why_cap;
	int *ret_n_behind; /* words behind "--", the last of those that are left; or NULL */
};

/* args_init -- every option at its default.  needs: defaults that can be parsed. */
void args_init(const struct args_into *into);

/*
 * args_parse -- take every option out of the words; what is left moves to the front.
 *
 * needs:   words->argv starts with the first word to look at (no program name).
 * result:  how many words are left; with ARGS_TO_FIRST_WORD everything from the first word on is
 *          left as it was.  -EINVAL: words->why says what is wrong.
 */
int args_parse(const struct args_into *into, size_t n_into,
	       const struct args_words *words) MUST_CHECK;

/* args_print_help -- a line for each option: names, value, help, default. */
void args_print_help(const struct args_list *list, FILE *to);

#endif
