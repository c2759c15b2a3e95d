/* SPDX-License-Identifier: Apache-2.0 */

/*
 * disk_queue.h -- ops on disks, many pieces of them under way at once (io_uring).
 *
 *      add ---> waiting --issue--> pieces in slots --kernel--> done --folded in order--> over(op)
 *
 * A piece is at most DISK_PIECE_BYTES.  It goes straight between the disk and the op's slices when
 * offset, addresses and lengths are aligned, else by way of the slot's own memory; a block that a
 * write covers in part is written at once (disk_write_edge).  Whatever comes back short goes on
 * from there.  Sums are made piece by piece and joined in the op's order.
 *
 * An op whose time is over begins no new piece, and is over when the last one has come back: until
 * then the device may touch its slices.
 *
 * thread:  one at a time.
 */
#ifndef TRANSFER_DISK_QUEUE_H
#define TRANSFER_DISK_QUEUE_H

#include "transfer/base/clock.h"
#include "transfer/disk.h"
#include "transfer/op.h"

#define DISK_SLOTS        16
#define DISK_PIECE_BYTES  (1u << 20)
#define DISK_BOUNCE_BYTES (256u << 10) /* of a piece that is not aligned */
#define DISK_AREA_BYTES   (4u << 20)

struct disk_queue {
	struct list_link at; /* its user's */
	struct disk_ring *ring;
	const struct clock *clock; /* of the ops' deadlines */
	void (*over)(void *arg, struct op *op, enum op_result result);
	void *arg;
	struct list waiting; /* ops that have pieces to begin */
	size_t n_ops;        /* not over yet */
	uint8_t *area;       /* disk_queue_area() */
};

/* disk_queue_new -- 0 or -errno: EPERM, ENOSYS when the machine does not allow io_uring. */
int disk_queue_new(const struct clock *clock, struct disk_queue **ret_queue) MUST_CHECK;

/* disk_queue_free -- needs: no op in it. */
void disk_queue_free(struct disk_queue *queue);

/* disk_queue_area -- DISK_AREA_BYTES for its user, aligned for any disk, from the first time on;
 * NULL: no memory. */
uint8_t *disk_queue_area(struct disk_queue *queue);

/*
 * disk_queue_add -- op's bytes lie on the disk from base_bytes + op->offset_bytes on.
 *
 * needs:   the range is within the disk; op, its slices and the disk stay until over() was called.
 */
void disk_queue_add(struct disk_queue *queue, struct disk *disk, uint64_t base_bytes,
		    struct op *op);

/* disk_queue_step -- begin what can be begun; if nothing has come back, wait at most wait_ns. */
void disk_queue_step(struct disk_queue *queue, uint64_t wait_ns);

/* disk_queue_run -- until every op is over. */
void disk_queue_run(struct disk_queue *queue);

DEFINE_CLEANUP(struct disk_queue, disk_queue_free);

#endif
