/* SPDX-License-Identifier: Apache-2.0 */

/*
 * story.h -- what the chapters of the story share: a client, a ledger, and a judge.
 *
 * Every step is begun by step() and ended by told(), which judges the answer: 0, or an error that
 * may come when something outside failed.  Steps are under a deadline.
 */
#ifndef TESTS_FAULT_STORY_H
#define TESTS_FAULT_STORY_H

#include "core/tiffin.h"
#include "tests/fault/ledger.h"

#define STORY_ARENA_BYTES (4u << 20)
#define STORY_SLICES_MAX  8

struct story {
	struct tiffin_client *client;
	const char *prefix;
	struct ledger ledger;
	unsigned n_steps, n_failed;
	uint32_t seed; /* of the last value */
};

/* story_step -- the deadline begins. */
void story_step(const char *words, const char *key);

/* story_told -- judge the answer of the step; gives it back. */
int story_told(struct story *story, int r);

/* story_broken -- a law is broken: say so and end. */
void story_broken(const char *words, const char *key) __attribute__((noreturn));

/* story_key -- prefix and name; valid until the next but three. */
const char *story_key(const struct story *story, const char *name);

/* story_next -- a value that was never there before. */
struct value story_next(struct story *story, uint64_t len_bytes);

/* story_scatter -- len bytes as slices of odd lengths with gaps between; the arena is one of two.
 */
size_t story_scatter(int arena, uint64_t len_bytes, struct iovec *ret_slices);

/* The chapters, in order. */
void story_put(struct story *story);
void story_get(struct story *story);
void story_batch(struct story *story);
void story_stream(struct story *story);
void story_view(struct story *story);
void story_list(struct story *story);
void story_names(struct story *story);
void story_lend(struct story *story);

/* What is done after the story, with nothing failing: 0, or the exit status. */
int story_verify(struct story *story);
int story_clear(struct story *story, unsigned seconds, unsigned n_segments);

#endif
