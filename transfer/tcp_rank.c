/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/tcp_rank.h"

#include <net/if.h>
#include <sched.h>
#include <string.h>

struct tcp_card
tcp_card_of(const struct topology *topology, int node, const char *netdev)
{
	struct tcp_card card = {.distance = TOPOLOGY_DISTANCE_OWN};

	for (size_t i = 0; topology != NULL && i < topology->n_nics; i++) {
		const struct topology_nic *nic = &topology->nics[i];

		if (nic->kind != TOPOLOGY_NET || strcmp(nic->name, netdev) != 0)
			continue;
		card.is_down = !nic->is_up;
		card.distance = topology_distance(topology, node, nic->place.node);
		card.mbit_per_s = nic->mbit_per_s;
	}
	return card;
}

/* is_before -- should a be tried before b, whatever their order? */
static bool
is_before(const struct tcp_card *a, const struct tcp_card *b)
{
	if (a->is_down != b->is_down)
		return b->is_down;
	if (a->distance != b->distance)
		return a->distance < b->distance;
	return a->mbit_per_s > b->mbit_per_s;
}

void
tcp_paths_rank(struct tcp_paths *paths, const struct tcp_card *cards)
{
	static const struct tcp_card inside = {.mbit_per_s = UINT64_MAX}; /* a Unix socket's */
	struct tcp_card sorted[TCP_PATHS_MAX];

	for (unsigned i = 0; i < paths->n; i++) {
		struct tcp_path path = paths->all[i];
		struct tcp_card card = path.is_unix ? inside : cards[i];
		unsigned at = i;

		for (; at > 0 && is_before(&card, &sorted[at - 1]); at--) {
			sorted[at] = sorted[at - 1];
			paths->all[at] = paths->all[at - 1];
		}
		sorted[at] = card;
		paths->all[at] = path;
	}
}

static struct tcp_card
card_here(const struct tcp_path *path, const struct topology *topology)
{
	struct tcp_card card = {.distance = TOPOLOGY_DISTANCE_OWN};
	unsigned cpu, node = 0;
	char netdev[IF_NAMESIZE];
	struct sock_addr addr;

	/* A name would have to be looked up, and that may take long. */
	if (!tcp_path_is_numeric(path) || sock_addr_parse(path->text, &addr) != 0)
		return card;
	if (sock_addr_is_local(&addr)) {
		card.distance = 0;
		return card;
	}
	if (sock_route(&addr, netdev, sizeof(netdev)) != 0 || getcpu(&cpu, &node) != 0)
		return card;
	return tcp_card_of(topology, (int)node, netdev);
}

void
tcp_paths_rank_here(struct tcp_paths *paths, struct topology **topology)
{
	const struct topology_world world = {.root = ""};
	struct tcp_card cards[TCP_PATHS_MAX];

	if (paths->n < 2)
		return;
	if (*topology == NULL && topology_read(&world, topology) < 0)
		return; /* as the provider has them */
	for (unsigned i = 0; i < paths->n; i++)
		cards[i] = card_here(&paths->all[i], *topology);
	tcp_paths_rank(paths, cards);
}
