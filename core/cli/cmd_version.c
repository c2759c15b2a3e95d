/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/command.h"
#include "transfer/base/json.h"
#include "master/proto/limits.h"

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	struct json json;

	(void)opts;
	(void)words;
	if (!cli->json) {
		printf("tiffin %s (protocol %d)\n", TIFFIN_VERSION, PROTO_VERSION);
		return CLI_OK;
	}
	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_text(&json, "version", TIFFIN_VERSION);
	json_u64(&json, "protocol", PROTO_VERSION);
	json_close(&json);
	return CLI_OK;
}

const struct command cmd_version = {
	.name = "version",
	.run = run,
	.synopsis = "",
	.summary = "of this program and of the protocol it speaks",
	.help = "Prints the version of this program and of the protocol it speaks.",
	.opts_bytes = 0,
	.min_words = 0,
	.max_words = 0,
};
