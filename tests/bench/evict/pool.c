/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/evict/pool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define S3_SMALL_SHARE 10 /* the small queue is a tenth */
#define S3_USES_MAX    3

/* ---- what the rules have in common ---- */

static struct node *
node_of(struct list_link *link)
{
	return list_of(link, struct node, at);
}

static void
put_front(struct list *list, struct node *node)
{
	list_push_front(list, &node->at);
	node->on = list;
}

static void
take_off(struct node *node)
{
	list_remove(&node->at);
	node->on = NULL;
}

static void
come(struct pool *pool, struct node *node)
{
	node->is_here = true;
	node->n_uses = 0;
	pool->n_used++;
}

static void
go(struct pool *pool, struct node *node)
{
	assert(node->is_here);
	take_off(node);
	node->is_here = false;
	pool->n_used--;
}

static bool
is_full(const struct pool *pool)
{
	return pool->n_used == pool->n_slots;
}

/* ---- lru ---- */

static void
use_lru(struct pool *pool, uint32_t id)
{
	struct node *node = &pool->nodes[id];

	if (node->is_here) {
		take_off(node);
	} else {
		if (is_full(pool))
			go(pool, node_of(list_last(&pool->once)));
		come(pool, node);
	}
	put_front(&pool->once, node);
}

/* ---- ghosts ---- */

static void
forget(struct pool *pool, struct node *ghost)
{
	take_off(ghost);
	pool->n_ghosts--;
	pool->n_ghosts_of[ghost->was_again]--;
}

static void
remember(struct pool *pool, struct node *node, bool was_again, size_t most)
{
	node->was_again = was_again;
	put_front(&pool->ghosts, node);
	pool->n_ghosts_of[was_again]++;
	if (++pool->n_ghosts > most)
		forget(pool, node_of(list_last(&pool->ghosts)));
}

/* ---- two_age ---- */

static double
age(const struct pool *pool, const struct list *list)
{
	struct list_link *last = list_last(list);

	return last == NULL ? -1 : (double)(pool->n_uses - node_of(last)->used_at);
}

/* It was let go, and is wanted. */
static void
regret(struct pool *pool, struct node *ghost)
{
	bool was_again = ghost->was_again;
	double scarce = (double)pool->n_ghosts / (2 * (double)pool->n_ghosts_of[was_again]);
	double step = WEIGHT_STEP * (scarce < SCARCE_MAX ? scarce : SCARCE_MAX);

	forget(pool, ghost);
	pool->weight *= was_again ? 1 + step : 1 - step;
	if (pool->weight < 1)
		pool->weight = 1;
	if (pool->weight > WEIGHT_MAX)
		pool->weight = WEIGHT_MAX;
}

static void
use_two_age(struct pool *pool, uint32_t id)
{
	struct node *node = &pool->nodes[id];

	node->used_at = pool->n_uses;
	if (node->is_here) {
		take_off(node);
		put_front(&pool->again, node);
		return;
	}
	if (node->on == &pool->ghosts)
		regret(pool, node);
	if (is_full(pool)) {
		bool was_again = age(pool, &pool->once) * pool->weight < age(pool, &pool->again);
		struct node *last = node_of(list_last(was_again ? &pool->again : &pool->once));

		go(pool, last);
		remember(pool, last, was_again, pool->n_slots / GHOST_SHARE);
	}
	come(pool, node);
	put_front(&pool->once, node);
}

/* ---- s3_fifo ---- */

/* From the small queue: what was used there is kept, what was not goes and is remembered. */
static bool
s3_from_small(struct pool *pool)
{
	struct list_link *last;

	while ((last = list_last(&pool->once)) != NULL) {
		struct node *node = node_of(last);

		pool->n_once--;
		if (node->n_uses > 0) {
			take_off(node);
			node->n_uses = 0;
			put_front(&pool->again, node);
			continue;
		}
		go(pool, node);
		remember(pool, node, false, pool->n_slots);
		return true;
	}
	return false;
}

static void
s3_from_main(struct pool *pool)
{
	for (;;) {
		struct node *node = node_of(list_last(&pool->again));

		if (node->n_uses == 0) {
			go(pool, node);
			return;
		}
		node->n_uses--;
		take_off(node);
		put_front(&pool->again, node);
	}
}

