/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/get_tree.h"
#include "core/cli/keys.h"
#include "core/cli/landing.h"
#include "core/cli/stream.h"
#include "transfer/base/num.h"

struct opts {
	bool recursive;
	const char *range;
};

static const struct arg_def defs[] = {
	{'r', "recursive", ARG_FLAG, offsetof(struct opts, recursive), NULL, NULL,
	 "every object below KEY (KEY/...) into FILE, a directory"},
	{'\0', "range", ARG_TEXT, offsetof(struct opts, range), "OFFSET:LEN", NULL,
	 "only these bytes; an empty LEN: to the end"},
};

/* parse_range -- "4KiB:1MiB", "100:", ":100". */
static int
parse_range(const struct cli *cli, const char *text, struct stream_range *ret_range)
{
	struct stream_range range = STREAM_WHOLE;
	char offset[64];
	const char *colon = strchr(text, ':');
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;

	if (colon == NULL || len >= sizeof(offset))
		return cli_say(cli, CLI_USAGE, "--range: '%s' is not OFFSET:LEN", text);
	memcpy(offset, text, len);
	offset[len] = '\0';
	if ((len > 0 && num_parse_bytes(offset, &range.offset_bytes) != 0) ||
	    (colon[1] != '\0' && num_parse_bytes(colon + 1, &range.len_bytes) != 0))
		return cli_say(cli, CLI_USAGE, "--range: '%s' is not OFFSET:LEN", text);
	*ret_range = range;
	return CLI_OK;
}

/* view_to_fd -- with progress. */
static int
view_to_fd(struct cli *cli, struct stream_view *view, struct stream_range range, int fd)
{
	const char *name = fd == STDOUT_FILENO ? "standard output" : "writing";
	uint64_t len = view->stat.len_bytes - num_min(view->stat.len_bytes, range.offset_bytes);
	struct stream_fd_sink sink;
	struct progress progress;
	int status;

	stream_fd_sink_init(&sink, cli, fd, name);
	cli_progress(cli, &progress, "get", num_min(len, range.len_bytes));
	status = stream_out(cli, view, range, &sink.base, &progress);
	progress_end(&progress);
	return status;
}

static int
view_to_file(struct cli *cli, struct stream_view *view, struct stream_range range, const char *path)
{
	struct landing landing;
	int r, status;

	r = landing_open(&landing, path);
	if (r < 0)
		return cli_fail_system(cli, r, path);
	status = view_to_fd(cli, view, range, landing.fd);
	if (status == CLI_OK) {
		r = landing_done(&landing);
		if (r < 0)
			status = cli_fail_system(cli, r, path);
	}
	landing_close(&landing);
	return status;
}

static int
get_one(struct cli *cli, const char *key, const char *path, struct stream_range range)
{
	struct stream_view view;
	int status;

	status = keys_check(cli, key);
	if (status != CLI_OK)
		return status;
	status = stream_open(cli, key, &view);
	if (status != CLI_OK)
		return status;
	if (strcmp(path, "-") == 0)
		status = view_to_fd(cli, &view, range, STDOUT_FILENO);
	else
		status = view_to_file(cli, &view, range, path);
	stream_close(&view);
	return status;
}

/* last_part -- how the file is called when nobody says: as with scp, the part behind the last '/'.
 */
static int
last_part(const struct cli *cli, const char *key, const char **ret_name)
{
	const char *slash = strrchr(key, '/');
	const char *name = slash != NULL ? slash + 1 : key;

	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return cli_say(cli, CLI_USAGE, "say which FILE this key should become");
	*ret_name = name;
	return CLI_OK;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct stream_range range = STREAM_WHOLE;
	const char *path = words.n > 1 ? words.at[1] : NULL;
	int status;

	if (opts->recursive) {
		if (words.n != 2 || opts->range != NULL)
			return cli_say(cli, CLI_USAGE, "-r wants a key and a directory, no range");
		return get_tree(cli, words.at[0], words.at[1]);
	}
	if (opts->range != NULL) {
		status = parse_range(cli, opts->range, &range);
		if (status != CLI_OK)
			return status;
	}
	if (path == NULL) {
		status = last_part(cli, words.at[0], &path);
		if (status != CLI_OK)
			return status;
	}
	return get_one(cli, words.at[0], path, range);
}

const struct command cmd_get = {
	.name = "get",
	.run = run,
	.synopsis = "KEY [FILE|-]",
	.summary = "an object into a file, or with -r many",
	.help = "Writes the object KEY into FILE (default: the last part of the key, here), or to\n"
		"standard output for '-'.  FILE is there whole, with the right bytes, or not at "
		"all.\n"
		"\n"
		"With -r the words are KEY DIR: every object KEY/... becomes a file below DIR, "
		"called as\n"
		"the rest of its key.  Parts that a directory cannot hold are escaped as in the "
		"mount:\n"
		"tiffin(1), NAMES OF FILES.  An empty KEY: every object.\n"
		"\n"
		"  tiffin get models/a/config.json\n"
		"  tiffin get --range 1MiB:64KiB big.bin - | xxd\n"
		"  tiffin get -r cache/llama /tmp/llama",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = 2,
};
