/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_serve.h -- the provider's side of RDMA: who may reach a segment, and until when.
 *
 *      thread --> connection requests: hello, judged like a token on TCP --> queue pair, welcome
 *             --> SHOW: one more token of the same client                --> holds on for longer
 *             --> time is over, fence, segment leaves, peer gone         --> queue pair destroyed
 *
 * The bytes themselves pass by: the device reads and writes the segment, and asks nobody.  What
 * it may reach is therefore a matter of what was set up before (the law, rdma_conn.h):
 *
 *      segment  -- domain:  MR REMOTE_READ, REMOTE_WRITE <-- queue pairs of readers: answer READs
 *                                                        <-- queue pairs of writers: and WRITEs
 *
 * A queue pair is in one protection domain and answers only what it may, so a reader can write
 * nothing, whatever keys it knows, and nobody reaches another segment (rdma_lend.h; for iWARP as
 * well).
 *
 * The thread alone makes and destroys.  Others mark a connection and wait until it is gone.
 * Built twice: without TIFFIN_RDMA rdma_none.c stands in.
 */
#ifndef TRANSFER_RDMA_SERVE_H
#define TRANSFER_RDMA_SERVE_H

#include "transfer/serve_conn.h"

struct rdma_serve;

/* What serve.c needs to know of a connection; on serve->rdma_conns, guarded by the serve's lock. */
struct rdma_serve_conn {
	struct list_link at;
	uint64_t client_id;
	struct lends_row *row; /* held: the segment stays */
	bool may_write;        /* it answers WRITEs */
	bool is_dying;         /* marked; the thread destroys it and rings serve->changed */
};

enum rdma_serve_outcome {
	RDMA_SERVE_E_NONE = 1, /* no RDMA here: not built, no device, or none with an address */
	RDMA_SERVE_E_BAD_ADDRESS,
	RDMA_SERVE_E_IN_USE,
	RDMA_SERVE_E_NO_ROOM, /* the segment can't be registered; `why` says which limit it is */
};

/*
 * rdma_serve_new -- listen and start the thread.
 *
 * addresses  "host:port", blank between; "auto": every address of this machine that belongs to an
 *            RDMA device, any port.
 * result:    0, NONE (only for auto), BAD_ADDRESS, IN_USE, -errno.
 */
int rdma_serve_new(struct serve *serve, const char *addresses,
		   struct rdma_serve **ret_rdma) MUST_CHECK;

/* rdma_serve_free -- needs: no connection is left and serve->is_stopping.  NULL is nothing. */
void rdma_serve_free(struct rdma_serve *rdma);

/* rdma_serve_endpoint -- "rdma:host:port", blank between, with real ports. */
const char *rdma_serve_endpoint(const struct rdma_serve *rdma);

/*
 * rdma_serve_add -- register a segment with every device.
 *
 * gives:   why: one line, where it can't be.
 * result:  0, NO_ROOM, -ENOMEM.
 */
int rdma_serve_add(struct rdma_serve *rdma, struct lent *lent, char *why,
		   size_t why_cap) MUST_CHECK;

/* rdma_serve_leave -- no new connection to that segment.  needs: the serve's lock. */
void rdma_serve_leave(struct rdma_serve *rdma, const struct lent *lent);

/* rdma_serve_forget -- give its registrations back.  needs: nobody holds it. */
void rdma_serve_forget(struct rdma_serve *rdma, const struct lent *lent);

/* rdma_serve_wake -- look at what was marked.  NULL is nothing. */
void rdma_serve_wake(struct rdma_serve *rdma);

#endif
