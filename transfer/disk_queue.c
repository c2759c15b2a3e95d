/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/disk_queue.h"

#include <errno.h>
#include <liburing.h>
#include <string.h>

#include "transfer/base/crc.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/op_cursor.h"

#define SLOT_IOVS 64

/* A read that is not aligned and not longer than this is one piece, with the blocks around it. */
#define SMALL_BYTES (64u << 10)

enum slot_state { SLOT_FREE, SLOT_FLYING, SLOT_DONE };

/* One piece. */
struct slot {
	enum slot_state state;
	enum op_result result;
	struct op *op;
	struct disk *disk;
	uint64_t from_bytes, len_bytes; /* of the op */
	uint64_t at_bytes, done_bytes;  /* of the disk: where the piece begins, how far it is */
	uint64_t head_bytes;            /* of the first block, before the op's */
	uint32_t crc;
	bool is_bounced;
	uint8_t *bounce; /* DISK_BOUNCE_BYTES, from the first time that it is needed */
	struct iovec iovs[SLOT_IOVS];
	struct iovec *iov; /* what is left of them */
	unsigned n_iovs;
};

struct disk_ring {
	struct io_uring uring;
	unsigned n_flying;
	struct slot slots[DISK_SLOTS];
};

/* ---- life ---- */

int
disk_queue_new(const struct clock *clock, struct disk_queue **ret_queue)
{
	struct disk_queue *queue = calloc(1, sizeof(*queue));
	struct disk_ring *ring = calloc(1, sizeof(*ring));
	int r = queue == NULL || ring == NULL ? -ENOMEM
					      : io_uring_queue_init(DISK_SLOTS, &ring->uring, 0);

	if (r < 0) {
		free(ring);
		free(queue);
		return err_new(r);
	}
	queue->clock = clock;
	queue->ring = ring;
	list_link_init(&queue->at);
	list_init(&queue->waiting);
	*ret_queue = queue;
	return 0;
}

void
disk_queue_free(struct disk_queue *queue)
{
	if (queue == NULL)
		return;
	assert(queue->n_ops == 0 && queue->ring->n_flying == 0);
	io_uring_queue_exit(&queue->ring->uring);
	for (size_t i = 0; i < DISK_SLOTS; i++)
		free(queue->ring->slots[i].bounce);
	free(queue->area);
	free(queue->ring);
	free(queue);
}

uint8_t *
disk_queue_area(struct disk_queue *queue)
{
	if (queue->area == NULL)
		queue->area = aligned_alloc(DISK_BLOCK_MAX, DISK_AREA_BYTES);
	return queue->area;
}

void
disk_queue_add(struct disk_queue *queue, struct disk *disk, uint64_t base_bytes, struct op *op)
{
	assert(num_range_fits(base_bytes + op->offset_bytes, op->len_bytes, disk->size_bytes));

	op->done_bytes = 0;
	op->crc = 0;
	op->disk = disk;
	op->disk_at_bytes = base_bytes + op->offset_bytes;
	op->begun_bytes = 0;
	op->n_pieces = 0;
	op->failed = OP_DONE;
	queue->n_ops++;
	list_link_init(&op->at);
	list_push_back(&queue->waiting, &op->at);
}

/* ---- over ---- */

/* finish -- is nothing of it left to begin or under way? */
static void
finish(struct disk_queue *queue, struct op *op)
{
	bool has_failed = op->failed != OP_DONE;

	if (op->n_pieces > 0 || (!has_failed && op->done_bytes < op->len_bytes))
		return;
	list_remove(&op->at);
	queue->n_ops--;
	queue->over(queue->arg, op, op->failed);
}

