/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/rows.h"

/* protocols -- ways to its bytes, the best first, from its endpoint: "shm rdma tcp". */
static const char *
protocols(const struct tiffin_segment *segment, char *buf, size_t cap)
{
	bool has_unix = false, has_rdma = false, has_tcp = false;

	for (const char *at = segment->endpoint; *at != '\0'; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strncmp(at, "unix:", 5) == 0)
			has_unix = true;
		else if (strncmp(at, "rdma:", 5) == 0)
			has_rdma = true;
		else if (*at != '\0')
			has_tcp = true;
	}
	snprintf(buf, cap, "%s%s%s",
		 !has_unix                              ? ""
		 : strcmp(segment->medium, "dram") == 0 ? "shm "
							: "file ",
		 has_rdma ? "rdma " : "", has_tcp ? "tcp " : "");
	if (buf[0] != '\0')
		buf[strlen(buf) - 1] = '\0';
	return buf;
}

static void
print_json(struct json *json, const struct tiffin_segment *segment)
{
	char ways[32];

	json_open_object(json, NULL);
	json_id(json, "segment_id", segment->segment_id);
	json_id(json, "epoch", segment->epoch);
	json_text(json, "name", segment->name);
	json_text(json, "host", segment->host);
	json_text(json, "endpoint", segment->endpoint);
	json_text(json, "protocols", protocols(segment, ways, sizeof(ways)));
	json_text(json, "medium", segment->medium);
	json_text(json, "state", segment->state);
	json_id(json, "client_id", segment->client_id);
	json_u64(json, "size_bytes", segment->size_bytes);
	json_u64(json, "used_bytes", segment->used_bytes);
	json_u64(json, "resting_bytes", segment->resting_bytes);
	json_u64(json, "hole_bytes", segment->hole_bytes);
	json_close(json);
}

static int
print(void *arg, const struct tiffin_segment *segment)
{
	struct rows *rows = arg;
	char ways[32];
	double size = (double)segment->size_bytes;

	if (rows->table == NULL) {
		print_json(&rows->json, segment);
		return 0;
	}
	rows_cell_key(rows, segment->name);
	table_cell(rows->table, "%s", segment->state);
	table_cell(rows->table, "%s", segment->medium);
	table_cell(rows->table, "%s", protocols(segment, ways, sizeof(ways)));
	rows_cell_bytes(rows, segment->size_bytes);
	rows_cell_bytes(rows, segment->used_bytes);
	table_cell(rows->table, "%.1f",
		   size > 0 ? 100.0 * (double)segment->used_bytes / size : 0.0);
	rows_cell_bytes(rows, segment->resting_bytes);
	rows_cell_bytes(rows, segment->hole_bytes);
	rows_cell_key(rows, segment->host);
	rows_cell_key(rows, segment->endpoint);
	return 0;
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	static const char *const titles[] = {
		"NAME", "STATE",    "MEDIUM", "PROTOCOLS", ">SIZE",    ">USED",
		">%",   ">RESTING", ">HOLE",  "HOST",      "ENDPOINT", NULL,
	};
	struct tiffin_client *client;
	struct rows rows;
	int status = rows_open(&rows, cli, titles, &client);

	(void)opts;
	(void)words;
	return status != CLI_OK ? status : rows_end(&rows, tiffin_segments(client, print, &rows));
}

const struct command cmd_segments = {
	.name = "segments",
	.run = run,
	.synopsis = "",
	.summary = "the memory that is lent, and how full it is",
	.help = "Prints every segment: who lends it, its state, and of its bytes how many are "
		"used, how\n"
		"many rest (freed, but somebody may still touch them), and the longest free run "
		"(HOLE).\n"
		"PROTOCOLS are the ways to its bytes, the best first; shm and file are for clients "
		"on "
		"its\n"
		"host.",
	.opts_bytes = 0,
	.min_words = 0,
	.max_words = 0,
};
