/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Books that break a law are refused, by the store and by check.sql; and bits that
 * flipped on the disk are refused or harmless: nothing crashes, no row is believed
 * that a law can tell to be wrong.
 */
#include "tests/unit/store_spoil.h"

/*
 * Rows that SQLite takes (with its CHECKs off) and the laws they break.  A law that only
 * the whole of the books can show is left to check.sql and to whoever loads them (load: NULL).
 */
static const struct {
	const char *sql;
	const char *load;  /* what store_open() or store_load() says, or NULL */
	const char *check; /* what check.sql says */
} crimes[] = {
	{"DELETE FROM object WHERE object_id = 2", "a replica has no object",
	 "a replica has no object"},
	{"DELETE FROM object WHERE object_id = 3", "a replica has no object",
	 "a replica has no object"},
	{"DELETE FROM replica WHERE replica_id = 8", "an object has no replica",
	 "an object has no replica"},
	{"DELETE FROM replica WHERE replica_id = 24", "an object has no replica",
	 "an extent has no replica"},
	{"DELETE FROM extent WHERE extent_id = 24 * 4096 + 2", "not its object's length",
	 "not its object's length"},
	{"DELETE FROM extent WHERE extent_id = 24 * 4096 + 1", "a replica lacks an extent",
	 "a replica lacks an extent"},
	{"DELETE FROM segment WHERE segment_id = 2", "a replica has no segment",
	 "a replica has no segment"},
	{"DELETE FROM segment WHERE segment_id = 1", "an open chunk has no segment",
	 "an open chunk has no segment"},
	{"UPDATE replica SET segment_id = 1 WHERE replica_id = 17",
	 "two replicas of an object share a segment", "two replicas of an object share a segment"},
	{"UPDATE replica SET segment_id = 0 WHERE replica_id = 17", "a replica has no segment",
	 "a replica has no segment"},
	{"UPDATE replica SET offset_bytes = 1073741824 WHERE replica_id = 8",
	 "a replica lies outside its segment", "an extent lies outside its segment"},
	{"UPDATE replica SET offset_bytes = 9223372036854775807 WHERE replica_id = 8",
	 "a replica lies outside its segment", NULL},
	{"UPDATE replica SET offset_bytes = NULL WHERE replica_id = 8", "not its object's length",
	 "not its object's length"},
	{"UPDATE replica SET offset_bytes = 65536 WHERE replica_id = 24",
	 "an extent has no replica", "a replica of one run has extents too"},
	{"UPDATE replica SET offset_bytes = 131072 WHERE replica_id = 8", NULL,
	 "two extents overlap"},
	{"UPDATE replica SET offset_bytes = 65537 WHERE replica_id = 8", NULL, "a multiple of 512"},
	{"UPDATE extent SET offset_bytes = 131072 WHERE extent_id = 24 * 4096", NULL,
	 "two extents overlap"},
	{"UPDATE extent SET len_bytes = 2000 WHERE extent_id = 24 * 4096",
	 "not its object's length", "not its object's length"},
	{"UPDATE object SET len_bytes = 1001 WHERE object_id = 3", "not its object's length",
	 "not its object's length"},
	{"UPDATE object SET key = (SELECT key FROM object WHERE object_id = 1) WHERE object_id = 2",
	 NULL, "two objects have one key"},
	{"UPDATE object SET key = x'610062' WHERE object_id = 2", "key is no key",
	 "a key holds NUL"},
	{"UPDATE object SET key = x'' WHERE object_id = 2", "key is no key", "out of range"},
	{"UPDATE object SET key = zeroblob(2000) WHERE object_id = 2", "key is no key",
	 "out of range"},
	{"UPDATE object SET tenant_id = 5 WHERE object_id = 2", "an object has no tenant",
	 "an object has no tenant"},
	{"UPDATE object SET len_bytes = -1 WHERE object_id = 2", "out of range", "out of range"},
	{"UPDATE object SET attr = x'' WHERE object_id = 2", "out of range", "out of range"},
	{"UPDATE object SET pinned_until_s = 0 WHERE object_id = 2", "out of range",
	 "out of range"},
	{"UPDATE object SET crc = 4294967296 WHERE object_id = 2", "out of range", "out of range"},
	{"UPDATE object SET object_id = 1 << 50 WHERE object_id = 1", "a replica has no object",
	 "out of range"},
	{"UPDATE segment SET len_bytes = 0 WHERE segment_id = 3", "CHECK constraint",
	 "out of range"},
	{"INSERT INTO event VALUES (1, 1, 'kind', 0, 0, 0, '')", "CHECK constraint",
	 "out of range"},
	{"INSERT INTO object_group VALUES (1, x'67'), (9, x'67')", "a group has no object",
	 "a group has no object"},
	{"INSERT INTO object_group VALUES (0, x'67')", "ids do not grow", "out of range"},
	{"INSERT INTO object_group VALUES (1, x'')", "out of range", "out of range"},
	{"INSERT INTO object_group VALUES (1, x'6700')", "a group has a value out of range",
	 "the id of a group holds NUL"},
	{"DELETE FROM cluster", "version", "there is not one cluster row"},
	{"UPDATE replica SET offset_bytes = -512 WHERE replica_id = 8", "out of range",
	 "out of range"},
	{"UPDATE extent SET offset_bytes = -512 WHERE extent_id = 24 * 4096", "out of range",
	 "out of range"},
	{"UPDATE open_chunk SET chunk = -1", "CHECK constraint", "out of range"},
	{"UPDATE cluster SET longest_lease_ms = 600001", "CHECK constraint", "out of range"},
	{"INSERT INTO task VALUES (1, 0, 3, 1, 0, 0, 1, 1000, 0, 0, 1, 0, x'61')",
	 "CHECK constraint", "out of range"},
	{"INSERT INTO job VALUES (1, 5, 0, 1, 0, 0, 0, 0, 1, 0)", "CHECK constraint",
	 "out of range"},
	{"INSERT INTO job_segment VALUES (1, 0, 0)", "CHECK constraint", "out of range"},
	{"INSERT INTO job_segment VALUES (1, 0, 1)", "a job's segment has no job",
	 "a job's segment has no job"},
	{"UPDATE cluster SET next_object_id = 100;"
	 "INSERT INTO job VALUES (1, 1, 0, 1, 0, 0, 0, 0, 1, 0), (2, 1, 0, 1, 0, 0, 0, 0, 1, 0);"
	 "INSERT INTO job_segment VALUES (1, 0, 1), (2, 0, 1)",
	 NULL, "a segment is drained by two jobs"},
	{"UPDATE cluster SET next_object_id = 100;"
	 "INSERT INTO task VALUES (1, 0, 1, 1, 0, 0, 1, 1000, 0, 0, 1, 0, x'61'),"
	 " (2, 0, 1, 1, 0, 0, 1, 1000, 0, 0, 1, 0, x'61')",
	 NULL, "two tasks under way have one object"},
	{"INSERT INTO task VALUES (99, 0, 1, 1, 0, 0, 1, 1000, 0, 0, 1, 0, x'61')", NULL,
	 "an id was never given out"},
	{"UPDATE tenant SET quota_bytes = -1", "CHECK constraint", "out of range"},
	{"UPDATE tenant SET quota_objects = -1", "CHECK constraint", "out of range"},
	{"UPDATE tenant SET name = 'a b'", NULL, "out of range"},
	{"UPDATE tenant SET name = 'other'", NULL, "the tenant default is not number 1"},
	{"DELETE FROM tenant", "an object has no tenant", "an object has no tenant"},
};

