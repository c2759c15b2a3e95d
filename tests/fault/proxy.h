/* SPDX-License-Identifier: Apache-2.0 */

/*
 * proxy.h -- stands between a client and its provider, on loopback, and is a bad network.
 *
 *      client --- connection 0 ---> proxy ---> provider       one poll loop, in a thread of its own
 *                 connection 1            |
 *                                         +-- a plan for each: from the byte at_bytes on, one way
 *
 *      CALM    everything as it comes
 *      DELAY   each piece comes later
 *      DRIP    a few bytes now and then
 *      CUT     both sides are closed, or reset
 *      FLIP    one bit is turned
 *      HOLE    nothing comes any more, and nobody is told
 *
 * Under a seed: the plan of the n-th connection is always the same.
 */
#ifndef TESTS_FAULT_PROXY_H
#define TESTS_FAULT_PROXY_H

#include "transfer/base/base.h"

enum proxy_kind {
	PROXY_CALM,
	PROXY_DELAY,
	PROXY_DRIP,
	PROXY_CUT,
	PROXY_FLIP,
	PROXY_HOLE,
	PROXY_N_KINDS,
};

struct proxy;

/*
 * proxy_open -- listen on loopback, for a provider at this port of loopback.
 *
 * first    the first connection's kind, PROXY_N_KINDS: by the seed as well.
 * result:  0 or -errno.
 */
int proxy_open(uint16_t to_port, uint64_t seed, enum proxy_kind first,
	       struct proxy **ret_proxy) MUST_CHECK;

/* proxy_close -- every connection is closed.  NULL is nothing. */
void proxy_close(struct proxy *proxy);

uint16_t proxy_port(const struct proxy *proxy);

/* proxy_n_struck -- connections whose plan has had an effect so far, of that kind.  Any thread. */
unsigned proxy_n_struck(const struct proxy *proxy, enum proxy_kind kind);

const char *proxy_kind_name(enum proxy_kind kind);

#endif
