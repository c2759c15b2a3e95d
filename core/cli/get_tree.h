/* SPDX-License-Identifier: Apache-2.0 */

/* get_tree.h -- every object below a key becomes a file below a directory. */
#ifndef CORE_CLI_GET_TREE_H
#define CORE_CLI_GET_TREE_H

#include "core/cli/cli.h"

/*
 * get_tree -- objects "key/..." become files called export_name_of() the rest of their keys.
 *
 * key        may end in '/'; "": every object.
 * dir        is made when it is missing.  Files that are there are replaced, each one whole.
 * result:    CLI_OK, CLI_NOT_FOUND when there are no such keys, or the status of the first object
 *            that failed; each has been said.
 */
int get_tree(struct cli *cli, const char *key, const char *dir) MUST_CHECK;

#endif
