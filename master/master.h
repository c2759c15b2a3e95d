/* SPDX-License-Identifier: Apache-2.0 */

/*
 * master.h -- the books, whole: who lends which segments, which object lies where, under which
 * lease.
 *
 *      peer (a connection) --frame--> master_receive() --> handler --> answer
 *                                                             |
 *                                              journal: one batch a turn
 *                                                             |
 *      peer <--frame-- master_turn() <-- committed up to n <-- store
 *
 * State changes at once, in memory; the answer, and every answer that depends on
 * the change, waits until the change is in the journal's committed part.  So
 * nobody ever hears of what a restart would forget.  A commit that fails is tried
 * again until it succeeds (store.h), hence memory and disk never part ways.
 *
 * Nothing here knows sockets or threads: the server (server.c) and the simulation
 * (tests/sim) both feed it frames and take frames out of `peer->out`.
 *
 * thread:  one, the loop's.
 */
#ifndef MASTER_MASTER_H
#define MASTER_MASTER_H

#include "master/change.h"
#include "master/client.h"
#include "master/counters.h"
#include "master/event.h"
#include "master/foresee.h"
#include "master/gone.h"
#include "master/group.h"
#include "master/order.h"
#include "master/pool.h"
#include "master/put.h"
#include "master/quarantine.h"
#include "master/offload.h"
#include "master/store.h"
#include "master/task.h"
#include "master/proto/codec.h"
#include "master/proto/status.h"
#include "transfer/base/frame.h"
#include "transfer/base/hist.h"
#include "transfer/base/rand.h"
#include "transfer/base/token.h"

#define MESSAGE_NUMBERS 64 /* numbers of messages are below it */

struct master_limits {
	uint64_t lease_ms, write_lease_ms;
	uint64_t ping_ms, client_ttl_ms, client_grace_ms;
	uint64_t put_wait_ms;
	uint64_t failing_rest_ms; /* 0: what peers say of segments is not heeded */
	uint64_t evict_high_pct, evict_low_pct;
	uint64_t evict_soft_pins; /* 1 or 0 */
	uint64_t offload;         /* enum offload_mode */
	uint64_t promote_uses;    /* of an object on disks, lately, to bring it back; 0: never */
	uint64_t events_max;      /* kept in the books; 0: none are made */
	uint64_t placement;       /* enum placement (place.h) */
	bool durable_power;       /* acknowledge only what is synced */
	bool strict_tenants;      /* joining makes no tenant */
};

#define PEER_BY_KEY UINT32_MAX /* is nobody's user id */

struct peer {
	struct master *master;
	struct client *client; /* after join */
	struct buf out;  /* frames to be sent; whoever owns the peer sends and consumes them */
	bool is_trusted; /* a Unix socket: the peer is its uid, no key is asked */
	uint32_t uid;   /* of such a peer; PEER_BY_KEY: whoever holds the key (or nobody need to) */
	bool is_broken; /* hang up: it sent nonsense, or there was no memory for its answer */
	void *owner;    /* whoever made it: finds its connection by this */
	bool said_hello;
	uint64_t request_id; /* of the request at hand */
	uint8_t challenge[CHALLENGE_BYTES];
	struct list watches;
	struct list parked;
	uint32_t n_parked;
	size_t parked_bytes; /* of their payloads */
	struct list_link at_master;
	struct list_link at_strangers; /* master.strangers, while it has no client */
	uint64_t strange_since_ms;
	struct list_link at_dirty; /* master.dirty: `out` has grown */
};

struct watch {
	struct list_link at_peer, at_master;
	struct peer *peer;
	uint64_t request_id;
	struct span prefix; /* owned */
	uint64_t at;        /* it was told all of its changes up to this one (change.h) */
	uint64_t told;      /* and knows so up to this one */
};

/* A put_start or put_extend that waits for room. */
struct parked {
	struct list_link at_peer, at_master;
	struct peer *peer;
	bool waits_on;   /* it was tried, and found none */
	bool wants_room; /* not, say, quota: room that comes free may be kept for it */
	uint64_t until_ms;
	uint64_t request_id;
	uint64_t since_ns;
	uint16_t type;
	struct buf payload;
};

/* Memory that was doubted: nobody reads there any more by what a former master promised. */
#define CLEARED_MAX 256

struct cleared {
	uint64_t segment_id, segment_epoch, former_epoch;
};

struct master {
	const struct clock *clock;
	struct rand *rand;
	struct store *store;
	struct cluster_key key;
	struct master_limits limits;          /* in force */
	struct master_limits configured;      /* as the master was started */
	struct orders *orders;                /* borrowed; NULL: nobody orders by SQL */
	VEC(struct order_fate) fates;         /* to be told once they are committed */
	VEC(struct order_drain) order_drains; /* ordered by SQL, not ended */
	uint64_t order_drains_due_ms;
	struct master_counters counters;

