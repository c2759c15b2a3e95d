/* SPDX-License-Identifier: Apache-2.0 */

/*
 * cli.h -- one run of `tiffin`: its global options, its client, and how it says "no".
 *
 * The command line owns every request it makes, so a failure ends here: whoever
 * finds it says one line on standard error (with --json one JSON object), and
 * from there on only the exit status travels upwards.
 */
#ifndef CORE_CLI_CLI_H
#define CORE_CLI_CLI_H

#include <stdio.h>

#include "core/cli/args.h"
#include "core/cli/progress.h"
#include "core/tiffin.h"
#include "transfer/base/base.h"
#include "transfer/base/clock.h"

/* The classes of errors, as exit statuses; tiffin(1) EXIT STATUS. */
enum cli_exit {
	CLI_OK = 0,
	CLI_NOT_FOUND = 1, /* no such object; a check found something */
	CLI_USAGE = 2,     /* the command line, or a key, is wrong */
	CLI_EXISTS = 3,
	CLI_NO_SPACE = 4,
	CLI_UNREACHABLE = 5,   /* or not within the time given */
	CLI_BUSY = 6,          /* somebody reads it, a promise ran out, or a limit is reached */
	CLI_CHECKSUM = 7,      /* the bytes are not those that were put */
	CLI_DENIED = 8,        /* key, tenant, version */
	CLI_SYSTEM = 9,        /* memory, descriptors, files of this machine */
	CLI_INTERRUPTED = 130, /* Ctrl-C */
	CLI_PIPE = 141,        /* nobody reads on, as with head(1); nothing is said */
};

struct cli {
	/* global options */
	const char *master, *tenant, *key_file;
	uint64_t hot_cache_bytes; /* 0: none */
	uint64_t timeout_ms;      /* 0: the library's */
	bool json, nul, quiet, help, version;

	const struct command *command;
	const struct clock *clock;
	struct tiffin_client *client; /* owned; opened by cli_client() */
};

extern const struct args_list cli_args;

/*
 * cli_main -- the whole program.
 *
 * needs:   env_master is $TIFFIN_MASTER or NULL; env_hot_cache $TIFFIN_HOT_CACHE.
 * result:  exit status.
 */
int cli_main(int argc, char **argv, const char *env_master, const char *env_hot_cache);

/* cli_address -- the master spoken to. */
const char *cli_address(const struct cli *cli);

/* cli_client -- open on first use.  CLI_OK, or what went wrong has been said. */
int cli_client(struct cli *cli, struct tiffin_client **ret_client) MUST_CHECK;

/* cli_exit_of -- the class of a TIFFIN_E_* code; 0 for 0. */
int cli_exit_of(int code);

/*
 * cli_fail -- say that a call of the library failed, with tiffin_why().
 *
 * needs:   code < 0.  key may be NULL.
 * result:  cli_exit_of(code); nothing is said when Ctrl-C is the reason.
 */
int cli_fail(const struct cli *cli, int code, const char *key);

/* cli_fail_item -- the same without tiffin_why(), for items of a batch. */
int cli_fail_item(const struct cli *cli, int code, const char *key);

/* cli_fail_system -- say that the system failed (-errno) while doing something.  CLI_SYSTEM. */
int cli_fail_system(const struct cli *cli, int r, const char *doing);

/* cli_say -- say anything else that is wrong.  Gives back status. */
int cli_say(const struct cli *cli, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* cli_note -- a line on standard error that --quiet keeps back. */
void cli_note(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* cli_keep -- *kept becomes status when nothing was wrong so far. */
void cli_keep(int *kept, int status);

/* cli_print_key -- one key on standard output as --null asks: raw and NUL, or shown and newline. */
void cli_print_key(const struct cli *cli, const char *key);

/* cli_progress -- a bar on standard error when that is a terminal and nobody asked for quiet. */
void cli_progress(const struct cli *cli, struct progress *progress, const char *label,
		  uint64_t all_bytes);

#endif
