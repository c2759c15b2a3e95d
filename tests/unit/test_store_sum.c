/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever happens to a page or a bit of large books: they are refused, or they say what they said
 * before, but for objects that are named as spoilt.
 */
#include "tests/unit/store_spoil.h"

#define PAGE_BYTES 4096u

/* add_wide -- an object whose attributes fill a page, or more than one with those of the others. */
static void
add_wide(struct box *box, uint64_t id)
{
	static uint8_t attr[4096];
	char key[32];
	int len = snprintf(key, sizeof(key), "wide-%llu", (unsigned long long)id);
	struct extent run = {id * 65536, 1000};
	struct replica_record replica = {1, 1, &run};

	memset(attr, 'a' + (int)(id % 26), sizeof(attr));
	box_add(box, &(struct record){.kind = RECORD_OBJECT_ADD,
				      .object_id = id,
				      .tenant_id = 1,
				      .len_bytes = 1000,
				      .put_at_ms = 1790000000000,
				      .key = (const uint8_t *)key,
				      .key_len = (uint16_t)len,
				      .attr = attr,
				      .attr_len = (uint16_t)(200 + id * 397 % 3897),
				      .n_replicas = 1,
				      .replicas = &replica});
}

/* fill_wide -- trees of two levels, rows that go on in other pages, pages that are free. */
static void
fill_wide(struct box *box)
{
	fill(box);
	assert_int_equal(box_open(box, NULL), 0);
	for (uint64_t id = 10; id < 700; id++)
		box_add_object(box, id, 1 + id % 2, id % 4 == 0 ? 3 : 1);
	for (uint64_t id = 1000; id < 1300; id++)
		add_wide(box, id);
	box_commit(box);
	for (uint64_t id = 1270; id < 1300; id++)
		box_remove_object(box, id);
	box_commit(box);
	box_close(box);
}

enum page_fault { ZEROES, ONES, NOISE, NEIGHBOUR, TORN, N_PAGE_FAULTS };

static void
spoil(uint8_t *bytes, size_t n, size_t page, enum page_fault fault, struct rand *rand)
{
	uint8_t *at = bytes + page;

	switch (fault) {
	case ZEROES:
		memset(at, 0, PAGE_BYTES);
		break;
	case ONES:
		memset(at, 0xff, PAGE_BYTES);
		break;
	case NOISE:
		for (size_t i = 0; i < PAGE_BYTES; i++)
			at[i] = (uint8_t)rand_u64(rand);
		break;
	case NEIGHBOUR: /* written to the wrong place */
		memcpy(at, bytes + (page + PAGE_BYTES) % n, PAGE_BYTES);
		break;
	case TORN:
		memset(at + PAGE_BYTES / 2, 0, PAGE_BYTES / 2);
		break;
	case N_PAGE_FAULTS:
		break;
	}
}

static bool
is_line(const char *at, const char *line, size_t len)
{
	return strncmp(at, line, len + 1) == 0;
}

static bool
begins(const char *at, const char *word)
{
	return strncmp(at, word, strlen(word)) == 0;
}

/*
 * n_missing -- what the books say now is what they said before, word by word, but for whole objects
 * that are said to be spoilt.  Gives how many those are.
 */
static unsigned
n_missing(const char *now, const char *before)
{
	unsigned n = 0;

	for (size_t len; *now != '\0'; now += len + 1) {
		len = strcspn(now, "\n");
		if (begins(now, "spoilt ")) {
			n++;
			continue;
		}
		if (n > 0 && !begins(now, "  on "))
			while (*before != '\0' && !is_line(before, now, len) &&
			       (begins(before, "object ") || begins(before, "  on ")))
				before += strcspn(before, "\n") + 1;
		if (!is_line(before, now, len))
			fail_msg("%.*s stands where %.*s stood", (int)len, now,
				 (int)strcspn(before, "\n"), before);
		before += len + 1;
	}
	if (n == 0)
		assert_string_equal(before, "");
	return n;
}

enum verdict { HARMLESS, SPOILT_SOME, REFUSED_ALL, N_VERDICTS };

/* verdict_on -- the file as it is; but for what is refused or said to be spoilt it says what it
 * said before, and can be used. */
