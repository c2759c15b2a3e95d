/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/table.h"
#include "tests/unit/allocs.h"

static const char *const titles[] = {"NAME", ">SIZE", NULL};

/* print -- the table as text; free() it. */
static char *
print(const struct table *table)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	assert_int_equal(table_print(table, to), 0);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void
columns__are_as_wide_as_their_widest_cell(void **state)
{
	cleanup_with(table_free_at) struct table *table = NULL;
	char *text;

	(void)state;
	assert_int_equal(table_new(titles, &table), 0);
	table_cell(table, "%s", "host-7");
	table_cell(table, "%d", 5);
	table_cell(table, "%s", "b");
	table_cell(table, "%s", "1.5 GiB");

	text = print(table);

	assert_string_equal(text, "NAME       SIZE\n"
				  "host-7        5\n"
				  "b       1.5 GiB\n");
	free(text);
}

static void
table__without_rows__is_its_titles(void **state)
{
	cleanup_with(table_free_at) struct table *table = NULL;
	char *text;

	(void)state;
	assert_int_equal(table_new(titles, &table), 0);

	text = print(table);

	assert_string_equal(text, "NAME  SIZE\n");
	assert_int_equal(table_n_rows(table), 0);
	free(text);
}

static void
last_column__flush_left__has_no_blanks_behind_it(void **state)
{
	static const char *const right_first[] = {">N", "KEY", NULL};
	cleanup_with(table_free_at) struct table *table = NULL;
	char *text;

	(void)state;
	assert_int_equal(table_new(right_first, &table), 0);
	table_cell(table, "10");
	table_cell(table, "a");

	text = print(table);

	assert_string_equal(text, " N  KEY\n10  a\n");
	free(text);
}

static void
characters_of_several_bytes__count_as_one_column(void **state)
{
	cleanup_with(table_free_at) struct table *table = NULL;
	char *text;

	(void)state;
	assert_int_equal(table_new(titles, &table), 0);
	table_cell(table, "%s", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
	table_cell(table, "1");

	text = print(table);

	assert_string_equal(text, "NAME   SIZE\n"
				  "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9     1\n");
	free(text);
}

/* vasprintf() and the stream allocate within the C library, where nothing of ours stands in front.
 */
static void
table__when_an_allocation_fails__is_not_printed_at_all(void **state)
{
	FILE *nowhere = fopen("/dev/null", "we");

	(void)state;
	assert_non_null(nowhere);
	for (unsigned n = 0;; n++) {
		cleanup_with(table_free_at) struct table *table = NULL;
		int r;

		allocs_fail_after(n);
		r = table_new(titles, &table);
		for (int i = 0; r == 0 && i < 40; i++)
			table_cell(table, "%d", i);
		allocs_succeed();
		if (r == 0)
			r = table_print(table, nowhere);

		if (r == 0) {
			fclose(nowhere);
			return; /* nothing was left to fail */
		}
		assert_int_equal(r, -ENOMEM);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns__are_as_wide_as_their_widest_cell),
		cmocka_unit_test(table__without_rows__is_its_titles),
		cmocka_unit_test(last_column__flush_left__has_no_blanks_behind_it),
		cmocka_unit_test(characters_of_several_bytes__count_as_one_column),
		cmocka_unit_test(table__when_an_allocation_fails__is_not_printed_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
