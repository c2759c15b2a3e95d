/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/key_batch.h"
#include "core/cli/keys.h"
#include "core/cli/segment_name.h"
#include "transfer/base/json.h"
#include "transfer/base/vec.h"

struct opts {
	bool force, recursive, prefix, all;
	const char *pattern, *group, *on;
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
	{'\0', "on", ARG_TEXT, offsetof(struct opts, on), "SEGMENT", NULL,
	 "only the copies on that segment (its name or id); an object goes with its last copy"},
	{'\0', "group", ARG_TEXT, offsetof(struct opts, group), "ID", NULL,
	 "objects of that group, of those with a prefix if one is given"},
	{'\0', "regex", ARG_TEXT, offsetof(struct opts, pattern), "PATTERN", NULL,
	 "keys that have something that looks so (PCRE2), of those with a prefix if one is given"},
};

struct removal {
	struct key_batch batch;
	struct tiffin_client *client;
	const struct opts *opts;
	uint64_t segment_id; /* 0: whole objects */
	bool is_walk;        /* keys come from lists, not from the words */
	uint64_t n_removed, n_leased, n_missing, n_failed;
};

/* is_sought -- the words are prefixes of what is looked for, and may be left out. */
static bool
is_sought(const struct opts *opts)
{
	return opts->pattern != NULL || opts->group != NULL;
}

/* judge -- what became of one key.  Exit status. */
static int
judge(struct removal *removal, const char *key, int result)
{
	bool is_told = !removal->is_walk;

	if (result == 0) {
		removal->n_removed++;
		return CLI_OK;
	}
	if (result == TIFFIN_E_NOT_FOUND) {
		removal->n_missing++;
		/* Found by -r a moment ago, somebody else was quicker. */
		if (removal->opts->force || removal->is_walk)
			return CLI_OK;
	} else if (result == TIFFIN_E_LEASE) {
		removal->n_leased++;
	} else {
		removal->n_failed++;
		is_told = true;
	}
	if (is_told)
		cli_fail_item(removal->batch.cli, result, key);
	return cli_exit_of(result);
}

static int
send(struct key_batch *batch, const char *const *keys, size_t n)
{
	struct removal *removal = container_of(batch, struct removal, batch);
	uint32_t flags = removal->opts->force ? TIFFIN_FORCE : 0;
	int results[KEY_BATCH];
	int kept = CLI_OK, r;

	if (removal->segment_id != 0)
		r = tiffin_replica_clear(removal->client, removal->segment_id, keys, n, results);
	else
		r = tiffin_remove_batch(removal->client, keys, n, flags, results);
	if (r < 0) {
		removal->n_failed += n;
		return cli_fail(batch->cli, r, NULL);
	}
	for (size_t i = 0; i < n; i++)
		cli_keep(&kept, judge(removal, keys[i], results[i]));
	return kept;
}

/* add_prefix -- all that begin so; the master does it, and tells how many. */
static int
add_prefix(struct removal *removal, const char *prefix)
{
	uint32_t flags = removal->opts->force ? TIFFIN_FORCE : 0;
	const char *pattern = removal->opts->pattern;
	struct tiffin_removed removed;
	int r;

	key_batch_flush(&removal->batch); /* in the order of the words */
	if (removal->opts->group != NULL)
		r = tiffin_remove_group(removal->client, removal->opts->group, prefix, flags,
					&removed);
	else if (pattern != NULL)
		r = tiffin_remove_regex(removal->client, pattern, prefix, flags, &removed);
	else
		r = tiffin_remove_prefix(removal->client, prefix, flags, &removed);
	removal->n_removed += removed.n_removed;
	removal->n_leased += removed.n_leased;
	removal->n_failed += removed.n_failed;
	if (removed.n_failed > 0)
		cli_keep(&removal->batch.status, CLI_UNREACHABLE);
	if (removed.n_leased > 0)
		cli_keep(&removal->batch.status, CLI_BUSY);
	return r < 0 ? cli_fail(removal->batch.cli, r, prefix) : CLI_OK;
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
	status = key_batch_add(&removal->batch, key);
	if (status != CLI_OK || len == TIFFIN_KEY_MAX)
		return status;
	snprintf(prefix, sizeof(prefix), "%s/", key);
	return add_prefix(removal, prefix);
}

