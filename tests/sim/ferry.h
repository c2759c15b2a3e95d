/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ferry.h -- a struct transport (transfer/transport.h) that moves bytes in pieces, in virtual time.
 *
 *      over the network   token looked at on arrival; then piece by piece, as long as the
 * connection is not cut there.  The caller may hear "lost" or "timeout" long before: what is on its
 * way still lands. through a mapping  the fence word is looked at before each piece, and the piece
 * is copied a moment later: a process stopped in between writes it when it wakes.
 */
#ifndef TESTS_SIM_FERRY_H
#define TESTS_SIM_FERRY_H

#include "tests/sim/fiber.h"
#include "transfer/transport.h"

struct ferry_config {
	unsigned node;
	uint64_t client_id;
	struct proc *proc;
	const struct clock *clock;
	bool maps_to_read, maps_to_write;
};

/* Faults: one op in so many; 0: none. */
struct ferry_faults {
	unsigned lost, slow, flipped;
};
extern struct ferry_faults ferry_faults;

struct transport *ferry_new(const struct ferry_config *config);

/* ferry_die -- its process was killed: ops end, what left it flies on. */
void ferry_die(struct transport *t);

uint64_t ferry_n_late(void); /* pieces that landed after their op had ended */

#endif
