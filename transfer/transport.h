/* SPDX-License-Identifier: Apache-2.0 */

/*
 * transport.h -- one way to move bytes.  One backend per file; behaviours are stacked in front.
 *
 *      engine --> [fault] --> [delay] --> tcp          (a decorator has the same shape and an
 * inner)
 *             --> shm
 *             --> local
 *
 * The engine asks the transports in their order of preference; the first that
 * can reach the target takes the op.  A transport that answers TRANSPORT_E_CANT
 * was not tried in vain: the next one is asked.
 */
#ifndef TRANSFER_TRANSPORT_H
#define TRANSFER_TRANSPORT_H

#include "transfer/base/base.h"
#include "transfer/op.h"
#include "transfer/target.h"

struct transport;

/* What a transport that registers memory tells of itself; since it was made. */
struct transport_counts {
	uint64_t bytes_direct; /* from and to memory that it was told of */
	uint64_t bytes_staged; /* copied by way of its own memory, for nobody told of theirs */
	uint64_t bytes_loaned; /* in memory that it registered for one op */
	uint64_t n_loans;      /* such registrations */
	uint64_t n_broken;     /* connections lost, with what was under way on them */
	uint64_t n_passed;     /* ops left to the next transport */
};

enum transport_outcome {
	TRANSPORT_E_CANT = 1, /* this target, or this kind of op on it, is not for this transport */
};

struct transport_ops {
	const char *name;     /* "tcp", also the word in configuration and counters */
	bool reaches_devices; /* slices may lie in a dmabuf */
	bool cuts; /* it sees to it that an op with must_cut is alone on its bytes (op.h) */

	/*
	 * submit -- start one move.
	 *
	 * needs:   *op stays valid until engine_complete() was called for it.
	 * result:  0: taken; it will be completed once, perhaps already was.
	 *          TRANSPORT_E_CANT: not touched.
	 * thread:  any; the transport does its own locking.
	 */
	int (*submit)(struct transport *t, struct op *op) MUST_CHECK;

	/*
	 * progress -- move what can be moved, complete what is done or overdue; wait at most until
	 * until_ns for something to happen to `batch`.
	 *
	 * The calling thread does the work itself where it can (no hand-over to another thread:
	 * a wake-up across processors costs 30 to 100 us).  NULL where submit() completes at once.
	 * gives:   back also when none of the batch's ops is left here: engine_pass() took them.
	 * thread:  any, several at once.
	 */
	void (*progress)(struct transport *t, struct batch *batch, uint64_t until_ns);

	/*
	 * map -- the bytes themselves, read-only, for as long as the target lives.
	 *
	 * result:  0 and *ret_bytes (the whole segment from offset 0), or TRANSPORT_E_CANT.  May be
	 * NULL.
	 */
	int (*map)(struct transport *t, struct target *target, const struct token *token,
		   const void **ret_bytes) MUST_CHECK;

	/*
	 * learn, unlearn -- memory that slices will point into, and that it is no more; no op uses
	 * it then.  May be NULL.  thread: any.
	 *
	 * result:  0 or -ENOMEM; what can't be made use of is no failure.
	 */
	int (*learn)(struct transport *t, const struct memory *memory) MUST_CHECK;
	void (*unlearn)(struct transport *t, const void *at);

	/* counts -- may be NULL.  thread: any. */
	void (*counts)(struct transport *t, struct transport_counts *ret_counts);

	/* drop -- the last reference to target goes away: give back what is kept in its slot.  May
	 * be NULL. */
	void (*drop)(struct transport *t, struct target *target);

	/*
	 * judge -- a decorator sees each completion of what stands behind it, and may change it.
	 * May be NULL.  thread: any.
	 */
	enum op_result (*judge)(struct transport *t, struct op *op, enum op_result result);

	/*
	 * stop -- cut every channel: what is under way completes soon (LOST or CANCELLED), what
	 * comes later likewise.  May be NULL where ops never wait for a peer.
	 * thread:  any, while others submit and progress.
	 */
	void (*stop)(struct transport *t);

	/* free -- complete everything (OP_E_CANCELLED), close, give back, `inner` included. */
	void (*free)(struct transport *t);
};

struct transport {
	const struct transport_ops *ops;
	struct engine *engine;   /* set by engine_add() */
	unsigned index;          /* slot in struct target, bit in op->tried */
	struct transport *inner; /* owned; NULL for the last one in the chain */
};

/* engine_complete -- called by transports: this op is over.  Any thread, no transport lock held. */
void engine_complete(struct engine *engine, struct op *op, enum op_result result);

/* engine_pass -- called by transports: an op taken before can't be moved here after all, the next
 * one is asked. */
void engine_pass(struct engine *engine, struct op *op);

/* engine_lends -- the segments of this process (transfer/lends.h). */
struct lends *engine_lends(struct engine *engine);

/* The transports.  Each constructor: 0 or -errno. */
int transport_local_new(struct transport **ret_t) MUST_CHECK;
int transport_shm_new(struct transport **ret_t) MUST_CHECK;
int transport_file_new(struct transport **ret_t) MUST_CHECK;
int transport_tcp_new(struct transport **ret_t) MUST_CHECK;

/* transport_tcp_set -- open so many connections at most; ops that need one more wait until one is
 * idle.  Before any submit. */
void transport_tcp_set(struct transport *t, unsigned conns_max);

/* transport_rdma_new -- also where there is no device: then it can't move anything.
 * TRANSPORT_E_CANT: not built. */
int transport_rdma_new(struct transport **ret_t) MUST_CHECK;

/* transport_rdma_set -- so many queue pairs to each segment, 1 at first.  Before any submit.
 * needs: 1 <= conns_per_peer <= TRANSPORT_RDMA_CONNS_MAX. */
#define TRANSPORT_RDMA_CONNS_MAX 4
void transport_rdma_set(struct transport *t, unsigned conns_per_peer);

#endif
