/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_peer.h"

#include <string.h>

struct rdma_peer rdma_no_way;

static struct rdma_peer *
peer_new(struct rdma *rdma, const struct target_desc *desc, uint64_t client_id)
{
	struct rdma_peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return NULL;
	peer->desc = *desc;
	peer->client_id = client_id;
	for (unsigned i = 0; i < array_len(peer->groups); i++)
		rdma_group_init(&peer->groups[i], peer, i != 0);
	list_link_init(&peer->at);
	list_push_back(&rdma->peers, &peer->at);
	return peer;
}

static bool
is_same(const struct rdma_peer *peer, const struct target_desc *desc, uint64_t client_id)
{
	return peer->client_id == client_id && peer->desc.segment_id == desc->segment_id &&
	       peer->desc.segment_epoch == desc->segment_epoch &&
	       peer->desc.size_bytes == desc->size_bytes &&
	       strcmp(peer->desc.endpoint, desc->endpoint) == 0;
}

static struct rdma_peer *
peer_find(struct rdma *rdma, const struct target_desc *desc, uint64_t client_id)
{
	list_each(&rdma->peers, link) {
		struct rdma_peer *peer = list_of(link, struct rdma_peer, at);

		if (is_same(peer, desc, client_id))
			return peer;
	}
	return strstr(desc->endpoint, TARGET_RDMA) != NULL ? peer_new(rdma, desc, client_id)
							   : &rdma_no_way;
}

void
rdma_peer_forget(struct rdma *rdma, struct rdma_peer *peer)
{
	if (peer == &rdma_no_way)
		return;
	assert(peer->n_targets > 0);
	peer->n_targets--;
	if (peer->n_targets == 0)
		rdma->n_orphans++;
}

struct rdma_peer *
rdma_peer_of(struct rdma *rdma, const struct op *op)
{
	void **slot = &op->target->slot[rdma->base.index];
	struct rdma_peer *peer = *slot;

	if (peer == &rdma_no_way || (peer != NULL && peer->client_id == op->token->client_id))
		return peer;
	peer = peer_find(rdma, &op->target->desc, op->token->client_id);
	if (peer == NULL)
		return NULL;
	if (*slot != NULL)
		rdma_peer_forget(rdma, *slot);
	*slot = peer;
	if (peer != &rdma_no_way)
		peer->n_targets++;
	return peer;
}

void
rdma_peer_free(struct rdma *rdma, struct rdma_peer *peer)
{
	list_remove(&peer->at);
	for (size_t i = 0; i < array_len(peer->groups); i++)
		rdma_group_close(rdma, &peer->groups[i]);
	free(peer);
}

static bool
has_ops(const struct rdma_peer *peer)
{
	return rdma_group_carries(&peer->groups[0], NULL) ||
	       rdma_group_carries(&peer->groups[1], NULL);
}

void
rdma_leave(struct rdma *rdma)
{
	assert(lock_held(&rdma->lock) && rdma->n_busy > 0);

	rdma->n_busy--;
	if (rdma->n_busy > 0 || rdma->n_orphans == 0)
		return;
	rdma->n_orphans = 0;
	list_each_safe(&rdma->peers, link) {
		struct rdma_peer *peer = list_of(link, struct rdma_peer, at);

		if (peer->n_targets > 0)
			continue;
		if (has_ops(peer))
			rdma->n_orphans++;
		else
			rdma_peer_free(rdma, peer);
	}
}
