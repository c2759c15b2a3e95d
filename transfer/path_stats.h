/* SPDX-License-Identifier: Apache-2.0 */

/*
 * path_stats.h -- what went one way to one peer, since the engine was made.
 *
 *      path   peer (its endpoint and host) x transport x, where it has several, the address in use
 *
 * Kept as long as the engine: a target may go, what went there is told on.  Of so many paths only
 * the first PATH_STATS_MAX have a place of their own; all others are one, without a peer.
 *
 * thread:  path_note() any, without a lock: its numbers grow one by one, and are no snapshot.
 *          The rest with the engine's lock.
 */
#ifndef TRANSFER_PATH_STATS_H
#define TRANSFER_PATH_STATS_H

#include <stdatomic.h>

#include "transfer/base/hist.h"
#include "transfer/base/list.h"
#include "transfer/op.h"
#include "transfer/target.h"

#define PATH_STATS_MAX   1024
#define PATH_ADDRESS_MAX 127

struct path_stats {
	struct list_link at;
	const char *transport;
	char host[TARGET_HOST_MAX + 1], peer[TARGET_ENDPOINT_MAX + 1];
	char address[PATH_ADDRESS_MAX + 1]; /* "": the transport has but one to this peer */

	/* Of those done, by enum op_kind; how long they took, from submit on: as in hist.h. */
	_Atomic uint64_t bytes[2], n_ns[2][HIST_BUCKETS], sum_ns;

	_Atomic uint64_t n_lost, n_timeout, n_refused, n_failed; /* the last: all other ends */
	_Atomic uint64_t n_moved; /* beginnings anew on another address, of ops that end here */
};

struct path_table {
	struct list all;
	unsigned n;
	struct path_stats others;
};

void path_table_init(struct path_table *table);
void path_table_fini(struct path_table *table);

/* path_table_find -- the row of that path, made when there is none. */
struct path_stats *path_table_find(struct path_table *table, const struct target_desc *desc,
				   const char *transport, const char *address);

/* path_is -- is this the row of that address? */
bool path_is(const struct path_stats *path, const char *address);

/* path_n_done -- of that kind. */
uint64_t path_n_done(const struct path_stats *path, enum op_kind kind);

/* path_note -- an op of that path has ended. */
void path_note(struct path_stats *path, const struct op *op, enum op_result result,
	       uint64_t len_ns);

#endif