static void
use_s3_fifo(struct pool *pool, uint32_t id)
{
	struct node *node = &pool->nodes[id];
	bool is_known = node->on == &pool->ghosts;

	if (node->is_here) {
		if (node->n_uses < S3_USES_MAX)
			node->n_uses++;
		return;
	}
	if (is_known)
		forget(pool, node);
	if (is_full(pool)) {
		bool is_small = pool->n_once * S3_SMALL_SHARE >= pool->n_slots ||
				list_is_empty(&pool->again);

		if (!is_small || !s3_from_small(pool))
			s3_from_main(pool);
	}
	come(pool, node);
	put_front(is_known ? &pool->again : &pool->once, node);
	if (!is_known)
		pool->n_once++;
}

/* ---- sieve ---- */

static struct list_link *
towards_front(struct pool *pool, struct list_link *link)
{
	return link->prev == &pool->once.head ? list_last(&pool->once) : link->prev;
}

static void
use_sieve(struct pool *pool, uint32_t id)
{
	struct node *node = &pool->nodes[id];

	if (node->is_here) {
		node->n_uses = 1;
		return;
	}
	if (is_full(pool)) {
		struct list_link *at = pool->hand != NULL ? pool->hand : list_last(&pool->once);

		while (node_of(at)->n_uses > 0) {
			node_of(at)->n_uses = 0;
			at = towards_front(pool, at);
		}
		pool->hand = at->prev == &pool->once.head ? NULL : at->prev;
		go(pool, node_of(at));
	}
	come(pool, node);
	put_front(&pool->once, node);
}

/* ---- belady: a heap by the next use, in which what is outdated is passed over ---- */

static void
heap_push(struct heap *heap, struct far far)
{
	size_t at = heap->n++;

	if (heap->n > heap->cap) {
		heap->cap = heap->cap == 0 ? 1024 : heap->cap * 2;
		heap->at = realloc(heap->at, heap->cap * sizeof(*heap->at));
		if (heap->at == NULL)
			abort();
	}
	while (at > 0 && heap->at[(at - 1) / 2].next_use < far.next_use) {
		heap->at[at] = heap->at[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->at[at] = far;
}

static struct far
heap_pop(struct heap *heap)
{
	struct far top = heap->at[0], last = heap->at[--heap->n];
	size_t at = 0, child;

	while ((child = at * 2 + 1) < heap->n) {
		if (child + 1 < heap->n && heap->at[child + 1].next_use > heap->at[child].next_use)
			child++;
		if (heap->at[child].next_use <= last.next_use)
			break;
		heap->at[at] = heap->at[child];
		at = child;
	}
	heap->at[at] = last;
	return top;
}

static void
use_belady(struct pool *pool, uint32_t id)
{
	struct node *node = &pool->nodes[id];

	if (!node->is_here) {
		while (is_full(pool)) {
			struct far far = heap_pop(&pool->heap);
			struct node *farthest = &pool->nodes[far.id];

			if (farthest->is_here && farthest->next_use == far.next_use)
				go(pool, farthest);
		}
		come(pool, node);
		put_front(&pool->once, node);
	}
	node->next_use = pool->next_use[pool->n_uses];
	heap_push(&pool->heap, (struct far){node->next_use, id});
}

/* ---- a pool ---- */

const struct rule rules[] = {
	{"lru", use_lru},     {"two_age", use_two_age}, {"s3_fifo", use_s3_fifo},
	{"sieve", use_sieve}, {"belady", use_belady},   {NULL, NULL},
};

struct pool *
pool_open(const struct rule *rule, size_t n_ids, size_t n_slots, const uint64_t *next_use)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL || (pool->nodes = calloc(n_ids, sizeof(*pool->nodes))) == NULL)
		abort();
	pool->rule = rule;
	pool->n_ids = n_ids;
	pool->n_slots = n_slots;
	pool->next_use = next_use;
	pool->weight = 1;
	list_init(&pool->once);
	list_init(&pool->again);
	list_init(&pool->ghosts);
	for (size_t i = 0; i < n_ids; i++)
		list_link_init(&pool->nodes[i].at);
	return pool;
}

void
pool_close(struct pool *pool)
{
	free(pool->heap.at);
	free(pool->nodes);
	free(pool);
}

void
pool_use(struct pool *pool, uint32_t id)
{
	assert(id < pool->n_ids);
	pool->rule->use(pool, id);
	pool->n_uses++;
	assert(pool->n_used <= pool->n_slots);
}