static enum verdict
verdict_on(struct box *box, const char *before)
{
	char *text = NULL;
	enum verdict verdict = REFUSED_ALL;
	int r = box_open(box, NULL);

	if (r == 0)
		r = box_load(box, &text);
	if (r == 0) {
		verdict = n_missing(text, before) > 0 ? SPOILT_SOME : HARMLESS;
		box_add_segment(box, 9);
		box_remove_object(box, 10);
		box_commit(box);
	} else {
		assert_int_equal(r, STORE_E_DAMAGED);
		assert_non_null(strstr(box->why, box->path));
	}
	free(text);
	box_close(box);
	return verdict;
}

/* read_before -- the file, and what it says. */
static uint8_t *
read_before(struct box *box, size_t *ret_n, char **ret_text)
{
	fill_wide(box);
	assert_int_equal(box_open(box, NULL), 0);
	*ret_text = box_dump(box);
	box_close(box);
	return read_file(box, ret_n);
}

static void
page__spoilt_in_any_way__is_refused_or_costs_objects_that_are_named(void **state)
{
	struct box *box = *state;
	unsigned n_verdicts[N_VERDICTS] = {0};
	uint8_t *bytes, kept[PAGE_BYTES];
	struct rand rand;
	char *before;
	size_t n;

	bytes = read_before(box, &n, &before);
	assert_true(n / PAGE_BYTES > 200);
	rand_init(&rand, 9);
	for (size_t page = 0; page < n; page += PAGE_BYTES) {
		memcpy(kept, bytes + page, sizeof(kept));
		for (unsigned fault = 0; fault < N_PAGE_FAULTS; fault++) {
			/* These three are all coarse: one a page. */
			if (fault <= NOISE && fault != page / PAGE_BYTES % (NOISE + 1))
				continue;
			spoil(bytes, n, page, fault, &rand);
			box_empty(box);
			write_file(box, bytes, n);
			n_verdicts[verdict_on(box, before)]++;
			memcpy(bytes + page, kept, sizeof(kept));
		}
	}
	assert_true(n_verdicts[REFUSED_ALL] > n_verdicts[HARMLESS]);
	assert_true(n_verdicts[HARMLESS] > 0); /* free pages are among them */
	free(bytes);
	free(before);
}

/* Rows of object and replica fill nearly all of the file. */
static void
bit__flipped_in_a_row__costs_its_object_or_is_refused__and_nothing_says_else(void **state)
{
	struct box *box = *state;
	unsigned n_verdicts[N_VERDICTS] = {0};
	struct rand rand;
	uint8_t *bytes;
	char *before;
	size_t n;

	bytes = read_before(box, &n, &before);
	rand_init(&rand, 10);
	for (unsigned i = 0; i < 250; i++) {
		size_t at = PAGE_BYTES + rand_below(&rand, n - PAGE_BYTES);
		uint8_t bit = (uint8_t)(1u << rand_below(&rand, 8));

		bytes[at] ^= bit;
		box_empty(box);
		write_file(box, bytes, n);
		n_verdicts[verdict_on(box, before)]++;
		bytes[at] ^= bit;
	}
	for (unsigned i = 0; i < N_VERDICTS; i++)
		assert_true(n_verdicts[i] > 0);
	assert_true(n_verdicts[SPOILT_SOME] > n_verdicts[REFUSED_ALL]);
	free(bytes);
	free(before);
}

/* flip -- one bit of the first place where these bytes stand. */
static void
flip(struct box *box, const char *word)
{
	size_t n;
	uint8_t *bytes = read_file(box, &n), *at = memmem(bytes, n, word, strlen(word));

	assert_non_null(at);
	at[strlen(word) - 1] ^= 1;
	write_file(box, bytes, n);
	free(bytes);
}

static void
key__with_a_flipped_bit__is_no_other_key(void **state)
{
	struct box *box = *state;
	char *text = NULL;

	fill(box);
	flip(box, "dir2/key-2");
	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(box_load(box, &text), 0);
	assert_non_null(strstr(text, "spoilt 2\n"));
	assert_null(strstr(text, "dir2/key-"));
	assert_non_null(strstr(text, "dir1/key-1"));
	free(text);
}

