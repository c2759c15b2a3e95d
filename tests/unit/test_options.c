/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/options.h"

/* The lists of programs are written like this, in a .def of their own. */
#define SAMPLE_OPTIONS(OPTION)                                                                     \
	OPTION(NUMBER, n_replicas, "", "2", 1, 8, "copies of each object")                         \
	OPTION(BYTES, pool_bytes, "bytes", "64MiB", 4096, 1ull << 40, "memory lent")               \
	OPTION(MS, lease_ms, "ms", "5s", 100, 600000, "promise given to a reader")                 \
	OPTION(TEXT, listen, "address", "127.0.0.1:7400", 1, 40, "where to listen")                \
	OPTION(TEXT, key_file, "path", "", 0, 100, "the cluster key")                              \
	OPTION(FLAG, insecure, "", "0", 0, 1, "listen beyond loopback without a key")              \
	OPTION(CHOICE, fruit, "fig apple pear", "apple", 0, 2, "what is eaten")

struct options {
#define OPTION(kind, field, unit, def, min, max, help) OPTION_FIELD_##kind(field)
	SAMPLE_OPTIONS(OPTION)
#undef OPTION
};

static const struct option_def defs[] = {
#define OPTION(kind, field, unit, def, min, max, help)                                             \
	{#field, OPTION_##kind, unit, def, min, max, offsetof(struct options, field), help},
	SAMPLE_OPTIONS(OPTION)
#undef OPTION
};

static const struct options_list list = {"master", defs, array_len(defs)};

static struct options opts;
static char why[300];

static int
begin(void **state)
{
	(void)state;
	why[0] = '\0';
	return options_init(&list, &opts);
}

static int
finish(void **state)
{
	(void)state;
	options_fini(&list, &opts);
	return 0;
}

static int
set(const char *name, const char *text)
{
	return options_set(&list, &opts, name, text, why, sizeof(why));
}

/* ---- one option ---- */

static void
defaults__are_those_of_the_list(void **state)
{
	(void)state;
	assert_int_equal(opts.n_replicas, 2);
	assert_int_equal(opts.pool_bytes, 64 << 20);
	assert_int_equal(opts.lease_ms, 5000);
	assert_string_equal(opts.listen, "127.0.0.1:7400");
	assert_string_equal(opts.key_file, "");
	assert_int_equal(opts.insecure, 0);
}

static void
set__reads_each_kind(void **state)
{
	(void)state;
	assert_int_equal(set("n_replicas", "3"), 0);
	assert_int_equal(set("pool_bytes", "1.5GiB"), 0);
	assert_int_equal(set("lease_ms", "250ms"), 0);
	assert_int_equal(set("listen", "unix:/run/x"), 0);
	assert_int_equal(set("insecure", "1"), 0);

	assert_int_equal(opts.n_replicas, 3);
	assert_int_equal(opts.pool_bytes, 3ull << 29);
	assert_int_equal(opts.lease_ms, 250);
	assert_string_equal(opts.listen, "unix:/run/x");
	assert_int_equal(opts.insecure, 1);
}

static void
name__may_be_written_with_dashes(void **state)
{
	(void)state;
	assert_int_equal(set("lease-ms", "1s"), 0);
	assert_int_equal(opts.lease_ms, 1000);
	assert_int_equal(set("lease", "1s"), -EINVAL);
	assert_int_equal(set("lease-ms-", "1s"), -EINVAL);
}

static void
bounds__themselves_are_allowed(void **state)
{
	(void)state;
	assert_int_equal(set("lease_ms", "100"), 0);
	assert_int_equal(set("lease_ms", "10m"), 0);
	assert_int_equal(opts.lease_ms, 600000);
}

static void
refusal__names_option_value_and_range_and_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(set("lease_ms", "99"), -EINVAL);
	assert_string_equal(why, "lease_ms = \"99\" is out of range; give a value from 100 ms to "
				 "10.0 min");
	assert_int_equal(set("lease_ms", "600001"), -EINVAL);
	assert_int_equal(set("n_replicas", "18446744073709551616"), -EINVAL);
	assert_int_equal(set("lease_ms", "soon"), -EINVAL);
	assert_string_equal(why, "lease_ms = \"soon\" is not a time from 100 ms to 10.0 min; write "
				 "for example 250ms, 1.5s, 30m or 2h");
	assert_int_equal(opts.lease_ms, 5000);
	assert_int_equal(opts.n_replicas, 2);
}

