/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/keys.h"
#include "core/cli/stream.h"

#define TRIES 5

struct opts {
	bool replace;
	uint64_t n_replicas;
};

static const struct arg_def defs[] = {
	{'\0', "replace", ARG_FLAG, offsetof(struct opts, replace), NULL, NULL,
	 "take the place of an object that is there"},
	{'n', "replicas", ARG_NUMBER, offsetof(struct opts, n_replicas), "N", "1",
	 "copies to be kept, 1 to 8"},
};

/* A sink that is an object in the making. */
struct put_sink {
	struct stream_sink base;
	struct tiffin_put *put;
	const char *key;
	uint64_t at_bytes;
};

static int
put_pour(struct stream_sink *base, const void *bytes, size_t n_bytes)
{
	struct put_sink *sink = container_of(base, struct put_sink, base);
	struct iovec slice = {(void *)(uintptr_t)bytes, n_bytes};
	int r = tiffin_put_write(sink->put, sink->at_bytes, &slice, 1);

	if (r < 0)
		return cli_fail(base->cli, r, sink->key);
	sink->at_bytes += n_bytes;
	return CLI_OK;
}

/* A version of the object to be copied, with its attributes. */
struct original {
	struct stream_view view;
	char attr[TIFFIN_ATTR_MAX];
	size_t attr_bytes;
};

/* open_original -- bytes and attributes of the same version. */
static int
open_original(struct cli *cli, const char *key, struct original *ret)
{
	struct tiffin_stat stat = {0};
	int r, status;

	for (int i = 0; i < TRIES; i++) {
		status = stream_open(cli, key, &ret->view);
		if (status != CLI_OK)
			return status;
		r = tiffin_stat(cli->client, key, &stat, ret->attr);
		if (r == 0 && stat.object_id == ret->view.stat.object_id) {
			ret->attr_bytes = stat.attr_bytes;
			return CLI_OK;
		}
		stream_close(&ret->view);
		if (r < 0)
			return cli_fail(cli, r, key);
	}
	return cli_say(cli, CLI_BUSY, "%s: is replaced again and again", key);
}

static int
copy(struct cli *cli, struct original *from, const char *key,
     const struct tiffin_put_options *options)
{
	struct put_sink sink = {.base = {put_pour, cli}, .key = key};
	uint64_t len = from->view.stat.len_bytes;
	struct progress progress;
	int r, status;

	r = tiffin_put_begin(cli->client, key, len, options, &sink.put);
	if (r < 0)
		return cli_fail(cli, r, key);
	cli_progress(cli, &progress, "cp", len);
	status = stream_out(cli, &from->view, STREAM_WHOLE, &sink.base, &progress);
	progress_end(&progress);
	if (status != CLI_OK) {
		tiffin_put_abort(sink.put);
		return status;
	}
	r = tiffin_put_commit(sink.put, from->attr, from->attr_bytes, NULL);
	return r < 0 ? cli_fail(cli, r, key) : CLI_OK;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct tiffin_put_options options = {
		.struct_bytes = sizeof(options),
		.replica_num = (uint32_t)opts->n_replicas,
		.flags = opts->replace ? TIFFIN_REPLACE : 0,
	};
	struct original from;
	int status;

	if (opts->n_replicas < 1 || opts->n_replicas > TIFFIN_REPLICAS_MAX)
		return cli_say(cli, CLI_USAGE, "--replicas: 1 to %d", TIFFIN_REPLICAS_MAX);
	status = keys_check(cli, words.at[0]);
	if (status == CLI_OK)
		status = keys_check(cli, words.at[1]);
	if (status == CLI_OK)
		status = open_original(cli, words.at[0], &from);
	if (status != CLI_OK)
		return status;
	status = copy(cli, &from, words.at[1], &options);
	stream_close(&from.view);
	return status;
}

const struct command cmd_cp = {
	.name = "cp",
	.run = run,
	.synopsis = "KEY NEW-KEY",
	.summary = "copy an object",
	.help = "Makes a second object with the same bytes and attributes.  The bytes pass "
		"through\n"
		"this process, a piece at a time, and their sum is checked before the copy is "
		"seen.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 2,
	.max_words = 2,
};