/* Changed in three ways since it was put: the sum goes along; but never does it become right. */
static void
row__changed_by_requests__bears_its_sum__unless_it_was_wrong_before(void **state)
{
	struct box *box = *state;
	struct record records[] = {
		{.kind = RECORD_OBJECT_RENAME, .key = (const uint8_t *)"new name", .key_len = 8},
		{.kind = RECORD_OBJECT_ATTR, .attr = (const uint8_t *)"new", .attr_len = 3},
		{.kind = RECORD_OBJECT_PIN, .pinned_until_s = 77},
		{.kind = RECORD_OBJECT_ATTR},
		{.kind = RECORD_OBJECT_PIN},
	};
	char *text = NULL;

	fill(box);
	box_sql(box, "UPDATE object SET len_bytes = len_bytes - 1 WHERE object_id = 2");
	for (size_t i = 0; i < array_len(records); i++) {
		assert_int_equal(box_open(box, NULL), 0);
		for (records[i].object_id = 1; records[i].object_id <= 2; records[i].object_id++)
			box_add(box, &records[i]);
		box_commit(box);
		assert_int_equal(box_load(box, &text), 0);
		assert_non_null(strstr(text, "spoilt 2\n"));
		assert_null(strstr(text, "spoilt 1\n"));
		assert_non_null(strstr(text, "key new name"));
		free(text);
		box_close(box);
	}
}

/* The CHECKs that SQLite has, and the laws between rows, see nothing wrong here. */
static void
row__of_each_kind_with_another_value__costs_its_object(void **state)
{
	struct box *box = *state;
	static const char *const others[] = {
		"UPDATE object SET tenant_id = 2 WHERE object_id = 3",
		"UPDATE object SET put_at_ms = put_at_ms + 1 WHERE object_id = 3",
		"UPDATE object SET crc = 1 WHERE object_id = 3",
		"UPDATE object SET attr = x'61' WHERE object_id = 3",
		"UPDATE object SET pinned_until_s = 4294967295 WHERE object_id = 3",
		"UPDATE object SET row_sum = row_sum + 1 WHERE object_id = 3",
		"UPDATE replica SET offset_bytes = offset_bytes + 512 WHERE replica_id = 8",
		"UPDATE replica SET segment_id = 3 WHERE replica_id = 8",
		"UPDATE extent SET offset_bytes = offset_bytes + 512 WHERE extent_id = 24 * 4096",
	};

	for (size_t i = 0; i < array_len(others); i++) {
		uint64_t id = strstr(others[i], "replica_id") != NULL ? 1 : 3;
		char *text = NULL, wanted[32];

		fill(box);
		box_sql(box, others[i]);
		assert_int_equal(box_open(box, NULL), 0);
		assert_int_equal(box_load(box, &text), 0);
		snprintf(wanted, sizeof(wanted), "spoilt %llu\n", (unsigned long long)id);
		if (strstr(text, wanted) == NULL)
			fail_msg("%s: %s", others[i], text);
		free(text);
		box_close(box);
	}
}

static void
rows__more_than_flips_can_spoil__refuse_the_whole(void **state)
{
	struct box *box = *state;

	fill(box);
	assert_int_equal(box_open(box, NULL), 0);
	for (uint64_t id = 10; id < 1100; id++)
		box_add_object(box, id, 1, 1);
	box_commit(box);
	box_close(box);
	box_sql(box, "UPDATE object SET put_at_ms = 1");
	assert_int_equal(judge(box), STORE_E_DAMAGED);
	assert_non_null(strstr(box->why, "many rows do not bear their sums"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(page__spoilt_in_any_way__is_refused_or_costs_objects_that_are_named),
		TEST(bit__flipped_in_a_row__costs_its_object_or_is_refused__and_nothing_says_else),
		TEST(key__with_a_flipped_bit__is_no_other_key),
		TEST(row__changed_by_requests__bears_its_sum__unless_it_was_wrong_before),
		TEST(row__of_each_kind_with_another_value__costs_its_object),
		TEST(rows__more_than_flips_can_spoil__refuse_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
