/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/cli/command.h"
#include "transfer/base/json.h"
#include "core/cli/space_bar.h"
#include "transfer/base/num.h"

struct opts {
	bool all;
};

static const struct arg_def defs[] = {
	{'a', "all", ARG_FLAG, offsetof(struct opts, all), NULL, NULL,
	 "also everything the master counts"},
};

struct status {
	struct tiffin_space space;
	uint64_t round_us; /* one ping */
	uint32_t n_puts;
};

static int
count_put(void *arg, const struct tiffin_put_state *put)
{
	struct status *status = arg;

	(void)put;
	status->n_puts++;
	return 0;
}

/* ask -- 0 or TIFFIN_E_*. */
static int
ask(const struct clock *clock, struct tiffin_client *client, struct status *ret_status)
{
	uint64_t start_ns = clock_ns(clock);
	int r = tiffin_ping(client);

	if (r < 0)
		return r;
	ret_status->round_us = (clock_ns(clock) - start_ns) / 1000;
	r = tiffin_space(client, &ret_status->space);
	if (r < 0)
		return r;
	return tiffin_puts(client, count_put, ret_status);
}

static int
print_count(void *arg, const struct tiffin_count *count)
{
	(void)arg;
	printf("  %-32s %" PRIu64 "\n", count->name, count->value);
	return 0;
}

static int
json_count(void *arg, const struct tiffin_count *count)
{
	json_u64(arg, count->name, count->value);
	return 0;
}

static int
print_json(const struct cli *cli, struct tiffin_client *client, const struct status *status)
{
	const struct tiffin_space *space = &status->space;
	struct json json;
	int r;

	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_text(&json, "master", cli_address(cli));
	json_u64(&json, "round_us", status->round_us);
	json_u64(&json, "size_bytes", space->size_bytes);
	json_u64(&json, "used_bytes", space->used_bytes);
	json_u64(&json, "resting_bytes", space->resting_bytes);
	json_u64(&json, "n_objects", space->n_objects);
	json_u64(&json, "n_segments", space->n_segments);
	json_u64(&json, "n_clients", space->n_clients);
	json_u64(&json, "n_puts", status->n_puts);
	json_open_object(&json, "counters");
	r = tiffin_stats(client, json_count, &json);
	json_close(&json);
	json_close(&json);
	return r < 0 ? cli_fail(cli, r, NULL) : CLI_OK;
}

static void
print_text(const struct cli *cli, const struct status *status)
{
	const struct tiffin_space *space = &status->space;
	char bar[SPACE_BAR_WIDTH + 1], used[32], size[32], resting[32];
	double pct = space->size_bytes > 0
			     ? 100.0 * (double)space->used_bytes / (double)space->size_bytes
			     : 0;

	space_bar(bar, space);
	printf("master    %s, answers in %" PRIu64 " us\n", cli_address(cli), status->round_us);
	printf("space     [%s] %.1f%%  %s of %s used", bar, pct,
	       num_show_bytes(used, sizeof(used), space->used_bytes),
	       num_show_bytes(size, sizeof(size), space->size_bytes));
	if (space->resting_bytes > 0)
		printf(", %s resting",
		       num_show_bytes(resting, sizeof(resting), space->resting_bytes));
	printf("\nobjects   %" PRIu64 "\n", space->n_objects);
	printf("segments  %u\n", space->n_segments);
	printf("clients   %u\n", space->n_clients);
	printf("puts      %u under way\n", status->n_puts);
	if (space->n_segments == 0)
		puts("nobody lends memory: start a tiffin-provider");
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct status status = {0};
	struct tiffin_client *client;
	int r, exit_status;

	(void)words;
	exit_status = cli_client(cli, &client);
	if (exit_status != CLI_OK)
		return exit_status;
	r = ask(cli->clock, client, &status);
	if (r < 0)
		return cli_fail(cli, r, NULL);
	if (cli->json)
		return print_json(cli, client, &status);

	print_text(cli, &status);
	if (!opts->all)
		return CLI_OK;
	puts("counters");
	r = tiffin_stats(client, print_count, NULL);
	return r < 0 ? cli_fail(cli, r, NULL) : CLI_OK;
}

const struct command cmd_status = {
	.name = "status",
	.run = run,
	.synopsis = "",
	.summary = "is the master there, and how full is the store",
	.help = "Asks the master how it is: space (# used, ~ resting, - free), objects, segments, "
		"clients\n"
		"and puts.  Fails with status 5 when it does not answer.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 0,
};
