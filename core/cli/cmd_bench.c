/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "core/cli/bench.h"
#include "core/cli/cmd_bench_transfer.h"
#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/path_rows.h"
#include "core/cli/rows.h"
#include "transfer/base/num.h"

#define THREADS_MAX   256
#define COUNT_MAX     10000000
#define BYTES_DEFAULT (64ull << 20) /* of one size, when no count is given ... */
#define COUNT_LEAST   8             /* ... but so many objects at least ... */
#define COUNT_MOST    2000          /* ... and at most */

struct opts {
	const char *sizes;
	uint64_t n_objects, n_threads;
	bool verify, paths;
	const char *depths, *transport, *op, *segment; /* of `transfer` */
};

static const struct arg_def defs[] = {
	{'s', "size", ARG_TEXT, offsetof(struct opts, sizes), "SIZE,...", "4KiB,1MiB,16MiB",
	 "sizes of the objects"},
	{'c', "count", ARG_NUMBER, offsetof(struct opts, n_objects), "N", NULL,
	 "objects of each size [64 MiB worth]"},
	{'t', "threads", ARG_NUMBER, offsetof(struct opts, n_threads), "N", "1", "at once"},
	{'\0', "verify", ARG_FLAG, offsetof(struct opts, verify), NULL, NULL,
	 "compare what comes back with what was put"},
	{'\0', "paths", ARG_FLAG, offsetof(struct opts, paths), NULL, NULL,
	 "at the end, the ways that the bytes took"},
	{'\0', "depth", ARG_TEXT, offsetof(struct opts, depths), "N,...", "1,8",
	 "transfer: so many at once"},
	{'\0', "transport", ARG_TEXT, offsetof(struct opts, transport), "WAY", NULL,
	 "transfer: local, shm, file, rdma or tcp alone"},
	{'\0', "op", ARG_TEXT, offsetof(struct opts, op), "WHAT", NULL,
	 "transfer: read or write alone"},
	{'\0', "segment", ARG_TEXT, offsetof(struct opts, segment), "NAME", NULL,
	 "transfer: this one alone"},
};

/* parse_sizes -- "4KiB,1MiB".  How many, or 0 and it has been said. */
static size_t
parse_sizes(const struct cli *cli, const char *text, uint64_t sizes[BENCH_LIST_MAX])
{
	size_t n = 0;

	for (;;) {
		char one[64];
		size_t len = strcspn(text, ",");

		snprintf(one, sizeof(one), "%.*s", (int)num_min(len, sizeof(one) - 1), text);
		if (n == BENCH_LIST_MAX || num_parse_bytes(one, &sizes[n]) != 0 ||
		    sizes[n] < BENCH_STAMP_BYTES) {
			cli_say(cli, CLI_USAGE,
				"--size: '%s' is not a size of 8 bytes or more (at most %d sizes)",
				one, BENCH_LIST_MAX);
			return 0;
		}
		n++;
		if (text[len] == '\0')
			return n;
		text += len + 1;
	}
}

uint64_t
bench_count(uint64_t wanted, uint64_t size_bytes)
{
	uint64_t n = BYTES_DEFAULT / size_bytes;

	if (wanted > 0)
		return wanted;
	return num_min(num_max(n, COUNT_LEAST), COUNT_MOST);
}

static void
print_row(struct rows *rows, const struct bench *bench, const char *op,
	  const struct bench_result *result)
{
	double s = (double)result->elapsed_ns / 1e9;
	double mb_per_s = (double)bench->size_bytes * (double)bench->n_objects / 1e6 / s;
	double per_s = (double)bench->n_objects / s;

	if (rows->table != NULL) {
		table_cell(rows->table, "%s", op);
		rows_cell_bytes(rows, bench->size_bytes);
		table_cell(rows->table, "%" PRIu64, bench->n_objects);
		table_cell(rows->table, "%u", bench->n_threads);
		table_cell(rows->table, "%.1f", mb_per_s);
		table_cell(rows->table, "%.0f", per_s);
		table_cell(rows->table, "%.1f us", (double)result->p50_ns / 1e3);
		table_cell(rows->table, "%.1f us", (double)result->p99_ns / 1e3);
		table_cell(rows->table, "%.1f us", (double)result->max_ns / 1e3);
		return;
	}
	json_open_object(&rows->json, NULL);
	json_text(&rows->json, "op", op);
	json_u64(&rows->json, "size_bytes", bench->size_bytes);
	json_u64(&rows->json, "n_objects", bench->n_objects);
	json_u64(&rows->json, "n_threads", bench->n_threads);
	json_number(&rows->json, "mb_per_s", mb_per_s);
	json_number(&rows->json, "objects_per_s", per_s);
	json_number(&rows->json, "p50_us", (double)result->p50_ns / 1e3);
	json_number(&rows->json, "p99_us", (double)result->p99_ns / 1e3);
	json_number(&rows->json, "max_us", (double)result->max_ns / 1e3);
	json_bool(&rows->json, "verified", bench->verify && strcmp(op, "get") == 0);
	json_close(&rows->json);
}

