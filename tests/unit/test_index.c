/* SPDX-License-Identifier: Apache-2.0 */

/* The tree of keys against the plainest model there is: a sorted array. */
#include "master/index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"

#define KEY_MAX  1024
#define KEYS_MAX 3000

/* ---- keys ------------------------------------------------------------------------ */

struct text {
	size_t len;
	uint8_t bytes[KEY_MAX];
};

static struct text
text(const char *words)
{
	struct text text = {.len = strlen(words)};

	memcpy(text.bytes, words, text.len);
	return text;
}

static struct key *
key_new(const struct text *text)
{
	struct key *key = __real_malloc(sizeof(*key) + text->len);

	assert_non_null(key);
	key->len_bytes = (uint16_t)text->len;
	memcpy(key->bytes, text->bytes, text->len);
	return key;
}

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

/* ---- odd keys ----------------------------------------------------------------------- */

static void
text_of_few_letters(struct rand *rand, struct text *ret)
{
	static const uint8_t letters[] = {0x01, 'a', 0x7f, 0x80, 0xff};

	ret->len = 1 + rand_below(rand, 5);
	for (size_t i = 0; i < ret->len; i++)
		ret->bytes[i] = letters[rand_below(rand, array_len(letters))];
}

static void
text_of_one_letter(struct rand *rand, struct text *ret)
{
	ret->len = rand_below(rand, 4) == 0 ? KEY_MAX - rand_below(rand, 3)
					    : 1 + rand_below(rand, KEY_MAX);
	memset(ret->bytes, rand_below(rand, 8) == 0 ? 0xff : 'a', ret->len);
}

static void
text_like_a_path(struct rand *rand, struct text *ret)
{
	int len = snprintf((char *)ret->bytes, sizeof(ret->bytes), "model-%u/layer-%02u/%x",
			   (unsigned)rand_below(rand, 3), (unsigned)rand_below(rand, 20),
			   (unsigned)rand_below(rand, 400));

	ret->len = (size_t)len;
}

static void
text_of_any_bytes(struct rand *rand, struct text *ret)
{
	ret->len = 1 + rand_below(rand, rand_below(rand, 10) == 0 ? KEY_MAX : 3);
	for (size_t i = 0; i < ret->len; i++)
		ret->bytes[i] = (uint8_t)(1 + rand_below(rand, 255));
}

/* text_that_differs_late -- long, and all the same but for one byte. */
static void
text_that_differs_late(struct rand *rand, struct text *ret)
{
	ret->len = KEY_MAX;
	memset(ret->bytes, 'm', ret->len);
	ret->bytes[KEY_MAX - 1 - rand_below(rand, 4) * 300] = (uint8_t)(1 + rand_below(rand, 255));
}

static void
some_text(struct rand *rand, struct text *ret)
{
	static void (*const makers[])(struct rand *, struct text *) = {
		text_of_few_letters, text_of_one_letter,     text_like_a_path,
		text_of_any_bytes,   text_that_differs_late, text_like_a_path,
	};

	makers[rand_below(rand, array_len(makers))](rand, ret);
}

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

/* ---- what may happen ----------------------------------------------------------------- */

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
	index_prefetch(story->index, text.bytes, text.len);
	tell(story, index_get(story->index, text.bytes, text.len) == model_get(story, &text));
	tell(story,
	     index_has_below(story->index, text.bytes, text.len) == model_has_below(story, &text));
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
	else if (dice < 96)
		do_look_up(story);
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
	assert_int_equal(index_new(&story->index), 0);
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

/* ---- single facts --------------------------------------------------------------------- */

/* Keys of an index that are given back with it. */
struct shelf {
	struct index *index;
	size_t n;
	struct key *keys[KEYS_MAX];
};

static void
shelf_open(struct shelf *shelf)
{
	shelf->n = 0;
	assert_int_equal(index_new(&shelf->index), 0);
}

static void
shelf_put(struct shelf *shelf, const struct text *text)
{
	struct key *old;

	shelf->keys[shelf->n] = key_new(text);
	assert_int_equal(index_put(shelf->index, shelf->keys[shelf->n++], &old), 0);
	assert_null(old);
}

static void
shelf_close(struct shelf *shelf)
{
	index_free(shelf->index);
	for (size_t i = 0; i < shelf->n; i++)
		free(shelf->keys[i]);
}

static void
shelf_put_all(struct shelf *shelf, const char *const *words)
{
	shelf_open(shelf);
	for (; *words != NULL; words++) {
		struct text one = text(*words);

		shelf_put(shelf, &one);
	}
}

/* assert_walk -- the rest of a walk is these words. */
static void
assert_walk(struct index_walk *walk, const char *const *words)
{
	const struct key *key;

	for (; *words != NULL; words++) {
		key = index_walk_next(walk);
		assert_non_null(key);
		assert_int_equal(key->len_bytes, strlen(*words));
		assert_memory_equal(key->bytes, *words, key->len_bytes);
	}
	assert_null(index_walk_next(walk));
}

#define words(...) ((const char *const[]){__VA_ARGS__, NULL})