static void
text__too_long_or_too_short__is_refused_and_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(set("listen", "01234567890123456789012345678901234567890"), -EINVAL);
	assert_non_null(strstr(why, "listen"));
	assert_non_null(strstr(why, "1 to 40"));
	assert_int_equal(set("listen", ""), -EINVAL);
	assert_string_equal(opts.listen, "127.0.0.1:7400");
}

static void
choice__takes_one_of_its_words_and_nothing_else(void **state)
{
	static const char *const wrong[] = {"", "1", "app", "apples", "fig apple", " fig", "fig "};

	(void)state;
	assert_int_equal(opts.fruit, 1);
	assert_int_equal(set("fruit", "pear"), 0);
	assert_int_equal(opts.fruit, 2);
	for (size_t i = 0; i < array_len(wrong); i++)
		assert_int_equal(set("fruit", wrong[i]), -EINVAL);
	assert_string_equal(why, "fruit = \"fig \" is none of: fig apple pear");
	assert_int_equal(opts.fruit, 2);
	assert_int_equal(set("fruit", "fig"), 0);
	assert_int_equal(opts.fruit, 0);
}

static void
flag__that_is_neither_yes_nor_no__is_refused(void **state)
{
	(void)state;
	assert_int_equal(set("insecure", "yes"), 0);
	assert_int_equal(opts.insecure, 1);
	assert_int_equal(set("insecure", "off"), 0);
	assert_int_equal(opts.insecure, 0);
	assert_int_equal(set("insecure", "2"), -EINVAL);
	assert_int_equal(set("insecure", ""), -EINVAL);
}

static void
unknown_name__is_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(set("leese_ms", "5s"), -EINVAL);
	assert_string_equal(why, "leese_ms is not an option of [master]; --help lists them");
}

static void
why__that_has_little_room__is_cut(void **state)
{
	char small[10];

	(void)state;
	assert_int_equal(options_set(&list, &opts, "lease_ms", "x", small, sizeof(small)), -EINVAL);
	assert_string_equal(small, "lease_ms ");
}

/* ---- the file ---- */

/* load -- a file with just this text. */
static int
load(const char *text)
{
	char path[] = "/tmp/tiffin-test-options-XXXXXX";
	int fd = mkstemp(path);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = options_load(&list, &opts, path, why, sizeof(why));
	unlink(path);
	return r;
}

static void
file__sets_what_its_section_names_and_skips_the_others(void **state)
{
	(void)state;
	assert_int_equal(load("# a comment\n"
			      "[client]\n"
			      "lease_ms = 1s\n"
			      "no such thing here\n"
			      "[ master ]\n"
			      "\n"
			      "  lease_ms=2s   # for slow readers\n"
			      "listen = unix:/run/a#b\r\n"
			      "[fs]\n"
			      "lease_ms = 3s\n"
			      "[master]\n"
			      "n-replicas = 4"),
			 0);

	assert_int_equal(opts.lease_ms, 2000);
	assert_string_equal(opts.listen, "unix:/run/a#b");
	assert_int_equal(opts.n_replicas, 4);
}

static void
file__with_an_error__is_refused_by_line_number(void **state)
{
	(void)state;
	assert_int_equal(load("[master]\nlease_ms = 1s\nlease_ms = soon\n"), -EINVAL);

	assert_non_null(strstr(why, ":3: lease_ms = \"soon\" is not a time"));
}

