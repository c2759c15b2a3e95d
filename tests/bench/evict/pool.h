/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pool.h -- a pool of a fixed number of objects of one size, and the rules by which it lets go.
 *
 * Objects are numbers 0..n_ids-1.  All rules share one struct, so that a rule is no more than what
 * it does when an object is used:
 *
 *      lru      one list in the order of use; the last goes
 *
 *      two_age  two lists in the order of use: objects used once, objects used again; of the last
 *               of each the one with the greater age goes, where the age of one used once counts
 *               `weight` times (1 at first: then it is lru).  Age is counted in uses of the pool,
 *               not in time.  What goes is remembered for a while; when it is wanted after all,
 *               the weight moves in the favour of its list, by a step that is the greater the
 *               fewer of its list are remembered: so both lose equally much of what is wanted.
 *
 *      s3_fifo  a small queue for what is new, a main queue for what was used there, and the
 *               memory of what left the small one (Yang and others, SOSP 2023)
 *
 *      sieve    one queue and a hand that spares what was used since it came by (Zhang and
 *               others, NSDI 2024)
 *
 *      belady   what is used again latest goes: the best that can be had, for it knows the future
 *               (Belady 1966)
 */
#ifndef TESTS_BENCH_EVICT_POOL_H
#define TESTS_BENCH_EVICT_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "transfer/base/list.h"

/* two_age */
#define WEIGHT_STEP 0.0003
#define WEIGHT_MAX  8.0
#define GHOST_SHARE 2 /* one ghost for so many objects of the pool */
#define SCARCE_MAX  10.0

struct node {
	struct list_link at;
	struct list *on;   /* which list, NULL: none */
	uint64_t used_at;  /* number of the use */
	uint64_t next_use; /* belady */
	uint8_t n_uses;    /* since it came, or since the hand came by */
	bool is_here;
	bool was_again; /* a ghost: from which list it went */
};

struct pool {
	const struct rule *rule;
	struct node *nodes;
	size_t n_ids, n_slots, n_used;
	uint64_t n_uses;
	struct list once, again; /* front: used last */
	struct list ghosts;      /* what went, the latest in front */
	size_t n_once, n_ghosts;
	size_t n_ghosts_of[2]; /* of those used once, of those used again */
	double weight;         /* two_age */
	struct list_link *hand;
	const uint64_t *next_use; /* of the use at hand; NEVER_AGAIN */
	struct heap {
		struct far {
			uint64_t next_use;
			uint32_t id;
		} * at;
		size_t n, cap;
	} heap;
};

#define NEVER_AGAIN UINT64_MAX

struct rule {
	const char *name;
	void (*use)(struct pool *pool, uint32_t id);
};

/* The rules, the one of the product second, the best possible last; ended by one without a name. */
extern const struct rule rules[];

/* pool_open -- next_use: for each use to come when the same object is used next (belady). */
struct pool *pool_open(const struct rule *rule, size_t n_ids, size_t n_slots,
		       const uint64_t *next_use);
void pool_close(struct pool *pool);

static inline bool
pool_has(const struct pool *pool, uint32_t id)
{
	return pool->nodes[id].is_here;
}

/* pool_use -- the object is asked for; it comes in when it was not there, and another one goes. */
void pool_use(struct pool *pool, uint32_t id);

#endif