/* fold -- pieces that are done leave their slots in the op's order; of a failed op, in any. */
static void
fold(struct disk_queue *queue, struct op *op)
{
	for (bool has_found = true; has_found;) {
		has_found = false;
		for (size_t i = 0; i < DISK_SLOTS; i++) {
			struct slot *slot = &queue->ring->slots[i];

			if (slot->state != SLOT_DONE || slot->op != op)
				continue;
			if (slot->result != OP_DONE && op->failed == OP_DONE)
				op->failed = slot->result;
			if (op->failed == OP_DONE && slot->from_bytes != op->done_bytes)
				continue;
			op->crc = op->done_bytes == 0
					  ? slot->crc
					  : crc_join(op->crc, slot->crc, slot->len_bytes);
			op->done_bytes += slot->len_bytes;
			op->n_pieces--;
			slot->state = SLOT_FREE;
			has_found = true;
		}
	}
	finish(queue, op);
}

/* ---- beginning a piece ---- */

static bool
is_aligned(const struct disk *disk, const struct iovec *iov)
{
	return (uintptr_t)iov->iov_base % disk->memory_align == 0 &&
	       iov->iov_len % disk->block_bytes == 0;
}

/* straight -- how many bytes may go straight between the disk and the slices from here on. */
static uint64_t
straight(struct slot *slot, const struct op_cursor *cursor, uint64_t left_bytes)
{
	const struct disk *disk = slot->disk;
	uint64_t want = num_min(left_bytes, (uint64_t)DISK_PIECE_BYTES), got, sum = 0;

	slot->n_iovs = (unsigned)op_cursor_look(cursor, want, slot->iovs, SLOT_IOVS, &got);
	for (unsigned i = 0; i < slot->n_iovs; i++) {
		struct iovec *iov = &slot->iovs[i];

		if (is_aligned(disk, iov)) {
			sum += iov->iov_len;
			continue;
		}
		iov->iov_len -= iov->iov_len % disk->block_bytes;
		slot->n_iovs = i;
		if (iov->iov_len > 0 && is_aligned(disk, iov)) {
			sum += iov->iov_len;
			slot->n_iovs = i + 1;
		}
		break;
	}
	return sum;
}

/* move_bounced -- between the slot's memory and the op's slices, with the sum. */
static void
move_bounced(struct slot *slot)
{
	struct op *op = slot->op;
	uint8_t *at = slot->bounce + slot->head_bytes;
	uint64_t left = slot->len_bytes;
	struct op_cursor cursor;

	slot->crc = 0;
	op_cursor_init(&cursor, op, slot->from_bytes);
	while (left > 0) {
		struct iovec slice;
		uint64_t len;

		(void)op_cursor_look(&cursor, left, &slice, 1, &len);
		slot->crc = op->kind == OP_READ ? crc_copy(slot->crc, slice.iov_base, at, len)
						: crc_copy(slot->crc, at, slice.iov_base, len);
		op_cursor_move(&cursor, len);
		at += len;
		left -= len;
	}
}

/* sum_straight -- of what went past us; the slices hold it. */
static void
sum_straight(struct slot *slot)
{
	uint64_t left = slot->len_bytes;
	struct op_cursor cursor;

	slot->crc = 0;
	if (!slot->op->want_crc)
		return;
	op_cursor_init(&cursor, slot->op, slot->from_bytes);
	while (left > 0) {
		struct iovec slice;
		uint64_t len;

		(void)op_cursor_look(&cursor, left, &slice, 1, &len);
		slot->crc = crc_of(slot->crc, slice.iov_base, len);
		op_cursor_move(&cursor, len);
		left -= len;
	}
}

static bool
has_bounce(struct slot *slot)
{
	if (slot->bounce == NULL)
		slot->bounce = aligned_alloc(DISK_BLOCK_MAX, DISK_BOUNCE_BYTES);
	return slot->bounce != NULL;
}

/* How a piece from here on is to go. */
struct plan {
	uint64_t at_bytes, len_bytes, head_bytes;
	bool is_bounced, is_edge;
};

