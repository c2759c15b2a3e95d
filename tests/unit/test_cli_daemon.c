/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <inttypes.h>
#include <unistd.h>

#include "core/cli/daemon.h"

#define NAME "test_cli_daemon" /* this very program: the one process sure to be there */

struct place {
	char dir[64];
	struct daemon daemon;
};

static int
setup(void **state)
{
	static struct place place;

	snprintf(place.dir, sizeof(place.dir), "/tmp/tiffin-daemon-XXXXXX");
	if (mkdtemp(place.dir) == NULL)
		return -1;
	*state = &place;
	return daemon_init(&place.daemon, NAME, place.dir, place.dir);
}

static int
teardown(void **state)
{
	struct place *place = *state;

	unlink(place->daemon.record);
	unlink(place->daemon.log);
	return rmdir(place->dir);
}

static void write_file(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void
write_file(const char *path, const char *fmt, ...)
{
	FILE *to = fopen(path, "we");
	va_list ap;

	assert_non_null(to);
	va_start(ap, fmt);
	vfprintf(to, fmt, ap);
	va_end(ap);
	assert_int_equal(fclose(to), 0);
}

/* our_start -- field 22 of our own stat; our name has no blanks. */
static uint64_t
our_start(void)
{
	FILE *from = fopen("/proc/self/stat", "re");
	uint64_t start = 0;

	assert_non_null(from);
	for (int i = 1; i < 22; i++)
		assert_int_equal(fscanf(from, "%*s"), 0);
	assert_int_equal(fscanf(from, "%" SCNu64, &start), 1);
	fclose(from);
	return start;
}

static void
process__that_the_record_names__is_recognized(void **state)
{
	struct place *place = *state;

	write_file(place->daemon.record, "%d %" PRIu64 "\n", (int)getpid(), our_start());

	assert_int_equal(daemon_pid(&place->daemon), getpid());
}

static void
process__that_got_the_number_later__is_not_taken_for_it(void **state)
{
	struct place *place = *state;

	write_file(place->daemon.record, "%d %" PRIu64 "\n", (int)getpid(), our_start() - 1);

	assert_int_equal(daemon_pid(&place->daemon), 0);
}

static void
process__of_another_program__is_not_taken_for_it(void **state)
{
	struct place *place = *state;

	place->daemon.name = "tiffin-master";
	write_file(place->daemon.record, "%d %" PRIu64 "\n", (int)getpid(), our_start());

	assert_int_equal(daemon_pid(&place->daemon), 0);
}

static void
record__that_is_missing_or_nonsense__names_nobody(void **state)
{
	static const char *const texts[] = {
		"", "x", "1", "-1 5", "0 0", "99999999999999999999 1", "\n\n"};
	struct place *place = *state;

	assert_int_equal(daemon_pid(&place->daemon), 0);
	for (size_t i = 0; i < array_len(texts); i++) {
		write_file(place->daemon.record, "%s", texts[i]);
		assert_int_equal(daemon_pid(&place->daemon), 0);
	}
}

static void
stop__when_nothing_runs__forgets_the_record(void **state)
{
	struct place *place = *state;

	write_file(place->daemon.record, "%d %" PRIu64 "\n", (int)getpid(), our_start() - 1);

	assert_int_equal(daemon_stop(&place->daemon, 0), 0);
	assert_int_equal(access(place->daemon.record, F_OK), -1);
}

static void
start__of_a_program_that_is_nowhere__says_so(void **state)
{
	char *argv[] = {(char[]){"x"}, NULL};
	struct place *place = *state;
	pid_t pid = -7;

	place->daemon.name = "tiffin-no-such-program";
	assert_int_equal(daemon_start(&place->daemon, argv, 1000, &pid), DAEMON_E_NOT_FOUND);
	assert_int_equal(pid, -7);
}

static void
start__of_a_program_that_ends_at_once__has_failed(void **state)
{
	char *argv[] = {(char[]){"false"}, NULL};
	struct place *place = *state;
	pid_t pid = -7;

	place->daemon.name = "false";
	assert_int_equal(daemon_start(&place->daemon, argv, 60000, &pid), DAEMON_E_FAILED);
	assert_int_equal(pid, -7);
	assert_int_equal(access(place->daemon.record, F_OK), -1);
}

static void
start__of_a_program_that_is_never_ready__ends_it(void **state)
{
	char *argv[] = {(char[]){"sleep"}, (char[]){"1000"}, NULL};
	struct place *place = *state;
	pid_t pid = -7;

	place->daemon.name = "sleep";
	assert_int_equal(daemon_start(&place->daemon, argv, 1, &pid), DAEMON_E_TIMEOUT);
	assert_int_equal(access(place->daemon.record, F_OK), -1);
}

static void
log__is_shown_from_where_this_start_began(void **state)
{
	struct place *place = *state;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	write_file(place->daemon.log, "old\nnew 1\nnew 2\n");
	daemon_print_log(&place->daemon, strlen("old\n"), to);
	assert_int_equal(fclose(to), 0);

	assert_string_equal(text, "new 1\nnew 2\n");
	free(text);
}

static void
log__that_is_long__is_shown_by_its_last_lines(void **state)
{
	struct place *place = *state;
	char *text = NULL;
	size_t len, n = 0;
	FILE *to = open_memstream(&text, &len), *log = fopen(place->daemon.log, "we");

	assert_non_null(to);
	assert_non_null(log);
	for (int i = 0; i < 5000; i++)
		fprintf(log, "line %d\n", i);
	assert_int_equal(fclose(log), 0);
	daemon_print_log(&place->daemon, 0, to);
	assert_int_equal(fclose(to), 0);

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	assert_int_equal(n, 12);
	assert_memory_equal(text, "line 4988\n", 10);
	free(text);
}

#define test_in_place(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test_in_place(process__that_the_record_names__is_recognized),
		test_in_place(process__that_got_the_number_later__is_not_taken_for_it),
		test_in_place(process__of_another_program__is_not_taken_for_it),
		test_in_place(record__that_is_missing_or_nonsense__names_nobody),
		test_in_place(stop__when_nothing_runs__forgets_the_record),
		test_in_place(start__of_a_program_that_is_nowhere__says_so),
		test_in_place(start__of_a_program_that_ends_at_once__has_failed),
		test_in_place(start__of_a_program_that_is_never_ready__ends_it),
		test_in_place(log__is_shown_from_where_this_start_began),
		test_in_place(log__that_is_long__is_shown_by_its_last_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
