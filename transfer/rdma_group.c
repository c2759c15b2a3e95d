/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_group.h"

#include <string.h>

#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/rdma_post.h"

#define OPEN_NS_MAX  (3 * NS_PER_S)
#define DRAIN_NS_MAX (200 * NS_PER_MS)
#define REST_NS_MIN  (50 * NS_PER_MS)
#define REST_NS_MAX  (30 * NS_PER_S)
#define CROWDED_NS   (10 * NS_PER_S)
#define TRIES_MAX    3

void
rdma_group_init(struct rdma_group *group, struct rdma_peer *peer, bool may_write)
{
	*group = (struct rdma_group){.peer = peer, .may_write = may_write};
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		rdma_conn_init(&group->conns[i], group);
	list_init(&group->queue);
	list_init(&group->out);
}

/* ---- moves ---- */

void
rdma_move_close(struct rdma_move *move)
{
	while (move->n_loans > 0)
		rdma_mr_close(&move->loans[--move->n_loans].mr);
}

/* finish -- it is on no list; its end is told when the lock is put aside. */
static void
finish(struct rdma *rdma, struct rdma_move *move, enum op_result result)
{
	assert(!list_link_is_on(&move->at) && move->n_out == 0);

	move->result = result;
	list_push_back(&rdma->done, &move->at);
}

/* again -- from its beginning, in another life. */
static void
again(struct rdma_move *move)
{
	rdma_move_close(move);
	move->plan = RDMA_PLAN_NONE;
	move->is_granted = false;
	move->posted_bytes = move->done_bytes = 0;
	move->proof = NULL;
	op_cursor_init(&move->cursor, move->op, 0);
}

void
rdma_group_put(struct rdma *rdma, struct rdma_group *group, struct rdma_move *move)
{
	(void)rdma;
	again(move);
	list_push_back(&group->queue, &move->at);
}

static bool
holds(const struct list *list, const struct batch *batch)
{
	list_each(list, link)
		if (batch == NULL || list_of(link, struct rdma_move, at)->op->batch == batch)
			return true;
	return false;
}

bool
rdma_group_carries(const struct rdma_group *group, const struct batch *batch)
{
	return holds(&group->out, batch) || holds(&group->queue, batch);
}

/* result_of_lost -- a WRITE that may still be on its way is never said to be over. */
static enum op_result
result_of_lost(const struct rdma_move *move, enum op_result result)
{
	return move->op->kind == OP_WRITE && move->was_posted ? OP_E_LOST : result;
}

void
rdma_group_end_queued(struct rdma *rdma, struct rdma_group *group, const uint8_t *mac,
		      enum op_result result)
{
	list_each_safe(&group->queue, link) {
		struct rdma_move *move = list_of(link, struct rdma_move, at);

		if (move->plan == RDMA_PLAN_MAKING || move->n_out > 0 ||
		    (mac != NULL && memcmp(move->op->token->mac, mac, TOKEN_MAC_BYTES) != 0))
			continue;
		list_remove(link);
		if (result == OP_E_PENDING)
			rdma->counts.n_passed += 1;
		finish(rdma, move, result == OP_E_PENDING ? result : result_of_lost(move, result));
	}
}

/* ---- addresses ---- */

/* address_at -- the i-th address for RDMA.  Numbers alone: no name is looked up for a peer. */
static bool
address_at(const struct target_desc *desc, size_t i, struct sock_addr *ret_addr)
{
	char text[SOCK_ADDR_TEXT_MAX];

	for (size_t at = 0; target_address(desc, at, text, sizeof(text)); at++) {
		const char *number = text + strlen(TARGET_RDMA);

		if (strncmp(text, TARGET_RDMA, strlen(TARGET_RDMA)) != 0 ||
		    number[strspn(number, "0123456789abcdefABCDEF.:[]")] != '\0' ||
		    sock_addr_parse(number, ret_addr) != 0)
			continue;
		if (i-- == 0)
			return true;
	}
	return false;
}

static size_t
n_addresses(const struct target_desc *desc)
{
	struct sock_addr addr;
	size_t n = 0;

	while (address_at(desc, n, &addr))
		n++;
	return n;
}

/* ---- opening ---- */

bool
rdma_group_is_resting(const struct rdma_group *group, uint64_t now_ns)
{
	return now_ns < group->rest_until_ns;
}

