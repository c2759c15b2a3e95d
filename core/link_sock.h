/* SPDX-License-Identifier: Apache-2.0 */

/*
 * link_sock.h -- the link of real programs: one connection, many callers.
 *
 *      thread A: send, nobody reads: read ... its answer, and B's -> wakes B; leaves -> C reads on
 *      thread B: send, A reads: sleep
 *      thread C: send, A reads: sleep .................................. wakes: reads
 *
 * So a lone caller's round trip is two system calls and no hand-over.  When the
 * connection breaks, one caller connects and joins again, and each caller sends
 * its own request again under the same id.
 */
#ifndef CORE_LINK_SOCK_H
#define CORE_LINK_SOCK_H

#include "core/greet.h"

/*
 * link_sock_new -- nothing is connected yet; the first call does.
 *
 * needs:   address is well-formed (sock.h); strings of config are copied.
 * result:  0 or -errno.
 */
int link_sock_new(const char *address, const struct greet_config *config,
		  struct link **ret_link) MUST_CHECK;

#endif
