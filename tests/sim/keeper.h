/* SPDX-License-Identifier: Apache-2.0 */

/*
 * keeper.h -- the one master of the simulation: its turns, its store, its deaths.
 *
 *      frames --> master_receive() --> master_turn() --> (the disk takes a while) --> store_step()
 *                                           ^                                            |
 *                                           +--------------------------------------------+
 *
 * A death keeps what the last store_step() left on the disk, and nothing else.
 */
#ifndef TESTS_SIM_KEEPER_H
#define TESTS_SIM_KEEPER_H

#include "tests/sim/net.h"

/* What a run is told of the master's promises. */
struct keeper_limits {
	uint64_t placement; /* enum placement */
	uint64_t offload;   /* enum offload_mode */
	uint64_t promote_uses;
	uint64_t lease_ms, write_lease_ms, ping_ms, ttl_ms, grace_ms, put_wait_ms;
	uint64_t high_pct, low_pct, sync_every_ms;
	uint64_t slow_one_in;            /* commits: takes up to 0.8 s */
	bool has_power_cuts, is_durable; /* is_durable: durability=power */
};

void keeper_init(const struct keeper_limits *limits);
void keeper_fini(void);

/* keeper_dial -- a connection, or NULL: nobody listens. */
struct wire *keeper_dial(unsigned node, const struct wire_end *caller);

void keeper_kill(uint64_t down_ns); /* kill -9, and another start after that time */

/*
 * keeper_cut_power -- what was written and not synced is lost.
 *
 * gives:   since when answers may have been undone; UINT64_MAX: none was.
 */
uint64_t keeper_cut_power(uint64_t down_ns);

void keeper_pause(uint64_t len_ns); /* the process does not run meanwhile */
bool keeper_is_up(void);

/* keeper_lost_ns -- when an object was last evicted, or lost with its segment. */
uint64_t keeper_lost_ns(void);

/* keeper_n_starts -- grows with each start. */
unsigned keeper_n_starts(void);

/* keeper_is_at_rest -- no put, ghost, gate, resting extent or answer that waits. */
bool keeper_is_at_rest(void);
void keeper_describe(char *text, size_t cap);

/* keeper_judge_books -- the database says what memory says; call when at rest. */
void keeper_judge_books(void);

#endif
