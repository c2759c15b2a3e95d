/* SPDX-License-Identifier: Apache-2.0 */

/* events -- what happened, and with -f what happens. */
#include <inttypes.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/key_text.h"
#include "core/cli/listing.h"
#include "core/cli/rows.h"
#include "transfer/base/num.h"

#define WAIT_MS 5000

struct opts {
	bool follow;
	uint64_t after, count;
};

static const struct arg_def defs[] = {
	{'f', "follow", ARG_FLAG, offsetof(struct opts, follow), NULL, NULL,
	 "go on, and print what happens until Ctrl-C"},
	{'\0', "after", ARG_NUMBER, offsetof(struct opts, after), "ID", NULL,
	 "only events behind this one"},
	{'n', "count", ARG_NUMBER, offsetof(struct opts, count), "N", "50",
	 "of those, the newest N; 0: all"},
};

static void
print_json(struct json *json, const struct tiffin_event *event)
{
	json_open_object(json, NULL);
	json_id(json, "event_id", event->event_id);
	json_u64(json, "at_ms", event->at_ms);
	json_text(json, "kind", event->kind);
	json_u64(json, "count", event->count);
	json_u64(json, "bytes", event->bytes);
	json_id(json, "subject_id", event->subject_id);
	json_key(json, "words", event->words);
	json_close(json);
}

static void
print_nul(const struct tiffin_event *event)
{
	printf("%" PRIu64 " %s %s%c", event->event_id, event->kind, event->words, '\0');
}

/* ---- a line each ---- */

struct following {
	struct cli *cli;
	uint64_t n_to_skip;
};

static int
print_line(void *arg, const struct tiffin_event *event)
{
	struct following *following = arg;
	char at[32], bytes[32] = "", words[KEY_TEXT_CAP];
	struct json json;

	if (following->n_to_skip > 0) {
		following->n_to_skip--;
		return 0;
	}
	if (following->cli->json) {
		json_init(&json, stdout);
		print_json(&json, event);
	} else if (following->cli->nul) {
		print_nul(event);
	} else {
		if (event->bytes > 0)
			num_show_bytes(bytes, sizeof(bytes), event->bytes);
		printf("%s  %-16s %6" PRIu64 "  %10s  %s\n",
		       listing_time(at, sizeof(at), event->at_ms), event->kind, event->count, bytes,
		       key_show(words, sizeof(words), event->words));
	}
	fflush(stdout);
	return interrupted() ? 1 : 0;
}

/* ---- what happened -------------------------------------------------------------------- */

/* Only the newest N are printed: how many there are is known when all were told. */
struct counting {
	uint64_t n, cursor;
};

static int
count(void *arg, const struct tiffin_event *event)
{
	(void)event;
	((struct counting *)arg)->n++;
	return 0;
}

struct printing {
	struct rows rows;
	uint64_t n_to_skip;
};

static int
print_row(void *arg, const struct tiffin_event *event)
{
	struct printing *printing = arg;
	struct rows *rows = &printing->rows;
	char at[32];

	if (printing->n_to_skip > 0) {
		printing->n_to_skip--;
		return 0;
	}
	if (rows->table == NULL) {
		print_json(&rows->json, event);
		return 0;
	}
	table_cell(rows->table, "%" PRIu64, event->event_id);
	table_cell(rows->table, "%s", listing_time(at, sizeof(at), event->at_ms));
	rows_cell_key(rows, event->kind);
	table_cell(rows->table, "%" PRIu64, event->count);
	if (event->bytes > 0)
		rows_cell_bytes(rows, event->bytes);
	else
		table_cell(rows->table, "%s", "");
	rows_cell_key(rows, event->words);
	return 0;
}

static int
print_all(struct cli *cli, struct tiffin_client *client, const struct opts *opts,
	  uint64_t *ret_cursor)
{
	static const char *const titles[] = {
		">EVENT", "AT", "KIND", ">COUNT", ">BYTES", "WORDS", NULL,
	};
	struct counting counting = {0, opts->after};
	struct printing printing = {0};
	int r, status;

	*ret_cursor = opts->after;
	r = tiffin_events(client, &counting.cursor, 0, count, &counting);
	if (r != 0)
		return cli_fail(cli, r, NULL);
	if (opts->count > 0 && counting.n > opts->count)
		printing.n_to_skip = counting.n - opts->count;
	if (cli->nul && !cli->json) {
		struct following lines = {cli, printing.n_to_skip};

		r = tiffin_events(client, ret_cursor, 0, print_line, &lines);
		return r < 0 ? cli_fail(cli, r, NULL) : CLI_OK;
	}
	status = rows_begin(&printing.rows, cli, titles);
	if (status != CLI_OK)
		return status;
	return rows_end(&printing.rows, tiffin_events(client, ret_cursor, 0, print_row, &printing));
}

/* ---- what happens ------------------------------------------------------------------------ */

static int
follow(struct cli *cli, struct tiffin_client *client, const struct opts *opts)
{
	struct counting counting = {0, opts->after};
	struct following following = {.cli = cli};
	uint64_t cursor = opts->after;
	int r = tiffin_events(client, &counting.cursor, 0, count, &counting);

	if (opts->count > 0 && counting.n > opts->count)
		following.n_to_skip = counting.n - opts->count;
	while (r == 0 && !interrupted())
		r = tiffin_events(client, &cursor, WAIT_MS, print_line, &following);
	if (interrupted())
		return CLI_INTERRUPTED;
	return cli_fail(cli, r, NULL);
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct tiffin_client *client;
	uint64_t cursor;
	int status;

	(void)words;
	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	return opts->follow ? follow(cli, client, opts) : print_all(cli, client, opts, &cursor);
}

const struct command cmd_events = {
	.name = "events",
	.run = run,
	.synopsis = "",
	.summary = "what happened: evictions, refusals, who came and went",
	.help = "Prints the events that the master keeps: what was evicted, expired or refused, "
		"which\n"
		"segments and clients came and went, copies, moves and drains, restarts,\n"
		"settings.  What happens often is told once a second, with how often and of\n"
		"how many bytes.\n"
		"\n"
		"With -0 each is id, kind, words and NUL, and there is no table.\n"
		"\n"
		"With -f it goes on with what happens, a line (with --json an object) each, until "
		"Ctrl-C.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 0,
};