static void
law__broken_by_a_row__is_told_by_load_and_by_check(void **state)
{
	struct box *box = *state;

	for (size_t i = 0; i < array_len(crimes); i++) {
		char sql[512], *found;
		int r;

		fill(box);
		snprintf(sql, sizeof(sql), "PRAGMA ignore_check_constraints = ON; %s",
			 crimes[i].sql);
		box_sql(box, sql);
		box_reseal(box);
		found = box_check(box);
		if (crimes[i].check != NULL && strstr(found, crimes[i].check) == NULL)
			fail_msg("%s: check.sql says \"%s\"", crimes[i].sql, found);
		free(found);

		r = judge(box);
		if (crimes[i].load == NULL && r != 0)
			fail_msg("%s: %s", crimes[i].sql, box->why);
		if (crimes[i].load != NULL &&
		    (r != STORE_E_DAMAGED || strstr(box->why, crimes[i].load) == NULL ||
		     strstr(box->why, "tiffin check --db ") == NULL))
			fail_msg("%s: %d %s", crimes[i].sql, r, box->why);
		box_close(box);
	}
}

/* read_law -- the text in quotes behind "SELECT '", and the table of the FROM that follows. */
static void
read_law(const char *at, char law[128], char table[64])
{
	size_t n = 0;

	for (; *at != '\0' && (*at != '\'' || at[1] == '\'') && n < 127; at++) {
		law[n++] = *at;
		at += *at == '\'';
	}
	law[n] = '\0';
	at = strstr(at, "FROM ");
	assert_non_null(at);
	if (sscanf(at, "FROM %63[a-z_]", table) != 1)
		table[0] = '\0'; /* of several */
}

static bool
has_crime(const char *law, const char *table)
{
	bool is_range = strcmp(law, "a value is out of range") == 0;

	for (size_t i = 0; i < array_len(crimes); i++)
		if (crimes[i].check != NULL && strstr(law, crimes[i].check) != NULL &&
		    (!is_range || strstr(crimes[i].sql, table) != NULL))
			return true;
	return false;
}

