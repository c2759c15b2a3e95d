/* SPDX-License-Identifier: Apache-2.0 */

/*
 * engine.h -- the transfer engine: takes batches of ops, finds the way, moves the bytes.
 *
 *      engine_target(desc) ---> target          (cached by segment id and epoch)
 *      engine_submit(batch) --> transports      each op completes exactly once
 *      engine_wait(batch)   --> the caller's thread drives the transports meanwhile
 *
 * It does not know what an object is.
 * thread:  every function but new and free from any thread.
 */
#ifndef TRANSFER_ENGINE_H
#define TRANSFER_ENGINE_H

#include "transfer/base/clock.h"
#include "transfer/op.h"
#include "transfer/target.h"

struct engine;
struct transport;
struct lent;

int engine_new(const struct clock *clock, struct engine **ret_engine) MUST_CHECK;

/* engine_free -- everything under way is completed with OP_E_CANCELLED first.  All targets must be
 * unreferenced. */
void engine_free(struct engine *engine);

/* engine_add -- the next transport in order of preference; owned from now on.  Before any submit.
 */
void engine_add(struct engine *engine, struct transport **t_taken);

/*
 * engine_add_default -- local, shm, file, rdma where it was built, tcp.
 *
 * rdma_conns  queue pairs to each segment, at most TRANSPORT_RDMA_CONNS_MAX; 0: no RDMA.
 */
int engine_add_default(struct engine *engine, unsigned rdma_conns) MUST_CHECK;

const struct clock *engine_clock(const struct engine *engine);

/* engine_lend, engine_unlend -- a segment in this process: ops on it are plain copies. */
int engine_lend(struct engine *engine, struct lent *lent) MUST_CHECK;
void engine_unlend(struct engine *engine, struct lent *lent);

/* engine_target -- a reference to the target; the same one for the same segment and epoch. */
int engine_target(struct engine *engine, const struct target_desc *desc,
		  struct target **ret_target) MUST_CHECK;
void engine_target_ref(struct target *target);
void engine_target_unref(struct engine *engine, struct target *target);

/*
 * engine_learn, engine_unlearn -- memory that slices will point into; transports that must pin it
 * do so once.  What was learnt overlaps nothing else, and is used by no op when it is unlearnt.
 *
 * result:  0 or -ENOMEM; then it was not learnt.
 */
int engine_learn(struct engine *engine, const struct memory *memory) MUST_CHECK;
void engine_unlearn(struct engine *engine, const void *at);

/* engine_counts -- of the transport of that name; zeros where it counts nothing, or is not there.
 */
struct transport_counts;
void engine_counts(struct engine *engine, const char *name, struct transport_counts *ret_counts);

/* engine_paths -- call fn for every path that an op took; a result other than 0 ends the walk and
 * is returned. */
struct path_stats;
int engine_paths(struct engine *engine, int (*fn)(void *arg, const struct path_stats *path),
		 void *arg);

/*
 * engine_submit -- start every op of the batch.  No allocation in steady state.
 *
 * needs:   batch->ops[0..n_ops) filled in; they and the slices stay put until the batch is done.
 * gives:   each op completes exactly once, with a result.
 */
void engine_submit(struct engine *engine, struct batch *batch);

/* engine_wait -- until every op is completed; bounded by the ops' deadlines.  Then: the worst
 * result. */
enum op_result engine_wait(struct engine *engine, struct batch *batch);

/*
 * engine_stop -- no more: ops under way complete soon (LOST or CANCELLED), later ones at once.
 *
 * For an owner that is about to end and does not want to wait for peers that don't answer.
 */
void engine_stop(struct engine *engine);

/* engine_run -- submit and wait. */
enum op_result engine_run(struct engine *engine, struct batch *batch);

/*
 * engine_map -- a read-only look at a segment on this host.
 *
 * gives:   *ret_bytes, valid as long as the caller holds its reference to target.
 * result:  0, or ENGINE_E_NOT_HERE.
 */
enum engine_outcome { ENGINE_E_NOT_HERE = 1 };
int engine_map(struct engine *engine, struct target *target, const struct token *token,
	       const void **ret_bytes) MUST_CHECK;

DEFINE_CLEANUP(struct engine, engine_free);

#endif
