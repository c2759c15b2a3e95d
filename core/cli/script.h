/* SPDX-License-Identifier: Apache-2.0 */

/*
 * script.h -- an SQL script, run by the program sqlite3 on the master's database, or on a copy.
 *
 * This program does not link SQLite: only the master may hold that file open for long.  What the
 * master may have is opened read-only; a copy that is ours alone may be written.
 */
#ifndef CORE_CLI_SCRIPT_H
#define CORE_CLI_SCRIPT_H

#include <limits.h>

#include "transfer/base/base.h"

struct script {
	const char *program; /* sqlite3 */
	const char *db;
	const char *script;
	const char *dir; /* where it runs; NULL: here */
	bool is_writing; /* db is a copy of our own */

	/* while_it_runs -- called several times a second until it ends; NULL: nothing. */
	void (*while_it_runs)(void *arg);
	void *arg;
};

enum script_outcome { SCRIPT_E_NOT_FOUND = 1 };

/* script_find -- "admin/check.sql" and the like: installed with our executable, or beside the
 * build.  0 or NOT_FOUND. */
int script_find(const char *name, char path[PATH_MAX]) MUST_CHECK;

/*
 * script_run -- line is called for each line it prints, without the newline.
 *
 * result:  0; the exit status of sqlite3 when it is another (it has said why); -errno.
 */
int script_run(const struct script *script, void (*line)(void *arg, const char *text),
	       void *arg) MUST_CHECK;

#endif