/* add_word -- what one word stands for. */
static int
add_word(void *arg, const char *key)
{
	struct removal *removal = arg;

	if (removal->opts->prefix || is_sought(removal->opts))
		return add_prefix(removal, key);
	if (removal->opts->recursive)
		return add_below(removal, key);
	return key_batch_add(&removal->batch, key);
}

static int
add_words(struct removal *removal, struct operands words)
{
	if (removal->opts->all || (is_sought(removal->opts) && words.n == 0))
		return add_prefix(removal, "");
	return keys_each(removal->batch.cli, words, add_word, removal);
}

static void
print_outcome(const struct removal *removal)
{
	struct json json;

	if (removal->batch.cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_u64(&json, "n_removed", removal->n_removed);
		json_u64(&json, "n_leased", removal->n_leased);
		json_u64(&json, "n_missing", removal->n_missing);
		json_u64(&json, "n_failed", removal->n_failed);
		json_close(&json);
		return;
	}
	if (removal->batch.cli->quiet || !removal->is_walk)
		return;
	printf("removed %llu", (unsigned long long)removal->n_removed);
	if (removal->n_leased > 0)
		printf(", kept %llu that are being read (-f removes them too)",
		       (unsigned long long)removal->n_leased);
	if (removal->n_failed > 0)
		printf(", %llu failed", (unsigned long long)removal->n_failed);
	putchar('\n');
}

/* ---- the segment of --on ---- */

/* find_segment -- CLI_OK, or it has been said. */
static int
find_segment(struct removal *removal)
{
	if (removal->opts->on == NULL)
		return CLI_OK;
	if (removal->is_walk || removal->opts->force)
		return cli_say(removal->batch.cli, CLI_USAGE,
			       "--on goes with keys alone, without -f");
	return segment_named(removal->batch.cli, removal->opts->on, &removal->segment_id);
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct removal removal = {
		.batch = {.cli = cli, .send = send},
		.opts = opts,
		.is_walk = opts->recursive || opts->prefix || opts->all || is_sought(opts),
	};
	int status;

	if (opts->all && words.n > 0)
		return cli_say(cli, CLI_USAGE, "--all goes without words");
	if (opts->pattern != NULL && (opts->all || opts->recursive))
		return cli_say(cli, CLI_USAGE, "--regex goes without --all and -r");
	if (opts->group != NULL && (opts->all || opts->recursive || opts->pattern != NULL))
		return cli_say(cli, CLI_USAGE, "--group goes without --all, --regex and -r");
	if (words.n == 0 && !opts->all && !is_sought(opts) && !cli->nul)
		return cli_say(cli, CLI_USAGE, "which keys?");
	status = cli_client(cli, &removal.client);
	if (status != CLI_OK)
		return status;

	status = find_segment(&removal);
	if (status != CLI_OK)
		return status;
	status = add_words(&removal, words);
	if (interrupted()) {
		key_batch_drop(&removal.batch);
		return CLI_INTERRUPTED;
	}
	key_batch_flush(&removal.batch);
	if (removal.is_walk && !opts->force && !opts->all && status == CLI_OK &&
	    removal.batch.status == CLI_OK && removal.n_removed == 0)
		return cli_say(cli, CLI_NOT_FOUND, "there is nothing to remove");
	if (status == CLI_OK || removal.n_removed > 0)
		print_outcome(&removal);
	cli_keep(&removal.batch.status, status);
	return removal.batch.status;
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
		"  tiffin rm --regex '/layer-[0-9]+$' cache/\n"
		"  tiffin rm --all",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = -1,
};
