/* SPDX-License-Identifier: Apache-2.0 */

/*
 * depot.h -- a provider: a process that lends one segment, and the memory, which may outlive it.
 *
 *      life      one life of the bytes: id, epoch, memory, the secret of now, who has mapped it
 *      depot     the process: joins, mounts, pings, carries out fences, looks at tokens
 *
 *      ordered to fence C:  connections of C are cut: a flight that began before is worth nothing
 *                           WRITE tokens of C that end by now + write lease are refused from now on
 *                           a live process of C with a writable mapping: not yet
 *
 * With depot_skip_fences (--break fence) it says "done" and does nothing of all that.
 */
#ifndef TESTS_SIM_DEPOT_H
#define TESTS_SIM_DEPOT_H

#include "tests/sim/fiber.h"
#include "transfer/base/token.h"
#include "transfer/base/vec.h"

#define DEPOTS_MAX 4

struct mapper {
	uint64_t client_id;
	struct proc *proc;
};

struct life {
	uint64_t segment_id, epoch, size_bytes;
	uint8_t *bytes;
	uint8_t secret[TOKEN_SECRET_BYTES];
	uint64_t fence_word;
	VEC(struct mapper) mappers; /* hold a writable mapping */
	VEC(struct mapper) readers; /* hold one that is read-only */
};

/* A client that was fenced, and up to which end its write tokens are refused. */
struct fenced {
	uint64_t client_id, until_ms;
};

struct depot {
	uint8_t medium;
	unsigned index, node;
	char host[24], name[24];
	bool is_on_disk; /* says that it lends room on a disk */
	struct life *life;
	struct proc *proc; /* of the process now; NULL: none */
	struct link *link;
	struct node_clock clock;
	uint64_t client_id;
	uint32_t n_tasks;          /* that the master has for it, as of its last ping */
	bool is_writing;           /* its worker has a piece on the way (worker.h) */
	uint64_t cuts;             /* grows when every connection is cut */
	VEC(struct fenced) fenced; /* cleared with the process: its secrets go, too */
	VEC(struct mapper)
	cut_of; /* client_id -> times its connections were cut (in `proc`'s place) */
	uint64_t parted_until_ns[64]; /* by the client's node */
};

extern struct depot depots[DEPOTS_MAX];
extern unsigned n_depots;
extern bool depot_skip_fences;

void depots_init(unsigned n, uint64_t size_bytes, bool share_hosts);
void depots_fini(void);

/* depot_kill -- and start it again after down_ns, with the bytes it had or with new ones. */
void depot_kill(struct depot *depot, uint64_t down_ns, bool is_wiped);

struct depot *depot_of(uint64_t segment_id);

/* depot_line -- the number of the connection of that client; changes when it is cut. */
uint64_t depot_line(const struct depot *depot, uint64_t client_id);

/* depot_allows -- looks at a token as the serving side does. */
bool depot_allows(const struct depot *depot, const struct token *token, uint32_t rights,
		  uint64_t offset_bytes, uint64_t len_bytes);

/* depot_map -- this process may from now on read (write) through a mapping, and nobody can take it
 * back. */
void depot_map(struct depot *depot, uint64_t client_id, struct proc *proc, bool is_write);

/* depots_stop -- the processes end, for the end of the run. */
void depots_stop(void);

#endif
