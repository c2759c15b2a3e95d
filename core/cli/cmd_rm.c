/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/json.h"
#include "core/cli/keys.h"
#include "transfer/base/vec.h"

#define BATCH 512

struct opts {
	bool force, recursive, prefix, all;
};

static const struct arg_def defs[] = {
	{'f', "force", ARG_FLAG, offsetof(struct opts, force), NULL, NULL,
	 "also what is being read; and what is not there is no error"},
	{'r', "recursive", ARG_FLAG, offsetof(struct opts, recursive), NULL, NULL,
	 "each object, and all below it: keys KEY/..."},
	{'\0', "prefix", ARG_FLAG, offsetof(struct opts, prefix), NULL, NULL,
	 "the words are prefixes: every key that begins so"},
	{'\0', "all", ARG_FLAG, offsetof(struct opts, all), NULL, NULL,
	 "without words: every object of the tenant"},
};

/* Keys waiting to be removed with one request, and what became of those before. */
struct removal {
	struct cli *cli;
	struct tiffin_client *client;
	const struct opts *opts;
	bool is_walk;      /* keys come from lists, not from the words */
	char *keys[BATCH]; /* owned */
	size_t n;
	uint64_t n_removed, n_leased, n_missing, n_failed;
	int status;
};

/* judge -- what became of one key. */
static void
judge(struct removal *removal, const char *key, int result)
{
	bool is_told = !removal->is_walk;

	if (result == 0) {
		removal->n_removed++;
		return;
	}
	if (result == TIFFIN_E_NOT_FOUND) {
		removal->n_missing++;
		/* Found by -r a moment ago, somebody else was quicker. */
		if (removal->opts->force || removal->is_walk)
			return;
	} else if (result == TIFFIN_E_LEASE) {
		removal->n_leased++;
	} else {
		removal->n_failed++;
		is_told = true;
	}
	if (is_told)
		cli_fail_item(removal->cli, result, key);
	cli_keep(&removal->status, cli_exit_of(result));
}

/* flush -- remove what waits. */
static void
flush(struct removal *removal)
{
	uint32_t flags = removal->opts->force ? TIFFIN_FORCE : 0;
	int results[BATCH];
	int r;

	if (removal->n == 0)
		return;
	r = tiffin_remove_batch(removal->client, (const char *const *)removal->keys, removal->n,
				flags, results);
	if (r < 0)
		cli_keep(&removal->status, cli_fail(removal->cli, r, NULL));
	for (size_t i = 0; i < removal->n; i++) {
		if (r == 0)
			judge(removal, removal->keys[i], results[i]);
		else
			removal->n_failed++;
		free(removal->keys[i]);
	}
	removal->n = 0;
}

/* add -- CLI_OK, or it has been said and there is no use in going on. */
static int
add(struct removal *removal, const char *key)
{
	char *copy = strdup(key);

	if (copy == NULL)
		return cli_fail_system(removal->cli, -ENOMEM, "a key");
	removal->keys[removal->n++] = copy;
	if (removal->n == BATCH)
		flush(removal);
	return removal->status == CLI_UNREACHABLE ? CLI_UNREACHABLE : CLI_OK;
}

static int
add_prefix(struct removal *removal, const char *prefix)
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	int r, status = CLI_OK;

	r = tiffin_list_open(removal->client, prefix, '\0', NULL, &list);
	if (r < 0)
		return cli_fail(removal->cli, r, prefix);
	while (status == CLI_OK && !interrupted() && (r = tiffin_list_next(list, &key, &stat)) == 1)
		status = add(removal, key);
	if (r < 0)
		status = cli_fail(removal->cli, r, prefix);
	tiffin_list_close(list);
	return status;
}

/* add_below -- the object itself, if there is one, and all keys "key/...". */
static int
add_below(struct removal *removal, const char *key)
{
	size_t len = strlen(key);
	char prefix[TIFFIN_KEY_MAX + 2];
	int status;

	if (key[len - 1] == '/')
		return add_prefix(removal, key);
	status = add(removal, key);
	if (status != CLI_OK || len == TIFFIN_KEY_MAX)
		return status;
	snprintf(prefix, sizeof(prefix), "%s/", key);
	return add_prefix(removal, prefix);
}

/* add_word -- what one word stands for. */
static int
add_word(struct removal *removal, const char *key)
{
	if (removal->opts->prefix)
		return add_prefix(removal, key);
	if (removal->opts->recursive)
		return add_below(removal, key);
	return add(removal, key);
}

static int
add_words(struct removal *removal, struct operands words)
{
	struct keys keys;
	const char *key;
	int kept = CLI_OK;

	if (removal->opts->all)
		return add_prefix(removal, "");
	keys_init(&keys, removal->cli, words);
	while (!interrupted()) {
		int status = keys_next(&keys, removal->cli, &key);

		if (status == CLI_OK && key == NULL)
			break;
		if (status == CLI_OK)
			status = add_word(removal, key);
		cli_keep(&kept, status);
		if (status == CLI_UNREACHABLE)
			break;
	}
	return kept;
}

static void
print_outcome(const struct removal *removal)
{
	struct json json;

	if (removal->cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_u64(&json, "n_removed", removal->n_removed);
		json_u64(&json, "n_leased", removal->n_leased);
		json_u64(&json, "n_missing", removal->n_missing);
		json_u64(&json, "n_failed", removal->n_failed);
		json_close(&json);
		return;
	}
	if (removal->cli->quiet || !removal->is_walk)
		return;
	printf("removed %llu", (unsigned long long)removal->n_removed);
	if (removal->n_leased > 0)
		printf(", kept %llu that are being read (-f removes them too)",
		       (unsigned long long)removal->n_leased);
	if (removal->n_failed > 0)
		printf(", %llu failed", (unsigned long long)removal->n_failed);
	putchar('\n');
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct removal removal = {
		.cli = cli,
		.opts = opts,
		.is_walk = opts->recursive || opts->prefix || opts->all,
	};
	int status;

	if (opts->all && words.n > 0)
		return cli_say(cli, CLI_USAGE, "--all goes without words");
	if (words.n == 0 && !opts->all && !cli->nul)
		return cli_say(cli, CLI_USAGE, "which keys?");
	status = cli_client(cli, &removal.client);
	if (status != CLI_OK)
		return status;

	status = add_words(&removal, words);
	if (interrupted()) {
		for (size_t i = 0; i < removal.n; i++)
			free(removal.keys[i]);
		return CLI_INTERRUPTED;
	}
	flush(&removal);
	if (removal.is_walk && !opts->force && !opts->all && status == CLI_OK &&
	    removal.status == CLI_OK && removal.n_removed == 0)
		return cli_say(cli, CLI_NOT_FOUND, "there is nothing to remove");
	print_outcome(&removal);
	cli_keep(&removal.status, status);
	return removal.status;
}

const struct command cmd_rm = {
	.name = "rm",
	.run = run,
	.synopsis = "KEY...",
	.summary = "remove objects",
	.help = "Removes each object.  One that somebody is reading stays, with status 6, unless "
		"-f is\n"
		"given: then its readers keep right bytes or get an error, never other bytes.\n"
		"\n"
		"With -r every key below it goes as well (KEY/...), with --prefix every key that "
		"begins\n"
		"with the word, and the count is printed.\n"
		"\n"
		"  tiffin rm models/old.bin\n"
		"  tiffin rm -r cache/llama\n"
		"  tiffin rm --all",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = -1,
};
