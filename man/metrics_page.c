/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes tiffin-metrics(7) to standard output, from the master's list of counters.
 *
 *      metrics_page > man/tiffin-metrics.7
 *
 * The page is kept in the tree; a test compares it with what this program writes.
 */
#include <string.h>

#include "man/mdoc.h"

static const struct {
	const char *name, *kind, *unit, *help;
} counters[] = {
#define COUNTER(field, kind, unit, help) {#field, #kind, unit, help},
#include "master/counters.def"
#undef COUNTER
};

/* put_counters -- those that only grow, or those that go up and down. */
static void
put_counters(const char *kind)
{
	puts(".Bl -tag -width \"requests_repeated\" -compact");
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		char text[512];

		if (strcmp(counters[i].kind, kind) != 0)
			continue;
		printf(".It Va %s\n", counters[i].name);
		snprintf(text, sizeof(text), "%s.", counters[i].help);
		mdoc_say(stdout, text);
	}
	puts(".El");
}

int
main(void)
{
	mdoc_head(stdout, "man/metrics_page.c from master/counters.def", "tiffin-metrics", 7);
	puts(".Nm tiffin-metrics\n.Nd what the master of a Tiffin store counts\n.Sh DESCRIPTION");
	mdoc_say(stdout,
		 "The master counts from its start on. Its numbers are shown by \"tiffin status "
		 "--all\", told to programs by \"tiffin --json status --all\", and by the stats "
		 "request of the protocol.");
	puts(".Ss What only grows");
	put_counters("TOTAL");
	puts(".Ss What goes up and down");
	put_counters("GAUGE");
	puts(".Sh EXAMPLES\nHow many objects go out for want of room, in a store that is watched:");
	puts(".Bd -literal -offset indent\n$ tiffin status --all | grep evict\n.Ed");
	puts(".Sh SEE ALSO\n.Xr tiffin 1 ,\n.Xr tiffin_stats 3 ,\n.Xr tiffin 7 ,\n.Xr "
	     "tiffin-master 8");
	return ferror(stdout) != 0;
}
