/* SPDX-License-Identifier: Apache-2.0 */

/*
 * file.c -- segments on disks of this host: read past everybody, straight from the disk.
 *
 *      of this process     its own descriptor: read and write
 *      of another one      the provider hands out a descriptor that can only read; it writes
 * itself, so a WRITE is left for the next transport
 *
 *      (nothing) --ask--> open ------------------------------> until the target is dropped
 *          +--not to be had--> resting for REST_NS: ops go to the next transport
 *
 * The ops of one batch share a queue, which the thread that waits for the batch drives.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/lock.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/disk_lanes.h"
#include "transfer/engine.h"
#include "transfer/lends.h"
#include "transfer/lent_disk.h"
#include "transfer/lent_header.h"
#include "transfer/map_ask.h"
#include "transfer/transport.h"

#define REST_NS (1 * NS_PER_S)

/* Who waits for a batch that another thread drives looks again after so long. */
#define LOOK_AGAIN_NS (1 * NS_PER_MS)

/* One segment of another process, in the target's slot. */
struct view {
	struct disk disk;
	bool is_open, is_asking;
	uint64_t rest_until_ns;
};

/* The ops of one batch. */
struct lane {
	struct list_link at;
	struct file *file;
	struct batch *batch;
	struct disk_queue *queue;
	bool is_driven;
};

struct file {
	struct transport base;
	struct lock lock;       /* LOCK_xfer_path; guards the views, and what follows */
	pthread_cond_t changed; /* an answer has come, or a lane is not driven any more */
	struct list lanes, spare;
	struct disk_lanes queues;
};

/* ---- a descriptor of another process ---- */

static bool
is_the_segment(struct disk *disk, const struct target_desc *desc)
{
	_Alignas(DISK_BLOCK_MAX) uint8_t bytes[LENT_HEADER_BYTES];
	const struct lent_disk_page *page = (const struct lent_disk_page *)bytes;

	if (disk->size_bytes < lent_file_bytes(desc->size_bytes) ||
	    disk_read(disk, 0, bytes, sizeof(bytes)) < 0)
		return false;
	return lent_disk_page_is_right(page) && page->segment_id == desc->segment_id &&
	       page->epoch == desc->segment_epoch && page->size_bytes == desc->size_bytes;
}

/* is_only_ours -- a descriptor as it should be: it reads, and does it past the page cache. */
static bool
is_only_ours(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && (flags & O_DIRECT) != 0 &&
	       (flags & O_NONBLOCK) == 0;
}

/* fetch -- ask and look.  thread: no lock held, one at a time for a view (is_asking). */
static int
fetch(struct file *file, const struct map_wish *wish, struct disk *ret_disk)
{
	struct wire_reply reply;
	int fd, r;

	r = map_ask(wish, clock_ns(engine_clock(file->base.engine)), &reply, &fd);
	if (r != 0)
		return r;
	if (!is_only_ours(fd)) {
		close(fd);
		return MAP_ASK_E_NO;
	}
	if (disk_open(ret_disk, fd) != 0)
		return MAP_ASK_E_NO;
	if (is_the_segment(ret_disk, &wish->target->desc))
		return 0;
	disk_close(ret_disk);
	return MAP_ASK_E_NO;
}

static int
fetch_alone(struct file *file, const struct map_wish *wish, struct view *view)
{
	const struct clock *clock = engine_clock(file->base.engine);
	int r;

	view->is_asking = true;
	lock_drop(&file->lock);
	r = fetch(file, wish, &view->disk);
	lock_take(&file->lock);
	view->is_asking = false;
	pthread_cond_broadcast(&file->changed);
	if (r == MAP_ASK_E_NO)
		view->rest_until_ns = num_add_sat(clock_ns(clock), REST_NS);
	if (r != 0)
		return r;
	view->is_open = true;
	return 0;
}

static struct disk *
open_locked(struct file *file, const struct map_wish *wish)
{
	const struct clock *clock = engine_clock(file->base.engine);
	void **slot = &wish->target->slot[file->base.index];
	struct view *view;

	if (*slot == NULL)
		*slot = calloc(1, sizeof(*view));
	view = *slot;
	if (view == NULL)
		return NULL;
	while (!view->is_open) {
		if (!map_can_open(wish) || clock_ns(clock) < view->rest_until_ns)
			return NULL;
		if (view->is_asking) {
			if (!lock_wait_for(&file->lock, &file->changed, MAP_ASK_MS_MAX * NS_PER_MS))
				return NULL;
			continue;
		}
		if (fetch_alone(file, wish, view) != 0)
			return NULL;
	}
	return &view->disk;
}

/* of_another -- the disk of a segment of another process, for reading; NULL: not to be had. */
static struct disk *
of_another(struct file *file, const struct op *op)
{
	const struct map_wish wish = {
		.target = op->target,
		.token = op->token,
		.use = MAP_READING,
		.offset_bytes = op->offset_bytes,
		.len_bytes = op->len_bytes,
		.deadline_ns = op->deadline_ns,
	};
	struct disk *disk;

	if (op->kind != OP_READ || !map_may_ask(op->target, op->token) || !map_may(op))
		return NULL;
	lock_take(&file->lock);
	disk = open_locked(file, &wish);
	lock_drop(&file->lock);
	return disk;
}

/* ---- lanes ---- */

static void
over(void *arg, struct op *op, enum op_result result)
{
	struct lane *lane = arg;
	struct engine *engine = lane->file->base.engine;
	struct lends_row *row = take((struct lends_row **)&op->own);

	if (row != NULL)
		lends_drop(engine_lends(engine), row);
	engine_complete(engine, op, result);
}

