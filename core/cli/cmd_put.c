/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/keys.h"
#include "core/cli/put_tree.h"
#include "core/cli/segment_name.h"
#include "core/cli/stream.h"

struct opts {
	bool recursive, replace, exported, strict, same_node;
	uint64_t n_replicas, n_nof, pin_ttl_ms;
	const char *prefer, *prefer_nof, *pin, *group;
};

static const struct arg_def defs[] = {
	{'r', "recursive", ARG_FLAG, offsetof(struct opts, recursive), NULL, NULL,
	 "every file below DIR, with keys PREFIX/path"},
	{'\0', "replace", ARG_FLAG, offsetof(struct opts, replace), NULL, NULL,
	 "take the place of an object that is there"},
	{'n', "replicas", ARG_NUMBER, offsetof(struct opts, n_replicas), "N", "1",
	 "copies to be kept in memory; 1 to 8 with --nof together"},
	{'\0', "nof", ARG_NUMBER, offsetof(struct opts, n_nof), "N", "0",
	 "copies to be kept on segments of medium NOF"},
	{'\0', "strict", ARG_FLAG, offsetof(struct opts, strict), NULL, NULL,
	 "all copies or none, not as many as can be had"},
	{'\0', "prefer", ARG_TEXT, offsetof(struct opts, prefer), "SEGMENT,...", NULL,
	 "where copies in memory go first, by name or id"},
	{'\0', "prefer-nof", ARG_TEXT, offsetof(struct opts, prefer_nof), "SEGMENT,...", NULL,
	 "where the others go first"},
	{'\0', "group", ARG_TEXT, offsetof(struct opts, group), "ID", NULL,
	 "objects of one group go for room together"},
	{'\0', "same-node", ARG_FLAG, offsetof(struct opts, same_node), NULL, NULL,
	 "with -r: first copies of small files that are put together on one host"},
	{'\0', "pin", ARG_TEXT, offsetof(struct opts, pin), "soft|hard", NULL,
	 "pin it with the put, as 'tiffin pin' does"},
	{'\0', "pin-ttl", ARG_MS, offsetof(struct opts, pin_ttl_ms), "TIME", NULL,
	 "of a soft pin, at most 24h; without it: 30min"},
	{'\0', "exported", ARG_FLAG, offsetof(struct opts, exported), NULL, NULL,
	 "with -r: the tree was written by 'get -r'; undo its escapes"},
};

/* open_source -- FILE, or standard input for "-" and for none; *ret_len 0 when it is not known. */
static int
open_source(const struct cli *cli, const char *path, int *ret_fd, uint64_t *ret_len_bytes)
{
	struct stat st;
	int fd = STDIN_FILENO;

	if (strcmp(path, "-") != 0) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return cli_fail_system(cli, -errno, path);
	}
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		int r = S_ISDIR(st.st_mode) ? -EISDIR : -errno;

		if (fd != STDIN_FILENO)
			close(fd);
		return cli_fail_system(cli, r, path);
	}
	*ret_len_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	*ret_fd = fd;
	return CLI_OK;
}

static int
put_one(struct cli *cli, const struct tiffin_put_options *options, const char *key,
	const char *path)
{
	struct stream_put what = {.key = key, .name = path, .options = options};
	struct progress progress;
	int fd = -1, status;

	status = keys_check(cli, key);
	if (status != CLI_OK)
		return status;
	status = open_source(cli, path, &fd, &what.len_bytes);
	if (status != CLI_OK)
		return status;

	cli_progress(cli, &progress, path, what.len_bytes);
	status = stream_in(cli, fd, &what, &progress);
	progress_end(&progress);
	if (fd != STDIN_FILENO)
		close(fd);
	return status;
}

