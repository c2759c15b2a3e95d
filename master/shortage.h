/* SPDX-License-Identifier: Apache-2.0 */

/*
 * shortage.h -- why a put finds no room: bytes of each reason, and the largest hole.
 *
 *      put_add_copies(): no room --> lack: which copy, of what kind, what it may not share
 *                                      |
 *                 nothing may go or is coming, or the time is over
 *                                      |
 *                                      v
 *              the answer's words, the event put_refused, refused_bytes of the metrics
 *
 * What can't be summed up beforehand (a lease ends by itself) is counted when it is asked for: in
 * a bounded number of looks, and not oftener than ten times a second.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_SHORTAGE_H
#define MASTER_SHORTAGE_H

#include "master/pool.h"
#include "master/proto/limits.h"

struct master;
struct put;
struct tenant;

/* The copy that could not be placed last. */
struct lack {
	enum pool_kind kind; /* where it was to lie */
	unsigned nth, n;     /* of how many copies there */
	uint64_t room_bytes;
	uint64_t on_id; /* more of a copy on that segment, and nowhere else; 0: a new one */
	uint64_t taken[REPLICAS_MAX]; /* segments that have a copy already */
	size_t n_taken;
};

#define SHORTAGE_REASONS(X)                                                                        \
	X(free)    /* in segments that new data may go to */                                       \
	X(leased)  /* somebody reads it */                                                         \
	X(pinned)  /* and not leased */                                                            \
	X(written) /* of puts, copies and moves under way */                                       \
	X(resting) /* in quarantine */

struct shortage {
	uint64_t at_ms; /* when it was measured; 0: never */
	uint64_t size_bytes;
#define X(reason) uint64_t reason##_bytes;
	SHORTAGE_REASONS(X)
#undef X
	size_t n_segments, n_closed; /* that are here; of those: taking no new data */
	bool is_cut;                 /* there is more of leased and pinned than was looked at */
};

/* shortage_of_kind -- of all tenants, on segments of that kind; as of the last 100 ms. */
const struct shortage *shortage_of_kind(struct master *master, enum pool_kind kind);

/* shortage_of_tenant -- of that one, on all segments; size, free and segments are not meant. */
const struct shortage *shortage_of_tenant(struct master *master, struct tenant *tenant);

/* shortage_say_full -- the answer at hand: no room, and why (master.lack). */
void shortage_say_full(struct master *master);

/* shortage_say_none -- the answer at hand: there is no segment left for the copy that lacks. */
void shortage_say_none(struct master *master);

/* shortage_resting -- on segments of that kind; *ret_coming_bytes: those of them that come free
 * surely, and soon. */
uint64_t shortage_resting(const struct master *master, enum pool_kind kind,
			  uint64_t *ret_coming_bytes);

/* shortage_largest -- the size of the largest segment of that kind that is here; 0: there is none.
 */
uint64_t shortage_largest(const struct master *master, enum pool_kind kind);

/* shortage_may_fit -- if all were empty, would there be n_needed segments for that, each alone? */
bool shortage_may_fit(const struct master *master, const struct lack *lack, unsigned n_needed);

#endif
