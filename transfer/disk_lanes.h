/* SPDX-License-Identifier: Apache-2.0 */

/*
 * disk_lanes.h -- queues of disks, taken by whoever has ops to run, and given back for the next.
 *
 * A queue costs a ring of the kernel and up to 8 MiB of memory, so a few are kept.
 * thread:  any.
 */
#ifndef TRANSFER_DISK_LANES_H
#define TRANSFER_DISK_LANES_H

#include "transfer/base/list.h"
#include "transfer/disk_queue.h"

#define DISK_LANES_KEPT 8

struct disk_lanes {
	struct lock lock; /* LOCK_xfer_lanes; guards what follows */
	struct list spare;
	size_t n_spare;
};

void disk_lanes_init(struct disk_lanes *lanes);

/* disk_lanes_fini -- needs: every queue was given back. */
void disk_lanes_fini(struct disk_lanes *lanes);

/* disk_lanes_take -- an empty queue, whose ops' deadlines are on that clock; NULL: none is to be
 * had. */
struct disk_queue *disk_lanes_take(struct disk_lanes *lanes, const struct clock *clock,
				   void (*over)(void *arg, struct op *op, enum op_result result),
				   void *arg);

/* disk_lanes_give -- needs: no op in it. */
void disk_lanes_give(struct disk_lanes *lanes, struct disk_queue *queue);

#endif