static void
rest(struct rdma_group *group, uint64_t now_ns, uint64_t least_ns)
{
	group->rest_ns = num_min(num_max(2 * group->rest_ns, REST_NS_MIN), REST_NS_MAX);
	group->rest_until_ns = num_add_sat(now_ns, num_max(group->rest_ns, least_ns));
	group->at_address = 0;
}

/* open_conn -- the i-th, at the i-th address from the group's own on. */
static bool
open_conn(struct rdma_group *group, size_t i)
{
	size_t n = n_addresses(&group->peer->desc);
	struct sock_addr addr;

	group->conns[i].was_tried = true;
	if (n == 0 || !address_at(&group->peer->desc, (group->at_address + i) % n, &addr))
		return false;
	if (rdma_conn_open(&group->conns[i], &addr.any, &group->hello) != 0)
		return false;
	group->conns[i].was_tried = true;
	return true;
}

/* could_not_open -- the next address, or a rest. */
static void
could_not_open(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	rdma_conn_break(&group->conns[0]);
	group->state = RDMA_IDLE;
	group->at_address++;
	if (group->at_address < n_addresses(&group->peer->desc))
		return;
	log_event(LOG_DEBUG, "rdma_unreachable", "endpoint=\"%s\"", group->peer->desc.endpoint);
	rest(group, now_ns, 0);
	rdma_group_end_queued(rdma, group, NULL, OP_E_PENDING);
}

/* begin_life -- with the token of the first op that waits. */
static void
begin_life(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	const struct rdma_move *first = list_of(list_first(&group->queue), struct rdma_move, at);

	group->life++;
	group->hello = (struct rdma_hello){
		.life = group->life,
		.epoch_low = (uint16_t)group->peer->desc.segment_epoch,
		.token = *first->op->token,
	};
	memset(group->passes, 0, sizeof(group->passes));
	group->passes[0] = (struct rdma_pass){.state = RDMA_PASS_GRANTED};
	memcpy(group->passes[0].mac, first->op->token->mac, TOKEN_MAC_BYTES);
	group->next_pass = 1;
	group->has_moved = false;
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		group->conns[i].was_tried = false;
	group->open_until_ns = now_ns + OPEN_NS_MAX;
	group->state = RDMA_GROUP_OPENING;
	if (!open_conn(group, 0))
		could_not_open(rdma, group, now_ns);
}

/* refused -- the provider does not let us in with that token. */
static void
refused(struct rdma *rdma, struct rdma_group *group, enum wire_status status, uint64_t now_ns)
{
	rdma_conn_break(&group->conns[0]);
	group->state = RDMA_IDLE;
	if (status == WIRE_REFUSED || status == WIRE_OUTSIDE) {
		rdma_group_end_queued(rdma, group, group->hello.token.mac, OP_E_REFUSED);
		return;
	}
	rest(group, now_ns, CROWDED_NS);
	rdma_group_end_queued(rdma, group, NULL, OP_E_PENDING);
}

static bool
is_right_place(const struct rdma_group *group, const struct rdma_conn *conn)
{
	return conn->welcome.size_bytes == group->peer->desc.size_bytes;
}

static bool
turn_opening(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	struct rdma_conn *conn = &group->conns[0];
	enum wire_status status = WIRE_CANT;
	enum rdma_news news = rdma_conn_hear(rdma, conn, &status);

	if (news == RDMA_NEWS_UP && is_right_place(group, conn)) {
		group->state = RDMA_GROUP_UP;
		return true;
	}
	if (news == RDMA_NEWS_REFUSED)
		refused(rdma, group, status, now_ns);
	else if (news == RDMA_NEWS_LOST || news == RDMA_NEWS_UP || now_ns >= group->open_until_ns)
		could_not_open(rdma, group, now_ns);
	else
		return news != RDMA_NEWS_NONE;
	return true;
}

/* ---- requests that came back ---- */

