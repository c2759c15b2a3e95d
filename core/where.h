/* SPDX-License-Identifier: Apache-2.0 */

/*
 * where.h -- which segments are known, where they are, and by which token they may be read.
 *
 *      spot:   (segment id, epoch) -> target, read token, its end on our clock
 *
 * Asked of the master (query_segment) when it is missing, when an object names another epoch,
 * or when a quarter of the token's time is left.  A spot is shared: who holds a reference may go
 * on reading through it while a newer one has already taken its place.
 *
 * A segment whose peer did not answer is avoided for a while, and named in the next ping.
 *
 * thread:  any.  Fields below `lock` are touched only with it held.
 */
#ifndef CORE_WHERE_H
#define CORE_WHERE_H

#include <stdatomic.h>

#include "core/link.h"
#include "transfer/base/lock.h"
#include "transfer/base/map.h"
#include "transfer/engine.h"

struct tiffin_client;

struct spot {
	atomic_uint n_refs;
	struct engine *engine;
	struct target *target; /* a reference of ours */
	struct token token;    /* reads the whole segment; mac of zeros: there is none */
	uint64_t fresh_until_ns;
};

struct where {
	struct engine *engine;
	const struct clock *clock;
	uint64_t client_id;

	struct lock lock; /* LOCK_core_where */
	struct map known; /* segment id -> struct known */
};

void where_init(struct where *where, struct engine *engine, const struct clock *clock,
		uint64_t client_id);
void where_fini(struct where *where);

/* where_get -- a reference to what is known and fresh, or NULL. */
struct spot *where_get(struct where *where, uint64_t segment_id, uint64_t segment_epoch);

/*
 * where_put -- the master's word on one segment, asked at asked_ns.
 *
 * result:  0, -errno (also for an endpoint that is too long).
 */
int where_put(struct where *where, const struct rec_segment_state *state,
	      uint64_t asked_ns) MUST_CHECK;

/* where_drop -- ask the master anew next time. */
void where_drop(struct where *where, uint64_t segment_id);

/* where_find -- as where_get(), asking the master when need be.  0 or TIFFIN_E_*; NOT_FOUND: it has
 * gone or has a new life. */
int where_find(struct tiffin_client *client, uint64_t segment_id, uint64_t segment_epoch,
	       uint64_t until_ns, struct spot **ret_spot);

void spot_ref(struct spot *spot);
void spot_unref(struct spot *spot); /* NULL is fine */

/* where_fail -- its peer did not answer: read elsewhere for a while, and tell the master.  true: it
 * was not avoided until now, so the master had better hear of it soon (beat_hurry). */
bool where_fail(struct where *where, uint64_t segment_id);
bool where_has_failed(struct where *where, uint64_t segment_id);

/* where_take_failing -- segments to be named in a ping; each is told once. */
size_t where_take_failing(struct where *where, struct rec_id *ret_ids, size_t cap);

#endif
