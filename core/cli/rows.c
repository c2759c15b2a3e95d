/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/rows.h"

#include <errno.h>

#include "core/cli/key_text.h"
#include "transfer/base/num.h"

int
rows_begin(struct rows *rows, struct cli *cli, const char *const *titles)
{
	*rows = (struct rows){.cli = cli};
	json_init(&rows->json, stdout);
	if (cli->json) {
		json_open_list(&rows->json, NULL);
		return CLI_OK;
	}
	if (table_new(titles, &rows->table) < 0)
		return cli_fail_system(cli, -ENOMEM, "a table");
	return CLI_OK;
}

int
rows_open(struct rows *rows, struct cli *cli, const char *const *titles,
	  struct tiffin_client **ret_client)
{
	int status = cli_client(cli, ret_client);

	return status != CLI_OK ? status : rows_begin(rows, cli, titles);
}

int
rows_end(struct rows *rows, int r)
{
	int status = r < 0 ? cli_fail(rows->cli, r, NULL) : CLI_OK;

	if (rows->table == NULL) {
		json_close(&rows->json);
		return status;
	}
	if (status == CLI_OK && table_print(rows->table, stdout) < 0)
		status = cli_fail_system(rows->cli, -ENOMEM, "a table");
	table_free(take(&rows->table));
	return status;
}

void
rows_cell_bytes(struct rows *rows, uint64_t bytes)
{
	char text[32];

	table_cell(rows->table, "%s", num_show_bytes(text, sizeof(text), bytes));
}

void
rows_cell_ms(struct rows *rows, uint64_t ms)
{
	char text[32];

	table_cell(rows->table, "%s", num_show_ms(text, sizeof(text), ms));
}

void
rows_cell_key(struct rows *rows, const char *key)
{
	char text[KEY_TEXT_CAP];

	table_cell(rows->table, "%s", key_show(text, sizeof(text), key));
}
