/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/args.h"

struct opts {
	bool is_long, recursive;
	const char *name;
	uint64_t count, size_bytes, wait_ms;
};

static const struct arg_def defs[] = {
	{'l', "long", ARG_FLAG, offsetof(struct opts, is_long), NULL, NULL, "long lines"},
	{'R', "recursive", ARG_FLAG, offsetof(struct opts, recursive), NULL, NULL, "all of it"},
	{'n', "name", ARG_TEXT, offsetof(struct opts, name), "NAME", NULL, "called so"},
	{'c', "count", ARG_NUMBER, offsetof(struct opts, count), "N", "7", "so many"},
	{'s', "size", ARG_BYTES, offsetof(struct opts, size_bytes), "SIZE", NULL, "so long"},
	{'\0', "wait", ARG_MS, offsetof(struct opts, wait_ms), "TIME", NULL, "so late"},
};
static const struct args_list list = {defs, array_len(defs)};

struct line {
	char *argv[16];
	int argc;
	struct opts opts;
	int n_behind;
	char why[256];
};

/* parse -- words given one by one, ending in NULL. */
static int
parse(struct line *line, enum args_extent extent, ...)
{
	struct args_into into = {&list, &line->opts};
	struct args_words words;
	va_list ap;
	char *word;

	*line = (struct line){.argc = 0};
	va_start(ap, extent);
	while ((word = va_arg(ap, char *)) != NULL)
		line->argv[line->argc++] = word;
	va_end(ap);
	words = (struct args_words){extent,    line->argc,        line->argv,
				    line->why, sizeof(line->why), &line->n_behind};
	args_init(&into);
	return args_parse(&into, 1, &words);
}

static void
option__not_given__has_its_default(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, NULL), 0);

	assert_int_equal(line.opts.count, 7);
	assert_false(line.opts.is_long);
	assert_null(line.opts.name);
}

static void
options_and_words__mixed__are_told_apart(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "a", "--long", "b", "--count", "3", "c", NULL), 3);

	assert_string_equal(line.argv[0], "a");
	assert_string_equal(line.argv[1], "b");
	assert_string_equal(line.argv[2], "c");
	assert_true(line.opts.is_long);
	assert_int_equal(line.opts.count, 3);
}

static void
words__behind_two_dashes__are_counted(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "a", "--", "b", "--long", NULL), 3);
	assert_int_equal(line.n_behind, 2);
	assert_string_equal(line.argv[2], "--long");
	assert_false(line.opts.is_long);
	assert_int_equal(parse(&line, ARGS_ALL, "a", "b", NULL), 2);
	assert_int_equal(line.n_behind, 0);
}

static void
value__behind_equals_or_blank_or_letter__is_the_same(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "--size=4KiB", NULL), 0);
	assert_int_equal(line.opts.size_bytes, 4096);
	assert_int_equal(parse(&line, ARGS_ALL, "--size", "4KiB", NULL), 0);
	assert_int_equal(line.opts.size_bytes, 4096);
	assert_int_equal(parse(&line, ARGS_ALL, "-s4KiB", NULL), 0);
	assert_int_equal(line.opts.size_bytes, 4096);
	assert_int_equal(parse(&line, ARGS_ALL, "-s", "4KiB", NULL), 0);
	assert_int_equal(line.opts.size_bytes, 4096);
}

static void
letters__may_stand_together(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "-lRc5", "x", NULL), 1);

	assert_true(line.opts.is_long);
	assert_true(line.opts.recursive);
	assert_int_equal(line.opts.count, 5);
}

static void
two_dashes__end_the_options(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "-l", "--", "-R", "--", NULL), 2);

	assert_string_equal(line.argv[0], "-R");
	assert_string_equal(line.argv[1], "--");
	assert_false(line.opts.recursive);
}

static void
one_dash__is_a_word(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "-", NULL), 1);
	assert_string_equal(line.argv[0], "-");
}

static void
value__that_looks_like_an_option__is_a_value(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "--name", "-l", NULL), 0);

	assert_string_equal(line.opts.name, "-l");
	assert_false(line.opts.is_long);
}

static void
first_word__when_asked_to_stop_there__keeps_all_behind_it(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_TO_FIRST_WORD, "-l", "put", "-x", "k", NULL), 3);

	assert_string_equal(line.argv[0], "put");
	assert_string_equal(line.argv[1], "-x");
	assert_string_equal(line.argv[2], "k");
	assert_true(line.opts.is_long);
}

static void
option__unknown__is_named(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "--colour=red", NULL), -EINVAL);
	assert_string_equal(line.why, "unknown option '--colour'");
	assert_int_equal(parse(&line, ARGS_ALL, "-lz", NULL), -EINVAL);
	assert_string_equal(line.why, "unknown option '-z'");
	assert_int_equal(parse(&line, ARGS_ALL, "--lon", NULL), -EINVAL);
	assert_int_equal(parse(&line, ARGS_ALL, "--longer", NULL), -EINVAL);
}

static void
option__without_the_value_it_wants__is_refused(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "--count", NULL), -EINVAL);
	assert_string_equal(line.why, "--count wants a value: N");
	assert_int_equal(parse(&line, ARGS_ALL, "-c", NULL), -EINVAL);
}

static void
flag__with_a_value__is_refused(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "--long=1", NULL), -EINVAL);
	assert_string_equal(line.why, "--long takes no value");
}

static void
value__of_the_wrong_kind__is_refused_with_an_example(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, ARGS_ALL, "--count=-1", NULL), -EINVAL);
	assert_string_equal(line.why, "--count: '-1' is not a whole number");
	assert_int_equal(parse(&line, ARGS_ALL, "--count=", NULL), -EINVAL);
	assert_int_equal(parse(&line, ARGS_ALL, "--size=4furlongs", NULL), -EINVAL);
	assert_string_equal(line.why,
			    "--size: '4furlongs' is not a size like 4096, 64KiB or 1.5GiB");
	assert_int_equal(parse(&line, ARGS_ALL, "--wait=1y", NULL), -EINVAL);
	assert_int_equal(parse(&line, ARGS_ALL, "--count=99999999999999999999", NULL), -EINVAL);
	assert_string_equal(line.why, "--count: '99999999999999999999' is too large");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(option__not_given__has_its_default),
		cmocka_unit_test(options_and_words__mixed__are_told_apart),
		cmocka_unit_test(words__behind_two_dashes__are_counted),
		cmocka_unit_test(value__behind_equals_or_blank_or_letter__is_the_same),
		cmocka_unit_test(letters__may_stand_together),
		cmocka_unit_test(two_dashes__end_the_options),
		cmocka_unit_test(one_dash__is_a_word),
		cmocka_unit_test(value__that_looks_like_an_option__is_a_value),
		cmocka_unit_test(first_word__when_asked_to_stop_there__keeps_all_behind_it),
		cmocka_unit_test(option__unknown__is_named),
		cmocka_unit_test(option__without_the_value_it_wants__is_refused),
		cmocka_unit_test(flag__with_a_value__is_refused),
		cmocka_unit_test(value__of_the_wrong_kind__is_refused_with_an_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
