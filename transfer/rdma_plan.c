/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_plan.c -- how the slices of one op are reached.
 *
 *      every slice in memory that was told of          -> DIRECT
 *      a few others, each of RDMA_SLOT_BYTES or more   -> DIRECT, with loans: registered for this
 * op else                                            -> STAGED: copied by way of the stage
 *
 * What lies in a dmabuf can't be copied by the processor: it goes DIRECT or not at all.
 */
#include "transfer/rdma_plan.h"

#include "transfer/base/num.h"

/* What was found in the slices. */
struct found {
	unsigned nics;    /* that know every region among them */
	unsigned n_loose; /* slices in no region; those beyond RDMA_LOANS_MAX are only counted */
	bool has_small;   /* a loose one is small */
	bool has_dmabuf;
};

static unsigned
nics_that_know(struct rdma *rdma, struct rdma_region *region)
{
	unsigned nics = 0;

	for (unsigned i = 0; i < RDMA_NICS_MAX; i++)
		if (rdma->nics[i].verbs != NULL && rdma_region_open(region, &rdma->nics[i], i))
			nics |= 1u << i;
	return nics;
}

static void
note_loose(struct rdma_move *move, struct found *found, const struct iovec *slice)
{
	found->n_loose++;
	found->has_small |= slice->iov_len < RDMA_SLOT_BYTES;
	if (found->n_loose <= RDMA_LOANS_MAX)
		move->loans[found->n_loose - 1].memory = (struct memory){
			.at = slice->iov_base, .len_bytes = slice->iov_len, .dmabuf_fd = -1};
}

static struct found
look(struct rdma *rdma, struct rdma_move *move)
{
	const struct op *op = move->op;
	struct found found = {.nics = ~0u};
	struct rdma_region *last = NULL;
	struct op_cursor cursor;
	uint64_t len;

	op_cursor_init(&cursor, op, 0);
	for (uint64_t left = op->len_bytes; left > 0; left -= len) {
		struct rdma_region *region;
		struct iovec slice;

		(void)op_cursor_look(&cursor, left, &slice, 1, &len);
		op_cursor_move(&cursor, len);
		region = rdma_cache_find(&rdma->cache, slice.iov_base, slice.iov_len);
		if (region == NULL) {
			note_loose(move, &found, &slice);
			continue;
		}
		if (region != last)
			found.nics &= nics_that_know(rdma, region);
		found.has_dmabuf |= region->memory.dmabuf_fd >= 0;
		last = region;
	}
	return found;
}

/* lend -- register the first n loans of the move.  false: it can't be. */
static bool
lend(struct rdma_move *move, const struct rdma_nic *nic, unsigned n)
{
	int access = move->op->kind == OP_READ ? nic->sink_access : 0;

	for (; move->n_loans < n; move->n_loans++) {
		struct rdma_loan *loan = &move->loans[move->n_loans];

		if (rdma_mr_open(&loan->mr, nic->pd, &loan->memory, access) != 0) {
			rdma_move_close(move);
			return false;
		}
	}
	return true;
}

bool
rdma_plan_make(struct rdma *rdma, struct rdma_move *move, const struct rdma_nic *nic,
	       unsigned nic_index)
{
	struct found found = look(rdma, move);

	assert(lock_held(&rdma->lock) && move->plan == RDMA_PLAN_NONE && move->n_loans == 0);

	move->nics = found.nics;
	if (found.n_loose == 0 && (found.nics & 1u << nic_index) != 0) {
		move->plan = RDMA_PLAN_DIRECT;
		return true;
	}
	if (found.n_loose > 0 && found.n_loose <= RDMA_LOANS_MAX &&
	    (found.nics & 1u << nic_index) != 0 && (!found.has_small || found.has_dmabuf)) {
		bool is_lent;

		move->plan = RDMA_PLAN_MAKING;
		lock_drop(&rdma->lock); /* pinning takes time */
		is_lent = lend(move, nic, found.n_loose);
		lock_take(&rdma->lock);
		move->nics = 1u << nic_index;
		move->plan = RDMA_PLAN_DIRECT;
		rdma->counts.n_loans += move->n_loans;
		if (is_lent)
			return true;
	}
	move->plan = RDMA_PLAN_STAGED;
	return !found.has_dmabuf;
}

/* in_mr -- the part of [from, from + len) that one piece holds, and its key. */
static void
in_mr(const struct rdma_mr *mr, uint64_t from, struct ibv_sge *sge)
{
	sge->length =
		(uint32_t)num_min((uint64_t)sge->length, mr->piece_bytes - from % mr->piece_bytes);
	sge->lkey = rdma_mr_lkey(mr, from);
}

void
rdma_plan_sge(const struct rdma *rdma, const struct rdma_move *move, unsigned nic_index,
	      const struct iovec *part, struct ibv_sge *ret_sge)
{
	const struct rdma_region *region;

	assert(move->plan == RDMA_PLAN_DIRECT && (move->nics & 1u << nic_index) != 0);

	*ret_sge = (struct ibv_sge){.addr = (uintptr_t)part->iov_base,
				    .length = (uint32_t)part->iov_len};
	for (unsigned i = 0; i < move->n_loans; i++) {
		const struct rdma_loan *loan = &move->loans[i];
		uint64_t from = ret_sge->addr - (uintptr_t)loan->memory.at;

		if (num_range_fits(from, part->iov_len, loan->memory.len_bytes)) {
			in_mr(&loan->mr, from, ret_sge);
			return;
		}
	}
	region = rdma_cache_find(&rdma->cache, part->iov_base, part->iov_len);
	assert(region != NULL && region->states[nic_index] == RDMA_REGION_IN);
	in_mr(&region->mrs[nic_index], ret_sge->addr - (uintptr_t)region->memory.at, ret_sge);
}
