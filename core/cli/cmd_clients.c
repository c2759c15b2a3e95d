/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/command.h"
#include "core/cli/rows.h"

static void
print_json(struct json *json, const struct tiffin_client_state *state)
{
	json_open_object(json, NULL);
	json_id(json, "client_id", state->client_id);
	json_text(json, "name", state->name);
	json_text(json, "host", state->host);
	json_text(json, "state", state->state);
	json_u64(json, "silent_ms", state->silent_ms);
	json_u64(json, "n_segments", state->n_segments);
	json_u64(json, "n_puts", state->n_puts);
	json_close(json);
}

static int
print(void *arg, const struct tiffin_client_state *state)
{
	struct rows *rows = arg;

	if (rows->table == NULL) {
		print_json(&rows->json, state);
		return 0;
	}
	rows_cell_key(rows, state->name);
	table_cell(rows->table, "%s", state->state);
	rows_cell_key(rows, state->host);
	rows_cell_ms(rows, state->silent_ms);
	table_cell(rows->table, "%u", state->n_segments);
	table_cell(rows->table, "%u", state->n_puts);
	return 0;
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	static const char *const titles[] = {
		"NAME", "STATE", "HOST", ">SILENT", ">SEGMENTS", ">PUTS", NULL,
	};
	struct tiffin_client *client;
	struct rows rows;
	int status = rows_open(&rows, cli, titles, &client);

	(void)opts;
	(void)words;
	return status != CLI_OK ? status : rows_end(&rows, tiffin_clients(client, print, &rows));
}

const struct command cmd_clients = {
	.name = "clients",
	.run = run,
	.synopsis = "",
	.summary = "who is joined to the master",
	.help = "Prints every client: since when it is silent, how many segments it lends and how "
		"many\n"
		"puts it has under way.  This command is one of them.",
	.opts_bytes = 0,
	.min_words = 0,
	.max_words = 0,
};
