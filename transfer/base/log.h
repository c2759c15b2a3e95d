/* SPDX-License-Identifier: Apache-2.0 */

/*
 * log.h -- what happened, as one event name and key=value words.
 *
 * The level says who must act:
 *
 *      LOG_ERROR   someone must act        LOG_INFO    the story of the day
 *      LOG_WARN    someone should look     LOG_DEBUG   one module, for its author
 *
 * Nothing below main() writes to standard error: without a sink the lines are
 * dropped.  Values with blanks are quoted by the caller's format ("name=\"%s\"").
 */
#ifndef TRANSFER_BASE_LOG_H
#define TRANSFER_BASE_LOG_H

#include "transfer/base/base.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* One finished line without its newline; valid during the call.  Any thread, several at once. */
typedef void (*log_sink_fn)(void *arg, enum log_level level, const char *line);

/* log_set_sink -- from now on lines up to `max` go to sink.  Before threads start; NULL drops. */
void log_set_sink(log_sink_fn sink, void *arg, enum log_level max);

/* log_to_stderr -- a sink for programs: "2026-11-29T19:27:11.123Z level event key=value...". */
void log_to_stderr(void *arg, enum log_level level, const char *line);

/* log_level_parse -- "error", "warn", "info", "debug".  0 or -EINVAL. */
int log_level_parse(const char *text, enum log_level *ret_level) MUST_CHECK;

/* log_event -- at most 1000 bytes a line, the rest is cut.  Keeps errno. */
void log_event(enum log_level level, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
