/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/cli/command.h"

struct opts {
	bool words;
};

static const struct arg_def defs[] = {
	{'\0', "words", ARG_FLAG, offsetof(struct opts, words), NULL, NULL,
	 "for shells: the commands, or the command's options, one a line"},
};

static void
print_words(const struct args_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		printf("--%s\n", list->defs[i].name);
		if (list->defs[i].letter != '\0')
			printf("-%c\n", list->defs[i].letter);
	}
}

/* words_of -- of one command, or with NULL of the program. */
static int
words_of(const struct command *command)
{
	print_words(&cli_args);
	if (command != NULL) {
		print_words(&command->args);
		return CLI_OK;
	}
	for (size_t i = 0; commands_at(i) != NULL; i++)
		puts(commands_at(i)->name);
	return CLI_OK;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	const struct command *command = NULL;

	if (words.n > 0) {
		command = commands_find(words.at[0]);
		if (command == NULL)
			return cli_say(cli, CLI_USAGE, "there is no command '%s'", words.at[0]);
	}
	if (opts->words)
		return words_of(command);
	if (command != NULL)
		command_print_help(command, stdout);
	else
		commands_print_help(stdout);
	return CLI_OK;
}

const struct command cmd_help = {
	.name = "help",
	.run = run,
	.synopsis = "[COMMAND]",
	.summary = "explain all commands, or one",
	.help = "Lists the commands, or explains one, as COMMAND --help does.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 1,
};
