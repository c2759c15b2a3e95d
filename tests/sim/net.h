/* SPDX-License-Identifier: Apache-2.0 */

/*
 * net.h -- connections between the master and everybody else, and what goes wrong with them.
 *
 *      dial -> wire: bytes arrive later, in order, each way -> cut: both ends hear of it, later
 *
 * The two ends are functions; nobody here knows what the frames say.
 */
#ifndef TESTS_SIM_NET_H
#define TESTS_SIM_NET_H

#include "tests/sim/fiber.h"
#include "transfer/base/buf.h"

struct wire;

/* One end: frames and the end of the connection arrive here.  May be NULL after wire_forget(). */
struct wire_end {
	void (*frame)(void *arg, struct wire *wire, const uint8_t *bytes, size_t len_bytes);
	void (*ended)(void *arg, struct wire *wire);
	void *arg;
};

enum wire_side { SIDE_CALLER, SIDE_MASTER };

struct wire {
	struct wire_end ends[2];
	unsigned node;             /* of the caller */
	uint64_t busy_until_ns[2]; /* a frame is not overtaken by the next one */
	bool is_cut;
	void *at_master; /* the master's own */
};

struct net {
	uint64_t parted_until_ns[64]; /* by node: nothing goes to the master or comes from it */
	uint64_t n_frames, n_cuts;
};
extern struct net net;

void net_init(void);

/* wire_new -- a connection that just came about. */
struct wire *wire_new(unsigned node, const struct wire_end *caller, const struct wire_end *master);

/* wire_send -- bytes (whole frames) from that side to the other. */
void wire_send(struct wire *wire, enum wire_side from, const uint8_t *bytes, size_t len_bytes);

/* wire_cut -- it breaks: frames on their way are lost, both ends are told a little later. */
void wire_cut(struct wire *wire);

/* wire_forget -- this end is not told of anything any more. */
void wire_forget(struct wire *wire, enum wire_side side);

#endif
