/* SPDX-License-Identifier: Apache-2.0 */

/* get_tree.h -- every object of a prefix becomes a file below a directory. */
#ifndef CORE_CLI_GET_TREE_H
#define CORE_CLI_GET_TREE_H

#include "core/cli/cli.h"

/*
 * get_tree -- the names are export_name_of() what follows the prefix's last '/' in the keys.
 *
 * dir is made when it is missing.  Files that are there are replaced, each one whole.
 * result:  CLI_OK, CLI_NOT_FOUND when no key begins so, or the status of the first object that
 *          failed; each has been said.
 */
int get_tree(struct cli *cli, const char *prefix, const char *dir) MUST_CHECK;

#endif
