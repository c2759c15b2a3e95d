/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_group.h -- the connections of one client to one segment with the same rights, and the ops
 * on them.
 *
 *      rdma    --> peer (segment, client) --> group READING --> conns, one life at a time
 *                                         --> group WRITING
 *
 *      op = move:   queue ----------> out ------------> done, completed without the lock
 *                   | token shown?    | all its requests posted
 *                   | memory known?   |
 *                   +---- in order ---+   the head of the queue is cut into chunks, and each goes
 *                                         to the connection that will be through with it first
 *
 *      IDLE --an op, not resting--> OPENING --first conn up--> UP --any failure--> BREAKING
 *        ^                             | can't be                                     |
 *        |<-- rest; ops passed on -----+                                              |
 *        +<-- ops again from their beginning (three times, then passed on) -----------+
 *
 * Ops are moved again as a whole: READs for nothing is lost by it, WRITEs since their extents are
 * the same put's (the law, rdma_conn.h).
 *
 * thread:  the transport's lock; functions marked * put it aside meanwhile.
 */
#ifndef TRANSFER_RDMA_GROUP_H
#define TRANSFER_RDMA_GROUP_H

#include "transfer/base/clock.h"
#include "transfer/base/lock.h"
#include "transfer/base/slab.h"
#include "transfer/rdma_cache.h"
#include "transfer/rdma_conn.h"
#include "transfer/transport.h"

#define RDMA_CONNS_MAX TRANSPORT_RDMA_CONNS_MAX
#define RDMA_PASSES    64
#define RDMA_LOANS_MAX 8

/* Memory that is registered for one op alone. */
struct rdma_loan {
	struct memory memory;
	struct rdma_mr mr;
};

/* How an op's slices are reached. */
enum rdma_plan {
	RDMA_PLAN_NONE,   /* not looked at yet */
	RDMA_PLAN_MAKING, /* somebody registers loans for it, without the lock: leave it alone */
	RDMA_PLAN_DIRECT,
	RDMA_PLAN_STAGED,
};

struct rdma_move {
	struct list_link at;
	struct op *op;
	enum rdma_plan plan;
	bool is_granted;         /* its token was shown and approved in this life */
	struct rdma_conn *proof; /* WRITE on iWARP: all of it goes there, and its proof is due */
	bool was_posted;         /* in this life or another */
	enum op_result result;   /* once it is done; OP_E_PENDING: pass it on */
	unsigned n_out, n_tries; /* requests under way; lives that broke under it */
	uint64_t posted_bytes, done_bytes;
	struct op_cursor cursor; /* of the next byte to be posted */
	unsigned nics;           /* those on which DIRECT goes, one bit each */
	unsigned n_loans;
	struct rdma_loan loans[RDMA_LOANS_MAX];
};

/* A token that was shown in this life. */
struct rdma_pass {
	uint8_t mac[TOKEN_MAC_BYTES];
	uint64_t id; /* of the SHOW */
	enum { RDMA_PASS_FREE, RDMA_PASS_ASKED, RDMA_PASS_GRANTED } state;
};

enum rdma_group_state { RDMA_IDLE, RDMA_GROUP_OPENING, RDMA_GROUP_UP, RDMA_GROUP_BREAKING };

struct rdma_group {
	struct rdma_peer *peer;
	bool may_write;
	enum rdma_group_state state;
	uint16_t life;
	struct rdma_hello hello; /* of this life */
	size_t at_address;       /* of the endpoint's for RDMA: the first connection's */
	uint64_t open_until_ns, drain_until_ns;
	uint64_t rest_until_ns, rest_ns; /* not tried again before */
	bool has_moved;                  /* in this life something was done */
	struct rdma_conn conns[RDMA_CONNS_MAX];
	struct list queue, out;
	struct rdma_pass passes[RDMA_PASSES];
	unsigned next_pass;
	uint64_t last_id;
};

