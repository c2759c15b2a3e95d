/* SPDX-License-Identifier: Apache-2.0 */

/* cmd_copy.c -- copy and move: one more copy of an object, or one in place of another. */
#include <inttypes.h>

#include "core/cli/command.h"
#include "transfer/base/json.h"
#include "core/cli/segment_name.h"
#include "core/cli/task_wait.h"

struct opts {
	bool wait;
};

static const struct arg_def defs[] = {
	{'w', "wait", ARG_FLAG, offsetof(struct opts, wait), NULL, NULL, "until it is done"},
};

static void
print_id(const struct cli *cli, uint64_t task_id)
{
	struct json json;

	if (!cli->json) {
		cli_note(cli, "task %" PRIu64, task_id);
		return;
	}
	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_id(&json, "task_id", task_id);
	json_close(&json);
}

/* to_of -- the segment named, or 0 for "any". */
static int
to_of(struct cli *cli, const char *word, uint64_t *ret_id)
{
	*ret_id = 0;
	return word == NULL ? CLI_OK : segment_named(cli, word, ret_id);
}

static int
end(struct cli *cli, const struct opts *opts, int r, const char *key, uint64_t task_id)
{
	if (r < 0)
		return cli_fail(cli, r, key);
	print_id(cli, task_id);
	return opts->wait ? task_wait(cli, task_id) : CLI_OK;
}

static int
run_copy(struct cli *cli, const void *opts, struct operands words)
{
	struct tiffin_client *client;
	uint64_t to_id, task_id = 0;
	int r, status = cli_client(cli, &client);

	if (status == CLI_OK)
		status = to_of(cli, words.n > 1 ? words.at[1] : NULL, &to_id);
	if (status != CLI_OK)
		return status;
	r = tiffin_copy(client, words.at[0], to_id, &task_id);
	return end(cli, opts, r, words.at[0], task_id);
}

static int
run_move(struct cli *cli, const void *opts, struct operands words)
{
	struct tiffin_client *client;
	uint64_t from_id, to_id, task_id = 0;
	int r, status = cli_client(cli, &client);

	if (status == CLI_OK)
		status = segment_named(cli, words.at[1], &from_id);
	if (status == CLI_OK)
		status = to_of(cli, words.n > 2 ? words.at[2] : NULL, &to_id);
	if (status != CLI_OK)
		return status;
	r = tiffin_move(client, words.at[0], from_id, to_id, &task_id);
	return end(cli, opts, r, words.at[0], task_id);
}

const struct command cmd_copy = {
	.name = "copy",
	.run = run_copy,
	.synopsis = "KEY [SEGMENT]",
	.summary = "one more copy of an object, in another segment",
	.help = "Asks for one more copy of the object, in that segment (by name or id) or where "
		"the master\n"
		"finds a place.  The provider of the segment carries it out; see tiffin task.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = 2,
};

const struct command cmd_move = {
	.name = "move",
	.run = run_move,
	.synopsis = "KEY FROM [TO]",
	.summary = "a copy of an object from one segment to another",
	.help = "Asks for a copy in segment TO, or where the master finds a place, instead of the "
		"one in\n"
		"segment FROM.  Who reads the old copy goes on.  Another key for an object: tiffin "
		"mv.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 2,
	.max_words = 3,
};
