/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ages.h -- in which order a tenant's objects go when room is wanted.
 *
 *      put --> [ once ] --used again--> [ again ]
 *                 |                        |
 *                 +------ goes for room ---+--> [ regrets ] --wanted after all--> the weight moves
 *
 * Two lists, each in the order of use: objects used once, and objects used again.  Of the last of
 * each the one with the greater age goes, where the age of one used once counts `weight` times (1
 * at first: then both lists are as one).  Age is counted in uses of the tenant's objects, not in
 * time: so a pause makes nothing old.  A use is the put, and each time a reader is told where the
 * object lies; but not within four seconds of the last, so that what is read all the time is not
 * moved all the time.
 *
 * What goes leaves the hash of its key and the list it was on among the regrets.  When it is put
 * again while it is remembered, it should have stayed: the weight moves in favour of its list, by
 * a step that is the greater the fewer of its list are remembered.  So both lists lose equally much
 * of what is wanted.  (tests/bench/evict compares this rule with others, on traces.)
 *
 * The items of one request are used from the last to the first: they are the blocks of one prompt,
 * and one of them is worth nothing without those before it.  So the end of a prompt goes before its
 * beginning.
 *
 * Objects that lie on disks alone (offload.h) stand on a list of their own, in the order of use and
 * of coming there.
 *
 * Pinned objects (pin.h) stand on lists of their own: soft ones are looked at when all others were,
 * hard ones never.  Empty objects hold no room and are on no list.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_AGES_H
#define MASTER_AGES_H

#include "transfer/base/list.h"

struct object;
struct regret;

/* What went lately: one line of the cache for eight hashes, the oldest of a line is forgotten. */
struct regrets {
	struct regret *at;  /* owned; NULL: nothing went yet */
	size_t n_lines;     /* a power of two */
	uint32_t n_most;    /* so many are remembered; what went before those is not */
	uint32_t n_gone;    /* numbers what went, from 1 on; wraps */
	double again_share; /* of those remembered: how many were used again */
};

enum ages_list { AGES_ONCE, AGES_AGAIN, AGES_DISK, AGES_SOFT, AGES_HARD, AGES_LISTS };

struct ages {
	struct list lists[AGES_LISTS]; /* struct object.at_lru, front: used last */
	uint32_t n_uses;               /* wraps: what was not used for so long looks young, once */
	bool is_batch;
	uint32_t batch_use;
	struct list_link *batch_at[AGES_LISTS]; /* behind it goes the next of a batch */
	double weight;
	struct regrets regrets;
};

void ages_init(struct ages *ages);
void ages_fini(struct ages *ages);

/* ages_enter, ages_leave -- it can be found from now on, or no more; of one without bytes: nothing.
 */
void ages_enter(struct object *object);
void ages_leave(struct object *object);

/* ages_use -- used again; of one that was never entered: nothing. */
void ages_use(struct object *object);

/* ages_spare -- it would go, but somebody reads it: it is looked at again when all others were. */
void ages_spare(struct object *object);

/* ages_batch_begin, ages_batch_end -- of the objects that enter between them the first counts as
 * the one used last. */
void ages_batch_begin(struct ages *ages);
void ages_batch_end(struct ages *ages);

/* ages_pin -- it is pinned until then from now on (struct object.pinned_until_s), and used now. */
void ages_pin(struct object *object, uint32_t until_s);

/* ages_sink -- its copies lie on disks alone from now on, or not any more. */
void ages_sink(struct object *object, bool is_on_disk);

/* ages_unpin_ended -- looks at some objects with soft pins, others each time: those whose pin has
 * ended are as others again.  Gives how many that were. */
unsigned ages_unpin_ended(struct ages *ages, uint64_t now_s, unsigned max_steps);

/* ages_next -- the next object that should go, each once; NULL: all have been looked at.
 *
 * on_disk    those that lie on disks alone, and not those in memory.
 * with_soft  those with soft pins, too, wherever they lie, when all without were looked at.
 *
 * needs:   the one given before was taken off, or spared.
 */
struct ages_walk {
	struct ages *ages;
	const struct list_link *ends[AGES_LISTS]; /* the last to be looked at; NULL: it was */
};
struct ages_walk ages_walk(struct ages *ages, bool on_disk, bool with_soft);
struct object *ages_next(struct ages_walk *walk);

/* ages_let_go -- this object goes for room; n_objects: how many the tenant has. */
void ages_let_go(struct ages *ages, uint64_t key_hash, bool was_again, uint64_t n_objects);

/* ages_regret -- that key is put: did it go lately?  Then the weight moves. */
bool ages_regret(struct ages *ages, uint64_t key_hash);

/* ages_ram_bytes -- of what is remembered. */
size_t ages_ram_bytes(const struct ages *ages);

#endif
