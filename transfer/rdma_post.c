/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_post.h"

#include <string.h>

#include "transfer/base/num.h"
#include "transfer/rdma_plan.h"

#define CHUNK_BYTES       (256u << 10)
#define CHUNK_BYTES_MANY  (128u << 10) /* with several connections: smaller, to be spread better */
#define WINDOW_BYTES      (4u << 20)   /* under way on one connection */
#define CHUNK_ALIGN_BYTES 4096u

void
rdma_post_copy(struct op_cursor *cursor, uint8_t *bytes, uint64_t len_bytes, bool to_slices)
{
	while (len_bytes > 0) {
		struct iovec slice;
		uint64_t len;

		(void)op_cursor_look(cursor, len_bytes, &slice, 1, &len);
		if (to_slices)
			memcpy(slice.iov_base, bytes, len);
		else
			memcpy(bytes, slice.iov_base, len);
		op_cursor_move(cursor, len);
		bytes += len;
		len_bytes -= len;
	}
}

/* ---- one chunk ---- */

static bool
may_take(const struct rdma_conn *conn, const struct rdma_move *move, uint64_t len_bytes)
{
	if (conn->state != RDMA_UP || !rdma_conn_has_room(conn, move->op->kind))
		return false;
	if (move->proof != NULL && move->proof != conn)
		return false;
	if (move->plan == RDMA_PLAN_DIRECT && (move->nics & 1u << conn->nic_index) == 0)
		return false;
	if (move->plan == RDMA_PLAN_STAGED && conn->nic->n_free_slots == 0)
		return false;
	return conn->out_bytes == 0 || conn->out_bytes + len_bytes <= WINDOW_BYTES;
}

/* pick -- the connection that will be through with so many bytes first; NULL: none has room. */
static struct rdma_conn *
pick(struct rdma_group *group, const struct rdma_move *move, uint64_t len_bytes)
{
	struct rdma_conn *best = NULL;

	for (size_t i = 0; i < RDMA_CONNS_MAX; i++) {
		struct rdma_conn *conn = &group->conns[i];

		if (may_take(conn, move, len_bytes) &&
		    (best == NULL || rdma_conn_is_sooner(conn, best, len_bytes)))
			best = conn;
	}
	return best;
}

static unsigned
n_up(const struct rdma_group *group)
{
	unsigned n = 0;

	for (size_t i = 0; i < RDMA_CONNS_MAX; i++)
		n += group->conns[i].state == RDMA_UP;
	return n;
}

/* chunk_bytes -- of what is left of the move: ends on a page of the segment, no crumbs behind. */
static uint64_t
chunk_bytes(const struct rdma_group *group, const struct rdma_move *move)
{
	uint64_t chunk = n_up(group) > 1 ? CHUNK_BYTES_MANY : CHUNK_BYTES;
	uint64_t left = move->op->len_bytes - move->posted_bytes;
	uint64_t at = move->op->offset_bytes + move->posted_bytes;

	if (left <= chunk + chunk / 4)
		return left;
	return chunk - (at + chunk) % CHUNK_ALIGN_BYTES;
}

/* gather_direct -- the slices themselves, as many bytes of them as one request can name. */
static void
gather_direct(const struct rdma *rdma, const struct rdma_conn *conn, uint64_t len_bytes,
	      struct rdma_wr *wr, struct ibv_sge *sges)
{
	const struct rdma_move *move = wr->move;
	struct iovec parts[RDMA_SGES_MAX];
	unsigned cap = move->op->kind == OP_READ ? conn->max_read_sges : conn->max_sges;
	uint64_t len;
	size_t n = op_cursor_look(&move->cursor, len_bytes, parts, cap, &len);

	for (size_t i = 0; i < n; i++) {
		struct ibv_sge *sge = &sges[wr->n_sges++];

		rdma_plan_sge(rdma, move, conn->nic_index, &parts[i], sge);
		wr->len_bytes += sge->length;
		if (sge->length < parts[i].iov_len)
			break; /* a registration ends here */
	}
}

static void
gather_staged(struct rdma_conn *conn, uint64_t len_bytes, struct rdma_wr *wr, struct ibv_sge *sge)
{
	const struct rdma_move *move = wr->move;
	uint64_t len = num_min(len_bytes, (uint64_t)RDMA_SLOT_BYTES);

	wr->n_sges = 1;
	wr->len_bytes = len;
	wr->slot = rdma_nic_slot(conn->nic);
	wr->cursor = move->cursor;
	if (move->op->kind == OP_WRITE) {
		struct op_cursor cursor = move->cursor;

		rdma_post_copy(&cursor, wr->slot, len, /* to_slices= */ false);
	}
	*sge = (struct ibv_sge){
		.addr = (uintptr_t)wr->slot,
		.length = (uint32_t)len,
		.lkey = rdma_mr_lkey(&conn->nic->stage_mr, (uint64_t)(wr->slot - conn->nic->stage)),
	};
}

static void
note_bytes(struct rdma *rdma, const struct rdma_move *move, uint64_t len)
{
	if (move->plan == RDMA_PLAN_STAGED)
		rdma->counts.bytes_staged += len;
	else if (move->n_loans > 0)
		rdma->counts.bytes_loaned += len;
	else
		rdma->counts.bytes_direct += len;
}

static void
add_chunk(struct rdma *rdma, struct rdma_conn *conn, struct rdma_doorbell *doorbell,
	  struct rdma_move *move, uint64_t len_bytes)
{
	const struct rdma_welcome *there = &conn->welcome;
	uint64_t at = move->op->offset_bytes + move->posted_bytes;
	struct ibv_sge *sges = doorbell->sges[doorbell->n];
	struct rdma_wr wr = {
		.move = move,
		.kind = move->op->kind,
		.remote_address = there->address + at,
		.rkey = there->rkeys[at / there->piece_bytes],
	};

