/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "transfer/base/log.h"
#include "transfer/base/program.h"

/* ---- a write() that fails, or writes little, when it is told to ---- */

static int writes_failing;   /* so many fail with EIO */
static size_t write_at_most; /* 0: as much as it is given */

ssize_t __real_write(int fd, const void *bytes, size_t len_bytes);
ssize_t __wrap_write(int fd, const void *bytes, size_t len_bytes);

ssize_t
__wrap_write(int fd, const void *bytes, size_t len_bytes)
{
	if (writes_failing > 0) {
		writes_failing--;
		errno = EIO;
		return -1;
	}
	if (write_at_most > 0 && len_bytes > write_at_most)
		len_bytes = write_at_most;
	return __real_write(fd, bytes, len_bytes);
}

/* ---- a program, and where its words go ---- */

struct settings {
	uint64_t lease_ms;
};

static const struct option_def defs[] = {
	{"lease_ms", OPTION_MS, "ms", "5s", 100, 600000, offsetof(struct settings, lease_ms),
	 "promise given to a reader"},
};
static const struct options_list list = {"sample", defs, array_len(defs)};

static int
own_word(const char *word)
{
	if (strcmp(word, "--foreground") == 0)
		return PROGRAM_GOES_ON;
	return strcmp(word, "--seven") == 0 ? 7 : PROGRAM_WORD_UNKNOWN;
}

static const struct program program = {
	.name = "sample",
	.usage = "usage: sample\n\n",
	.options = &list,
	.own_word = own_word,
};

static struct settings settings;
static char out[2000], err[2000]; /* what the last words() said */
static char logged[200];

static void
keep_log(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	(void)level;
	snprintf(logged, sizeof(logged), "%s", line);
}

static int
begin(void **state)
{
	(void)state;
	writes_failing = 0;
	write_at_most = 0;
	logged[0] = '\0';
	log_set_sink(keep_log, NULL, LOG_DEBUG);
	return options_init(&list, &settings);
}

/* read_all -- a text that ends in NUL. */
static void
read_all(int fd, char *ret, size_t cap)
{
	ssize_t n = pread(fd, ret, cap - 1, 0);

	assert_true(n >= 0);
	ret[n] = '\0';
}

/* stand_in -- fd goes to a file without a name from now on.  Gives what restore() wants. */
static int
stand_in(int fd)
{
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	int was = dup(fd);

	assert_true(file >= 0 && was >= 0);
	assert_int_equal(dup2(file, fd), fd);
	close(file);
	return was;
}

static void
restore(int fd, int was, char *ret, size_t cap)
{
	read_all(fd, ret, cap);
	dup2(was, fd);
	close(was);
}

/* words -- the program is called with these; what it says is in out and err. */
static int
words(char *first, char *second)
{
	char *argv[] = {(char[]){"sample"}, first, second, NULL};
	int old_out, old_err;
	int code;

	fflush(stdout);
	old_out = stand_in(STDOUT_FILENO);
	old_err = stand_in(STDERR_FILENO);
	code = program_words(&program, &settings, second == NULL ? 2 : 3, argv);
	fflush(stdout);
	restore(STDOUT_FILENO, old_out, out, sizeof(out));
	restore(STDERR_FILENO, old_err, err, sizeof(err));
	return code;
}

#define WORD(text) ((char[]){text})

/* ---- words ---- */

static void
options_alone__go_on(void **state)
{
	(void)state;

	assert_int_equal(words(WORD("--lease-ms=2s"), WORD("--foreground")), PROGRAM_GOES_ON);

	assert_int_equal(settings.lease_ms, 2000);
	assert_string_equal(out, "");
	assert_string_equal(err, "");
}

static void
help__says_how_it_is_used_and_lists_the_options(void **state)
{
	(void)state;

	assert_int_equal(words(WORD("--help"), NULL), 0);

	assert_ptr_equal(strstr(out, "usage: sample\n"), out);
	assert_non_null(strstr(out, "--lease-ms"));
}

static void
version__is_one_line_with_the_name(void **state)
{
	(void)state;

	assert_int_equal(words(WORD("--version"), NULL), 0);

	assert_string_equal(out, "sample " TIFFIN_VERSION "\n");
}

static void
dump_config__prints_settings_as_in_force__wherever_it_stands(void **state)
{
	(void)state;

	assert_int_equal(words(WORD("--dump-config"), WORD("--lease-ms=2s")), 0);

	assert_non_null(strstr(out, "lease_ms = 2"));
}

static void
own_word__ends_the_program_with_its_code(void **state)
{
	(void)state;

	assert_int_equal(words(WORD("--seven"), WORD("--nonsense")), 7);

	assert_string_equal(err, "");
}

