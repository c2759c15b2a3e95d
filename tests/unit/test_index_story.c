/* SPDX-License-Identifier: Apache-2.0 */

/* The tree of keys against the plainest model there is: a sorted array. */
#include "master/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/index_keys.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"

/* compare -- as memcmp, the shorter first. */
static int
compare(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	int order = memcmp(a, b, num_min(a_len, b_len));

	return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static bool
begins_with(const struct key *key, const struct text *text)
{
	return key->len_bytes >= text->len && memcmp(key->bytes, text->bytes, text->len) == 0;
}

/* ---- the model --------------------------------------------------------------------- */

struct story {
	uint64_t seed;
	unsigned step;
	struct rand rand;
	struct slab slab;
	struct index *index;
	size_t n;
	struct key *keys[KEYS_MAX]; /* sorted */
};

#define tell(story, condition)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("%s: seed %llu, step %u", #condition,                             \
				 (unsigned long long)(story)->seed, (story)->step);                \
	} while (0)

/* seat -- of the first key that is not smaller. */
static size_t
seat(const struct story *story, const struct text *text)
{
	size_t low = 0, high = story->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct key *key = story->keys[middle];

		if (compare(key->bytes, key->len_bytes, text->bytes, text->len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct key *
model_get(const struct story *story, const struct text *text)
{
	size_t at = seat(story, text);

	if (at == story->n || story->keys[at]->len_bytes != text->len ||
	    !begins_with(story->keys[at], text))
		return NULL;
	return story->keys[at];
}

/* model_past -- the first key from at on that does not begin with text and is not smaller. */
static size_t
model_past(const struct story *story, size_t at, const struct text *text)
{
	at = num_max(at, seat(story, text));
	while (at < story->n && begins_with(story->keys[at], text))
		at++;
	return at;
}

static bool
model_has_below(const struct story *story, const struct text *text)
{
	for (size_t at = seat(story, text); at < story->n; at++) {
		if (!begins_with(story->keys[at], text))
			return false;
		if (story->keys[at]->len_bytes > text->len)
			return true;
	}
	return false;
}

/* ---- what may happen ----------------------------------------------------------------- */

/* some_known_text -- of a key that is held, often with another end. */
static void
some_known_text(struct story *story, struct text *ret)
{
	const struct key *key;

	some_text(&story->rand, ret);
	if (story->n == 0 || rand_below(&story->rand, 4) == 0)
		return;
	key = story->keys[rand_below(&story->rand, story->n)];
	ret->len = key->len_bytes;
	memcpy(ret->bytes, key->bytes, ret->len);
	if (rand_below(&story->rand, 2) == 0)
		ret->len = 1 + rand_below(&story->rand, ret->len);
	if (rand_below(&story->rand, 8) == 0)
		ret->bytes[ret->len - 1] = (uint8_t)(1 + rand_below(&story->rand, 255));
	if (rand_below(&story->rand, 8) == 0 && ret->len < KEY_MAX)
		ret->bytes[ret->len++] = (uint8_t)(1 + rand_below(&story->rand, 255));
}

static void
do_put(struct story *story)
{
	struct key *key, *old = NULL, *known;
	struct text text;
	size_t at;

	some_text(&story->rand, &text);
	if (rand_below(&story->rand, 4) == 0)
		some_known_text(story, &text);
	key = key_new(&text);
	known = model_get(story, &text);
	at = seat(story, &text);

	tell(story, index_put(story->index, key, &old) == 0);
	tell(story, old == known);
	if (known == NULL) {
		tell(story, story->n < KEYS_MAX);
		memmove(&story->keys[at + 1], &story->keys[at],
			(story->n - at) * sizeof(story->keys[0]));
		story->n++;
	}
	story->keys[at] = key;
	free(old);
}

static void
do_take(struct story *story)
{
	struct text text;
	struct key *known;
	size_t at;

	some_known_text(story, &text);
	known = model_get(story, &text);
	at = seat(story, &text);

	tell(story, index_take(story->index, text.bytes, text.len) == known);
	if (known == NULL)
		return;
	story->n--;
	memmove(&story->keys[at], &story->keys[at + 1], (story->n - at) * sizeof(story->keys[0]));
	free(known);
}

static void
do_look_up(struct story *story)
{
	struct text text;

	some_known_text(story, &text);
	tell(story, index_get(story->index, text.bytes, text.len) == model_get(story, &text));
	tell(story,
	     index_has_below(story->index, text.bytes, text.len) == model_has_below(story, &text));
}

static void
do_look_up_many(struct story *story)
{
	struct text texts[40];
	struct index_probe probes[40];
	struct key *found[40];
	size_t n = rand_below(&story->rand, array_len(texts) + 1);

	for (size_t i = 0; i < n; i++) {
		some_known_text(story, &texts[i]);
		probes[i] = (struct index_probe){texts[i].bytes, texts[i].len};
	}
	index_get_all(story->index, probes, n, found);
	for (size_t i = 0; i < n; i++)
		tell(story, found[i] == model_get(story, &texts[i]));
}

/* some_skip -- of a directory of key, or of anything. */
static void
some_skip(struct story *story, const struct key *key, struct text *ret)
{
	if (rand_below(&story->rand, 3) == 0) {
		some_known_text(story, ret);
		return;
	}
	ret->len = 1 + rand_below(&story->rand, key->len_bytes);
	memcpy(ret->bytes, key->bytes, ret->len);
}

/* do_walk -- below a prefix, behind a key, now and then leaving some out. */
static void
do_walk(struct story *story)
{
	struct text prefix, after, past;
	struct index_walk walk;
	size_t at, end;

	some_known_text(story, &prefix);
	some_known_text(story, &after);
	prefix.len =
		rand_below(&story->rand, 3) == 0 ? 0 : 1 + rand_below(&story->rand, prefix.len);
	after.len = rand_below(&story->rand, 2) == 0 ? 0 : after.len;
	at = seat(story, &prefix);
	end = model_past(story, 0, &prefix);
	if (after.len > 0) {
		size_t behind = seat(story, &after);

		behind += model_get(story, &after) != NULL;
		at = num_max(at, behind);
	}

	index_walk_start(&walk, story->index, prefix.bytes, prefix.len, after.bytes, after.len);
	while (at < end) {
		const struct key *key = index_walk_next(&walk);

		tell(story, key == story->keys[at]);
		for (at++; rand_below(&story->rand, 4) == 0;) {
			some_skip(story, key, &past);
			index_walk_skip(&walk, past.bytes, past.len);
			at = model_past(story, at, &past);
		}
	}
	tell(story, index_walk_next(&walk) == NULL);
	tell(story, index_walk_next(&walk) == NULL);
}

static void
do_something(struct story *story)
{
	/* Now the tree grows, now it shrinks. */
	bool grows = story->step / 500 % 2 == 0;
	uint64_t dice = rand_below(&story->rand, 100);

	if (dice < (grows ? 60 : 15))
		do_put(story);
	else if (dice < 80)
		do_take(story);
	else if (dice < 94)
		do_look_up(story);
	else if (dice < 96)
		do_look_up_many(story);
	else
		do_walk(story);
}

static void
run_story(uint64_t seed, unsigned n_steps, unsigned check_every)
{
	struct story *story = calloc(1, sizeof(*story));

	assert_non_null(story);
	story->seed = seed;
	rand_init(&story->rand, seed);
	slab_init(&story->slab);
	assert_int_equal(index_new(&story->slab, &story->index), 0);
	for (; story->step < n_steps; story->step++) {
		do_something(story);
		tell(story, index_count(story->index) == story->n);
		if (story->step % check_every == 0)
			index_check(story->index);
	}

	for (size_t i = 0; i < story->n; i++) {
		struct key *key = story->keys[i];

		if (i % 2 == 0)
			tell(story, index_take(story->index, key->bytes, key->len_bytes) == key);
	}
	index_check(story->index);
	index_free(story->index);
	slab_fini(&story->slab);
	for (size_t i = 0; i < story->n; i++)
		free(story->keys[i]);
	free(story);
}

static void
index__in_short_random_stories__agrees_with_a_sorted_array_at_each_step(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++)
		run_story(seed, 150, 1);
}

static void
index__in_long_random_stories__agrees_with_a_sorted_array(void **state)
{
	(void)state;
	for (uint64_t seed = 1000; seed <= 1003; seed++)
		run_story(seed, 4000, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			index__in_short_random_stories__agrees_with_a_sorted_array_at_each_step),
		cmocka_unit_test(index__in_long_random_stories__agrees_with_a_sorted_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