/* judge_pin -- CLI_OK, or it has been said. */
static int
judge_pin(const struct cli *cli, const struct opts *opts, uint32_t *flags)
{
	if (opts->pin != NULL && strcmp(opts->pin, "hard") == 0)
		*flags |= TIFFIN_HARD_PIN;
	else if (opts->pin != NULL && strcmp(opts->pin, "soft") == 0)
		*flags |= TIFFIN_SOFT_PIN;
	else if (opts->pin != NULL)
		return cli_say(cli, CLI_USAGE, "--pin %s: a pin is soft or hard", opts->pin);
	if (opts->pin_ttl_ms > 0 && (*flags & TIFFIN_SOFT_PIN) == 0)
		return cli_say(cli, CLI_USAGE,
			       "--pin-ttl goes with --pin soft: a hard pin does not end");
	return CLI_OK;
}

static int
judge(const struct cli *cli, const struct opts *opts, struct operands words)
{
	if (opts->n_replicas > TIFFIN_REPLICAS_MAX || opts->n_nof > TIFFIN_REPLICAS_MAX ||
	    opts->n_replicas + opts->n_nof < 1 ||
	    opts->n_replicas + opts->n_nof > TIFFIN_REPLICAS_MAX)
		return cli_say(cli, CLI_USAGE, "--replicas and --nof: 1 to %d together",
			       TIFFIN_REPLICAS_MAX);
	if (!opts->recursive && opts->exported)
		return cli_say(cli, CLI_USAGE, "--exported goes with -r");
	if (!opts->recursive && opts->same_node)
		return cli_say(cli, CLI_USAGE, "--same-node goes with -r");
	if (opts->recursive && words.n != 2)
		return cli_say(cli, CLI_USAGE, "-r wants a directory and a prefix");
	return CLI_OK;
}

static uint32_t
flags_of(const struct opts *opts)
{
	return (opts->replace ? TIFFIN_REPLACE : 0u) | (opts->strict ? TIFFIN_STRICT : 0u) |
	       (opts->same_node ? TIFFIN_SAME_NODE : 0u);
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	uint64_t preferred[TIFFIN_REPLICAS_MAX], preferred_nof[TIFFIN_REPLICAS_MAX];
	struct tiffin_put_options options = {
		.struct_bytes = sizeof(options),
		.replica_num = (uint32_t)opts->n_replicas,
		.nof_replica_num = (uint32_t)opts->n_nof,
		.flags = flags_of(opts),
		.preferred = preferred,
		.preferred_nof = preferred_nof,
		.pin_ttl_ms = opts->pin_ttl_ms,
		.group = opts->group,
	};
	int status = judge(cli, opts, words);

	if (status == CLI_OK)
		status = judge_pin(cli, opts, &options.flags);
	if (status == CLI_OK && opts->prefer != NULL)
		status = segments_named(cli, opts->prefer, preferred, TIFFIN_REPLICAS_MAX,
					&options.n_preferred);
	if (status == CLI_OK && opts->prefer_nof != NULL)
		status = segments_named(cli, opts->prefer_nof, preferred_nof, TIFFIN_REPLICAS_MAX,
					&options.n_preferred_nof);
	if (status != CLI_OK)
		return status;
	if (!opts->recursive)
		return put_one(cli, &options, words.at[0], words.n > 1 ? words.at[1] : "-");
	return put_tree(cli, &options, words.at[0],
			(struct put_tree_keys){words.at[1], opts->exported});
}

const struct command cmd_put = {
	.name = "put",
	.run = run,
	.synopsis = "KEY [FILE|-]",
	.summary = "store a file, standard input, or with -r a tree",
	.help = "Stores FILE, or standard input, as the object KEY.  Nobody sees the object before "
		"it\n"
		"is whole, and a put that fails or is interrupted leaves nothing.\n"
		"\n"
		"With -r the words are DIR PREFIX: every regular file below DIR becomes an object\n"
		"PREFIX/path.  A file that cannot be stored is told, and the rest goes on.\n"
		"\n"
		"  tiffin put models/a/config.json config.json\n"
		"  tar c dir | tiffin put backup.tar -\n"
		"  tiffin put -r models/llama cache/llama",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = 2,
};
