/* SPDX-License-Identifier: Apache-2.0 */

/* cmd_pin.c -- pin, unpin. */
#include <errno.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "core/cli/keys.h"

#define BATCH 512

struct opts {
	bool soft;
	uint64_t ttl_ms;
};

static const struct arg_def defs[] = {
	{'\0', "soft", ARG_FLAG, offsetof(struct opts, soft), NULL, NULL,
	 "goes for room when nothing else is left; without it: never"},
	{'\0', "ttl", ARG_MS, offsetof(struct opts, ttl_ms), "TIME", NULL,
	 "of a soft pin, at most 24h; without it: 30min"},
};

/* Keys waiting for one request, and what became of those before. */
struct pinning {
	struct cli *cli;
	struct tiffin_client *client;
	const struct opts *opts; /* NULL: unpin */
	char *keys[BATCH];       /* owned */
	size_t n;
	uint64_t n_done, n_failed;
	int status;
};

static void
flush(struct pinning *pinning)
{
	const char *const *keys = (const char *const *)pinning->keys;
	int results[BATCH];
	int r;

	if (pinning->n == 0)
		return;
	if (pinning->opts == NULL)
		r = tiffin_unpin_batch(pinning->client, keys, pinning->n, results);
	else
		r = tiffin_pin_batch(pinning->client, keys, pinning->n,
				     pinning->opts->soft ? TIFFIN_SOFT_PIN : TIFFIN_HARD_PIN,
				     pinning->opts->ttl_ms, results);
	if (r < 0)
		cli_keep(&pinning->status, cli_fail(pinning->cli, r, NULL));
	for (size_t i = 0; i < pinning->n; i++) {
		bool is_done = r == 0 && results[i] == 0;

		pinning->n_done += is_done;
		pinning->n_failed += !is_done;
		if (r == 0 && !is_done) {
			cli_fail_item(pinning->cli, results[i], keys[i]);
			cli_keep(&pinning->status, cli_exit_of(results[i]));
		}
		free(pinning->keys[i]);
	}
	pinning->n = 0;
}

static int
add(struct pinning *pinning, const char *key)
{
	char *copy = strdup(key);

	if (copy == NULL)
		return cli_fail_system(pinning->cli, -ENOMEM, "a key");
	pinning->keys[pinning->n++] = copy;
	if (pinning->n == BATCH)
		flush(pinning);
	return pinning->status == CLI_UNREACHABLE ? CLI_UNREACHABLE : CLI_OK;
}

static int
pin_words(struct cli *cli, const struct opts *opts, struct operands words)
{
	struct pinning pinning = {.cli = cli, .opts = opts};
	struct keys keys;
	struct json json;
	const char *key;
	int kept = cli_client(cli, &pinning.client);

	if (kept != CLI_OK)
		return kept;
	keys_init(&keys, cli, words);
	while (!interrupted()) {
		int status = keys_next(&keys, cli, &key);

		if (status == CLI_OK && key == NULL)
			break;
		if (status == CLI_OK)
			status = add(&pinning, key);
		cli_keep(&kept, status);
		if (status == CLI_UNREACHABLE)
			break;
	}
	flush(&pinning);
	if (cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_u64(&json, opts == NULL ? "n_unpinned" : "n_pinned", pinning.n_done);
		json_u64(&json, "n_failed", pinning.n_failed);
		json_close(&json);
	}
	cli_keep(&kept, pinning.status);
	return interrupted() ? CLI_INTERRUPTED : kept;
}

static int
run_pin(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;

	if (opts->ttl_ms > 0 && !opts->soft)
		return cli_say(cli, CLI_USAGE, "--ttl goes with --soft: a hard pin does not end");
	return pin_words(cli, opts, words);
}

static int
run_unpin(struct cli *cli, const void *opts, struct operands words)
{
	(void)opts;
	return pin_words(cli, NULL, words);
}

const struct command cmd_pin = {
	.name = "pin",
	.run = run_pin,
	.synopsis = "KEY...",
	.summary = "keep objects when room is wanted",
	.help = "A pinned object does not go to make room for others.  A hard pin holds until it "
		"is\n"
		"taken off; a soft one ends by itself, and before that it goes only when nothing "
		"else is\n"
		"left.  The pin takes the place of the one before.  Pinned objects can still be "
		"removed.\n"
		"\n"
		"  tiffin pin system/prompt\n"
		"  tiffin pin --soft --ttl 2h cache/llama/0001",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = -1,
};

const struct command cmd_unpin = {
	.name = "unpin",
	.run = run_unpin,
	.synopsis = "KEY...",
	.summary = "take pins off",
	.help = "From now on the objects go for room as all others.  One that has no pin is no "
		"error.",
	.opts_bytes = 0,
	.min_words = 1,
	.max_words = -1,
};
