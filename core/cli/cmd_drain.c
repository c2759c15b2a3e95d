/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/cli/command.h"
#include "transfer/base/json.h"
#include "core/cli/segment_name.h"
#include "core/cli/task_wait.h"

#define SEGMENTS_AT_ONCE 64

struct opts {
	const char *to; /* names, comma between; NULL: any */
	uint64_t concurrency;
	bool wait, undo;
};

static const struct arg_def defs[] = {
	{'\0', "to", ARG_TEXT, offsetof(struct opts, to), "SEGMENT,...", NULL,
	 "where to; default: the master's choice"},
	{'\0', "concurrency", ARG_NUMBER, offsetof(struct opts, concurrency), "NUMBER", "16",
	 "objects moved at once, 1 to 256"},
	{'w', "wait", ARG_FLAG, offsetof(struct opts, wait), NULL, NULL,
	 "until all have moved, with a bar on a terminal"},
	{'\0', "undo", ARG_FLAG, offsetof(struct opts, undo), NULL, NULL,
	 "new data may go there again; a drain under way is cancelled"},
};

/* add -- one more segment to a list of them. */
static int
add(struct cli *cli, const char *word, uint64_t *ids, size_t *n)
{
	if (*n == SEGMENTS_AT_ONCE)
		return cli_say(cli, CLI_USAGE, "at most %d segments at once", SEGMENTS_AT_ONCE);
	return segment_named(cli, word, &ids[(*n)++]);
}

static int
begin(struct cli *cli, struct tiffin_client *client, const struct opts *opts,
      const struct tiffin_drain_options *options)
{
	struct json json;
	uint64_t job_id = 0;
	int r = tiffin_drain(client, options, &job_id);

	if (r < 0)
		return cli_fail(cli, r, NULL);
	if (cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_id(&json, "job_id", job_id);
		json_close(&json);
	} else {
		cli_note(cli, "drain %" PRIu64, job_id);
	}
	return opts->wait ? job_wait(cli, job_id) : CLI_OK;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	uint64_t segments[SEGMENTS_AT_ONCE], targets[SEGMENTS_AT_ONCE];
	struct tiffin_drain_options options = {.struct_bytes = sizeof(options),
					       .segments = segments,
					       .targets = targets,
					       .concurrency = (uint32_t)opts->concurrency};
	struct tiffin_client *client;
	int status, r;

	if (opts->concurrency < 1 || opts->concurrency > 256)
		return cli_say(cli, CLI_USAGE, "--concurrency is 1 to 256");
	status = cli_client(cli, &client);
	for (int i = 0; i < words.n && status == CLI_OK; i++)
		status = add(cli, words.at[i], segments, &options.n_segments);
	if (status == CLI_OK && opts->to != NULL)
		status = segments_named(cli, opts->to, targets, SEGMENTS_AT_ONCE,
					&options.n_targets);
	if (status != CLI_OK)
		return status;
	if (!opts->undo)
		return begin(cli, client, opts, &options);
	r = tiffin_undrain(client, segments, options.n_segments);
	return r < 0 ? cli_fail(cli, r, NULL) : CLI_OK;
}

const struct command cmd_drain = {
	.name = "drain",
	.run = run,
	.synopsis = "SEGMENT...",
	.summary = "move everything out of segments, before they are taken away",
	.help = "The segments (by name or id) get no new data from now on, and every copy that "
		"lies there\n"
		"moves elsewhere.  They are read on meanwhile.  When nothing is left their state "
		"is drained\n"
		"(tiffin segments), and their providers may end without loss.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = -1,
};
