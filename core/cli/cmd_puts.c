/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/cli/command.h"
#include "core/cli/rows.h"

static void
print_json(struct json *json, const struct tiffin_put_state *put)
{
	json_open_object(json, NULL);
	json_id(json, "object_id", put->object_id);
	json_key(json, "key", put->key);
	json_id(json, "client_id", put->client_id);
	json_u64(json, "len_bytes", put->len_bytes);
	json_u64(json, "age_ms", put->age_ms);
	json_u64(json, "lease_left_ms", put->lease_left_ms);
	json_close(json);
}

static int
print(void *arg, const struct tiffin_put_state *put)
{
	struct rows *rows = arg;

	if (rows->table == NULL) {
		print_json(&rows->json, put);
		return 0;
	}
	table_cell(rows->table, "%" PRIu64, put->object_id);
	rows_cell_bytes(rows, put->len_bytes);
	rows_cell_ms(rows, put->age_ms);
	rows_cell_ms(rows, put->lease_left_ms);
	table_cell(rows->table, "%" PRIu64, put->client_id);
	rows_cell_key(rows, put->key);
	return 0;
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	static const char *const titles[] = {
		">OBJECT", ">SIZE", ">AGE", ">LEASE LEFT", ">CLIENT", "KEY", NULL,
	};
	struct tiffin_client *client;
	struct rows rows;
	int status = rows_open(&rows, cli, titles, &client);

	(void)opts;
	(void)words;
	return status != CLI_OK ? status : rows_end(&rows, tiffin_puts(client, print, &rows));
}

const struct command cmd_puts = {
	.name = "puts",
	.run = run,
	.synopsis = "",
	.summary = "objects that are being put just now",
	.help = "Prints every put under way: its room, its age, how long its writer may still "
		"write,\n"
		"and the key that it will have.",
	.opts_bytes = 0,
	.min_words = 0,
	.max_words = 0,
};