static void
unknown_word__is_named_and_ends_with_2__also_after_dump_config(void **state)
{
	(void)state;

	assert_int_equal(words(WORD("--dump-config"), WORD("--nonsense")), PROGRAM_EXIT_USAGE);

	assert_string_equal(out, "");
	assert_string_equal(err, "sample: --nonsense: no such option; see sample --help\n");
}

static void
value_out_of_range__is_told_and_ends_with_2(void **state)
{
	(void)state;

	assert_int_equal(words(WORD("--lease-ms=1"), NULL), PROGRAM_EXIT_USAGE);

	assert_ptr_equal(strstr(err, "sample: lease_ms"), err);
}

/* ---- the line that says ready ---- */

static void
ready__is_written_whole_and_the_descriptor_closed(void **state)
{
	char line[32] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	write_at_most = 3;

	program_ready(fds[1], "ready unix:/run/a\n");

	assert_int_equal(read(fds[0], line, 18), 18);
	assert_string_equal(line, "ready unix:/run/a\n");
	assert_int_equal(read(fds[0], line, 1), 0); /* nobody else has it open */
	assert_string_equal(logged, "");
	close(fds[0]);
}

static void
ready__when_the_write_fails_twice__is_written_all_the_same(void **state)
{
	char line[32] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	writes_failing = 2;

	program_ready(fds[1], "ready\n");

	assert_int_equal(read(fds[0], line, sizeof(line)), 6);
	assert_string_equal(line, "ready\n");
	assert_string_equal(logged, "");
	close(fds[0]);
}

static void
ready__when_the_write_goes_on_failing__is_logged_and_the_descriptor_closed(void **state)
{
	char byte;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	writes_failing = 1000;

	program_ready(fds[1], "ready\n");

	assert_int_equal(read(fds[0], &byte, 1), 0);
	assert_non_null(strstr(logged, "ready_fd"));
	assert_non_null(strstr(logged, "errno=5"));
	close(fds[0]);
}

/* ---- the pid file ---- */

static void
pidfile__holds_our_pid__until_it_is_dropped(void **state)
{
	char path[] = "/tmp/tiffin-test-program-XXXXXX";
	char text[100], wanted[32];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(__real_write(fd, "12345678901234567890", 20), 20); /* of one that died */

	assert_int_equal(program_write_pidfile(path), 0);

	read_all(fd, text, sizeof(text));
	snprintf(wanted, sizeof(wanted), "%ld\n", (long)getpid());
	assert_string_equal(text, wanted);
	program_drop_pidfile(path);
	assert_int_equal(access(path, F_OK), -1);
	close(fd);
}

static void
pidfile__that_another_has_written_since__is_left(void **state)
{
	char path[] = "/tmp/tiffin-test-program-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(program_write_pidfile(path), 0);
	assert_int_equal(__real_write(fd, "1\n", 2), 2);
	assert_int_equal(ftruncate(fd, 2), 0);

	program_drop_pidfile(path);

	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	close(fd);
}

static void
pidfile__that_cannot_be_written__is_a_failure_and_leaves_no_file(void **state)
{
	char path[] = "/tmp/tiffin-test-program-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	writes_failing = 1000;

	assert_int_equal(program_write_pidfile(path), -EIO);

	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(program_write_pidfile("/no/such/folder/pid"), -ENOENT);
}

static void
pidfile__without_a_path__is_nothing(void **state)
{
	(void)state;

	assert_int_equal(program_write_pidfile(""), 0);

	program_drop_pidfile("");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(options_alone__go_on, begin),
		cmocka_unit_test_setup(help__says_how_it_is_used_and_lists_the_options, begin),
		cmocka_unit_test_setup(version__is_one_line_with_the_name, begin),
		cmocka_unit_test_setup(dump_config__prints_settings_as_in_force__wherever_it_stands,
				       begin),
		cmocka_unit_test_setup(own_word__ends_the_program_with_its_code, begin),
		cmocka_unit_test_setup(
			unknown_word__is_named_and_ends_with_2__also_after_dump_config, begin),
		cmocka_unit_test_setup(value_out_of_range__is_told_and_ends_with_2, begin),
		cmocka_unit_test_setup(ready__is_written_whole_and_the_descriptor_closed, begin),
		cmocka_unit_test_setup(ready__when_the_write_fails_twice__is_written_all_the_same,
				       begin),
		cmocka_unit_test_setup(
			ready__when_the_write_goes_on_failing__is_logged_and_the_descriptor_closed,
			begin),
		cmocka_unit_test_setup(pidfile__holds_our_pid__until_it_is_dropped, begin),
		cmocka_unit_test_setup(pidfile__that_another_has_written_since__is_left, begin),
		cmocka_unit_test_setup(
			pidfile__that_cannot_be_written__is_a_failure_and_leaves_no_file, begin),
		cmocka_unit_test_setup(pidfile__without_a_path__is_nothing, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
