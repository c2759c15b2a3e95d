/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "transfer/base/clock.h"
#include "transfer/base/err.h"

#define LINE_MAX_BYTES 1000

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

/* Set before threads start and only read afterwards, so it needs no lock. */
static struct {
	log_sink_fn fn;
	void *arg;
	enum log_level max;
} sink;

void
log_set_sink(log_sink_fn fn, void *arg, enum log_level max)
{
	sink.fn = fn;
	sink.arg = arg;
	sink.max = max;
}

int
log_level_parse(const char *text, enum log_level *ret_level)
{
	for (size_t i = 0; i < array_len(level_names); i++) {
		if (strcasecmp(text, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return err_new(-EINVAL);
}

/* A key or a path from outside may hold anything, but may not begin a line of its own. */
static void
make_harmless(char *line)
{
	for (unsigned char *c = (unsigned char *)line; *c != '\0'; c++)
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
}

void
log_event(enum log_level level, const char *event, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES + 1];
	int errno_before = errno;
	va_list args;
	int n;

	if (sink.fn == NULL || level > sink.max)
		return;

	n = snprintf(line, sizeof(line), "%s ", event);
	if (n > 0 && (size_t)n < sizeof(line)) {
		va_start(args, fmt);
		vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, args);
		va_end(args);
		if (line[n] == '\0')
			line[n - 1] = '\0'; /* an event without words ends without a blank */
	}
	make_harmless(line);
	sink.fn(sink.arg, level, line);
	errno = errno_before;
}

void
log_to_stderr(void *arg, enum log_level level, const char *line)
{
	char text[LINE_MAX_BYTES + 64];
	uint64_t now_ms = clock_wall_ms(clock_real());
	time_t now_s = (time_t)(now_ms / 1000);
	char when[32] = "";
	struct tm tm;
	int n;

	(void)arg;
	if (gmtime_r(&now_s, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	n = snprintf(text, sizeof(text), "%s.%03uZ %s %s\n", when, (unsigned)(now_ms % 1000),
		     level_names[level], line);
	if (n <= 0)
		return;
	if ((size_t)n >= sizeof(text)) {
		n = sizeof(text) - 1;
		text[n - 1] = '\n';
	}
	/* One write, so that lines of several threads do not mix; nobody can be told if it fails.
	 */
	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		return;
}