	uint64_t epoch, cluster_id;
	uint64_t now_ms;        /* of this turn */
	unsigned work;          /* done since then, in small frames */
	uint64_t turn_at_ms;    /* of the last sweep */
	uint64_t sweep_wait_ms; /* what that one asked for */
	uint64_t stalled_ms; /* sum of the loop's own delays: nobody is called silent for these */
	uint64_t next_object_id, reserved_object_id;
	uint64_t reserved_batch; /* ids are told once it is synced */
	uint64_t hash_seed;
	uint64_t longest_lease_ms;    /* that a reader may hold, also from before this start; as in
					 the books */
	uint64_t leases_of_before_ms; /* until then a reader may hold a lease from before this start
				       */

	uint64_t long_leases_until_ms; /* until then such a lease may run that its books never knew
					*/
	VEC(struct cleared) cleared;

	struct tenants tenants;
	struct map objects;     /* object id -> struct object in the index */
	struct map ghosts;      /* object id -> struct ghosts (ghost.h) */
	struct list ghost_list; /* the same, by struct object.at_lru */
	struct groups groups;   /* of objects in the index */
	struct map puts_by_id;  /* object id -> struct put */
	struct map puts_by_key; /* hash of the key -> first struct put */
	struct put *spare_puts; /* memory for the next ones */
	unsigned n_spare_puts;
	struct map segments; /* id -> struct segment */
	struct map clients;  /* id -> struct client */
	struct list puts;    /* struct put.at_lease, front: ends first */
	struct list heard;   /* struct client.at_heard, front: silent longest */
	struct list all_segments;
	struct pool pools[POOLS];   /* of them those that new data may go to */
	struct extent *scratch;     /* EXTENTS_MAX of them */
	uint64_t size_bytes;        /* of the segments that are here */
	uint64_t pool_bytes[POOLS]; /* of those of each kind */
	bool has_new_room;       /* other than from quarantine: parked puts are to be tried again */
	bool is_evicting[POOLS]; /* between the high and the low mark, on the way down */
	struct offload offload;

	struct quarantine quarantine;
	struct tasks tasks;
	struct journal journal;
	uint64_t batch; /* the number that the journal under construction will get */
	struct store_progress progress;
	struct gone gone;            /* misses that have to wait, too */
	struct list held, held_sync; /* struct answer.at_held: until committed, until synced */
	struct list peers, dirty, watches, parked;
	struct list strangers; /* struct peer.at_strangers, front: without a client for longest */
	struct changes changes;
	struct events events;
	struct list followers; /* struct parked.at_master: they wait for events */
	uint64_t follow_ms;    /* how long the one at hand would */
	struct arena arena;    /* of the request at hand */
	struct foreseen foreseen;

	/* how long requests and turns take (metrics.h) */
	struct hist requests[MESSAGE_NUMBERS]; /* from arrival to answer, by message */
	struct hist turns;                     /* those that had requests */
	uint64_t turn_began_ns, lap_ns;        /* 0: no request yet in this turn */
	uint64_t since_ns;                     /* when the request at hand came */

	/* what the request at hand must wait for */
	uint64_t hold_batch;
	bool hold_sync;

	char why[480]; /* the request at hand: of its refusal, in words; "": what the status means
			*/

	struct lack lack;                 /* of its refusal: the copy that could not be placed */
	struct shortage shortages[POOLS]; /* as measured last */

	bool wants_room;       /* the request at hand is to be parked for want of room */
	struct parked *trying; /* the parked request that is at hand, or NULL */
	bool is_last_try;
};

/*
 * master_new -- take over the store: load every row, and go on where it ended.
 *
 * takes:   *store_taken, on success.
 * result:  0; -EBADMSG when the rows break their laws (why names them); -errno.
 */
struct master_config {
	const struct clock *clock;
	struct rand *rand;
	struct master_limits limits;
	struct cluster_key key;
	struct warm *warm; /* borrowed; NULL: memory is found when it is touched */
};
int master_new(const struct master_config *config, struct store **store_taken,
	       struct master **ret_master, char *why, size_t why_cap) MUST_CHECK;
void master_free(struct master *master);

int master_peer_new(struct master *master, bool is_trusted, struct peer **ret_peer) MUST_CHECK;

/* master_peer_free -- the connection has ended; its client lives on, silent. */
void master_peer_free(struct peer *peer);

/* master_foresee -- a hint: these frames (perhaps not whole) are about to be received. */
void master_foresee(struct peer *peer, const uint8_t *bytes, size_t len_bytes);

/* master_receive -- one whole frame from this peer. */
void master_receive(struct peer *peer, const struct frame *frame);

/*
 * master_turn -- after the frames of a turn: hand the journal over, release answers, sweep.
 *
 * result:  milliseconds until it wants to be called again, though nothing comes.
 */
uint64_t master_turn(struct master *master);

/* master_dirty -- the next peer whose `out` has grown since it was last told, or NULL. */
struct peer *master_dirty(struct master *master);

/* master_check -- every law that ties the books together (tests, simulation). */
void master_check(const struct master *master);

DEFINE_CLEANUP(struct master, master_free);

#endif
