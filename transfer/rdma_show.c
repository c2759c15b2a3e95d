/* SPDX-License-Identifier: Apache-2.0 */

/* rdma_show.c -- tokens that are shown on a connection, and what the provider says to them. */
#include <string.h>

#include "transfer/base/num.h"
#include "transfer/rdma_post.h"

#define KICK_NS (500 * NS_PER_MS)

static struct rdma_pass *
find_pass(struct rdma_group *group, const uint8_t *mac)
{
	for (size_t i = 0; i < RDMA_PASSES; i++)
		if (group->passes[i].state != RDMA_PASS_FREE &&
		    memcmp(group->passes[i].mac, mac, TOKEN_MAC_BYTES) == 0)
			return &group->passes[i];
	return NULL;
}

/* show -- false: the connection is no good any more. */
static bool
show(struct rdma_group *group, struct rdma_conn *conn, const struct op *op)
{
	const struct wire_request request = {
		.kind = WIRE_SHOW,
		.id = ++group->last_id,
		.segment_id = group->peer->desc.segment_id,
		.segment_epoch = group->peer->desc.segment_epoch,
		.token = *op->token,
	};
	struct rdma_pass *pass;

	/* At most RDMA_ASKS are asked: one of the others is soon found. */
	do
		pass = &group->passes[group->next_pass++ % RDMA_PASSES];
	while (pass->state == RDMA_PASS_ASKED);
	*pass = (struct rdma_pass){.id = request.id, .state = RDMA_PASS_ASKED};
	memcpy(pass->mac, op->token->mac, TOKEN_MAC_BYTES);
	return rdma_conn_show(conn, &request);
}

bool
rdma_group_show_tokens(struct rdma_group *group)
{
	unsigned n_looked = 0;

	list_each(&group->queue, link) {
		struct rdma_move *move = list_of(link, struct rdma_move, at);
		const struct rdma_pass *pass;

		if (n_looked++ == RDMA_PASSES)
			break;
		if (move->is_granted)
			continue;
		pass = find_pass(group, move->op->token->mac);
		move->is_granted = pass != NULL && pass->state == RDMA_PASS_GRANTED;
		if (pass != NULL)
			continue;
		if (group->conns[0].n_asks == RDMA_ASKS)
			break;
		if (!show(group, &group->conns[0], move->op))
			return false;
	}
	return true;
}

void
rdma_group_answered(struct rdma *rdma, struct rdma_group *group, const struct wire_reply *reply)
{
	for (size_t i = 0; i < RDMA_PASSES; i++) {
		struct rdma_pass *pass = &group->passes[i];

		if (pass->state != RDMA_PASS_ASKED || pass->id != reply->id)
			continue;
		pass->state = reply->status == WIRE_DONE ? RDMA_PASS_GRANTED : RDMA_PASS_FREE;
		if (reply->status != WIRE_DONE)
			rdma_group_end_queued(rdma, group, pass->mac, OP_E_REFUSED);
	}
}

bool
rdma_group_kick(struct rdma_group *group, struct rdma_conn *conn, uint64_t now_ns)
{
	const struct list_link *link = list_first(&group->out);

	if (link == NULL)
		link = list_first(&group->queue);
	if (link == NULL || !conn->is_iwarp || conn->n_posted == conn->n_retired ||
	    conn->n_asks > 0 || now_ns < num_add_sat(conn->busy_ns, KICK_NS))
		return true;
	conn->busy_ns = now_ns;
	return show(group, conn, list_of(link, struct rdma_move, at)->op);
}
