/* SPDX-License-Identifier: Apache-2.0 */

/*
 * books.h -- the master's database as files: who has it, what is in it, a copy of it.
 *
 *      DB               the books          DB-wal, DB-shm   SQLite's own, belong to it
 *      DB.lock          flock held while a master works
 *      DB.restoring     there while files change places: no master starts
 *      DB.before        what a restore replaced
 *
 * A copy is made in a directory of its own beside its final place, so that nothing half made is
 * ever seen under a final name, and to put it there is one rename.
 */
#ifndef CORE_CLI_BOOKS_H
#define CORE_CLI_BOOKS_H

#include <limits.h>

#include "core/cli/cli.h"

/* books_choose -- the database given, or that of `tiffin up`.  CLI_OK, or it has been said. */
int books_choose(const struct cli *cli, const char *given, char path[PATH_MAX]) MUST_CHECK;

enum books_owner {
	BOOKS_OURS,    /* no master works, and none can start until books_let_go() */
	BOOKS_MASTERS, /* a master works */
	BOOKS_UNKNOWN, /* we may not touch its lock file */
};

/* books_own -- keep masters away from db.  gives: *ret_fd, -1 unless OURS. */
enum books_owner books_own(const char *db, int *ret_fd);
void books_let_go(int fd);

/* As sql/backup/mark_*.sql write them. */
enum books_mark { BOOKS_MARK_NONE = 0, BOOKS_MARK_ONLINE = 1, BOOKS_MARK_FINAL = 2 };

/* What a database says of itself. */
struct books_facts {
	bool is_tiffins;
	uint64_t mark; /* enum books_mark */
	uint64_t schema_version, master_epoch, n_objects, n_segments, n_bytes;
};

struct books_copy {
	char dir[PATH_MAX];  /* "": none */
	char file[PATH_MAX]; /* dir/new.db */
};

/* books_copy_open -- a directory beside `final`, for us alone.  CLI_OK, or it has been said. */
int books_copy_open(const struct cli *cli, const char *final, struct books_copy *copy) MUST_CHECK;

/* books_copy_close -- whatever is still in it is removed. */
void books_copy_close(struct books_copy *copy);

/* books_run -- a script of sql/ on a database.  CLI_OK, or it has been said. */
struct books_script {
	const char *name; /* "backup/copy.sql" */
	const char *db, *dir;
	bool is_writing;
	void (*while_it_runs)(void *arg);
	void *arg;
};
int books_run(const struct cli *cli, const struct books_script *script,
	      void (*line)(void *arg, const char *text), void *arg) MUST_CHECK;

/* books_look -- CLI_OK, or it has been said: also when it is no database. */
int books_look(const struct cli *cli, const char *db, struct books_facts *ret_facts) MUST_CHECK;

/*
 * books_check -- every law of a copy that is ours: admin/check.sql, or for an older schema the
 * file's own laws alone.
 *
 * result:  CLI_OK; CLI_NOT_FOUND when a law is broken; it has been said.
 */
int books_check(const struct cli *cli, const struct books_copy *copy,
		const struct books_facts *facts) MUST_CHECK;

/* books_land -- the copy is on the disk, then has its final name, then that is on the disk.
 * CLI_OK, or it has been said. */
int books_land(const struct cli *cli, struct books_copy *copy, const char *final) MUST_CHECK;

/* books_sync_folder -- of that file.  0 or -errno. */
int books_sync_folder(const char *path) MUST_CHECK;

#endif
