/* SPDX-License-Identifier: Apache-2.0 */

/*
 * replica.h -- one stored copy of one object: extents of one segment, and a state.
 *
 *       put_start, task planned   answer made, task fetched   put_end, task reported
 *  (nothing) -----------> INITIALIZED ---------> PROCESSING ---------> COMPLETE
 *                              |                     |                    |
 *                              | revoke, write       | revoke, write      | remove, evict, replaced
 *                              | lease over,         | lease over,        |        -> REMOVED
 *                              | segment lost        | segment lost       | bytes found to be
 * wrong, v                     v                    |  segment lost FAILED <------------- FAILED
 * <---------------+        -> FAILED
 *
 *      INITIALIZED  extents are reserved, nobody writes yet
 *      PROCESSING   one writer holds a write lease on the extents; never readable
 *      COMPLETE     bytes are final; readable under a lease, as long as the segment is there
 *      REMOVED      no new lease; the extents go into quarantine and the replica is dropped
 *      FAILED       likewise
 *
 * REMOVED and FAILED are left by dropping the replica alone.  thread: the loop's.
 */
#ifndef MASTER_REPLICA_H
#define MASTER_REPLICA_H

#include "master/alloc.h"
#include "transfer/base/list.h"

struct object;
struct segment;

/* X(NAME, states that may follow) */
#define REPLICA_STATES(X)                                                                          \
	X(INITIALIZED, REPLICA_BIT(PROCESSING) | REPLICA_BIT(FAILED))                              \
	X(PROCESSING, REPLICA_BIT(COMPLETE) | REPLICA_BIT(FAILED))                                 \
	X(COMPLETE, REPLICA_BIT(REMOVED) | REPLICA_BIT(FAILED))                                    \
	X(REMOVED, 0)                                                                              \
	X(FAILED, 0)

enum replica_state {
#define X(name, next) REPLICA_##name,
	REPLICA_STATES(X)
#undef X
		REPLICA_N_STATES
};

struct replica {
	struct object *object;
	struct segment *segment;
	struct list_link
		at_segment; /* every replica hangs on its segment, to be found when that is lost */
	struct replica *next; /* of the same object */
	uint32_t n_extents;
	uint8_t state;        /* enum replica_state */
	bool is_embedded;     /* lies in struct object */
	uint16_t stuck_round; /* the drain of its segment in which it could not be moved; 0: none */
	union {
		struct extent one; /* n_extents == 1 */
		struct extent *many;
	};
};

static inline const struct extent *
replica_extents(const struct replica *rep)
{
	return rep->n_extents == 1 ? &rep->one : rep->many;
}

/* replica_room_bytes -- what it takes up of its segment. */
static inline uint64_t
replica_room_bytes(const struct replica *rep)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < rep->n_extents; i++)
		bytes += extent_room_bytes(replica_extents(rep)[i]);
	return bytes;
}

const char *replica_state_name(enum replica_state state);
bool replica_may_move(enum replica_state from, enum replica_state to);

/* replica_check -- what must hold, whatever road led there. */
void replica_check(const struct replica *rep);

/* replica_move -- needs: replica_may_move(). */
void replica_move(struct replica *rep, enum replica_state to);

/*
 * replica_init -- a copy in state INITIALIZED that owns these extents of segment.
 *
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int replica_init(struct replica *rep, struct object *object, struct segment *segment,
		 const struct extent *extents, uint32_t n_extents) MUST_CHECK;

/* replica_fini -- off its segment's list; the extents must have been passed on. */
void replica_fini(struct replica *rep);

#endif
