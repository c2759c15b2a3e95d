/* SPDX-License-Identifier: Apache-2.0 */

/*
 * progress.h -- how far a long transfer has come, on one line that is written over.
 *
 *      big.bin  [######--------]  43%  440.0 MiB of 1.0 GiB  812.5 MiB/s  0:00:01 left
 *      stdin    440.0 MiB  812.5 MiB/s                       (when the whole is not known)
 *
 * The first line comes after half a second, the next ones a tenth apart; a
 * transfer that is done before shows nothing.
 */
#ifndef CORE_CLI_PROGRESS_H
#define CORE_CLI_PROGRESS_H

#include <stdio.h>

#include "transfer/base/base.h"
#include "transfer/base/clock.h"

struct progress {
	FILE *to; /* NULL: shows nothing */
	const struct clock *clock;
	const char *label;              /* borrowed */
	uint64_t done_bytes, all_bytes; /* all 0: not known */
	uint64_t start_ns, next_ns;
	bool is_shown;
};

/* progress_init -- needs: label lives as long as the progress. */
void progress_init(struct progress *progress, FILE *to, const struct clock *clock,
		   const char *label, uint64_t all_bytes);

/* progress_add -- so many bytes more; shows them when it is time. */
void progress_add(struct progress *progress, uint64_t n_bytes);

/* progress_line -- what would be shown now.  Gives buf. */
const char *progress_line(const struct progress *progress, char *buf, size_t cap);

/* progress_end -- wipe the line out. */
void progress_end(struct progress *progress);

#endif
