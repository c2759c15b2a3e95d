/* SPDX-License-Identifier: Apache-2.0 */

/* cmd_pin.c -- pin, unpin. */
#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/key_batch.h"
#include "core/cli/keys.h"
#include "transfer/base/json.h"

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

struct pinning {
	struct key_batch batch;
	struct tiffin_client *client;
	const struct opts *opts; /* NULL: unpin */
	uint64_t n_done, n_failed;
};

static int
send(struct key_batch *batch, const char *const *keys, size_t n)
{
	struct pinning *pinning = container_of(batch, struct pinning, batch);
	const struct opts *opts = pinning->opts;
	int results[KEY_BATCH];
	int kept = CLI_OK, r;

	if (opts == NULL)
		r = tiffin_unpin_batch(pinning->client, keys, n, results);
	else
		r = tiffin_pin_batch(pinning->client, keys, n,
				     opts->soft ? TIFFIN_SOFT_PIN : TIFFIN_HARD_PIN, opts->ttl_ms,
				     results);
	if (r < 0) {
		pinning->n_failed += n;
		return cli_fail(pinning->batch.cli, r, NULL);
	}
	for (size_t i = 0; i < n; i++) {
		if (results[i] == 0) {
			pinning->n_done++;
			continue;
		}
		pinning->n_failed++;
		cli_fail_item(pinning->batch.cli, results[i], keys[i]);
		cli_keep(&kept, cli_exit_of(results[i]));
	}
	return kept;
}

static int
add(void *arg, const char *key)
{
	return key_batch_add(arg, key);
}

static int
pin_words(struct cli *cli, const struct opts *opts, struct operands words)
{
	struct pinning pinning = {.batch = {.cli = cli, .send = send}, .opts = opts};
	struct json json;
	int kept = cli_client(cli, &pinning.client);

	if (kept != CLI_OK)
		return kept;
	kept = keys_each(cli, words, add, &pinning.batch);
	key_batch_flush(&pinning.batch);
	if (cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_u64(&json, opts == NULL ? "n_unpinned" : "n_pinned", pinning.n_done);
		json_u64(&json, "n_failed", pinning.n_failed);
		json_close(&json);
	}
	cli_keep(&kept, pinning.batch.status);
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
