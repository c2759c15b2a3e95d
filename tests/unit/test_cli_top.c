/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/top.h"

static struct top_look before, now;

static int
setup(void **state)
{
	(void)state;
	memset(&before, 0, sizeof(before));
	before.at_ns = 5000000000;
	before.n_counts = 3;
	before.counts[0] = (struct top_count){"puts_ended", 10, false};
	before.counts[1] = (struct top_count){"put_bytes", 1 << 20, false};
	before.counts[2] = (struct top_count){"objects", 10, .is_gauge = true};
	now = before;
	now.at_ns = 7000000000;
	now.space = (struct tiffin_space){
		.size_bytes = 100, .used_bytes = 50, .resting_bytes = 10, .n_objects = 30};
	now.counts[0].value = 30;
	now.counts[1].value = 5 << 20;
	now.counts[2].value = 30;
	now.n_segments = 1;
	now.segments[0] = (struct top_segment){"p1", "OK", 100, 50, 10, 40};
	return 0;
}

/* show -- the screen as text; free() it. */
static char *
show(unsigned n_lines)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	top_show(&before, &now, n_lines, to);
	assert_int_equal(fclose(to), 0);
	return text;
}

static size_t
n_lines_of(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

static void
a_counter_that_moved__is_shown_a_second_and_since_the_start(void **state)
{
	char *text = show(100);

	(void)state;
	assert_non_null(strstr(text, "[###############~~~------------]  50.0%"));
	assert_non_null(strstr(text, "\nputs_ended                         10.0             30\n"));
	assert_non_null(strstr(text, "\nput_bytes                       2.0 MiB        5.0 MiB\n"));
	assert_non_null(strstr(text, "\np1                       OK "));
	free(text);
}

static void
what_does_not_move_or_is_no_count__has_no_rate(void **state)
{
	char *text;

	(void)state;
	now.counts[0].value = 10;
	text = show(100);
	assert_null(strstr(text, "puts_ended"));
	assert_null(strstr(text, "objects  "));
	free(text);
}

static void
a_master_that_was_started_anew__has_no_negative_rate(void **state)
{
	(void)state;
	now.counts[0].value = 3;
	assert_true(top_rate(&before, &now, 0) == 0);
	now.at_ns = before.at_ns;
	assert_true(top_rate(&before, &now, 1) == 0);
}

static void
a_small_terminal__gets_no_more_lines_than_it_has(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 12; n++) {
		char *text = show(n);

		assert_true(n_lines_of(text) <= n);
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_counter_that_moved__is_shown_a_second_and_since_the_start,
				       setup),
		cmocka_unit_test_setup(what_does_not_move_or_is_no_count__has_no_rate, setup),
		cmocka_unit_test_setup(a_master_that_was_started_anew__has_no_negative_rate, setup),
		cmocka_unit_test_setup(a_small_terminal__gets_no_more_lines_than_it_has, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
