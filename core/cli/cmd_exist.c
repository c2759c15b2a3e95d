/* SPDX-License-Identifier: Apache-2.0 */

/* exist -- which of these keys have an object? */
#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/key_batch.h"
#include "core/cli/keys.h"
#include "transfer/base/json.h"

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

struct asking {
	struct key_batch batch;
	struct tiffin_client *client;
	const struct opts *opts;
	struct json json;
};

/* tell -- what is known of one.  Exit status. */
static int
tell(struct asking *asking, const char *key, int result)
{
	bool is_there = result == 0;

	if (!is_there && result != TIFFIN_E_NOT_FOUND) {
		cli_fail_item(asking->batch.cli, result, key);
		return cli_exit_of(result);
	}
	if (asking->batch.cli->json) {
		json_open_object(&asking->json, NULL);
		json_key(&asking->json, "key", key);
		json_bool(&asking->json, "exists", is_there);
		json_close(&asking->json);
	} else if (is_there != asking->opts->missing) {
		cli_print_key(asking->batch.cli, key);
	}
	return is_there ? CLI_OK : CLI_NOT_FOUND;
}

static int
send(struct key_batch *batch, const char *const *keys, size_t n)
{
	struct asking *asking = container_of(batch, struct asking, batch);
	int results[KEY_BATCH];
	int kept = CLI_OK, r;

	if (asking->opts->lease_ms > 0)
		r = tiffin_exist_lease(asking->client, keys, n, asking->opts->lease_ms, results);
	else
		r = tiffin_exist(asking->client, keys, n, results);
	if (r < 0)
		return cli_fail(asking->batch.cli, r, NULL);
	for (size_t i = 0; i < n; i++)
		cli_keep(&kept, tell(asking, keys[i], results[i]));
	return kept;
}

static int
add(void *arg, const char *key)
{
	return key_batch_add(arg, key);
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	struct asking asking = {.batch = {.cli = cli, .send = send}, .opts = opts};
	int kept = cli_client(cli, &asking.client);

	if (kept != CLI_OK)
		return kept;
	json_init(&asking.json, stdout);
	if (cli->json)
		json_open_list(&asking.json, NULL);
	kept = keys_each(cli, words, add, &asking.batch);
	key_batch_flush(&asking.batch);
	if (cli->json)
		json_close(&asking.json);
	cli_keep(&kept, asking.batch.status);
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
