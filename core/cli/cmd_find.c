/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/listing.h"

struct opts {
	bool is_long;
	const char *name, *pattern, *group;
	uint64_t min_bytes, max_bytes;
	uint64_t newer_ms, older_ms;
	uint64_t wall_ms; /* now, for the two above */
};

static const struct arg_def defs[] = {
	{'\0', "name", ARG_TEXT, offsetof(struct opts, name), "GLOB", NULL,
	 "the part behind the last '/' looks so (* ? [])"},
	{'\0', "regex", ARG_TEXT, offsetof(struct opts, pattern), "PATTERN", NULL,
	 "the whole key has something that looks so (PCRE2)"},
	{'\0', "group", ARG_TEXT, offsetof(struct opts, group), "ID", NULL,
	 "put with that group (tiffin put --group)"},
	{'\0', "min-size", ARG_BYTES, offsetof(struct opts, min_bytes), "SIZE", "0",
	 "at least so long"},
	{'\0', "max-size", ARG_BYTES, offsetof(struct opts, max_bytes), "SIZE", "16383PiB",
	 "at most so long"},
	{'\0', "newer", ARG_MS, offsetof(struct opts, newer_ms), "TIME", NULL,
	 "put within that time, like 30m"},
	{'\0', "older", ARG_MS, offsetof(struct opts, older_ms), "TIME", NULL,
	 "put longer ago than that"},
	{'l', "long", ARG_FLAG, offsetof(struct opts, is_long), NULL, NULL,
	 "with size and time of the put"},
};

static bool
matches(const void *arg, const char *key, const struct tiffin_stat *stat)
{
	const struct opts *opts = arg;
	const char *slash = strrchr(key, '/');
	uint64_t age_ms = opts->wall_ms > stat->put_at_ms ? opts->wall_ms - stat->put_at_ms : 0;

	if (stat->len_bytes < opts->min_bytes || stat->len_bytes > opts->max_bytes)
		return false;
	if (opts->newer_ms > 0 && age_ms > opts->newer_ms)
		return false;
	if (opts->older_ms > 0 && age_ms <= opts->older_ms)
		return false;
	return opts->name == NULL || fnmatch(opts->name, slash != NULL ? slash + 1 : key, 0) == 0;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	struct opts opts = *(const struct opts *)opts_at;
	const struct listing_what what = {
		.prefix = words.n > 0 ? words.at[0] : "",
		.pattern = opts.pattern,
		.group = opts.group,
		.is_long = opts.is_long,
		.matches = matches,
		.arg = &opts,
	};

	opts.wall_ms = clock_wall_ms(cli->clock);
	return listing_run(cli, &what);
}

const struct command cmd_find = {
	.name = "find",
	.run = run,
	.synopsis = "[PREFIX]",
	.summary = "keys by name, size and age",
	.help = "Prints the keys that begin with PREFIX and meet every condition given.\n"
		"\n"
		"  tiffin find models/ --name '*.safetensors' --min-size 1GiB\n"
		"  tiffin find -0 tmp/ --older 2d | tiffin rm -0",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 1,
};
