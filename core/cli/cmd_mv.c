/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/command.h"
#include "core/cli/keys.h"

struct opts {
	bool replace;
};

static const struct arg_def defs[] = {
	{'\0', "replace", ARG_FLAG, offsetof(struct opts, replace), NULL, NULL,
	 "take the place of an object that is there"},
};

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct tiffin_client *client;
	int r, status;

	status = keys_check(cli, words.at[0]);
	if (status == CLI_OK)
		status = keys_check(cli, words.at[1]);
	if (status == CLI_OK)
		status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;

	r = tiffin_rename(client, words.at[0], words.at[1], opts->replace ? 0 : TIFFIN_NOREPLACE);
	return r < 0 ? cli_fail(cli, r, r == TIFFIN_E_EXISTS ? words.at[1] : words.at[0]) : CLI_OK;
}

const struct command cmd_mv = {
	.name = "mv",
	.run = run,
	.synopsis = "KEY NEW-KEY",
	.summary = "give an object another key",
	.help = "Renames an object, at once for everybody; no byte is moved.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 2,
	.max_words = 2,
};
