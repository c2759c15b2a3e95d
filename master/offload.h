/* SPDX-License-Identifier: Apache-2.0 */

/*
 * offload.h -- two tiers: what has to go from memory goes to a disk, and comes back when it is
 * wanted.
 *
 *           put                        room is wanted (evict.c)
 *            |                                  |
 *            v            a task moves it       v
 *        [ memory ] --------------------------------------> [ disk ] --room is wanted--> (gone)
 *            ^                                                 |
 *            +---- a task copies it, used `promote_uses` ------+
 *                  times lately, while memory has room
 *
 * Both tasks are the master's own (task.h): nobody asked for them by name, so the books do not keep
 * them; after a restart they are made anew when they are wanted.  An object that has a copy on a
 * disk already leaves memory at once.
 *
 *      offload   off    what has to go is gone
 *                auto   moved, as far as disks keep up; beyond OFFLOAD_SHARE of the memory under
 * way, or when it can't be moved, it is gone on     moved; puts wait for that, as for any room
 *
 * In no case is anything moved without a disk to move it to.  A quota holds for both tiers
 * together: who is over it loses what lies on disks first.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_OFFLOAD_H
#define MASTER_OFFLOAD_H

#include "master/pool.h"
#include "transfer/base/sketch.h"

struct master;
struct object;
struct task;

/* The words of the option `offload` (options.def), in this order. */
enum offload_mode { OFFLOAD_OFF, OFFLOAD_AUTO, OFFLOAD_ON };

#define OFFLOAD_SHARE   8    /* an eighth of the memory at most is on its way to disks */
#define OFFLOADS_MAX    4096 /* tasks under way */
#define PROMOTIONS_MAX  256
#define OFFLOAD_REST_MS 10000 /* after a task failed for good nothing is moved for so long */

struct offload {
	size_t n_offloads, n_promotions; /* under way */
	uint64_t bytes;                  /* of memory that come free when those are done */
	uint64_t wanted_bytes;           /* on disks, for those that could not go there */
	uint64_t rest_until_ms;
	struct sketch *sketch; /* uses of objects on disks; NULL: none was counted yet */
};

void offload_fini(struct offload *offload);

/* offload_is_on -- are there both tiers, and is it wanted? */
bool offload_is_on(const struct master *master);

enum offload_fate {
	OFFLOAD_GOES, /* room comes: at once, or when a task is done */
	OFFLOAD_FULL, /* not more at a time; it stays where it is */
	OFFLOAD_CANT, /* it can't be moved */
};

/*
 * offload_object -- it is to leave memory.
 *
 * needs:   offload_is_on(); it has a copy in memory and no lease.
 * gives:   *ret_bytes of memory that will come free because of this call.
 */
enum offload_fate offload_object(struct master *master, struct object *object, uint64_t *ret_bytes);

/* promote_used -- an object that lies on disks alone was used: is it to come back? */
void promote_used(struct master *master, struct object *object);

/* offload_began, offload_ended -- of a task of the master's own; has_failed: for good. */
void offload_began(struct master *master, const struct task *task);
void offload_ended(struct master *master, const struct task *task, bool has_failed);

#endif