static void
file__with_lines_that_mean_nothing__is_refused(void **state)
{
	(void)state;
	assert_int_equal(load("lease_ms = 1s\n"), -EINVAL);
	assert_non_null(strstr(why, ":1: \"lease_ms = 1s\" stands before any [section]"));
	assert_int_equal(load("[master\nlease_ms = 1s\n"), -EINVAL);
	assert_non_null(strstr(why, ":1: \"[master\" lacks its ']'"));
	assert_int_equal(load("[master]\nlease_ms\n"), -EINVAL);
	assert_non_null(strstr(why, ":2: \"lease_ms\" is not \"name = value\""));
	assert_int_equal(load("[master]\nleese_ms = 1\n"), -EINVAL);
	assert_non_null(strstr(why, ":2: leese_ms is not an option"));
}

static void
file__that_is_not_there_or_is_a_folder__is_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(options_load(&list, &opts, "/nonexistent/x", why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "/nonexistent/x: No such file or directory");
	assert_int_equal(options_load(&list, &opts, "/", why, sizeof(why)), -EISDIR);
}

static void
file__that_is_empty__changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(load(""), 0);
	assert_int_equal(opts.lease_ms, 5000);
}

/* ---- the command line ---- */

#define take_args(argv) options_args(&list, &opts, array_len(argv) - 1, argv, why, sizeof(why))

static void
args__are_taken_out_and_the_rest_moves_to_the_front(void **state)
{
	char *argv[] = {
		"prog", "put",        "--lease-ms=2s", "key", "--n_replicas", "3", "--verbose",
		"-x",   "--insecure", "file",          NULL};

	(void)state;
	assert_int_equal(take_args(argv), 6);

	assert_int_equal(opts.lease_ms, 2000);
	assert_int_equal(opts.n_replicas, 3);
	assert_int_equal(opts.insecure, 1);
	assert_string_equal(argv[1], "put");
	assert_string_equal(argv[2], "key");
	assert_string_equal(argv[3], "--verbose"); /* not of this list: the program's to judge */
	assert_string_equal(argv[4], "-x");
	assert_string_equal(argv[5], "file");
	assert_null(argv[6]);
}

static void
flag__takes_no_word_but_may_be_set_to_zero(void **state)
{
	char *on[] = {"prog", "--insecure", "0", NULL};
	char *off[] = {"prog", "--insecure=0", NULL};

	(void)state;
	assert_int_equal(take_args(on), 2);
	assert_string_equal(on[1], "0");
	assert_int_equal(opts.insecure, 1);

	assert_int_equal(take_args(off), 1);
	assert_int_equal(opts.insecure, 0);
}

static void
two_dashes__end_the_options(void **state)
{
	char *argv[] = {"prog", "--lease-ms=2s", "--", "--lease-ms=3s", "--", NULL};

	(void)state;
	assert_int_equal(take_args(argv), 3);

	assert_int_equal(opts.lease_ms, 2000);
	assert_string_equal(argv[1], "--lease-ms=3s");
	assert_string_equal(argv[2], "--");
}

static void
option__without_its_value__is_refused(void **state)
{
	char *argv[] = {"prog", "--lease-ms", NULL};

	(void)state;
	assert_int_equal(take_args(argv), -EINVAL);
	assert_string_equal(why, "--lease-ms needs a value; write --lease-ms=VALUE");
}

static void
option__with_a_wrong_value__is_refused(void **state)
{
	char *argv[] = {"prog", "--lease-ms=soon", NULL};

	(void)state;
	assert_int_equal(take_args(argv), -EINVAL);
	assert_non_null(strstr(why, "lease_ms = \"soon\""));
}

static void
command_line__wins_over_the_file_wherever_config_stands(void **state)
{
	char path[] = "/tmp/tiffin-test-options-XXXXXX";
	static const char text[] = "[master]\nlease_ms = 1s\nn_replicas = 7\n";
	int fd = mkstemp(path);
	char *argv[] = {"prog", "--lease-ms=2s", "--config", path, NULL};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);

	assert_int_equal(take_args(argv), 1);

	assert_int_equal(opts.lease_ms, 2000);
	assert_int_equal(opts.n_replicas, 7);
	unlink(path);
}