/* bench_size -- puts and gets of one size. */
static int
bench_size(struct rows *rows, const struct bench *bench)
{
	struct bench_result result;
	int r, status = CLI_OK;

	r = bench_run(bench, BENCH_PUT, &result);
	if (r == 0 && !interrupted()) {
		print_row(rows, bench, "put", &result);
		r = bench_run(bench, BENCH_GET, &result);
	}
	if (r == 0 && !interrupted()) {
		print_row(rows, bench, "get", &result);
		if (result.n_wrong > 0)
			status = cli_say(rows->cli, CLI_CHECKSUM,
					 "%" PRIu64 " of %" PRIu64 " objects came back wrong",
					 result.n_wrong, bench->n_objects);
	}
	bench_clean(bench);
	if (interrupted())
		return CLI_INTERRUPTED;
	return r < 0 ? cli_fail_item(rows->cli, r, bench->prefix) : status;
}

static int
bench_objects(struct cli *cli, const struct opts *opts, const uint64_t *sizes, size_t n_sizes)
{
	static const char *const titles[] = {
		"OP",         ">SIZE", ">COUNT", ">THREADS", ">MB/s",
		">OBJECTS/s", ">p50",  ">p99",   ">MAX",     NULL,
	};
	char prefix[64];
	struct bench bench = {.clock = cli->clock, .prefix = prefix, .verify = opts->verify};
	struct rows rows;
	int status = rows_open(&rows, cli, titles, &bench.client);

	if (status != CLI_OK)
		return status;
	snprintf(prefix, sizeof(prefix), "tiffin-bench-%d", (int)getpid());
	bench.n_threads = (uint32_t)opts->n_threads;
	for (size_t i = 0; i < n_sizes && status == CLI_OK; i++) {
		bench.size_bytes = sizes[i];
		bench.n_objects = bench_count(opts->n_objects, sizes[i]);
		status = bench_size(&rows, &bench);
	}
	cli_keep(&status, rows_end(&rows, 0));
	if (status == CLI_OK && opts->paths) {
		if (!cli->json)
			putchar('\n');
		status = path_rows_print(cli, bench.client);
	}
	return status;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct bench_transfer_wish wish = {.depths = opts->depths,
					   .transport = opts->transport,
					   .op = opts->op,
					   .segment = opts->segment,
					   .n_ops = opts->n_objects,
					   .verify = opts->verify};

	if (words.n > 0 && strcmp(words.at[0], "transfer") != 0)
		return cli_say(cli, CLI_USAGE, "bench: '%s' is not transfer", words.at[0]);
	if (words.n > 0 && opts->paths)
		return cli_say(cli, CLI_USAGE,
			       "--paths: each row of transfer says its way already");
	if (opts->n_threads < 1 || opts->n_threads > THREADS_MAX)
		return cli_say(cli, CLI_USAGE, "--threads: 1 to %d", THREADS_MAX);
	if (opts->n_objects > COUNT_MAX)
		return cli_say(cli, CLI_USAGE, "--count: at most %d", COUNT_MAX);
	wish.n_sizes = parse_sizes(cli, opts->sizes, wish.sizes);
	if (wish.n_sizes == 0)
		return CLI_USAGE;
	return words.n > 0 ? cmd_bench_transfer(cli, &wish)
			   : bench_objects(cli, opts, wish.sizes, wish.n_sizes);
}

const struct command cmd_bench = {
	.name = "bench",
	.run = run,
	.synopsis = "[transfer]",
	.summary = "how fast are puts and gets from here",
	.help = "Puts and gets objects of each size, one call each, and prints how many bytes and "
		"objects\n"
		"a second that made, and how long the calls took.  MB are 10^6 bytes.  The objects "
		"are\n"
		"called tiffin-bench-PID/... and are removed at the end.\n"
		"\n"
		"With transfer the transports are measured by themselves, the master aside: reads "
		"and\n"
		"writes of each size between this process and a piece of each segment that is "
		"taken for\n"
		"it and given back, by every transport that gets there, so many at once (depth); "
		"times\n"
		"are of all that were begun together.  `local` is memory of this process, to "
		"compare with.\n"
		"\n"
		"  tiffin bench --size 4KiB,1MiB --threads 4 --verify\n"
		"  tiffin bench transfer --transport tcp --op read --depth 1,16",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 1,
};
