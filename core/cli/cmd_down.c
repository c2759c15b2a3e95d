/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/command.h"
#include "core/cli/house.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"

struct opts {
	const char *run;
	bool lazy;
};

static const struct arg_def defs[] = {
	{'\0', "run", ARG_TEXT, offsetof(struct opts, run), "DIR", NULL,
	 "sockets and pid files, as given to up"},
	{'\0', "lazy", ARG_FLAG, offsetof(struct opts, lazy), NULL, NULL,
	 "take the mount away even when it is in use"},
};

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct house house;
	struct json json;
	int n_stopped = 0, status;

	(void)words;
	interrupt_be_patient();
	status = house_init(&house, cli, opts->run, NULL);
	if (status != CLI_OK)
		return status;

	for (int i = HOUSE_N_DAEMONS - 1; i >= 0; i--) {
		bool was_running = daemon_pid(&house.daemons[i]) != 0;

		status = house_stop(&house, cli, (enum house_daemon)i, opts->lazy);
		if (status != CLI_OK)
			return status;
		if (was_running && !cli->quiet && !cli->json)
			printf("%-16s stopped\n", house.daemons[i].name);
		n_stopped += was_running;
	}
	if (cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_u64(&json, "n_stopped", (uint64_t)n_stopped);
		json_close(&json);
	} else if (n_stopped == 0 && !cli->quiet) {
		puts("nothing was running");
	}
	return CLI_OK;
}

const struct command cmd_down = {
	.name = "down",
	.run = run,
	.synopsis = "",
	.summary = "stop what up has started",
	.help = "Unmounts, then stops provider and master, and waits until they are gone.  The "
		"database\n"
		"stays; the bytes that the provider lent are gone with it.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 0,
};