	len_bytes = num_min(len_bytes, there->piece_bytes - at % there->piece_bytes);
	if (move->plan == RDMA_PLAN_STAGED)
		gather_staged(conn, len_bytes, &wr, sges);
	else
		gather_direct(rdma, conn, len_bytes, &wr, sges);
	rdma_conn_add(conn, doorbell, &wr);
	op_cursor_move(&move->cursor, wr.len_bytes);
	move->posted_bytes += wr.len_bytes;
	move->n_out++;
	move->was_posted = true;
	if (conn->is_iwarp && move->op->kind == OP_WRITE)
		move->proof = conn;
	note_bytes(rdma, move, wr.len_bytes);
}

/* ---- the queue ---- */

enum posted { POSTED_ALL, POSTED_SOME, POSTED_NO_MORE };

/* prove -- post the proof that is due, if it is. */
static enum posted
prove(struct rdma *rdma, struct rdma_group *group, struct rdma_move *move, uint64_t now_ns)
{
	struct rdma_conn *conn = move->proof;
	struct rdma_doorbell *doorbell;

	if (conn == NULL)
		return POSTED_ALL;
	doorbell = &rdma->doorbells[conn - group->conns];
	if (doorbell->n == RDMA_BATCH && !rdma_conn_ring(conn, doorbell, now_ns))
		return POSTED_NO_MORE;
	if (!rdma_conn_has_room(conn, OP_READ))
		return POSTED_SOME;
	rdma_conn_add_proof(conn, doorbell, move, move->op->offset_bytes + move->op->len_bytes - 1);
	move->n_out++;
	move->proof = NULL;
	return POSTED_ALL;
}

/* post_move -- what is left of it.  SOME: there is no room for the rest; NO_MORE: the life is over.
 */
static enum posted
post_move(struct rdma *rdma, struct rdma_group *group, struct rdma_move *move, uint64_t now_ns,
	  bool *ret_moved)
{
	enum posted posted;

	while (move->posted_bytes < move->op->len_bytes) {
		uint64_t len = chunk_bytes(group, move);
		struct rdma_conn *conn = pick(group, move, len);
		struct rdma_doorbell *doorbell;

		if (conn == NULL)
			return POSTED_SOME;
		doorbell = &rdma->doorbells[conn - group->conns];
		add_chunk(rdma, conn, doorbell, move, len);
		*ret_moved = true;
		if (doorbell->n == RDMA_BATCH && !rdma_conn_ring(conn, doorbell, now_ns))
			return POSTED_NO_MORE;
	}
	posted = prove(rdma, group, move, now_ns);
	if (posted != POSTED_ALL)
		return posted;
	list_remove(&move->at);
	list_push_back(&group->out, &move->at);
	return POSTED_ALL;
}

/* unplanned -- one of the next few that may be posted, but for a plan; or NULL. */
static struct rdma_move *
unplanned(struct rdma_group *group)
{
	unsigned n = 0;

	list_each(&group->queue, link) {
		struct rdma_move *move = list_of(link, struct rdma_move, at);

		if (n++ == RDMA_BATCH || !move->is_granted)
			return NULL;
		if (move->plan == RDMA_PLAN_NONE)
			return move;
	}
	return NULL;
}

/* plan_some -- puts the lock aside.  false: the life was over when it came back. */
static bool
plan_some(struct rdma *rdma, struct rdma_group *group)
{
	const struct rdma_conn *conn = &group->conns[0];
	uint16_t life = group->life;
	struct rdma_move *move;

	while (group->state == RDMA_GROUP_UP && group->life == life &&
	       (move = unplanned(group)) != NULL)
		if (!rdma_plan_make(rdma, move, conn->nic, conn->nic_index)) {
			list_remove(&move->at);
			move->result = OP_E_IO;
			list_push_back(&rdma->done, &move->at);
		}
	return group->state == RDMA_GROUP_UP && group->life == life;
}

/* first_ready -- the first of the queue, if it can be posted now; or NULL. */
static struct rdma_move *
first_ready(struct rdma_group *group)
{
	struct list_link *link = list_first(&group->queue);
	struct rdma_move *move = link == NULL ? NULL : list_of(link, struct rdma_move, at);

	return move != NULL && move->is_granted &&
			       (move->plan == RDMA_PLAN_DIRECT || move->plan == RDMA_PLAN_STAGED)
		       ? move
		       : NULL;
}

static bool
ring_all(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns)
{
	bool is_good = true;

	for (size_t i = 0; i < RDMA_CONNS_MAX; i++) {
		struct rdma_doorbell *doorbell = &rdma->doorbells[i];

		if (doorbell->n > 0)
			is_good &= rdma_conn_ring(&group->conns[i], doorbell, now_ns);
	}
	return is_good;
}

bool
rdma_post(struct rdma *rdma, struct rdma_group *group, uint64_t now_ns, bool *ret_moved)
{
	enum posted posted = POSTED_ALL;
	struct rdma_move *move;

	while (posted == POSTED_ALL) {
		/* Every doorbell is empty here: a SHOW must not stand before what is gathered. */
		if (!rdma_group_show_tokens(group))
			return false;
		if (!plan_some(rdma, group) || first_ready(group) == NULL)
			return true;
		while (posted == POSTED_ALL && (move = first_ready(group)) != NULL)
			posted = post_move(rdma, group, move, now_ns, ret_moved);
		if (!ring_all(rdma, group, now_ns))
			return false;
	}
	return posted != POSTED_NO_MORE;
}
