/* SPDX-License-Identifier: Apache-2.0 */

/*
 * command.h -- one word of `tiffin WORD`: what it does, how it is called, how it is explained.
 *
 * Each cmd_NAME.c defines one; commands.c keeps the table of them.  The table feeds the
 * dispatch, `tiffin help`, the suggestion for a word mistyped, and shell completion.
 */
#ifndef CORE_CLI_COMMAND_H
#define CORE_CLI_COMMAND_H

#include "core/cli/cli.h"

/* The words of a call that are no options. */
struct operands {
	int n;
	char **at;
	int n_behind; /* of those, the last: they stood behind "--" */
};

struct command {
	const char *name;

	/* run -- opts: the command's own options struct.  Exit status; what is wrong has been said.
	 */
	int (*run)(struct cli *cli, const void *opts, struct operands words);

	const char *synopsis; /* the operands */
	const char *summary;  /* one line */
	const char *help;     /* paragraphs, wrapped */
	struct args_list args;
	size_t opts_bytes;
	int min_words, max_words; /* max -1: any number */
};

/* commands_at -- the i-th, NULL behind the last one. */
const struct command *commands_at(size_t i);

/* commands_find -- NULL when there is none of that name. */
const struct command *commands_find(const char *name);

/* commands_nearest -- what was probably meant; NULL when nothing is near. */
const struct command *commands_nearest(const char *name);

/* command_print_help, commands_print_help -- of one command, and of all. */
void command_print_help(const struct command *command, FILE *to);
void commands_print_help(FILE *to);

extern const struct command cmd_up, cmd_down, cmd_status, cmd_top, cmd_put, cmd_get, cmd_cat,
	cmd_ls, cmd_exist, cmd_stat, cmd_find, cmd_pin, cmd_unpin, cmd_lease, cmd_rm, cmd_cp,
	cmd_mv, cmd_segments, cmd_clients, cmd_puts, cmd_tenants, cmd_drain, cmd_copy, cmd_move,
	cmd_task, cmd_events, cmd_watch, cmd_set, cmd_bench, cmd_check, cmd_backup, cmd_restore,
	cmd_doctor, cmd_topology, cmd_version, cmd_help;

#endif
