/* SPDX-License-Identifier: Apache-2.0 */

/* exist -- which of these keys have an object? */
#include <errno.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/keys.h"
#include "transfer/base/json.h"

#define BATCH 512

struct opts {
	bool missing;
	uint64_t lease_ms;
};

static const struct arg_def defs[] = {
	{'v', "missing", ARG_FLAG, offsetof(struct opts, missing), NULL, NULL,
	 "print those that have none"},
	{'\0', "lease", ARG_MS, offsetof(struct opts, lease_ms), "TIME", NULL,
	 "keep those that are there for so long, at most lease_ms of the master"},
};

/* Keys waiting for one request, and what is known of those before. */
struct asking {
	struct cli *cli;
	struct tiffin_client *client;
	const struct opts *opts;
	char *keys[BATCH]; /* owned */
	size_t n;
	struct json json;
	int status;
};

static void
tell(struct asking *asking, const char *key, int result)
{
	bool is_there = result == 0;

	if (!is_there && result != TIFFIN_E_NOT_FOUND) {
		cli_fail_item(asking->cli, result, key);
		cli_keep(&asking->status, cli_exit_of(result));
		return;
	}
	if (!is_there)
		cli_keep(&asking->status, CLI_NOT_FOUND);
	if (asking->cli->json) {
		json_open_object(&asking->json, NULL);
		json_key(&asking->json, "key", key);
		json_bool(&asking->json, "exists", is_there);
		json_close(&asking->json);
	} else if (is_there != asking->opts->missing) {
		cli_print_key(asking->cli, key);
	}
}

static void
flush(struct asking *asking)
{
	const char *const *keys = (const char *const *)asking->keys;
	int results[BATCH];
	int r;

	if (asking->n == 0)
		return;
	if (asking->opts->lease_ms > 0)
		r = tiffin_exist_lease(asking->client, keys, asking->n, asking->opts->lease_ms,
				       results);
	else
		r = tiffin_exist(asking->client, keys, asking->n, results);
	if (r < 0)
		cli_keep(&asking->status, cli_fail(asking->cli, r, NULL));
	for (size_t i = 0; i < asking->n; i++) {
		if (r == 0)
			tell(asking, keys[i], results[i]);
		free(asking->keys[i]);
	}
	asking->n = 0;
}

static int
add(struct asking *asking, const char *key)
{
	char *copy = strdup(key);

	if (copy == NULL)
		return cli_fail_system(asking->cli, -ENOMEM, "a key");
	asking->keys[asking->n++] = copy;
	if (asking->n == BATCH)
		flush(asking);
	return asking->status == CLI_UNREACHABLE ? CLI_UNREACHABLE : CLI_OK;
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	struct asking asking = {.cli = cli, .opts = opts};
	struct keys keys;
	const char *key;
	int kept = cli_client(cli, &asking.client);

	if (kept != CLI_OK)
		return kept;
	json_init(&asking.json, stdout);
	if (cli->json)
		json_open_list(&asking.json, NULL);
	keys_init(&keys, cli, words);
	while (!interrupted()) {
		int status = keys_next(&keys, cli, &key);

		if (status == CLI_OK && key == NULL)
			break;
		if (status == CLI_OK)
			status = add(&asking, key);
		cli_keep(&kept, status);
		if (status == CLI_UNREACHABLE)
			break;
	}
	flush(&asking);
	if (cli->json)
		json_close(&asking.json);
	cli_keep(&kept, asking.status);
	return interrupted() ? CLI_INTERRUPTED : kept;
}

const struct command cmd_exist = {
	.name = "exist",
	.run = run,
	.synopsis = "KEY...",
	.summary = "which keys have an object",
	.help = "Prints those of the keys that have an object, or with -v those that have none.  "
		"Status\n"
		"1 when one has none.  Asking changes nothing, but with --lease those that are "
		"there "
		"stay\n"
		"for that time, so that a get which follows finds them.\n"
		"\n"
		"  tiffin exist models/llama && echo yes\n"
		"  tiffin exist -0v <wanted | xargs -0 -n1 fetch",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = -1,
};
