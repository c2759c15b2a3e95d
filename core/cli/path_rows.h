/* SPDX-License-Identifier: Apache-2.0 */

/* path_rows.h -- the ways that this command's own transfers took, as a table or a JSON list. */
#ifndef CORE_CLI_PATH_ROWS_H
#define CORE_CLI_PATH_ROWS_H

#include "core/cli/cli.h"

/* path_rows_print -- exit status; it has been said. */
int path_rows_print(struct cli *cli, struct tiffin_client *client) MUST_CHECK;

#endif
