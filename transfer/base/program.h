/* SPDX-License-Identifier: Apache-2.0 */

/*
 * program.h -- what a daemon tells those who start it.
 *
 *      --help, --version, --dump-config       an answer on standard output, and the end
 *      what it can't do                       "NAME: why" on standard error, an exit code, the end
 *      its process id                         in the file of --pidfile, until its good end
 *      "ready ..."                            to the descriptor of --ready-fd, once: it serves
 *
 * thread:  main's.
 */
#ifndef TRANSFER_BASE_PROGRAM_H
#define TRANSFER_BASE_PROGRAM_H

#include "transfer/base/options.h"

/* Beside exit codes, which are 0..255. */
enum { PROGRAM_GOES_ON = -1, PROGRAM_WORD_UNKNOWN = -2 };

/* What program_words() ends with when it doesn't understand. */
enum { PROGRAM_EXIT_USAGE = 2 };

struct program {
	const char *name; /* "tiffin-master" */

	/* For program_words() alone. */
	const char *usage; /* what --help says before the list of options */
	const struct options_list *options;

	/*
	 * own_word -- a word that this program alone knows; NULL: there is none.
	 *
	 * result:  the exit code it ends with, PROGRAM_GOES_ON, PROGRAM_WORD_UNKNOWN.
	 */
	int (*own_word)(const char *word);
};

/* program_fail -- say why on standard error.  Gives code, to end with. */
int program_fail(const struct program *program, int code, const char *why);

/*
 * program_words -- options into opts, and what ends the program at once.
 *
 * needs:   opts of the program's list, after options_init().
 * result:  PROGRAM_GOES_ON, or the exit code to end with: all is said.
 */
int program_words(const struct program *program, void *opts, int argc, char **argv) MUST_CHECK;

/*
 * program_tell -- write a line whole.
 *
 * Somebody may wait for it: a write that fails is tried again, twice; who is gone is gone.
 * result:  0, or -errno.
 */
int program_tell(int fd, const char *line) MUST_CHECK;

/* program_ready -- the line that says so, newline included; then fd is closed.  A failure is
 * logged. */
void program_ready(int fd, const char *line);

/*
 * program_write_pidfile -- our process id and a newline; a file that was there is overwritten.
 *
 * path     "": nothing is written.
 * result:  0, or -errno and no file of ours.
 */
int program_write_pidfile(const char *path) MUST_CHECK;

/* program_drop_pidfile -- at the good end, if it is still ours; "" is nothing. */
void program_drop_pidfile(const char *path);

#endif
