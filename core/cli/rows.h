/* SPDX-License-Identifier: Apache-2.0 */

/* rows.h -- what a walk over the master's state prints: a table for people, a list in JSON. */
#ifndef CORE_CLI_ROWS_H
#define CORE_CLI_ROWS_H

#include "core/cli/cli.h"
#include "transfer/base/json.h"
#include "core/cli/table.h"

struct rows {
	struct cli *cli;
	struct table *table; /* NULL: JSON is wanted */
	struct json json;
};

/* rows_begin -- titles as table_new() wants them.  CLI_OK, or it has been said. */
int rows_begin(struct rows *rows, struct cli *cli, const char *const *titles) MUST_CHECK;

/* rows_open -- the client that is asked for them, too, as of cli_client(). */
int rows_open(struct rows *rows, struct cli *cli, const char *const *titles,
	      struct tiffin_client **ret_client) MUST_CHECK;

/*
 * rows_end -- print what is left, give everything back.
 *
 * r        what the walk gave: 0 or TIFFIN_E_*.
 * result:  exit status; it has been said.
 */
int rows_end(struct rows *rows, int r) MUST_CHECK;

/* rows_cell_bytes, rows_cell_ms, rows_cell_key -- a cell as people read it. */
void rows_cell_bytes(struct rows *rows, uint64_t bytes);
void rows_cell_ms(struct rows *rows, uint64_t ms);
void rows_cell_key(struct rows *rows, const char *key);

#endif