static void
config__that_can_not_be_read__is_refused(void **state)
{
	char *argv[] = {"prog", "--config=/nonexistent/x", NULL};

	(void)state;
	assert_int_equal(take_args(argv), -EINVAL);
	assert_non_null(strstr(why, "/nonexistent/x: No such file"));
}

/* ---- showing ---- */

static void
print__writes_a_file_that_load_reads_back(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(set("lease_ms", "2s"), 0);
	assert_int_equal(set("fruit", "pear"), 0);
	options_print(&list, &opts, to);
	fclose(to);
	assert_int_equal(set("lease_ms", "3s"), 0);

	assert_non_null(strstr(text, "[master]\n"));
	assert_non_null(strstr(text, "lease_ms = 2000\n"));
	assert_non_null(strstr(text, "fruit = pear\n"));
	assert_int_equal(load(text), 0);
	assert_int_equal(opts.lease_ms, 2000);
	assert_string_equal(opts.listen, "127.0.0.1:7400");
	free(text);
}

static void
help__names_every_option_with_its_range_and_default(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	options_print_help(&list, to);
	fclose(to);

	assert_non_null(strstr(text, "--lease-ms=TIME"));
	assert_non_null(strstr(text, "[100 ms to 10.0 min, default 5s]"));
	assert_non_null(strstr(text, "--insecure\n"));
	assert_non_null(strstr(text, "[one of: fig apple pear, default apple]"));
	for (size_t i = 0; i < array_len(defs); i++)
		assert_non_null(strstr(text, defs[i].help));
	free(text);
}

/* ---- without memory ---- */

static void
init__survives_the_failure_of_each_allocation_in_turn(void **state)
{
	(void)state;
	for (unsigned n = 0;; n++) {
		struct options fresh;
		int r;

		allocs_fail_after(n);
		r = options_init(&list, &fresh);
		allocs_succeed();
		if (r == 0) {
			options_fini(&list, &fresh);
			assert_int_equal(n, 2); /* two texts */
			return;
		}
		assert_int_equal(r, -ENOMEM);
	}
}

static void
set__of_a_text_without_memory__changes_nothing(void **state)
{
	int r;

	(void)state;
	allocs_fail_after(0);
	r = set("listen", "unix:/run/x");
	allocs_succeed();

	assert_int_equal(r, -ENOMEM);
	assert_string_equal(opts.listen, "127.0.0.1:7400");
}

#define with_options(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_options(defaults__are_those_of_the_list),
		with_options(set__reads_each_kind),
		with_options(name__may_be_written_with_dashes),
		with_options(bounds__themselves_are_allowed),
		with_options(refusal__names_option_value_and_range_and_changes_nothing),
		with_options(text__too_long_or_too_short__is_refused_and_changes_nothing),
		with_options(choice__takes_one_of_its_words_and_nothing_else),
		with_options(flag__that_is_neither_yes_nor_no__is_refused),
		with_options(unknown_name__is_refused_by_name),
		with_options(why__that_has_little_room__is_cut),
		with_options(file__sets_what_its_section_names_and_skips_the_others),
		with_options(file__with_an_error__is_refused_by_line_number),
		with_options(file__with_lines_that_mean_nothing__is_refused),
		with_options(file__that_is_not_there_or_is_a_folder__is_refused_by_name),
		with_options(file__that_is_empty__changes_nothing),
		with_options(args__are_taken_out_and_the_rest_moves_to_the_front),
		with_options(flag__takes_no_word_but_may_be_set_to_zero),
		with_options(two_dashes__end_the_options),
		with_options(option__without_its_value__is_refused),
		with_options(option__with_a_wrong_value__is_refused),
		with_options(command_line__wins_over_the_file_wherever_config_stands),
		with_options(config__that_can_not_be_read__is_refused),
		with_options(print__writes_a_file_that_load_reads_back),
		with_options(help__names_every_option_with_its_range_and_default),
		with_options(init__survives_the_failure_of_each_allocation_in_turn),
		with_options(set__of_a_text_without_memory__changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