static void
walk__over_keys_that_begin_each_other__gives_the_shorter_first(void **state)
{
	struct shelf shelf;
	struct index_walk walk;

	(void)state;
	shelf_put_all(&shelf, words("aaa", "b", "a", "\xff", "aa", "\x01", "a\x01", "a\xff"));

	index_walk_start(&walk, shelf.index, NULL, 0, NULL, 0);

	assert_walk(&walk, words("\x01", "a", "a\x01", "aa", "aaa", "a\xff", "b", "\xff"));
	shelf_close(&shelf);
}

static void
walk__in_an_empty_index__ends_at_once(void **state)
{
	struct shelf shelf;
	struct index_walk walk;

	(void)state;
	shelf_open(&shelf);

	index_walk_start(&walk, shelf.index, NULL, 0, (const uint8_t *)"a", 1);

	index_walk_skip(&walk, (const uint8_t *)"a", 1);
	assert_null(index_walk_next(&walk));
	assert_false(index_has_below(shelf.index, NULL, 0));
	assert_null(index_get(shelf.index, (const uint8_t *)"a", 1));
	assert_null(index_take(shelf.index, (const uint8_t *)"a", 1));
	shelf_close(&shelf);
}

static void
walk__behind_a_key_that_is_gone__goes_on_where_it_would_be(void **state)
{
	struct shelf shelf;
	struct index_walk walk;

	(void)state;
	shelf_put_all(&shelf, words("d/a", "d/c", "d/d", "e"));

	index_walk_start(&walk, shelf.index, (const uint8_t *)"d/", 2, (const uint8_t *)"d/b", 3);

	assert_walk(&walk, words("d/c", "d/d"));
	shelf_close(&shelf);
}

static void
walk__behind_all_of_its_prefix__is_at_its_end(void **state)
{
	struct shelf shelf;
	struct index_walk walk;

	(void)state;
	shelf_put_all(&shelf, words("d/a", "d/c", "e"));

	index_walk_start(&walk, shelf.index, (const uint8_t *)"d/", 2, (const uint8_t *)"d0", 2);

	assert_null(index_walk_next(&walk));
	shelf_close(&shelf);
}

static void
skip__of_a_directory__goes_on_with_the_first_key_behind_it(void **state)
{
	struct shelf shelf;
	struct index_walk walk;

	(void)state;
	shelf_put_all(&shelf, words("a/1", "a/2", "a/2/x", "a0", "b/1", "b/2", "c"));
	index_walk_start(&walk, shelf.index, NULL, 0, NULL, 0);
	assert_non_null(index_walk_next(&walk));

	index_walk_skip(&walk, (const uint8_t *)"a/", 2);

	assert_walk(&walk, words("a0", "b/1", "b/2", "c"));
	shelf_close(&shelf);
}

static void
skip__of_what_lies_behind__does_not_go_back(void **state)
{
	struct shelf shelf;
	struct index_walk walk;

	(void)state;
	shelf_put_all(&shelf, words("a", "b", "c", "d"));
	index_walk_start(&walk, shelf.index, NULL, 0, NULL, 0);
	index_walk_skip(&walk, (const uint8_t *)"b", 1);

	index_walk_skip(&walk, (const uint8_t *)"a", 1);

	assert_walk(&walk, words("c", "d"));
	shelf_close(&shelf);
}

static void
get__of_bytes_with_a_nul__finds_nothing(void **state)
{
	struct shelf shelf;

	(void)state;
	shelf_put_all(&shelf, words("a", "ab", "b"));

	assert_null(index_get(shelf.index, (const uint8_t *)"a\0", 2));
	assert_null(index_get(shelf.index, (const uint8_t *)"a\0b", 3));
	assert_null(index_get(shelf.index, (const uint8_t *)"\0", 1));
	assert_null(index_take(shelf.index, (const uint8_t *)"a\0", 2));
	assert_false(index_has_below(shelf.index, (const uint8_t *)"a\0", 2));
	shelf_close(&shelf);
}

static void
index__of_each_length_of_one_letter__is_as_deep_as_a_key_and_works(void **state)
{
	struct shelf shelf;
	struct text chain = {.len = 0};

	(void)state;
	memset(chain.bytes, 'a', KEY_MAX);
	shelf_open(&shelf);
	for (chain.len = 1; chain.len <= KEY_MAX; chain.len++)
		shelf_put(&shelf, &chain);

	index_check(shelf.index);

	for (size_t len = 1; len <= KEY_MAX; len++) {
		assert_ptr_equal(index_get(shelf.index, chain.bytes, len), shelf.keys[len - 1]);
		assert_int_equal(index_has_below(shelf.index, chain.bytes, len), len < KEY_MAX);
	}
	shelf_close(&shelf);
}

