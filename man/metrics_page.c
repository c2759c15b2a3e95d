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

static const struct {
	const char *path, *help;
} pages[] =
	{
		{"/metrics",
		 "all of the above in the text format of Prometheus: the names with "
		 "tiffin_master_ before them, and _total behind those that only grow; and what "
		 "stands below."},
		{"/health", "200 while the master's loop turns."},
		{"/ready", "200 while puts can be taken; else 503 and the reason."},
		{"/get_all_segments",
		 "names of the segments whose providers are there, a line each."},
		{"/query_segment?segment=NAME", "bytes used, and size."},
		{"/get_all_keys", "all keys in the order of their bytes, a line each."},
		{"/query_key?key=KEY", "length and copies of an object, as JSON."},
		{"/batch_query_keys?keys=KEY,KEY", "the copies of many, as JSON."},
},
  series[] = {
	  {"request_seconds",
	   "histogram by request: from its arrival to its answer, waiting for room "
	   "and for the disk included."},
	  {"turn_seconds", "histogram: how long the loop took for what came at once."},
	  {"segment_size_bytes",
	   "and _used_bytes, _resting_bytes, _hole_bytes (the longest free run), "
	   "_n_replicas, _state, _is_failing: of each segment."},
	  {"refused_bytes",
	   "by kind (memory, disk, nof) and reason (free, leased, pinned, written, resting): what "
	   "held the bytes when a put was last refused for want of room there."},
	  {"tenant_charged_bytes", "and _n_objects, _object_bytes, _resting_bytes, _quota_bytes, "
				   "_quota_objects: of each tenant."},
	  {"size_bytes", "of all segments that are there."},
	  {"gated_bytes", "of those resting: until their writer is fenced."},
	  {"requests_parked", "put_start requests that wait for room."},
	  {"store_stalled", "1: the last commit failed, and is being tried again."},
	  {"store_full", "1: the disk is full, only removals are taken."},
	  {"epoch", "of this start of the master."},
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
		 "request of the protocol, and by HTTP.");
	puts(".Ss What only grows");
	put_counters("TOTAL");
	puts(".Ss What goes up and down");
	put_counters("GAUGE");
	puts(".Ss By HTTP");
	mdoc_say(stdout,
		 "At the address of the option \"http\" the master answers GET and HEAD, and "
		 "changes nothing. An address of this machine is served only under names of this "
		 "machine.");
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		printf(".It Pa %s\n", pages[i].path);
		mdoc_say(stdout, pages[i].help);
	}
	puts(".El");
	mdoc_say(stdout, "Keys are written with odd bytes, blanks and percent signs as %XX. Pages "
			 "about keys "
			 "take \"tenant=NAME\" beside their argument. They grant no lease: what "
			 "they say may "
			 "be over when it is read.");
	puts(".Ss In /metrics alone");
	puts(".Bl -tag -width Ds -compact");
	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		printf(".It Va %s\n", series[i].path);
		mdoc_say(stdout, series[i].help);
	}
	puts(".El");
	puts(".Sh EXAMPLES\nHow many objects go out for want of room, in a store that is watched:");
	puts(".Bd -literal -offset indent\n$ tiffin status --all | grep evict\n.Ed");
	puts(".Sh SEE ALSO\n.Xr tiffin 1 ,\n.Xr tiffin_stats 3 ,\n.Xr tiffin 7 ,\n.Xr "
	     "tiffin-master 8");
	return ferror(stdout) != 0;
}
