/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tcp_path.h -- the ways to one peer, one for each address of its endpoint that is of use here.
 *
 *      ranked    as tcp_rank.h says, those that rest behind all others
 *      resting   what failed is left alone for a while, each time twice as long
 *
 * thread:  the transport's lock is held, but for tcp_path_reach().
 */
#ifndef TRANSFER_TCP_PATH_H
#define TRANSFER_TCP_PATH_H

#include "transfer/base/clock.h"
#include "transfer/base/sock.h"
#include "transfer/target.h"

#define TCP_PATHS_MAX 8

struct tcp_path {
	char text[SOCK_ADDR_TEXT_MAX]; /* the address as the endpoint has it; never changes */
	bool is_unix;
	uint64_t rest_until_ns, rest_ns;
};

struct tcp_paths {
	struct tcp_path all[TCP_PATHS_MAX];
	unsigned n;
};

/* tcp_paths_init -- those of the target's endpoint that can be used.  result: are there any? */
bool tcp_paths_init(struct tcp_paths *paths, const struct target *target);

/* tcp_paths_best -- of those not in the set `tried`; paths->n: none is left. */
unsigned tcp_paths_best(const struct tcp_paths *paths, unsigned tried, uint64_t now_ns);

/* tcp_path_failed, tcp_path_works -- what came of it. */
void tcp_path_failed(struct tcp_path *path, uint64_t now_ns);
void tcp_path_works(struct tcp_path *path);

/* tcp_path_is_numeric -- nothing need be looked up? */
bool tcp_path_is_numeric(const struct tcp_path *path);

/* tcp_path_reach -- look its name up and begin to connect; needs no lock (may block in a look-up).
 *
 * result:  as of sock_connect_begin(), or SOCK_E_BAD_ADDRESS. */
int tcp_path_reach(const char *text, struct sock_addr *ret_addr, int *ret_fd) MUST_CHECK;

#endif
