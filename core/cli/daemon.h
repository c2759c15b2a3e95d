/* SPDX-License-Identifier: Apache-2.0 */

/*
 * daemon.h -- a program that `tiffin up` starts and `tiffin down` stops.
 *
 *      RUN/NAME.pid     "PID START": the process, and its start time (field 22 of
 *                       /proc/PID/stat), so that another process which was given the
 *                       number later is never taken for it
 *      STATE/NAME.log   what it writes to its standard error
 *
 * A program says that it is ready with one line on the descriptor it was told
 * (--ready-fd); when the descriptor is closed without one, it has failed.
 */
#ifndef CORE_CLI_DAEMON_H
#define CORE_CLI_DAEMON_H

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

#include "transfer/base/base.h"

#define DAEMON_READY_FD  3
#define DAEMON_READY_ARG "--ready-fd=3"

struct daemon {
	const char *name; /* of the program, and of its files */
	char record[PATH_MAX], log[PATH_MAX];
};

enum daemon_outcome {
	DAEMON_E_NOT_FOUND = 1, /* no such program beside ours or in PATH */
	DAEMON_E_FAILED,        /* it ended before it was ready (its log says why), or Ctrl-C */
	DAEMON_E_TIMEOUT,       /* it is neither ready nor gone; it has been ended */
};

/* daemon_init -- 0 or -ENAMETOOLONG.  needs: name lives as long as the daemon. */
int daemon_init(struct daemon *daemon, const char *name, const char *run,
		const char *state) MUST_CHECK;

/* daemon_pid -- of the running one; 0 when there is none. */
pid_t daemon_pid(const struct daemon *daemon);

/*
 * daemon_start -- run it, wait until it is ready, write the record.
 *
 * needs:   argv[0] is anything; argv ends in NULL and has DAEMON_READY_ARG.
 * gives:   *ret_pid.
 * result:  0, daemon_outcome, -errno.
 */
int daemon_start(const struct daemon *daemon, char *const *argv, uint64_t wait_ms,
		 pid_t *ret_pid) MUST_CHECK;

/*
 * daemon_stop -- ask it to end, wait, and end it when it does not; forget the record.
 *
 * result:  0 (also when there was none), -errno.
 */
int daemon_stop(const struct daemon *daemon, uint64_t wait_ms) MUST_CHECK;

/* daemon_wait -- until it has ended by itself.  0 or -ETIMEDOUT, -errno. */
int daemon_wait(const struct daemon *daemon, uint64_t wait_ms) MUST_CHECK;

/* daemon_log_bytes -- how long its log is now. */
uint64_t daemon_log_bytes(const struct daemon *daemon);

/* daemon_print_log -- the last lines of its log, of those behind the first from_bytes. */
void daemon_print_log(const struct daemon *daemon, uint64_t from_bytes, FILE *to);

/* program_find -- beside our own executable, else in PATH.  0 or DAEMON_E_NOT_FOUND. */
int program_find(const char *name, char path[PATH_MAX]) MUST_CHECK;

/* program_run -- run and wait; both outputs to ours.  Exit status (128 + signal), or -errno. */
int program_run(const char *path, char *const *argv) MUST_CHECK;

#endif
