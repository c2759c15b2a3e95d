/* SPDX-License-Identifier: Apache-2.0 */
#include "master/failing.h"

#include <inttypes.h>

#include "master/books.h"
#include "transfer/base/log.h"

/* How many of each pool there are, and rest. */
struct tally {
	size_t n[POOLS], n_failing[POOLS];
};

static struct tally
count(const struct master *master)
{
	struct tally tally = {0};

	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);
		enum pool_kind kind = pool_kind_of(segment);

		if (segment->state != SEGMENT_OK || segment->drain != DRAIN_NONE)
			continue;
		tally.n[kind]++;
		tally.n_failing[kind] += segment->is_failing;
	}
	return tally;
}

static void
begin(struct master *master, const struct client *client, struct segment *segment)
{
	segment_set_failing(master, segment, true);
	log_event(LOG_WARN, "segment_failing", "segment=%" PRIu64 " name=%s named_by=%" PRIu64,
		  segment->id, segment->name, client->id);
	event_tell(master, EVENT_segment_failing, segment->id, "%s, by %s", segment->name,
		   client->name);
}

void
failing_named(struct master *master, const struct client *client, const struct rec_id *ids,
	      uint32_t n)
{
	struct tally tally;

	if (n == 0 || master->limits.failing_rest_ms == 0)
		return;
	tally = count(master);
	for (uint32_t i = 0; i < n; i++) {
		struct segment *segment = segment_find(master, ids[i].id);
		enum pool_kind kind;

		if (segment == NULL || (!segment->is_failing && !segment_is_placeable(segment)))
			continue;
		kind = pool_kind_of(segment);
		if (!segment->is_failing && (tally.n_failing[kind] + 1) * 2 > tally.n[kind])
			continue;
		if (!segment->is_failing) {
			tally.n_failing[kind]++;
			begin(master, client, segment);
		}
		segment->failing_until_ms = master->now_ms + master->limits.failing_rest_ms;
	}
}

void
failing_sweep(struct master *master, struct segment *segment)
{
	if (!segment->is_failing || master->now_ms < segment->failing_until_ms)
		return;
	segment_set_failing(master, segment, false);
	log_event(LOG_INFO, "segment_rested", "segment=%" PRIu64 " name=%s", segment->id,
		  segment->name);
	event_tell(master, EVENT_segment_rested, segment->id, "%s", segment->name);
}
