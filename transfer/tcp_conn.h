/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tcp_conn.h -- connections to a provider that speak wire.h, and who works on them.
 *
 *                 first op waits        connected       any error, an op overdue, its way ends
 *      (new) DOWN --------------> OPENING --------> UP --------------------------> BREAKING
 *             ^                      |                    shut down at once           |
 *             |     no way leads     |                                                |
 *             +----- there: lost ----+            the last thread that used the       |
 *             +-------------------------------------- socket is out ------------------+
 *
 * Its ops are lost then, or overdue; but where there is another way (tcp_path.h), READs and what
 * was not begun yet stay on it and go there.
 *
 * Ops wait in `to_send`, then in `sent`, in the order in which they are answered.
 * The first of `sent` is being received, the last one may still be on its way out.
 *
 * There is no thread of our own.  Who waits for a batch is a waiter; one of the
 * waiters with ops on a connection is its reader: it sends what is left to send,
 * receives for everybody, and hands the role on when its own batch is done.  The
 * others sleep until they are rung.  A submitting thread sends as much as the
 * socket takes without waiting.
 *
 * Nobody holds the lock while bytes move.  A thread that uses the socket is
 * counted in `n_inside`; an op is completed only when nobody can touch its
 * slices any more: after its last byte, or when the connection is shut down and
 * n_inside is 0.
 */
#ifndef TRANSFER_TCP_CONN_H
#define TRANSFER_TCP_CONN_H

#include "transfer/base/lock.h"
#include "transfer/base/clock.h"
#include "transfer/op_cursor.h"
#include "transfer/tcp_path.h"
#include "transfer/transport.h"
#include "transfer/wire.h"

#define TCP_CONNS_PER_PEER 2

/* A thread that waits for a batch; lives on its stack. */
struct tcp_waiter {
	struct list_link at;
	struct batch *batch;
	uint64_t until_ns;
	uint64_t deadline_ns; /* the next one of the batch's ops */
	int event_fd;         /* -1: none to be had, waits are short then */
	bool is_asleep;       /* without the lock, in poll() */
	bool is_rung;         /* something has changed since it last looked */
};

enum tcp_conn_state { TCP_DOWN, TCP_OPENING, TCP_UP, TCP_BREAKING };

/* What goes out: one request at a time, and with a WRITE its bytes. */
struct tcp_out {
	struct op *op; /* NULL: between two requests */
	uint8_t head[WIRE_REQUEST_BYTES];
	uint64_t sent_bytes, all_bytes; /* head included */
	uint64_t summed_bytes;          /* of the op's own; behind what is sent */
	struct op_cursor cursor, sum_cursor;
};

/* What comes in: one reply at a time, and with a READ its bytes. */
struct tcp_in {
	struct op *op; /* its bytes are coming; NULL: a head is expected */
	uint8_t head[WIRE_REPLY_BYTES];
	size_t n_head;
	struct op_cursor cursor;
};

struct tcp_conn {
	struct tcp_peer *peer;
	enum tcp_conn_state state;
	int fd;                    /* -1 also while it is OPENING and a thread looks a name up */
	unsigned at_path;          /* of the peer's paths, and */
	struct sock_addr addr;     /* what its name means */
	bool is_looking;           /* OPENING: that thread's, which writes addr without the lock */
	unsigned tried;            /* OPENING: ways tried so far, one bit each */
	uint64_t late_ns;          /* OPENING: this try is given up then */
	unsigned n_inside;         /* threads that use fd without the lock */
	bool is_sending;           /* one of them sends: it owns `out` */
	struct tcp_waiter *reader; /* owns `in` */
	struct list to_send, sent;
	uint64_t queued_bytes; /* of all ops on it */
	uint64_t used_ns;      /* when it was last of use */
	uint64_t heard_ns;     /* when a byte last moved, with more to come */
	uint64_t silent_ns;    /* silent for longer than this: is the way still there? */
	int probe_fd;          /* a second connection that is to tell; -1: none is under way */
	unsigned probe_path;   /* by this way: its own, or a better one that had failed */
	uint64_t probe_until_ns;
	struct tcp_out out;
	struct tcp_in in;
};