static void
law_of_check__whichever__has_a_damage_that_it_tells(void **state)
{
	unsigned n = 0;

	(void)state;
	for (const char *at = box_admin("check"); (at = strstr(at, "SELECT '")) != NULL; n++) {
		char law[128], table[64];

		at += strlen("SELECT '");
		read_law(at, law, table);
		if (strcmp(law, "the file is damaged") != 0 && !has_crime(law, table))
			fail_msg("no damage breaks \"%s\" (%s)", law, table);
	}
	assert_true(n > 20);
}

static void
books__that_are_well__show_check_nothing_to_say(void **state)
{
	struct box *box = *state;

	fill(box);

	assert_int_equal(judge(box), 0);
	assert_check_finds_nothing(box);
}

/* ---- bits -------------------------------------------------------------------------------- */

/* assert_refused_or_lawful -- whatever these bytes are. */
static void
assert_refused_or_lawful(struct box *box, const uint8_t *bytes, size_t n)
{
	int r;

	box_empty(box);
	write_file(box, bytes, n);
	r = judge(box);
	if (r == 0) {
		/* Let it be used: nothing may crash later either. */
		box_add_segment(box, 9);
		box_commit(box);
		box_remove_object(box, 1);
		box_commit(box);
	} else {
		assert_non_null(strstr(box->why, box->path));
	}
	journal_clear(&box->journal);
	box_close(box);
}

static void
bit__flipped_anywhere__is_refused_or_harmless(void **state)
{
	struct box *box = *state;
	uint8_t *bytes;
	struct rand rand;
	size_t n;

	fill(box);
	bytes = read_file(box, &n);
	rand_init(&rand, 7);

	/* Of each page: its header bit by bit, and a sample of the rest. */
	for (size_t page = 0; page < n; page += 4096) {
		for (unsigned i = 0; i < 60; i++) {
			size_t at = page + (i < 20 ? i : rand_below(&rand, 4096));
			uint8_t bit = (uint8_t)(1u << rand_below(&rand, 8));

			bytes[at] ^= bit;
			assert_refused_or_lawful(box, bytes, n);
			bytes[at] ^= bit;
		}
	}
	free(bytes);
}

static void
row__with_a_flipped_bit__never_breaks_a_law_unseen(void **state)
{
	struct box *box = *state;
	unsigned n_refused = 0, n_harmless = 0;
	uint8_t *bytes;
	size_t n;

	fill(box);
	bytes = read_file(box, &n);
	for (size_t at = 0; at + 4 < n; at++) {
		/* Rows of object hold their keys: this is where they are. */
		if (memcmp(bytes + at, "dir", 3) != 0)
			continue;
		for (size_t i = at - 12; i < at + 24; i += 3) {
			bytes[i] ^= 0x10;
			box_empty(box);
			write_file(box, bytes, n);
			if (judge(box) == 0) {
				n_harmless++;
				assert_check_finds_nothing(box);
			} else {
				n_refused++;
			}
			box_close(box);
			bytes[i] ^= 0x10;
		}
	}

	assert_true(n_refused > 0);
	assert_true(n_harmless > 0);
	free(bytes);
}

static void
file__cut_short_by_pages__is_refused_or_lawful(void **state)
{
	struct box *box = *state;
	uint8_t *bytes;
	size_t n;

	fill(box);
	bytes = read_file(box, &n);
	for (size_t len = 512; len < n; len += 2048)
		assert_refused_or_lawful(box, bytes, len);

	box_empty(box);
	write_file(box, bytes, n - 4096);
	assert_int_equal(judge(box), STORE_E_DAMAGED);
	box_close(box);
	free(bytes);
}

static void
page__of_noise__is_refused_or_lawful(void **state)
{
	struct box *box = *state;
	uint8_t *bytes, kept[4096];
	struct rand rand;
	size_t n;

	fill(box);
	bytes = read_file(box, &n);
	rand_init(&rand, 8);
	for (size_t page = 0; page < n; page += 4096) {
		memcpy(kept, bytes + page, sizeof(kept));
		for (size_t i = 0; i < sizeof(kept); i++)
			bytes[page + i] = (uint8_t)rand_u64(&rand);
		assert_refused_or_lawful(box, bytes, n);
		memcpy(bytes + page, kept, sizeof(kept));
	}
	free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(law__broken_by_a_row__is_told_by_load_and_by_check),
		TEST(law_of_check__whichever__has_a_damage_that_it_tells),
		TEST(books__that_are_well__show_check_nothing_to_say),
		TEST(bit__flipped_anywhere__is_refused_or_harmless),
		TEST(row__with_a_flipped_bit__never_breaks_a_law_unseen),
		TEST(file__cut_short_by_pages__is_refused_or_lawful),
		TEST(page__of_noise__is_refused_or_lawful),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
