/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/command.h"

/* The manual page as one text; TIFFIN_SOURCE_DIR is the project's root. */
static char *
read_page(void)
{
	FILE *from = fopen(TIFFIN_SOURCE_DIR "/man/tiffin.1", "re");
	char *text = NULL;
	size_t cap = 0;

	assert_non_null(from);
	assert_true(getdelim(&text, &cap, '\0', from) > 0);
	fclose(from);
	return text;
}

static void
word__mistyped__leads_to_the_nearest_command(void **state)
{
	static const char *const pairs[][2] = {
		{"lss", "ls"},        {"pt", "put"},      {"gte", "get"},
		{"statsu", "status"}, {"cehck", "check"}, {"segmnts", "segments"},
		{"doktor", "doctor"}, {"benhc", "bench"},
	};

	(void)state;
	for (size_t i = 0; i < array_len(pairs); i++) {
		const struct command *nearest = commands_nearest(pairs[i][0]);

		assert_non_null(nearest);
		assert_string_equal(nearest->name, pairs[i][1]);
	}
}

static void
word__unlike_any_command__leads_nowhere(void **state)
{
	static const char *const words[] = {
		"",
		"xyzzy",
		"zz",
		"a-word-that-is-much-longer-than-the-name-of-any-command-of-this-program",
	};

	(void)state;
	for (size_t i = 0; i < array_len(words); i++)
		assert_null(commands_nearest(words[i]));
}

static void
command__each__is_found_by_its_name__and_has_every_text(void **state)
{
	const struct command *command;

	(void)state;
	for (size_t i = 0; (command = commands_at(i)) != NULL; i++) {
		assert_ptr_equal(commands_find(command->name), command);
		assert_non_null(command->run);
		assert_true(strlen(command->summary) > 0 && strlen(command->summary) <= 60);
		assert_true(strlen(command->help) > 0);
		assert_true(command->max_words < 0 || command->min_words <= command->max_words);
	}
}

/* args_init() asserts that a default can be parsed. */
static void
options_of_each_command__have_defaults_of_their_kind__and_names_of_their_own(void **state)
{
	const struct command *command;

	(void)state;
	for (size_t i = 0; (command = commands_at(i)) != NULL; i++) {
		void *opts = calloc(1, command->opts_bytes + 1);
		struct args_into into = {&command->args, opts};

		assert_non_null(opts);
		args_init(&into);
		free(opts);
		for (size_t k = 0; k < command->args.n; k++) {
			const struct arg_def *def = &command->args.defs[k];

			assert_true(def->at < command->opts_bytes);
			assert_int_equal(def->kind == ARG_FLAG, def->value == NULL);
			for (size_t g = 0; g < cli_args.n; g++) {
				assert_string_not_equal(def->name, cli_args.defs[g].name);
				assert_true(def->letter == '\0' ||
					    def->letter != cli_args.defs[g].letter);
			}
		}
	}
}

static void
manual__names_every_command_and_every_option(void **state)
{
	const struct command *command;
	char *page = read_page();

	(void)state;
	for (size_t i = 0; (command = commands_at(i)) != NULL; i++) {
		char wanted[128];

		snprintf(wanted, sizeof(wanted), ".It Cm %s", command->name);
		if (strstr(page, wanted) == NULL)
			fail_msg("tiffin(1) says nothing about '%s'", command->name);
		for (size_t k = 0; k < command->args.n; k++) {
			snprintf(wanted, sizeof(wanted), "Fl Fl %s", command->args.defs[k].name);
			if (strstr(page, wanted) == NULL)
				fail_msg("tiffin(1) says nothing about '%s --%s'", command->name,
					 command->args.defs[k].name);
		}
	}
	free(page);
}

static void
exit_status__is_one_for_each_class_of_error(void **state)
{
	(void)state;
	assert_int_equal(cli_exit_of(0), CLI_OK);
	assert_int_equal(cli_exit_of(TIFFIN_E_NOT_FOUND), 1);
	assert_int_equal(cli_exit_of(TIFFIN_E_INVALID), 2);
	assert_int_equal(cli_exit_of(TIFFIN_E_EXISTS), 3);
	assert_int_equal(cli_exit_of(TIFFIN_E_NO_SPACE), 4);
	assert_int_equal(cli_exit_of(TIFFIN_E_QUOTA), 4);
	assert_int_equal(cli_exit_of(TIFFIN_E_UNREACHABLE), 5);
	assert_int_equal(cli_exit_of(TIFFIN_E_TIMEOUT), 5);
	assert_int_equal(cli_exit_of(TIFFIN_E_LEASE), 6);
	assert_int_equal(cli_exit_of(TIFFIN_E_BUSY), 6);
	assert_int_equal(cli_exit_of(TIFFIN_E_NOT_EMPTY), 6);
	assert_int_equal(cli_exit_of(TIFFIN_E_CHECKSUM), 7);
	assert_int_equal(cli_exit_of(TIFFIN_E_DENIED), 8);
	assert_int_equal(cli_exit_of(TIFFIN_E_VERSION), 8);
	assert_int_equal(cli_exit_of(TIFFIN_E_SYSTEM), 9);
}

static void
first_failure__of_several__is_kept(void **state)
{
	int kept = CLI_OK;

	(void)state;
	cli_keep(&kept, CLI_OK);
	assert_int_equal(kept, CLI_OK);
	cli_keep(&kept, CLI_NOT_FOUND);
	cli_keep(&kept, CLI_BUSY);
	cli_keep(&kept, CLI_OK);

	assert_int_equal(kept, CLI_NOT_FOUND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(word__mistyped__leads_to_the_nearest_command),
		cmocka_unit_test(word__unlike_any_command__leads_nowhere),
		cmocka_unit_test(command__each__is_found_by_its_name__and_has_every_text),
		cmocka_unit_test(
			options_of_each_command__have_defaults_of_their_kind__and_names_of_their_own),
		cmocka_unit_test(manual__names_every_command_and_every_option),
		cmocka_unit_test(exit_status__is_one_for_each_class_of_error),
		cmocka_unit_test(first_failure__of_several__is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
