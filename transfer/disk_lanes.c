/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/disk_lanes.h"

void
disk_lanes_init(struct disk_lanes *lanes)
{
	*lanes = (struct disk_lanes){0};
	lock_init(&lanes->lock, LOCK_xfer_lanes);
	list_init(&lanes->spare);
}

static struct disk_queue *
take_spare(struct disk_lanes *lanes)
{
	struct list_link *link;

	lock_take(&lanes->lock);
	link = list_first(&lanes->spare);
	if (link != NULL) {
		list_remove(link);
		lanes->n_spare--;
	}
	lock_drop(&lanes->lock);
	return link == NULL ? NULL : list_of(link, struct disk_queue, at);
}

void
disk_lanes_fini(struct disk_lanes *lanes)
{
	struct disk_queue *queue;

	while ((queue = take_spare(lanes)) != NULL)
		disk_queue_free(queue);
	lock_fini(&lanes->lock);
}

struct disk_queue *
disk_lanes_take(struct disk_lanes *lanes, const struct clock *clock,
		void (*over)(void *arg, struct op *op, enum op_result result), void *arg)
{
	struct disk_queue *queue = take_spare(lanes);

	if (queue == NULL && disk_queue_new(clock, &queue) < 0)
		return NULL;
	queue->clock = clock;
	queue->over = over;
	queue->arg = arg;
	return queue;
}

void
disk_lanes_give(struct disk_lanes *lanes, struct disk_queue *queue)
{
	bool is_kept;

	assert(queue->n_ops == 0);

	lock_take(&lanes->lock);
	is_kept = lanes->n_spare < DISK_LANES_KEPT;
	if (is_kept) {
		list_push_front(&lanes->spare, &queue->at);
		lanes->n_spare++;
	}
	lock_drop(&lanes->lock);
	if (!is_kept)
		disk_queue_free(queue);
}