void
rdma_group_retired(struct rdma *rdma, struct rdma_conn *conn, const struct rdma_wr *wr)
{
	struct rdma_move *move = wr->move;

	if (wr->slot != NULL) {
		struct op_cursor cursor = wr->cursor;

		if (move->op->kind == OP_READ)
			rdma_post_copy(&cursor, wr->slot, wr->len_bytes, /* to_slices= */ true);
		rdma_nic_give(conn->nic, wr->slot);
	}
	conn->group->has_moved = true;
	conn->group->rest_ns = 0;
	assert(move->n_out > 0);
	move->n_out--;
	move->done_bytes += wr->len_bytes;
	if (move->done_bytes < move->op->len_bytes || move->n_out > 0 || move->proof != NULL)
		return;
	list_remove(&move->at);
	finish(rdma, move, OP_DONE);
}

void
rdma_group_dropped(struct rdma_conn *conn, const struct rdma_wr *wr)
{
	if (wr->slot != NULL)
		rdma_nic_give(conn->nic, wr->slot);
	if (wr->move != NULL)
		wr->move->n_out--;
}

/* ---- breaking ---- */

void
rdma_group_break(struct rdma *rdma, struct rdma_group *group, const char *why, uint64_t now_ns)
{
	if (group->state != RDMA_GROUP_UP && group->state != RDMA_GROUP_OPENING)
		return;
	log_event(rdma_group_carries(group, NULL) ? LOG_INFO : LOG_DEBUG, "rdma_broken",
		  "endpoint=\"%s\" writing=%d life=%u why=\"%s\"", group->peer->desc.endpoint,
		  group->may_write, group->life, why);
	rdma->counts.n_broken += 1;
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		rdma_conn_break(&group->conns[i]);
	group->state = RDMA_GROUP_BREAKING;
	group->drain_until_ns = now_ns + DRAIN_NS_MAX;
}

/* settle_one -- its requests have all come back, or never will. */
static void
settle_one(struct rdma *rdma, struct rdma_group *group, struct rdma_move *move, uint64_t now_ns)
{
	bool was_begun = move->posted_bytes > 0;

	list_remove(&move->at);
	again(move);
	if (was_begun)
		move->n_tries++;
	if (rdma->is_stopped)
		finish(rdma, move, OP_E_CANCELLED);
	else if (move->op->deadline_ns <= now_ns)
		finish(rdma, move, OP_E_TIMEOUT);
	else if (move->n_tries >= TRIES_MAX)
		finish(rdma, move, OP_E_PENDING);
	else
		list_push_back(&group->queue, &move->at);
}

static void
settle(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	struct list all;

	list_init(&all);
	for (struct list_link *link; (link = list_first(&group->out)) != NULL ||
				     (link = list_first(&group->queue)) != NULL;) {
		list_remove(link);
		list_push_back(&all, link);
	}
	for (struct list_link *link; (link = list_first(&all)) != NULL;) {
		struct rdma_move *move = list_of(link, struct rdma_move, at);

		if (move->plan == RDMA_PLAN_MAKING) {
			list_remove(link);
			list_push_back(&group->queue, link);
		} else {
			settle_one(rdma, group, move, now_ns);
		}
	}
}

static bool
turn_breaking(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	bool is_drained = true;

	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		is_drained &= rdma_conn_is_drained(&group->conns[i]);
	if (!is_drained && now_ns < group->drain_until_ns)
		return false;
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		rdma_conn_close(&group->conns[i]);
	group->state = RDMA_IDLE;
	if (!group->has_moved) /* it is not of much use */
		rest(group, now_ns, 0);
	settle(rdma, group, now_ns);
	return true;
}

/* end_late -- ops of the batch that nobody has begun with, and whose time is over. */
static void
end_late(struct rdma *rdma, struct rdma_group *group, const struct batch *batch, uint64_t now_ns)
{
	list_each_safe(&group->queue, link) {
		struct rdma_move *move = list_of(link, struct rdma_move, at);

		if (move->op->batch != batch || move->op->deadline_ns > now_ns ||
		    move->plan == RDMA_PLAN_MAKING || move->posted_bytes > 0)
			continue;
		list_remove(link);
		finish(rdma, move, OP_E_TIMEOUT);
	}
}

void
rdma_group_expire(struct rdma *rdma, struct rdma_group *group, const struct batch *batch,
		  uint64_t now_ns)
{
	const struct list *lists[] = {&group->out, &group->queue};

	end_late(rdma, group, batch, now_ns);
	for (size_t i = 0; i < array_len(lists); i++)
		list_each(lists[i], link) {
			const struct rdma_move *move = list_of(link, struct rdma_move, at);

			if (move->op->batch == batch && move->op->deadline_ns <= now_ns &&
			    move->posted_bytes > 0)
				rdma_group_break(rdma, group, "an op is overdue", now_ns);
		}
}

