/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "transfer/base/log.h"

/* What the sink has been given. */
struct heard {
	unsigned n;
	enum log_level level;
	char line[2000];
};

static void
listen_to(void *arg, enum log_level level, const char *line)
{
	struct heard *heard = arg;

	heard->n++;
	heard->level = level;
	snprintf(heard->line, sizeof(heard->line), "%s", line);
	errno = EIO; /* a sink may do what it likes */
}

static void
event__reaches_the_sink_as_one_line(void **state)
{
	struct heard heard = {0};

	(void)state;
	log_set_sink(listen_to, &heard, LOG_INFO);

	log_event(LOG_WARN, "client_lost", "client=%d why=\"%s\"", 7, "no ping");

	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.level, LOG_WARN);
	assert_string_equal(heard.line, "client_lost client=7 why=\"no ping\"");
	log_set_sink(NULL, NULL, LOG_ERROR);
}

static void
event__without_words__ends_with_its_name(void **state)
{
	struct heard heard = {0};

	(void)state;
	log_set_sink(listen_to, &heard, LOG_INFO);

	log_event(LOG_INFO, "ready", "%s", "");

	assert_string_equal(heard.line, "ready");
	log_set_sink(NULL, NULL, LOG_ERROR);
}

static void
event__below_the_level_asked_for__is_dropped(void **state)
{
	struct heard heard = {0};

	(void)state;
	log_set_sink(listen_to, &heard, LOG_WARN);

	log_event(LOG_INFO, "ready", "port=%d", 1);
	assert_int_equal(heard.n, 0);
	log_event(LOG_WARN, "ready", "port=%d", 1);
	assert_int_equal(heard.n, 1);
	log_set_sink(NULL, NULL, LOG_ERROR);
}

static void
event__without_a_sink__is_dropped(void **state)
{
	(void)state;
	log_set_sink(NULL, NULL, LOG_DEBUG);

	log_event(LOG_ERROR, "lost", "n=%d", 1);
}

static void
event__keeps_errno(void **state)
{
	struct heard heard = {0};

	(void)state;
	log_set_sink(listen_to, &heard, LOG_INFO);
	errno = ENOSPC;

	log_event(LOG_ERROR, "lost", "n=%d", 1);

	assert_int_equal(errno, ENOSPC);
	log_set_sink(NULL, NULL, LOG_ERROR);
}

static void
value_from_outside__can_not_begin_a_line_of_its_own(void **state)
{
	struct heard heard = {0};

	(void)state;
	log_set_sink(listen_to, &heard, LOG_INFO);

	log_event(LOG_INFO, "get", "key=\"%s\"", "a\nerror lost\x1b[31m\r\x7f");

	assert_string_equal(heard.line, "get key=\"a?error lost?[31m??\"");
	log_set_sink(NULL, NULL, LOG_ERROR);
}

static void
long_line__is_cut_at_1000_bytes(void **state)
{
	struct heard heard = {0};
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	log_set_sink(listen_to, &heard, LOG_INFO);

	log_event(LOG_INFO, "long", "text=%s", text);
	assert_int_equal(strlen(heard.line), 1000);
	log_event(LOG_INFO, text, "n=%d", 1);
	assert_int_equal(strlen(heard.line), 1000);
	log_set_sink(NULL, NULL, LOG_ERROR);
}

static void
level__is_read_from_its_name(void **state)
{
	enum log_level level = LOG_INFO;

	(void)state;
	assert_int_equal(log_level_parse("error", &level), 0);
	assert_int_equal(level, LOG_ERROR);
	assert_int_equal(log_level_parse("debug", &level), 0);
	assert_int_equal(level, LOG_DEBUG);

	assert_int_equal(log_level_parse("loud", &level), -EINVAL);
	assert_int_equal(log_level_parse("", &level), -EINVAL);
	assert_int_equal(level, LOG_DEBUG);
}

static void
stderr_sink__writes_time_level_and_line(void **state)
{
	char text[200] = "";
	int fds[2], stderr_before;
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	stderr_before = dup(STDERR_FILENO);
	dup2(fds[1], STDERR_FILENO);
	log_to_stderr(NULL, LOG_WARN, "client_lost client=7");
	dup2(stderr_before, STDERR_FILENO);
	close(stderr_before);

	n = read(fds[0], text, sizeof(text) - 1);

	assert_int_equal(n, strlen("2026-11-29T19:27:11.123Z warn client_lost client=7\n"));
	assert_int_equal(text[10], 'T');
	assert_string_equal(text + 23, "Z warn client_lost client=7\n");
	close(fds[0]);
	close(fds[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event__reaches_the_sink_as_one_line),
		cmocka_unit_test(event__without_words__ends_with_its_name),
		cmocka_unit_test(event__below_the_level_asked_for__is_dropped),
		cmocka_unit_test(event__without_a_sink__is_dropped),
		cmocka_unit_test(event__keeps_errno),
		cmocka_unit_test(value_from_outside__can_not_begin_a_line_of_its_own),
		cmocka_unit_test(long_line__is_cut_at_1000_bytes),
		cmocka_unit_test(level__is_read_from_its_name),
		cmocka_unit_test(stderr_sink__writes_time_level_and_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
