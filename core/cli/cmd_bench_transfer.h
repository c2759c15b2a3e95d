/* SPDX-License-Identifier: Apache-2.0 */

/* cmd_bench_transfer.h -- `tiffin bench transfer`: transports by themselves, apart from the master.
 */
#ifndef CORE_CLI_CMD_BENCH_TRANSFER_H
#define CORE_CLI_CMD_BENCH_TRANSFER_H

#include "core/cli/cli.h"

#define BENCH_LIST_MAX 32

/* As the command line gives them, once they were found to be numbers. */
struct bench_transfer_wish {
	uint64_t sizes[BENCH_LIST_MAX];
	size_t n_sizes;
	const char *depths;    /* "1,8" */
	const char *transport; /* NULL: all */
	const char *op;        /* "read", "write"; NULL: both */
	const char *segment;   /* its name; NULL: all */
	uint64_t n_ops;        /* of each size; 0: chosen */
	bool verify;
};

/* bench_count -- how many of a size when nobody says: 64 MiB worth, within reason. */
uint64_t bench_count(uint64_t wanted, uint64_t size_bytes);

/* cmd_bench_transfer -- exit status; what is wrong has been said. */
int cmd_bench_transfer(struct cli *cli, const struct bench_transfer_wish *wish);

#endif
