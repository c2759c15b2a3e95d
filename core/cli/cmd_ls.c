/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <time.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/listing.h"

struct opts {
	bool is_long, recursive;
};

static const struct arg_def defs[] = {
	{'l', "long", ARG_FLAG, offsetof(struct opts, is_long), NULL, NULL,
	 "with size and time of the put"},
	{'R', "recursive", ARG_FLAG, offsetof(struct opts, recursive), NULL, NULL,
	 "every key; else those alike up to the next '/' come once"},
};

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	const struct listing_what what = {
		.prefix = words.n > 0 ? words.at[0] : "",
		.delimiter = opts->recursive ? '\0' : '/',
		.is_long = opts->is_long,
	};

	return listing_run(cli, &what);
}

const struct command cmd_ls = {
	.name = "ls",
	.run = run,
	.synopsis = "[PREFIX]",
	.summary = "keys that begin with a prefix",
	.help = "Prints the keys that begin with PREFIX, in the order of their bytes.  Keys that "
		"are\n"
		"alike up to the next '/' behind PREFIX are printed once, as that beginning.\n"
		"To look into a directory, end PREFIX in '/'.\n"
		"\n"
		"Odd bytes in keys are printed as \\n, \\x01, \\\\ ...; with -0 each key is "
		"printed as it\n"
		"is and ends in NUL.  Nothing found is no error.\n"
		"\n"
		"  tiffin ls models/\n"
		"  tiffin ls -lR models/llama",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 1,
};
