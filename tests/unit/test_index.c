/* SPDX-License-Identifier: Apache-2.0 */

/* Single facts about the tree of keys; test_index_story.c tries it at random. */
#include "master/index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/allocs.h"
#include "tests/unit/index_keys.h"
#include "transfer/base/rand.h"

static struct text
text(const char *words)
{
	struct text text = {.len = strlen(words)};

	memcpy(text.bytes, words, text.len);
	return text;
}

/* Keys of an index that are given back with it. */
struct shelf {
	struct slab slab;
	struct index *index;
	size_t n;
	struct key *keys[KEYS_MAX];
};

static void
shelf_open(struct shelf *shelf)
{
	shelf->n = 0;
	slab_init(&shelf->slab);
	assert_int_equal(index_new(&shelf->slab, &shelf->index), 0);
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
	slab_fini(&shelf->slab);
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
	struct slab slab;

	(void)state;
	slab_init(&slab);
	allocs_fail_after(0);
	assert_int_equal(index_new(&slab, &index), -ENOMEM);
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
