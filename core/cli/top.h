/* SPDX-License-Identifier: Apache-2.0 */

/*
 * top.h -- what a store does at the moment: two looks at its counters, and what lies between them.
 *
 *      space   [#########~~--------]  42.0%  1.0 GiB of 2.4 GiB used, 3.0 MiB resting
 *      has     1234 objects, 3 clients, 2 segments
 *
 *      A SECOND                        SINCE START
 *      puts_ended             120.0           4711
 *      put_bytes        120.0 MiB/s        4.6 GiB
 *      ...                                          those that moved
 *
 *      SEGMENT  STATE     SIZE     USED     %  RESTING      HOLE
 */
#ifndef CORE_CLI_TOP_H
#define CORE_CLI_TOP_H

#include <stdio.h>

#include "core/tiffin.h"
#include "transfer/base/base.h"
#include "transfer/base/clock.h"

#define TOP_COUNTS_MAX   128
#define TOP_SEGMENTS_MAX 256

struct top_count {
	char name[40];
	uint64_t value;
	bool is_gauge;
};

struct top_segment {
	char name[64];
	char state[16];
	uint64_t size_bytes, used_bytes, resting_bytes, hole_bytes;
};

/* One look. */
struct top_look {
	uint64_t at_ns;
	struct tiffin_space space;
	struct top_count counts[TOP_COUNTS_MAX];
	struct top_segment segments[TOP_SEGMENTS_MAX]; /* the first of them */
	size_t n_counts, n_segments;
};

/* top_look -- 0 or TIFFIN_E_*. */
int top_look(struct tiffin_client *client, const struct clock *clock, struct top_look *ret_look);

/* top_rate -- of a counter of `now`, a second; 0 when it fell (the master was started anew). */
double top_rate(const struct top_look *before, const struct top_look *now, size_t i);

/* top_show -- at most n_lines lines. */
void top_show(const struct top_look *before, const struct top_look *now, unsigned n_lines,
	      FILE *to);

#endif
