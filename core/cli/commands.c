/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/command.h"

#include <string.h>

#include "transfer/base/num.h"

static const struct command *const commands[] = {
	&cmd_up,      &cmd_down,    &cmd_status,  &cmd_top,      &cmd_put,     &cmd_get,
	&cmd_cat,     &cmd_ls,      &cmd_exist,   &cmd_stat,     &cmd_find,    &cmd_pin,
	&cmd_unpin,   &cmd_lease,   &cmd_rm,      &cmd_cp,       &cmd_mv,      &cmd_segments,
	&cmd_clients, &cmd_puts,    &cmd_tenants, &cmd_drain,    &cmd_copy,    &cmd_move,
	&cmd_task,    &cmd_events,  &cmd_watch,   &cmd_set,      &cmd_bench,   &cmd_check,
	&cmd_backup,  &cmd_restore, &cmd_doctor,  &cmd_topology, &cmd_version, &cmd_help,
};

#define NAME_LONGEST 32

const struct command *
commands_at(size_t i)
{
	return i < array_len(commands) ? commands[i] : NULL;
}

const struct command *
commands_find(const char *name)
{
	for (size_t i = 0; i < array_len(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/*
 * distance -- letters to add, drop, change, or swap with their neighbour.
 *
 * needs:   both names shorter than NAME_LONGEST.
 */
static unsigned
distance(const char *a, const char *b)
{
	unsigned d[NAME_LONGEST + 1][NAME_LONGEST + 1];
	size_t n_a = strlen(a), n_b = strlen(b);

	assert(n_a < NAME_LONGEST && n_b < NAME_LONGEST);
	for (size_t i = 0; i <= n_a; i++)
		d[i][0] = (unsigned)i;
	for (size_t k = 0; k <= n_b; k++)
		d[0][k] = (unsigned)k;

	for (size_t i = 1; i <= n_a; i++)
		for (size_t k = 1; k <= n_b; k++) {
			unsigned change = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			unsigned add_or_drop = num_min(d[i - 1][k], d[i][k - 1]) + 1;

			d[i][k] = num_min(change, add_or_drop);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d[i][k] = num_min(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[n_a][n_b];
}

const struct command *
commands_nearest(const char *name)
{
	const struct command *nearest = NULL;
	unsigned best = 3;

	if (strlen(name) >= NAME_LONGEST)
		return NULL;
	for (size_t i = 0; i < array_len(commands); i++) {
		unsigned d = distance(name, commands[i]->name);

		/* Two letters of a word of two are not near. */
		if (d < best && d < strlen(commands[i]->name)) {
			nearest = commands[i];
			best = d;
		}
	}
	return nearest;
}

void
command_print_help(const struct command *command, FILE *to)
{
	fprintf(to, "usage: tiffin %s%s%s%s\n\n%s\n", command->name,
		command->args.n > 0 ? " [options]" : "", command->synopsis[0] != '\0' ? " " : "",
		command->synopsis, command->help);
	if (command->args.n > 0) {
		fputs("\noptions:\n", to);
		args_print_help(&command->args, to);
	}
	fputs("\noptions of every command:\n", to);
	args_print_help(&cli_args, to);
}

void
commands_print_help(FILE *to)
{
	fputs("usage: tiffin [options] COMMAND [options] [WORDS]\n\ncommands:\n", to);
	for (size_t i = 0; i < array_len(commands); i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);

	fputs("\noptions of every command:\n", to);
	args_print_help(&cli_args, to);
	fputs("\n"
	      "exit status:\n"
	      "  0 done                      5 master or copies can't be reached, or too slow\n"
	      "  1 not found; check found    6 being read, promise ran out, limit reached\n"
	      "  2 wrong command line        7 wrong bytes (checksum)\n"
	      "  3 exists already            8 not accepted: key, tenant, version\n"
	      "  4 no space, quota used up    9 this machine: memory, files, descriptors\n"
	      "\n"
	      "'tiffin help COMMAND' explains one.  To begin with: tiffin up\n",
	      to);
}
