/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transfer/base/base.h"

#define TRAIL_MAX 16 /* deeper paths keep their first marks: the cause is at the start */

struct mark {
	const char *func;
	const char *file;
	int line;
};

static _Thread_local struct {
	int code; /* 0: nothing has failed yet */
	size_t n; /* marks made, also those that found no room */
	struct mark marks[TRAIL_MAX];
} trail;

static void
trail_add(const char *func, const char *file, int line)
{
	if (trail.n < TRAIL_MAX)
		trail.marks[trail.n] = (struct mark){func, file, line};
	trail.n++;
}

int
err_mark_new(int e, const char *func, const char *file, int line)
{
	assert(e < 0);

	trail.code = e;
	trail.n = 0;
	trail_add(func, file, line);
	return e;
}

int
err_mark_up(int r, const char *func, const char *file, int line)
{
	if (r >= 0)
		return r;
	if (r != trail.code)
		return err_mark_new(r, func, file, line); /* born without err_new() */

	trail_add(func, file, line);
	return r;
}

int
err_mark_fold(int r, const char *func, const char *file, int line)
{
	if (r > 0)
		return err_mark_new(-ENOTRECOVERABLE, func, file, line);

	return err_mark_up(r, func, file, line);
}

/* append -- printf behind what is there; what finds no room is cut. */
static __attribute__((format(printf, 4, 5))) void
append(char *buf, size_t cap_bytes, size_t *len, const char *fmt, ...)
{
	va_list args;
	int n;

	if (*len + 1 >= cap_bytes)
		return;

	va_start(args, fmt);
	n = vsnprintf(buf + *len, cap_bytes - *len, fmt, args);
	va_end(args);
	if (n > 0)
		*len += (size_t)n;
}

const char *
err_trail(char *buf, size_t cap_bytes)
{
	const char *words = strerrordesc_np(-trail.code);
	size_t len = 0;

	assert(cap_bytes > 0);

	buf[0] = '\0';
	if (trail.code == 0) {
		append(buf, cap_bytes, &len, "no failure");
		return buf;
	}

	append(buf, cap_bytes, &len, "%s:", words != NULL ? words : "unknown failure");
	for (size_t i = 0; i < trail.n && i < TRAIL_MAX; i++)
		append(buf, cap_bytes, &len, " %s (%s:%d)", trail.marks[i].func,
		       trail.marks[i].file, trail.marks[i].line);
	if (trail.n > TRAIL_MAX)
		append(buf, cap_bytes, &len, " and %zu more", trail.n - TRAIL_MAX);
	return buf;
}
