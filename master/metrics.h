/* SPDX-License-Identifier: Apache-2.0 */

/*
 * metrics.h -- the master's numbers of one moment, and how Prometheus wants to read them.
 *
 *      the loop's thread:  metrics_gather()   copies numbers, a piece a turn
 *      any other:          metrics_text()     makes words of them (tiffin-metrics(7))
 */
#ifndef MASTER_METRICS_H
#define MASTER_METRICS_H

#include "master/master.h"

struct metrics_segment {
	char name[256];
	uint64_t size_bytes, used_bytes, resting_bytes, hole_bytes, n_replicas;
	uint8_t state; /* enum segment_state */
	bool is_failing;
};

struct metrics_tenant {
	char name[256];
	uint64_t n_objects, object_bytes, charged_bytes, resting_bytes;
	struct tenant_quota quota;
};

struct metrics {
	uint64_t counts[64]; /* in the order of master_counter_defs */
	struct hist requests[MESSAGE_NUMBERS];
	struct hist turns;
	uint64_t size_bytes, gated_bytes, n_parked, epoch;
	bool is_stalled, is_full;
	struct shortage shortages[POOLS];
	VEC(struct metrics_segment) segments;
	VEC(struct metrics_tenant) tenants;
	bool has_begun, is_whole;
};

void metrics_init(struct metrics *metrics);
void metrics_fini(struct metrics *metrics);

/*
 * metrics_gather -- a piece; again until is_whole.
 *
 * result:  0 or -ENOMEM.
 */
int metrics_gather(struct metrics *metrics, struct master *master) MUST_CHECK;

/* metrics_text -- Prometheus text format 0.0.4.  0 or -ENOMEM. */
int metrics_text(const struct metrics *metrics, struct buf *out) MUST_CHECK;

#endif