/* plan_of -- needs: something is left.  Fills in slot's iovs when it goes straight. */
static struct plan
plan_of(struct slot *slot, const struct op *op, const struct op_cursor *cursor)
{
	const uint64_t block = slot->disk->block_bytes;
	uint64_t left = op->len_bytes - op->begun_bytes;
	struct plan plan = {.at_bytes = op->disk_at_bytes + op->begun_bytes};
	bool is_small;

	plan.head_bytes = plan.at_bytes % block;
	is_small = plan.head_bytes + left <= SMALL_BYTES;
	if (op->kind == OP_WRITE && (plan.head_bytes != 0 || left < block)) {
		plan.is_edge = true;
		plan.len_bytes = num_min(left, block - plan.head_bytes);
		return plan;
	}
	if (plan.head_bytes == 0 && (left % block == 0 || !is_small || op->kind == OP_WRITE))
		plan.len_bytes = straight(slot, cursor, left);
	if (plan.len_bytes > 0)
		return plan;

	plan.is_bounced = true;
	plan.len_bytes = num_min(left, DISK_BOUNCE_BYTES - plan.head_bytes);
	if (op->kind == OP_WRITE)
		plan.len_bytes -= plan.len_bytes % block;
	else if (plan.head_bytes != 0 && !is_small)
		plan.len_bytes = num_min(left, block - plan.head_bytes);
	return plan;
}

static void
fly(struct disk_queue *queue, struct slot *slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&queue->ring->uring);
	uint64_t at = slot->at_bytes + slot->done_bytes;

	assert(sqe != NULL); /* as many entries as slots */
	if (slot->op->kind == OP_READ)
		io_uring_prep_readv(sqe, slot->disk->fd, slot->iov, slot->n_iovs, at);
	else
		io_uring_prep_writev2(sqe, slot->disk->fd, slot->iov, slot->n_iovs, at,
				      slot->disk->is_synced ? RWF_DSYNC : 0);
	io_uring_sqe_set_data(sqe, slot);
	slot->state = SLOT_FLYING;
	queue->ring->n_flying++;
}

static void
land(struct slot *slot, enum op_result result)
{
	slot->result = result;
	slot->state = SLOT_DONE;
	if (result != OP_DONE)
		return;
	if (!slot->is_bounced)
		sum_straight(slot);
	else if (slot->op->kind == OP_READ)
		move_bounced(slot);
}

/* begin -- the next piece of the op, in this slot. */
static void
begin(struct disk_queue *queue, struct slot *slot, struct op *op)
{
	struct op_cursor cursor;
	struct plan plan;
	uint64_t io_bytes;

	slot->op = op;
	slot->disk = op->disk;
	op_cursor_init(&cursor, op, op->begun_bytes);
	plan = plan_of(slot, op, &cursor);
	slot->from_bytes = op->begun_bytes;
	slot->len_bytes = plan.len_bytes;
	slot->head_bytes = plan.is_bounced ? plan.head_bytes : 0;
	slot->at_bytes = plan.at_bytes - slot->head_bytes;
	slot->done_bytes = 0;
	slot->is_bounced = plan.is_bounced || plan.is_edge;
	op->begun_bytes += plan.len_bytes;
	op->n_pieces++;
	slot->iov = slot->iovs;
	if (op->kind == OP_WRITE && atomic_load(&op->disk->is_failing)) {
		land(slot, OP_E_IO);
		return;
	}
	if (slot->is_bounced && !has_bounce(slot)) {
		land(slot, OP_E_IO);
		return;
	}
	if (slot->is_bounced && op->kind == OP_WRITE)
		move_bounced(slot);
	if (plan.is_edge) {
		bool is_written = disk_write_edge(slot->disk, plan.at_bytes, slot->bounce,
						  plan.len_bytes) == 0;

		land(slot, is_written ? OP_DONE : OP_E_IO);
		return;
	}
	if (plan.is_bounced) {
		io_bytes = num_align_up(plan.head_bytes + plan.len_bytes, slot->disk->block_bytes);
		slot->iovs[0] = (struct iovec){slot->bounce, io_bytes};
		slot->n_iovs = 1;
	}
	fly(queue, slot);
}

