/* SPDX-License-Identifier: Apache-2.0 */

/* put_tree.h -- every regular file below a directory becomes an object. */
#ifndef CORE_CLI_PUT_TREE_H
#define CORE_CLI_PUT_TREE_H

#include "core/cli/cli.h"

struct put_tree_keys {
	const char *prefix;
	bool is_exported; /* names are paths of export_name.h, not plain parts of keys */
};

/*
 * put_tree -- keys are prefix, '/', path below dir.
 *
 * Symbolic links, devices and empty directories are passed over and counted.
 * result:  CLI_OK, or the status of the first file that failed; each has been said.
 */
int put_tree(struct cli *cli, const struct tiffin_put_options *options, const char *dir,
	     struct put_tree_keys keys) MUST_CHECK;

#endif
