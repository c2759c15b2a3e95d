/* SPDX-License-Identifier: Apache-2.0 */

/*
 * landing.h -- a file that is there whole or not at all.
 *
 *      landing_open       a file without a name, in the directory of the wanted one
 *      (write to fd)
 *      landing_done       gets a name beside the wanted one, then takes its place
 *      landing_close      without landing_done: gone, as it also is when the process dies
 *
 * What is no regular file (/dev/null, a FIFO, a terminal) is written to directly.
 */
#ifndef CORE_CLI_LANDING_H
#define CORE_CLI_LANDING_H

#include <limits.h>

#include "transfer/base/base.h"

struct landing {
	int fd; /* write here; -1 when closed */
	char path[PATH_MAX];
	char beside[PATH_MAX]; /* the name for a moment; "": has none */
	bool is_direct;
};

/* landing_open -- 0 or -errno; on failure nothing needs closing. */
int landing_open(struct landing *landing, const char *path) MUST_CHECK;

/* landing_done -- the file is whole.  0 or -errno; close it in either case. */
int landing_done(struct landing *landing) MUST_CHECK;
void landing_close(struct landing *landing);

#endif
