/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/path_rows.h"

#include <inttypes.h>

#include "core/cli/rows.h"

static void
print_json(struct json *json, const struct tiffin_path *path)
{
	json_open_object(json, NULL);
	json_text(json, "peer", path->peer);
	json_text(json, "host", path->host);
	json_text(json, "transport", path->transport);
	json_text(json, "address", path->address);
	json_u64(json, "reads", path->n_reads);
	json_u64(json, "read_bytes", path->read_bytes);
	json_u64(json, "writes", path->n_writes);
	json_u64(json, "write_bytes", path->write_bytes);
	json_u64(json, "lost", path->n_lost);
	json_u64(json, "timeout", path->n_timeout);
	json_u64(json, "refused", path->n_refused);
	json_u64(json, "failed", path->n_failed);
	json_u64(json, "moved", path->n_moved);
	json_number(json, "mean_us", (double)path->mean_ns / 1e3);
	json_number(json, "p50_us", (double)path->p50_ns / 1e3);
	json_number(json, "p99_us", (double)path->p99_ns / 1e3);
	json_close(json);
}

static int
print(void *arg, const struct tiffin_path *path)
{
	struct rows *rows = arg;

	if (rows->table == NULL) {
		print_json(&rows->json, path);
		return 0;
	}
	table_cell(rows->table, "%s", path->transport);
	table_cell(rows->table, "%s", path->address[0] != '\0' ? path->address : path->peer);
	table_cell(rows->table, "%" PRIu64, path->n_reads);
	rows_cell_bytes(rows, path->read_bytes);
	table_cell(rows->table, "%" PRIu64, path->n_writes);
	rows_cell_bytes(rows, path->write_bytes);
	table_cell(rows->table, "%" PRIu64,
		   path->n_lost + path->n_timeout + path->n_refused + path->n_failed);
	table_cell(rows->table, "%" PRIu64, path->n_moved);
	table_cell(rows->table, "%.1f us", (double)path->mean_ns / 1e3);
	table_cell(rows->table, "%.1f us", (double)path->p99_ns / 1e3);
	return 0;
}

int
path_rows_print(struct cli *cli, struct tiffin_client *client)
{
	static const char *const titles[] = {
		"TRANSPORT", "ADDRESS", ">READS", ">READ", ">WRITES", ">WRITTEN",
		">FAILED",   ">MOVED",  ">MEAN",  ">p99",  NULL,
	};
	struct rows rows;
	int status = rows_begin(&rows, cli, titles);

	if (status != CLI_OK)
		return status;
	return rows_end(&rows, tiffin_paths(client, print, &rows));
}