static struct lane *
find_lane(struct file *file, const struct batch *batch)
{
	list_each(&file->lanes, link) {
		struct lane *lane = list_of(link, struct lane, at);

		if (lane->batch == batch)
			return lane;
	}
	return NULL;
}

static struct lane *
new_lane(struct file *file, struct batch *batch)
{
	struct list_link *link = list_first(&file->spare);
	struct lane *lane =
		link != NULL ? list_of(link, struct lane, at) : calloc(1, sizeof(*lane));

	if (lane == NULL)
		return NULL;
	if (link != NULL)
		list_remove(link);
	*lane = (struct lane){.file = file, .batch = batch};
	list_link_init(&lane->at);
	lane->queue = disk_lanes_take(&file->queues, engine_clock(file->base.engine), over, lane);
	list_push_back(lane->queue != NULL ? &file->lanes : &file->spare, &lane->at);
	return lane->queue != NULL ? lane : NULL;
}

/* hold_lane -- the batch's, for this thread alone.  wants_new: made when there is none, and waited
 * for when another thread drives it; else NULL if it is driven for long. */
static struct lane *
hold_lane(struct file *file, struct batch *batch, bool wants_new)
{
	struct lane *lane;

	lock_take(&file->lock);
	lane = find_lane(file, batch);
	for (bool is_first = true; lane != NULL && lane->is_driven; is_first = false) {
		if (!is_first && !wants_new) {
			lane = NULL;
			break;
		}
		(void)lock_wait_for(&file->lock, &file->changed, LOOK_AGAIN_NS);
		lane = find_lane(file, batch);
	}
	if (lane == NULL && wants_new)
		lane = new_lane(file, batch);
	if (lane != NULL)
		lane->is_driven = true;
	lock_drop(&file->lock);
	return lane;
}

static void
let_go_of_lane(struct file *file, struct lane *lane)
{
	lock_take(&file->lock);
	lane->is_driven = false;
	if (lane->queue->n_ops == 0) {
		disk_lanes_give(&file->queues, take(&lane->queue));
		list_remove(&lane->at);
		list_push_front(&file->spare, &lane->at);
	}
	pthread_cond_broadcast(&file->changed);
	lock_drop(&file->lock);
}

/* ---- the transport ---- */

/* begin -- the op is on its way.  row: held as long as it is; may be NULL. */
static int
begin(struct file *file, struct op *op, struct disk *disk, struct lends_row *row)
{
	struct lane *lane = NULL;

	if (num_range_fits(op->offset_bytes, op->len_bytes, op->target->desc.size_bytes) &&
	    lent_file_bytes(op->target->desc.size_bytes) <= disk->size_bytes)
		lane = hold_lane(file, op->batch, /* wants_new= */ true);
	if (lane == NULL) {
		if (row != NULL)
			lends_drop(engine_lends(file->base.engine), row);
		return TRANSPORT_E_CANT;
	}
	op->own = row;
	disk_queue_add(lane->queue, disk, LENT_HEADER_BYTES, op);
	let_go_of_lane(file, lane);
	return 0;
}

static int
file_submit(struct transport *t, struct op *op)
{
	struct file *file = container_of(t, struct file, base);
	struct lends_row *row;
	struct disk *disk;

	if (!op->target->desc.is_on_disk)
		return TRANSPORT_E_CANT;
	row = lends_hold(engine_lends(t->engine), op->target->desc.segment_id);
	if (row != NULL && row->lent->disk != NULL &&
	    row->lent->epoch == op->target->desc.segment_epoch)
		return begin(file, op, row->lent->disk, row);
	if (row != NULL)
		lends_drop(engine_lends(t->engine), row);
	disk = of_another(file, op);
	return disk == NULL ? TRANSPORT_E_CANT : begin(file, op, disk, NULL);
}

static void
file_progress(struct transport *t, struct batch *batch, uint64_t until_ns)
{
	struct file *file = container_of(t, struct file, base);
	const struct clock *clock = engine_clock(t->engine);
	struct lane *lane = hold_lane(file, batch, /* wants_new= */ false);

	if (lane == NULL)
		return;
	while (lane->queue->n_ops > 0) {
		uint64_t now_ns = clock_ns(clock);

		if (now_ns >= until_ns)
			break;
		disk_queue_step(lane->queue, num_min(until_ns - now_ns, NS_PER_S));
	}
	let_go_of_lane(file, lane);
}

static void
file_drop(struct transport *t, struct target *target)
{
	struct view *view = take((struct view **)&target->slot[t->index]);

	if (view == NULL)
		return;
	if (view->is_open)
		disk_close(&view->disk);
	free(view);
}

static void
file_free(struct transport *t)
{
	struct file *file = container_of(t, struct file, base);
	struct list_link *link;

	while ((link = list_first(&file->lanes)) != NULL) {
		struct lane *lane = list_of(link, struct lane, at);

		disk_queue_run(lane->queue);
		let_go_of_lane(file, lane);
	}
	while ((link = list_first(&file->spare)) != NULL) {
		list_remove(link);
		free(list_of(link, struct lane, at));
	}
	disk_lanes_fini(&file->queues);
	pthread_cond_destroy(&file->changed);
	lock_fini(&file->lock);
	free(file);
}

static const struct transport_ops file_ops = {
	.name = "file",
	.submit = file_submit,
	.progress = file_progress,
	.drop = file_drop,
	.free = file_free,
};

int
transport_file_new(struct transport **ret_t)
{
	struct file *file = calloc(1, sizeof(*file));

	if (file == NULL)
		return err_new(-ENOMEM);
	file->base.ops = &file_ops;
	lock_init(&file->lock, LOCK_xfer_path);
	lock_cond_init(&file->changed);
	list_init(&file->lanes);
	list_init(&file->spare);
	disk_lanes_init(&file->queues);
	*ret_t = &file->base;
	return 0;
}
