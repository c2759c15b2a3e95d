/* SPDX-License-Identifier: Apache-2.0 */

/*
 * quarantine.h -- extents that belong to nobody but may still be touched.
 *
 *      rest_add() --> [ writer: at a gate ] --> [ reader: until a time ] --> [ removal synced? ]
 * --> free
 *
 *   writer   the last writer did not say that it is done.  A timer is no proof: a process stopped
 * for an hour may wake and write.  The rest waits at a gate until each writer that the gate knows
 * is fenced by the provider (its connections closed and their threads gone, no process of it with a
 * writable mapping), or, for writers of before a restart, says itself that nothing of those days is
 * under way. reader   a read lease runs.  Leases are the master's own promises, so its clock is
 * proof. removal  the record that took the extents from their last owner must be on the disk, or a
 * power cut would bring that owner back over somebody else's bytes.
 *
 * Only then are they given back to the segment's allocator.  Meanwhile they count as resting.
 * While a writer or reader is waited for, the rest holds a claim on its chunks (segment.h).
 *
 * thread:  the loop's.
 */
#ifndef MASTER_QUARANTINE_H
#define MASTER_QUARANTINE_H

#include "master/segment.h"
#include "master/tenant.h"
#include "transfer/base/map.h"

struct gate {
	struct list_link at_segment;
	struct list fences;   /* struct fence.at_gate: those not proven yet */
	struct list rests;    /* struct rest.at_stage */
	bool is_of_before;    /* writers of before this master's start */
	bool waits_for_mount; /* its writers are not known yet: the provider tells when it mounts */
};

struct fence {
	uint64_t id, client_id;
	struct gate *gate;
	struct segment *segment;
	struct list_link at_gate;
	bool is_sent; /* the order went out: what is added now needs another one */
};

struct rest {
	struct list_link at_segment;
	struct list_link at_stage; /* the gate's rests, or quarantine.syncing */
	struct segment *segment;
	struct tenant *tenant; /* charged with it; NULL: nobody is, it is of before a restart */
	uint64_t until_ms, batch;
	size_t heap_at; /* 1.. while in the heap, else 0 */
	bool has_claim, is_gated;
	uint32_t n_extents;
	struct extent extents[];
};

struct quarantine {
	VEC(struct rest *) heap; /* [0] unused; the earliest until_ms at [1] */
	size_t n_gated;          /* rests at gates */
	struct list syncing;
	struct map fences; /* id -> struct fence */
	uint64_t last_fence_id;
	uint64_t resting_bytes;
	uint64_t gated_bytes; /* of those, at gates: nobody knows how long */
	struct chunk_opener opener;
};

/* What a rest has to wait for. */
struct rest_terms {
	struct tenant *tenant; /* charged until it is free */
	uint64_t writer_id;    /* 0: none, or it has said that it is done */
	uint64_t until_ms;     /* end of the last read lease, 0: none */
	uint64_t batch; /* its removal stands in this batch of the journal, 0: it never was in the
			   books */
	uint64_t now_ms;
	bool has_claim; /* the extents hold a claim already, which passes to the rest */
};

int quarantine_init(struct quarantine *q, const struct chunk_opener *opener) MUST_CHECK;
void quarantine_fini(struct quarantine *q); /* every segment must have been dropped */

/*
 * quarantine_add -- these extents of segment are nobody's now.
 *
 * Can't fail: without memory they stay taken until the restart, which is safe, and is logged.
 */
void quarantine_add(struct quarantine *q, struct segment *segment, const struct extent *extents,
		    uint32_t n_extents, const struct rest_terms *terms);

/* quarantine_gaps -- the free runs of every open chunk wait for the segment's mount (after a
 * restart). */
int quarantine_gaps(struct quarantine *q, struct segment *segment, uint64_t until_ms) MUST_CHECK;

/* quarantine_whole -- all that is free of a new segment waits for the writers that its mount will
 * name, and until that time for readers. */
int quarantine_whole(struct quarantine *q, struct segment *segment, uint64_t until_ms) MUST_CHECK;

/* quarantine_mounted -- the provider has cut everything of before, but for these writers. */
int quarantine_mounted(struct quarantine *q, struct segment *segment, const uint64_t *writers,
		       size_t n_writers, uint64_t now_ms) MUST_CHECK;

/* quarantine_fenced -- the provider has carried out order `id` (an unknown one is none of ours any
 * more: false). */
bool quarantine_fenced(struct quarantine *q, uint64_t id, const struct client *provider,
		       uint64_t now_ms);

/* quarantine_quiet -- client says that it writes nothing under a grant of before this start. */
void quarantine_quiet(struct quarantine *q, struct segment *segment, uint64_t client_id,
		      uint64_t now_ms);

/*
 * quarantine_turn -- let go what has waited long enough, at most max_steps rests.
 *
 * result:  bytes that became free.
 */
uint64_t quarantine_turn(struct quarantine *q, uint64_t now_ms, uint64_t synced_batch,
			 unsigned max_steps);

/* quarantine_drop -- the segment is gone, and its extents with it; at most max_steps.  true: all
 * are. */
bool quarantine_drop(struct quarantine *q, struct segment *segment, unsigned max_steps);

#endif
