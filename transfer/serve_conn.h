/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve_conn.h -- what the files of the provider's side share.
 *
 *      serve.c        listens, accepts, fences, stops
 *      serve_conn.c   one connection: a thread that reads requests and answers them in turn
 *      serve_disk.c   READ and WRITE of a segment on a disk
 *      serve_map.c    hands out memory, and knows which processes may write to it
 *      serve_rdma.c   what there is of RDMA: connections that are the devices' own
 *
 * A connection's life:
 *
 *      accepted --> nameless --first genuine token--> its client's --> finished --> joined
 *                       |                                ^  hang up (fence, stop, bad request)
 *                       +--idle_ms without one-----------+
 */
#ifndef TRANSFER_SERVE_CONN_H
#define TRANSFER_SERVE_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "transfer/base/list.h"
#include "transfer/base/lock.h"
#include "transfer/base/map.h"
#include "transfer/disk_lanes.h"
#include "transfer/lends.h"
#include "transfer/serve.h"
#include "transfer/wire.h"

#define SERVE_LISTEN_MAX 8

struct serve {
	const struct clock *clock;
	uint64_t idle_ms;
	uint64_t write_token_ms;
	unsigned connections_max;
	mode_t unix_mode;

	int listen_fds[SERVE_LISTEN_MAX];
	bool is_unix[SERVE_LISTEN_MAX];
	char *unlink_paths[SERVE_LISTEN_MAX]; /* of Unix sockets: removed at the end */
	unsigned n_listen;
	char endpoint[512 + 1];
	bool must_have_rdma, tells_rdma; /* was it asked for by name; is it in the endpoint */
	char why[256];
	pthread_t acceptor;
	bool is_accepting; /* the acceptor was started */
	int wake_fd;       /* rouses the acceptor: a thread to join, or the end */

	struct lends lends;
	struct disk_lanes disks;
	struct lock lock;       /* LOCK_xfer_serve; guards what follows */
	pthread_cond_t changed; /* a connection has finished */
	bool is_stopping;
	bool is_renewing; /* nobody is let in until the old connections are gone */
	struct list conns, finished;
	unsigned n_conns;
	struct rdma_serve *rdma; /* NULL: no RDMA; set once */
	struct list rdma_conns;  /* struct rdma_serve_conn */
	unsigned n_rdma_conns;
	struct list grants;      /* writable mappings out there */
	struct map fenced_until; /* client id -> ms, as a pointer: see serve.h */

	/* Counted from any thread; nothing is decided by them. */
	_Atomic uint64_t n_refused, bytes_read, bytes_written, ops_read, ops_write;
};

struct serve_conn {
	struct list_link at;
	struct serve *serve;
	pthread_t thread;
	int fd; /* closed when the thread was joined */
	bool is_unix;
	pid_t pid; /* of a Unix socket's peer */
	uid_t uid;
	uint64_t late_ms; /* when what is being moved must have moved; its thread's own */

	/* Guarded by the serve's lock. */
	uint64_t client_id;         /* 0: not known yet */
	struct lends_row *touching; /* bytes of this segment are being moved */
};

/* serve_conn_main -- the thread.  arg: struct serve_conn. */
void *serve_conn_main(void *arg);

/*
 * serve_send, serve_recv -- all of the bytes; at least one of them.
 *
 * result:  false: hang up.
 */
bool serve_send(struct serve_conn *conn, const struct wire_reply *reply, const void *bytes,
		uint64_t len_bytes);
bool serve_recv(struct serve_conn *conn, void *bytes, size_t len_bytes, size_t *ret_n);

/* serve_status -- a reply without bytes. */
bool serve_status(struct serve_conn *conn, const struct wire_request *request,
		  enum wire_status status);

/* serve_count -- a READ or WRITE that was answered. */
void serve_count(struct serve *serve, const struct wire_request *request);

/* serve_waste -- take in the bytes of a WRITE that is not accepted.  false: hang up. */
bool serve_waste(struct serve_conn *conn, uint64_t len_bytes);

/* serve_leave -- no byte of the request is under way in its segment any more. */
void serve_leave(struct serve_conn *conn);

/*
 * serve_disk_read, serve_disk_write -- answer, with what lies on lent->disk.
 *
 * needs:   conn->touching is the segment; the request was judged.
 * result:  false: hang up.  No piece of it is under way any more, either way.
 */
bool serve_disk_read(struct serve_conn *conn, const struct wire_request *request,
		     struct lent *lent);
bool serve_disk_write(struct serve_conn *conn, const struct wire_request *request,
		      struct lent *lent);
/* ---- RDMA ---- */

/* serve_listen_rdma -- at those addresses; NULL: nowhere; "auto": where it can be had.  0,
 * SERVE_E_NO_RDMA, -errno. */
int serve_listen_rdma(struct serve *serve, const char *addresses) MUST_CHECK;

/* serve_register_rdma -- the segment with the devices, if there are any.  0, SERVE_E_NO_RDMA,
 * -errno. */
int serve_register_rdma(struct serve *serve, struct lent *lent) MUST_CHECK;

/* serve_cut_rdma -- destroy those of a client (0: any) to a segment (NULL: any); puts the lock,
 * which is held, aside meanwhile. */
void serve_cut_rdma(struct serve *serve, uint64_t client_id, const struct lent *lent,
		    bool only_writers);

/* serve_cut_writers -- the one-sided connections by which this client may write; gone afterwards.
 */
void serve_cut_writers(struct serve *serve, uint64_t client_id);

/* serve_is_fenced -- was this WRITE token made before its client was fenced?  needs: the lock. */
bool serve_is_fenced(struct serve *serve, const struct token *token);

/*
 * serve_map -- answer a MAP request; the token is genuine and of this connection's client.
 *
 * needs:   conn->touching is the segment.
 * result:  true: go on with this connection.
 */
bool serve_map(struct serve_conn *conn, const struct wire_request *request);

/* ---- processes that may write; all under the lock ---- */

/* serve_grants_adopt -- those who are written down in a segment and still alive.  0 or -errno. */
int serve_grants_adopt(struct serve *serve, struct lent *lent) MUST_CHECK;

/* serve_grants_forget -- the segment goes (NULL: all go).  What is written down in it stays. */
void serve_grants_forget(struct serve *serve, const struct lent *lent);

/* serve_grants_writers -- clients with a living process that may write to lent.  0 or -EOVERFLOW.
 */
int serve_grants_writers(struct serve *serve, const struct lent *lent, uint64_t *ret_clients,
			 size_t cap, size_t *ret_n) MUST_CHECK;

/* serve_grants_fence -- is none of this client's processes alive?  Those that are: told to stop. */
bool serve_grants_fence(struct serve *serve, uint64_t client_id);

#endif
