/* SPDX-License-Identifier: Apache-2.0 */

/* main.c -- the command line `tiffin`; the commands stand in commands.c and cmd_*.c. */
#include <stdlib.h>

#include "core/cli/cli.h"

int
main(int argc, char **argv)
{
	return cli_main(argc, argv, getenv("TIFFIN_MASTER"), getenv("TIFFIN_HOT_CACHE"));
}
