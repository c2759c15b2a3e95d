/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tcp_rank.h -- in which order the addresses of one peer are tried, by the cards that lead there.
 *
 *      Unix sockets, then what this machine sends itself, then by card: up, near, fast
 *
 * Near is what sits at the memory node whose processor we run on.  A place that is
 * not known is near, a speed that is not known is slow; equals stay in the provider's order.
 */
#ifndef TRANSFER_TCP_RANK_H
#define TRANSFER_TCP_RANK_H

#include "transfer/tcp_path.h"
#include "transfer/topology.h"

/* One card as a way out. */
struct tcp_card {
	bool is_down;
	unsigned
		distance; /* from our node, as the kernel tells it; 0: nothing leaves the machine */
	uint64_t mbit_per_s; /* 0: not known */
};

/* tcp_card_of -- the network card of that name, seen from a memory node. */
struct tcp_card tcp_card_of(const struct topology *topology, int node, const char *netdev);

/* tcp_paths_rank -- cards[i] leads to paths->all[i]. */
void tcp_paths_rank(struct tcp_paths *paths, const struct tcp_card *cards);

/* tcp_paths_rank_here -- the same by what this machine is like: *topology, read when it is NULL. */
void tcp_paths_rank_here(struct tcp_paths *paths, struct topology **topology);

#endif