/* One provider, as one client sees it. */
struct tcp_peer {
	struct list_link at;
	char endpoint[TARGET_ENDPOINT_MAX + 1];
	struct tcp_paths paths;
	bool is_same_host;
	uint64_t client_id;
	unsigned n_targets;        /* whose slots point here */
	uint64_t crowded_until_ns; /* it said it has too many connections: one must do till then */
	uint64_t rest_until_ns;    /* could not be reached: not tried again before */
	struct tcp_conn conns[TCP_CONNS_PER_PEER];
};

struct tcp {
	struct transport base;
	struct lock lock;    /* LOCK_xfer_path; guards all that is above and below */
	pthread_cond_t left; /* a sender is out of its socket */
	struct list peers, waiters;
	unsigned n_busy;           /* threads within submit() or progress(): peers stay */
	struct topology *topology; /* NULL: nobody has asked for it yet */
	bool is_stopped;
	unsigned n_open, conns_max; /* connections that are not DOWN */
	unsigned n_orphans;         /* peers that no target knows any more, at least */
	uint64_t last_id;
	int spare_fds[64]; /* eventfds for waiters to come */
	size_t n_spare_fds;
};

/* All of these need the lock; those marked * put it aside meanwhile. */

void tcp_conn_init(struct tcp_conn *conn, struct tcp_peer *peer);

/* tcp_conn_put -- one more op; sent when somebody sends. */
void tcp_conn_put(struct tcp *tcp, struct tcp_conn *conn, struct op *op);

/* tcp_conn_carries -- an op of this batch? */
bool tcp_conn_carries(const struct tcp_conn *conn, const struct batch *batch);

/* tcp_pool_admits -- * may one more connection be opened?  One that is idle makes room. */
bool tcp_pool_admits(struct tcp *tcp);

/* tcp_conn_open -- * begin to connect, or lose the ops on it.  needs: DOWN. */
void tcp_conn_open(struct tcp *tcp, struct tcp_conn *conn);

/* tcp_conn_open_step -- * one that is OPENING: has it come?  result: has anything changed? */
bool tcp_conn_open_step(struct tcp *tcp, struct tcp_conn *conn);

/*
 * tcp_conn_watch -- * is the way of one that is silent still there?  Is a better one there again?
 *
 * result:  it was not, and the connection is broken.
 */
bool tcp_conn_watch(struct tcp *tcp, struct tcp_conn *conn, uint64_t now_ns);

/* tcp_conn_may_return -- is it idle, while a better way is known to be there? */
bool tcp_conn_may_return(const struct tcp_conn *conn, uint64_t now_ns);

/* tcp_conn_wakes_ns -- when to look at it again though nothing was heard. */
uint64_t tcp_conn_wakes_ns(const struct tcp_conn *conn);

/* tcp_conn_close -- * nobody is inside: it is DOWN, its ops move to another way or are lost. */
void tcp_conn_close(struct tcp *tcp, struct tcp_conn *conn);

/* tcp_conn_send -- * as much as the socket takes.  result: did anything move? */
bool tcp_conn_send(struct tcp *tcp, struct tcp_conn *conn);

/*
 * tcp_conn_recv -- * what is there, at most to the end of one op.
 *
 * may_wait: within an op's bytes, wait a little for more to come.
 * needs:    the caller is conn->reader.
 * result:   did anything move?
 */
bool tcp_conn_recv(struct tcp *tcp, struct tcp_conn *conn, bool may_wait);

/* tcp_conn_expire -- * end the batch's ops whose time is over; the connection too, if they are on
 * the wire. */
void tcp_conn_expire(struct tcp *tcp, struct tcp_conn *conn, const struct batch *batch,
		     uint64_t now_ns);

/* tcp_conn_is_stale -- hung up by the peer while nothing was going on? */
bool tcp_conn_is_stale(struct tcp *tcp, struct tcp_conn *conn);

/* tcp_conn_break -- * shut it down; its ops are lost as soon as nobody is inside. */
void tcp_conn_break(struct tcp *tcp, struct tcp_conn *conn);

/* tcp_conn_enter, tcp_conn_leave -- about to use fd without the lock; done with it (*). */
void tcp_conn_enter(struct tcp_conn *conn);
void tcp_conn_leave(struct tcp *tcp, struct tcp_conn *conn);

/* tcp_ring -- the waiter looks again.  tcp_ring_done -- those whose batch is done. */
void tcp_ring(struct tcp_waiter *waiter);
void tcp_ring_done(struct tcp *tcp);

#endif
