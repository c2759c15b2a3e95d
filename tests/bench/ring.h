/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ring.h -- as many objects as fill a ring, and rounds of legs: ours, and theirs for comparison.
 *
 * Each get finds its source out of the cache, and its buffer warm.
 */
#ifndef TESTS_BENCH_RING_H
#define TESTS_BENCH_RING_H

#include "tests/bench/house.h"
#include "tests/bench/rival.h"

#define N_PAIRS 21

/* The legs of a round; with which one it begins goes round, too. */
enum { OURS, THEIRS, FLOOR, N_LEGS };

/* What N_PAIRS rounds of them gave. */
struct legs {
	double ratio[N_PAIRS], floor[N_PAIRS], our_s, their_s;
	int n;
};

void legs_note(struct legs *legs, int i, double our_s, double their_s, double floor_s);

/* legs_tell -- a line; `word` is theirs. */
void legs_tell(const char *name, size_t len, const char *word, struct legs *legs, size_t n_ops);

struct ring {
	size_t n, len;
	char (*keys)[32];
	struct tiffin_view **views;
	const void **there; /* the objects' bytes in their segment */
};

void ring_fill(struct ring *ring, struct tiffin_client *client, size_t len, char *buf);
void ring_drop(struct ring *ring);

/* ring_copy -- plain copies; before each n_apart of them the clerk, if any, is asked. */
double ring_copy(const struct ring *ring, char *buf, const struct clerk *clerk, size_t n_apart);
double ring_get(const struct ring *ring, struct tiffin_client *client, char *buf);

void ring_put_one(struct tiffin_client *client, const char *key, void *buf, size_t len);
void ring_get_one(struct tiffin_client *client, const char *key, void *buf, size_t len);

#endif