/* One segment of one provider, as one client sees it. */
struct rdma_peer {
	struct list_link at;
	struct target_desc desc;
	uint64_t client_id;
	unsigned n_targets;          /* whose slots point here */
	struct rdma_group groups[2]; /* by may_write */
};

struct rdma {
	struct transport base;
	struct lock lock; /* LOCK_xfer_path; guards all that is above and below */
	struct list peers, waiters;
	struct list done;   /* moves to be completed without the lock */
	unsigned n_closing; /* of those, being completed right now */
	unsigned n_busy, n_orphans;
	bool is_stopped, may_spin;
	uint64_t stall_ns; /* data that has not come back for so long has stalled */
	unsigned conns_per_peer;
	struct slab moves;
	struct rdma_nic nics[RDMA_NICS_MAX];
	struct rdma_cache cache;
	struct rdma_doorbell doorbells[RDMA_CONNS_MAX];
	struct transport_counts counts;
};

void rdma_group_init(struct rdma_group *group, struct rdma_peer *peer, bool may_write);

/* rdma_group_put -- one more op. */
void rdma_group_put(struct rdma *rdma, struct rdma_group *group, struct rdma_move *move);

/* rdma_group_is_resting -- could not be reached a moment ago? */
bool rdma_group_is_resting(const struct rdma_group *group, uint64_t now_ns);

/* rdma_group_carries -- an op of this batch?  NULL: any op. */
bool rdma_group_carries(const struct rdma_group *group, const struct batch *batch);

/* rdma_group_turn -- * do what can be done without waiting.  result: did anything happen? */
bool rdma_group_turn(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns);

/* rdma_group_arm -- its channels ring when there is something new.  false: there is already. */
bool rdma_group_arm(struct rdma_group *group);

/* rdma_group_is_armed -- all of them would ring? */
bool rdma_group_is_armed(const struct rdma_group *group);

/* rdma_group_quiet -- take in the rings. */
void rdma_group_quiet(struct rdma_group *group);

/* rdma_group_expire -- end the batch's ops whose time is over; with them the life, where their
 * requests are under way. */
void rdma_group_expire(struct rdma *rdma, struct rdma_group *group, const struct batch *batch,
		       uint64_t now_ns);

/* rdma_group_break -- this life is over. */
void rdma_group_break(struct rdma *rdma, struct rdma_group *group, const char *why,
		      uint64_t now_ns);

/* rdma_group_close -- at once, whatever is under way.  needs: no op, or the transport is stopped.
 */
void rdma_group_close(struct rdma *rdma, struct rdma_group *group);

/*
 * rdma_group_end_queued -- those of the queue with that token (NULL: all), but for one that is
 * being planned.  OP_E_PENDING: they are passed on.
 */
void rdma_group_end_queued(struct rdma *rdma, struct rdma_group *group, const uint8_t *mac,
			   enum op_result result);

/*
 * rdma_group_kick -- iWARP: what has come while a connection was being set up may lie there until
 * something else comes, and the answer is waited for in vain.  A token shown once more, when
 * nothing has come for long, is something else.
 *
 * result:  false: the life is over.
 */
bool rdma_group_kick(struct rdma_group *group, struct rdma_conn *conn, uint64_t now_ns) MUST_CHECK;

/* Called by rdma_conn.c. */
void rdma_group_retired(struct rdma *rdma, struct rdma_conn *conn, const struct rdma_wr *wr);
void rdma_group_dropped(struct rdma_conn *conn, const struct rdma_wr *wr);
void rdma_group_answered(struct rdma *rdma, struct rdma_group *group,
			 const struct wire_reply *reply);

/* rdma_move_close -- its loans are given back.  Without the lock where there are any. */
void rdma_move_close(struct rdma_move *move);

/* rdma_nic_of -- the device behind that context, opened when it is new.  NULL: it can't be used. */
struct rdma_nic *rdma_nic_of(struct rdma *rdma, struct ibv_context *verbs);

#endif
