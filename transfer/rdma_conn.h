/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_conn.h -- one queue pair to a provider, and the law under which bytes move on it.
 *
 *             connect(hello)             welcome                  a completion that is none,
 *      DOWN ----------------> OPENING ----------------> UP ------ hang-up, overdue op --> BREAKING
 *        ^                       | refused, too late                                       |
 *        |<----------------------+                                                         |
 *        +------ queue pair destroyed <---- every work request flushed, or 200 ms over ----+
 *
 * THE LAW.  A device moves bytes without asking anybody, so what it may touch, and how long, is
 * settled by queue pairs alone:
 *
 *      token READ (whole segment)   -> queue pair that answers READs of this segment
 *      token WRITE (one extent)     -> queue pair that answers WRITEs, too
 *
 *      |-- hello, SHOW ----------- token ends -->| queue pair destroyed by the provider
 *      |-- hello, SHOW --- fence ---->|            destroyed, then the fence is confirmed
 *      |-- hello ------- next life -->|            destroyed, then the next is accepted
 *
 * 1. Every token is shown on a connection, and approved, before the first byte moves under it.  So
 *    who was fenced can't go on with what was granted before: he must connect anew, and the tokens
 *    of then are refused (serve.h).
 * 2. A connection ends with the last of its tokens.  A reader's tokens come again and again; a
 *    writer's live as long as write leases.  Within that time a writing queue pair reaches all of
 *    the segment, though a token names an extent: the client keeps to it, as it keeps to leases.
 * 3. A timeout or a flushed request is no proof that a WRITE will not land: it may be on its way.
 *    Proof is the end of the provider's side of the queue pair.  So after a failure all connections
 *    of the client with these rights on the segment end together (their life), and WRITEs are made
 *    again only in the next life, which is accepted when those of before are destroyed; or on TCP
 *    with WIRE_CUT, which does the same.  Otherwise the op is lost, and the master has us fenced.
 *    On iWARP even the completion of a WRITE says only that it is on its way: there the last
 * request of each is a READ of its last byte, and what comes back proves that it has arrived.
 *    So it is where nothing comes back for long though the device does not complain: on a way with
 *    much loss it tries again and again.  There the ops go on over TCP, and the way rests.
 * 4. A READ's slices are given back when this side's queue pair is drained and destroyed: from then
 *    on no late answer can be written into them.
 *
 * Requests stand in `ring` in the order in which they were posted, and come back in that order.
 * Every eighth is signalled, and the last one of each doorbell; one completion tells of all before
 * it.  An unsignalled one comes back by itself only when it fails.  On iWARP all are signalled, and
 * each speaks for itself: there a SEND or WRITE may come back before a READ that was posted
 * earlier.
 *
 * thread:  the transport's lock.
 */
#ifndef TRANSFER_RDMA_CONN_H
#define TRANSFER_RDMA_CONN_H

#include <rdma/rdma_cma.h>

#include "transfer/op_cursor.h"
#include "transfer/rdma_cq.h"
#include "transfer/rdma_nic.h"

#define RDMA_DEPTH    128 /* requests under way on one connection */
#define RDMA_ASKS     8   /* SHOWs under way */
#define RDMA_SGES_MAX 16
#define RDMA_BATCH    16 /* requests of one doorbell */

struct rdma;
struct rdma_group;
struct rdma_move;

enum rdma_conn_state { RDMA_DOWN, RDMA_OPENING, RDMA_UP, RDMA_BREAKING };

/* A request that is under way. */
struct rdma_wr {
	struct rdma_move *move; /* NULL: a SHOW */
	enum op_kind kind;      /* READ for a WRITE's move: the proof that it has arrived */
	uint64_t len_bytes;
	uint8_t *slot;           /* of the device's stage; NULL: the slices themselves */
	struct op_cursor cursor; /* where a READ's bytes go from there */
	bool is_back;            /* iWARP: it is done, but one before it is not */
	int n_sges;
	uint32_t rkey;
	uint64_t remote_address;
};

/* What is gathered for one doorbell. */
struct rdma_doorbell {
	unsigned n;
	struct ibv_send_wr wrs[RDMA_BATCH];
	struct ibv_sge sges[RDMA_BATCH][RDMA_SGES_MAX];
};

struct rdma_conn_page;