static struct slot *
free_slot(struct disk_ring *ring)
{
	for (size_t i = 0; i < DISK_SLOTS; i++)
		if (ring->slots[i].state == SLOT_FREE)
			return &ring->slots[i];
	return NULL;
}

/* begin_some -- of one op.  false: no slot is left. */
static bool
begin_some(struct disk_queue *queue, struct op *op)
{
	while (op->failed == OP_DONE && op->begun_bytes < op->len_bytes) {
		struct slot *slot = free_slot(queue->ring);

		if (slot == NULL)
			return false;
		if (clock_ns(queue->clock) >= op->deadline_ns) {
			op->failed = OP_E_TIMEOUT;
			break;
		}
		begin(queue, slot, op);
		if (slot->state == SLOT_DONE && slot->result != OP_DONE)
			op->failed = slot->result;
	}
	list_remove(&op->at); /* nothing is left to begin */
	fold(queue, op);
	return true;
}

static void
begin_all(struct disk_queue *queue)
{
	struct list_link *link;

	while ((link = list_first(&queue->waiting)) != NULL)
		if (!begin_some(queue, list_of(link, struct op, at)))
			return;
}

/* ---- what came back ---- */

/* skip -- n bytes of the slot's vectors are done. */
static void
skip(struct slot *slot, uint64_t n)
{
	slot->done_bytes += n;
	while (n > 0 && slot->n_iovs > 0) {
		uint64_t len = num_min(n, slot->iov->iov_len);

		slot->iov->iov_base = (uint8_t *)slot->iov->iov_base + len;
		slot->iov->iov_len -= len;
		n -= len;
		if (slot->iov->iov_len > 0)
			return;
		slot->iov++;
		slot->n_iovs--;
	}
}

static void
came_back(struct disk_queue *queue, struct slot *slot, int32_t result)
{
	struct op *op = slot->op;
	bool is_write = op->kind == OP_WRITE;

	queue->ring->n_flying--;
	result = disk_bent(slot->disk, is_write, slot->at_bytes + slot->done_bytes, result);
	if ((result == -EINTR || result == -EAGAIN) && clock_ns(queue->clock) < op->deadline_ns) {
		fly(queue, slot);
		return;
	}
	/* It goes on behind the last whole block; not even one of them: there is no more. */
	if (result > 0)
		skip(slot, (uint64_t)result - (uint64_t)result % slot->disk->block_bytes);
	if (result > 0 && slot->n_iovs > 0 && (uint32_t)result >= slot->disk->block_bytes) {
		fly(queue, slot);
		return;
	}
	if (is_write && slot->n_iovs > 0)
		atomic_store(&slot->disk->is_failing, true);
	land(slot, slot->n_iovs > 0 ? OP_E_IO : OP_DONE);
	fold(queue, op);
}

static bool
reap(struct disk_queue *queue)
{
	struct io_uring_cqe *cqe;
	bool has_any = false;

	while (io_uring_peek_cqe(&queue->ring->uring, &cqe) == 0) {
		struct slot *slot = io_uring_cqe_get_data(cqe);
		int32_t result = cqe->res;

		io_uring_cqe_seen(&queue->ring->uring, cqe);
		came_back(queue, slot, result);
		has_any = true;
	}
	return has_any;
}

void
disk_queue_step(struct disk_queue *queue, uint64_t wait_ns)
{
	struct io_uring *uring = &queue->ring->uring;
	struct __kernel_timespec wait = {.tv_sec = (long long)(wait_ns / NS_PER_S),
					 .tv_nsec = (long long)(wait_ns % NS_PER_S)};
	struct io_uring_cqe *cqe;

	begin_all(queue);
	(void)io_uring_submit(uring); /* what it did not take goes with the next step */
	if (reap(queue) || queue->ring->n_flying == 0)
		return;
	if (io_uring_wait_cqe_timeout(uring, &cqe, &wait) == 0)
		(void)reap(queue);
}

void
disk_queue_run(struct disk_queue *queue)
{
	while (queue->n_ops > 0)
		disk_queue_step(queue, NS_PER_S);
}