static void
index__whose_forks_get_every_byte_and_lose_them_again__keeps_its_laws(void **state)
{
	struct shelf shelf;

	(void)state;
	shelf_open(&shelf);

	for (unsigned byte = 255; byte > 0; byte--) {
		struct text one = {.len = 3, .bytes = {'k', (uint8_t)(byte * 7 % 256), 'v'}};

		one.bytes[1] = (uint8_t)(one.bytes[1] == 0 ? 0xff : one.bytes[1]);
		if (index_get(shelf.index, one.bytes, one.len) == NULL)
			shelf_put(&shelf, &one);
		index_check(shelf.index);
	}
	for (size_t i = 0; i < shelf.n; i++) {
		const struct key *key = shelf.keys[i];

		assert_ptr_equal(index_take(shelf.index, key->bytes, key->len_bytes), key);
		index_check(shelf.index);
	}

	assert_int_equal(index_count(shelf.index), 0);
	shelf_close(&shelf);
}

static void
put__whose_allocation_fails__leaves_the_index_as_it_was(void **state)
{
	struct shelf shelf;
	struct rand rand;
	struct text one;

	(void)state;
	rand_init(&rand, 7);
	shelf_open(&shelf);
	for (unsigned i = 0; i < 600; i++) {
		size_t ram_bytes = index_ram_bytes(shelf.index), n = index_count(shelf.index);
		struct key *key, *old = NULL;
		int r;

		some_text(&rand, &one);
		if (index_get(shelf.index, one.bytes, one.len) != NULL)
			continue;
		key = key_new(&one);
		allocs_fail_after(0);
		r = index_put(shelf.index, key, &old);
		allocs_succeed();
		if (r == 0) {
			shelf.keys[shelf.n++] = key;
			continue;
		}

		assert_int_equal(r, -ENOMEM);
		assert_int_equal(index_ram_bytes(shelf.index), ram_bytes);
		assert_int_equal(index_count(shelf.index), n);
		assert_null(index_get(shelf.index, one.bytes, one.len));
		index_check(shelf.index);
		free(key);
		shelf_put(&shelf, &one);
	}
	shelf_close(&shelf);
}

static void
take__while_no_memory_can_be_had__works_all_the_same(void **state)
{
	struct shelf shelf;
	struct rand rand;
	struct text one;

	(void)state;
	rand_init(&rand, 8);
	shelf_open(&shelf);
	for (unsigned i = 0; i < 600; i++) {
		some_text(&rand, &one);
		if (index_get(shelf.index, one.bytes, one.len) == NULL)
			shelf_put(&shelf, &one);
	}

	allocs_fail_after(0);
	for (size_t i = 0; i < shelf.n; i++) {
		const struct key *key = shelf.keys[i];

		assert_ptr_equal(index_take(shelf.index, key->bytes, key->len_bytes), key);
	}
	allocs_succeed();

	index_check(shelf.index);
	assert_int_equal(index_count(shelf.index), 0);
	shelf_close(&shelf);
}

static void
index_new__without_memory__says_so(void **state)
{
	struct index *index = NULL;

	(void)state;
	allocs_fail_after(0);
	assert_int_equal(index_new(&index), -ENOMEM);
	allocs_succeed();
	assert_null(index);
}

static void
ram__with_keys_like_those_of_an_engine__stays_below_60_bytes_a_key(void **state)
{
	static struct shelf shelf;
	struct rand rand;

	(void)state;
	rand_init(&rand, 9);
	shelf_open(&shelf);
	for (unsigned i = 0; i < KEYS_MAX; i++) {
		struct text one;
		int len = snprintf((char *)one.bytes, sizeof(one.bytes), "llama-70b@tp%u@%016llx",
				   i % 8, (unsigned long long)rand_u64(&rand));

		one.len = (size_t)len;
		shelf_put(&shelf, &one);
	}

	assert_true(index_ram_bytes(shelf.index) / shelf.n <= 60);
	shelf_close(&shelf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			index__in_short_random_stories__agrees_with_a_sorted_array_at_each_step),
		cmocka_unit_test(index__in_long_random_stories__agrees_with_a_sorted_array),
		cmocka_unit_test(walk__over_keys_that_begin_each_other__gives_the_shorter_first),
		cmocka_unit_test(walk__in_an_empty_index__ends_at_once),
		cmocka_unit_test(walk__behind_a_key_that_is_gone__goes_on_where_it_would_be),
		cmocka_unit_test(walk__behind_all_of_its_prefix__is_at_its_end),
		cmocka_unit_test(skip__of_a_directory__goes_on_with_the_first_key_behind_it),
		cmocka_unit_test(skip__of_what_lies_behind__does_not_go_back),
		cmocka_unit_test(get__of_bytes_with_a_nul__finds_nothing),
		cmocka_unit_test(
			index__of_each_length_of_one_letter__is_as_deep_as_a_key_and_works),
		cmocka_unit_test(
			index__whose_forks_get_every_byte_and_lose_them_again__keeps_its_laws),
		cmocka_unit_test(put__whose_allocation_fails__leaves_the_index_as_it_was),
		cmocka_unit_test(take__while_no_memory_can_be_had__works_all_the_same),
		cmocka_unit_test(index_new__without_memory__says_so),
		cmocka_unit_test(
			ram__with_keys_like_those_of_an_engine__stays_below_60_bytes_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