struct rdma_conn {
	struct rdma_group *group;
	enum rdma_conn_state state;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct rdma_nic *nic; /* known while it opens */
	unsigned nic_index;
	struct ibv_comp_channel *channel;
	struct rdma_cq cq;
	struct rdma_conn_page *page; /* registered: SHOWs and their answers */
	struct ibv_mr *page_mr;
	unsigned max_sges, max_read_sges;
	unsigned reads_max, n_reads; /* READs that may be, and are, under way */
	bool can_inline;             /* a SHOW */
	bool is_iwarp;
	uint8_t hello[RDMA_HELLO_BYTES];
	struct rdma_welcome welcome; /* when UP */
	bool was_tried;              /* in this life */
	struct rdma_wr *ring;        /* RDMA_DEPTH */
	uint64_t n_filled, n_posted, n_retired, n_seen;
	uint64_t n_shown;
	unsigned n_asks;
	uint64_t out_bytes;  /* of data, under way */
	uint64_t busy_ns;    /* since when, or when it last got on */
	uint64_t moved_ns;   /* the same of requests with data alone; 0: there is none */
	double bytes_per_ns; /* as of late; predicts when more would be done */
};

/* rdma_conn_init -- DOWN. */
void rdma_conn_init(struct rdma_conn *conn, struct rdma_group *group);

/* rdma_conn_open -- begin to connect.  0 or -errno; then it is DOWN. */
int rdma_conn_open(struct rdma_conn *conn, struct sockaddr *addr,
		   const struct rdma_hello *hello) MUST_CHECK;

enum rdma_news {
	RDMA_NEWS_NONE,
	RDMA_NEWS_STEP,    /* something has happened, but it is as before */
	RDMA_NEWS_UP,      /* conn->welcome is there */
	RDMA_NEWS_REFUSED, /* *ret_status */
	RDMA_NEWS_LOST,
};

/* rdma_conn_hear -- the connection manager's next event, if there is one. */
enum rdma_news rdma_conn_hear(struct rdma *rdma, struct rdma_conn *conn,
			      enum wire_status *ret_status);

/* rdma_conn_has_room -- for one more request of that kind?  A few places are kept for SHOWs. */
bool rdma_conn_has_room(const struct rdma_conn *conn, enum op_kind kind);

/*
 * rdma_conn_add -- one more request in the doorbell, which is this connection's until it is rung.
 *
 * needs:   has_room; UP; doorbell->n < RDMA_BATCH; wr whole, its sges in the doorbell's next row.
 */
void rdma_conn_add(struct rdma_conn *conn, struct rdma_doorbell *doorbell,
		   const struct rdma_wr *wr);

/* rdma_conn_add_proof -- a READ of that byte, after the move's WRITEs on the same connection.
 * needs: as above. */
void rdma_conn_add_proof(struct rdma_conn *conn, struct rdma_doorbell *doorbell,
			 struct rdma_move *move, uint64_t at_bytes);

/* rdma_conn_ring -- post what is gathered.  false: the connection is no good any more. */
bool rdma_conn_ring(struct rdma_conn *conn, struct rdma_doorbell *doorbell,
		    uint64_t now_ns) MUST_CHECK;

/* rdma_conn_show -- SHOW a token under that id.  needs: n_asks < RDMA_ASKS.  false: as above. */
bool rdma_conn_show(struct rdma_conn *conn, const struct wire_request *request) MUST_CHECK;

/*
 * rdma_conn_poll -- completions: rdma_group_retired() for each request that is done, in order, and
 * rdma_group_answered() for each answer to a SHOW.
 *
 * gives:   *ret_moved: there was something.
 * result:  false: one is bad: break it.
 */
bool rdma_conn_poll(struct rdma *rdma, struct rdma_conn *conn, uint64_t now_ns,
		    bool *ret_moved) MUST_CHECK;

/* rdma_conn_is_stalled -- data is under way, and nothing of it has come back for so long? */
bool rdma_conn_is_stalled(const struct rdma_conn *conn, uint64_t stall_ns, uint64_t now_ns);

/* rdma_conn_break -- to ERR, and tell the peer.  One that is OPENING goes DOWN at once. */
void rdma_conn_break(struct rdma_conn *conn);

/* rdma_conn_is_drained -- BREAKING, and every request has come back? */
bool rdma_conn_is_drained(struct rdma_conn *conn);

/* rdma_conn_close -- destroy; rdma_group_dropped() for each request that did not come back.  DOWN
 * afterwards. */
void rdma_conn_close(struct rdma_conn *conn);

/* rdma_conn_is_sooner -- would so many more bytes be done sooner here than there? */
bool rdma_conn_is_sooner(const struct rdma_conn *conn, const struct rdma_conn *than,
			 uint64_t len_bytes);

#endif
