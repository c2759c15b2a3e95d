/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/keys.h"
#include "core/cli/stream.h"

static int
cat_one(struct cli *cli, const char *key)
{
	struct stream_fd_sink sink;
	struct stream_view view;
	struct progress progress;
	int status;

	status = stream_open(cli, key, &view);
	if (status != CLI_OK)
		return status;
	stream_fd_sink_init(&sink, cli, STDOUT_FILENO, "standard output");
	progress_init(&progress, NULL, cli->clock, key, 0);
	status = stream_out(cli, &view, STREAM_WHOLE, &sink.base, &progress);
	stream_close(&view);
	return status;
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	struct keys keys;
	const char *key;
	int kept = CLI_OK;

	(void)opts;
	keys_init(&keys, cli, words);
	while (!interrupted() && kept != CLI_PIPE) {
		int status = keys_next(&keys, cli, &key);

		if (status == CLI_OK && key == NULL)
			break;
		if (status == CLI_OK)
			status = cat_one(cli, key);
		cli_keep(&kept, status);
	}
	return kept;
}

const struct command cmd_cat = {
	.name = "cat",
	.run = run,
	.synopsis = "KEY...",
	.summary = "the bytes of objects on standard output",
	.help = "Writes the bytes of each object, one after the other.  The sum of an object is "
		"known\n"
		"when its last byte has been written: look at the exit status.",
	.opts_bytes = 0,
	.min_words = 1,
	.max_words = -1,
};