/* ---- turns ---- */

/* hear -- the connection manager.  false: the life is over. */
static bool
hear(struct rdma *rdma, struct rdma_group *group, bool *ret_moved)
{
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++) {
		struct rdma_conn *conn = &group->conns[i];
		bool was_up = conn->state == RDMA_UP;
		enum wire_status status;
		enum rdma_news news = rdma_conn_hear(rdma, conn, &status);

		*ret_moved |= news != RDMA_NEWS_NONE;
		if (news == RDMA_NEWS_UP && !is_right_place(group, conn))
			return false;
		if (news != RDMA_NEWS_LOST && news != RDMA_NEWS_REFUSED)
			continue;
		if (was_up)
			return false;
		rdma_conn_break(conn); /* then without it */
		conn->was_tried = true;
	}
	return true;
}

static bool
turn_up(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	const char *why = NULL;
	bool has_moved = false;

	if (!hear(rdma, group, &has_moved))
		why = "hung up";
	for (size_t i = 0; i < RDMA_CONNS_MAX && why == NULL; i++) {
		struct rdma_conn *conn = &group->conns[i];

		if (conn->state == RDMA_UP && !rdma_conn_poll(rdma, conn, now_ns, &has_moved))
			why = "a bad completion";
		else if (conn->state == RDMA_UP && !rdma_group_kick(group, conn, now_ns))
			why = "a request was not taken";
		else if (conn->state == RDMA_UP &&
			 rdma_conn_is_stalled(conn, rdma->stall_ns, now_ns)) {
			why = "nothing comes back";
			group->has_moved = false; /* so that it rests */
		}
	}
	for (size_t i = 1; i < rdma->conns_per_peer && why == NULL; i++)
		if (group->conns[i].state == RDMA_DOWN && !group->conns[i].was_tried)
			has_moved |= open_conn(group, i);
	if (why == NULL && !rdma_post(rdma, group, now_ns, &has_moved))
		why = "a request was not taken";
	if (why == NULL)
		return has_moved;
	rdma_group_break(rdma, group, why, now_ns);
	return true;
}

bool
rdma_group_turn(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	switch (group->state) {
	case RDMA_IDLE:
		if (list_is_empty(&group->queue) ||
		    list_of(list_first(&group->queue), struct rdma_move, at)->plan ==
			    RDMA_PLAN_MAKING)
			return false;
		if (rdma->is_stopped)
			rdma_group_end_queued(rdma, group, NULL, OP_E_CANCELLED);
		else if (rdma_group_is_resting(group, now_ns))
			rdma_group_end_queued(rdma, group, NULL, OP_E_PENDING);
		else
			begin_life(rdma, group, now_ns);
		return true;
	case RDMA_GROUP_OPENING:
		return turn_opening(rdma, group, now_ns);
	case RDMA_GROUP_UP:
		return turn_up(rdma, group, now_ns);
	case RDMA_GROUP_BREAKING:
		return turn_breaking(rdma, group, now_ns);
	}
	return false;
}

bool
rdma_group_arm(struct rdma_group *group)
{
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++) {
		struct rdma_conn *conn = &group->conns[i];

		if (conn->cq.cq == NULL || conn->cq.is_armed)
			continue;
		if (rdma_cq_arm(&conn->cq) < 0)
			return true; /* then it is looked at when the nap is over */
		return false;        /* what came before the bell was hung must be looked for */
	}
	return true;
}

bool
rdma_group_is_armed(const struct rdma_group *group)
{
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		if (group->conns[i].cq.cq != NULL && !group->conns[i].cq.is_armed)
			return false;
	return true;
}

void
rdma_group_quiet(struct rdma_group *group)
{
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		if (group->conns[i].channel != NULL)
			while (rdma_cq_event(group->conns[i].channel) != NULL)
				continue;
}

void
rdma_group_close(struct rdma *rdma, struct rdma_group *group)
{
	for (size_t i = 0; i < RDMA_CONNS_MAX; i++) {
		rdma_conn_break(&group->conns[i]);
		rdma_conn_close(&group->conns[i]);
	}
	group->state = RDMA_IDLE;
	settle(rdma, group, 0);
}
