/* SPDX-License-Identifier: Apache-2.0 */

/*
 * restore -- a backup becomes the master's database.
 *
 *      lock the database (no master works, none can start)
 *      FILE --copied--> DB.XXXXXX/new.db --look, check--> fsync
 *      make DB.restoring: from here to the end no master starts, whatever happens to us
 *      DB, DB-wal --> DB.before, DB.before-wal       new.db --> DB       remove DB.restoring
 *
 * A -wal that stays beside another database would be played over it: hence DB.restoring.  All else
 * that a restore needs is done by the master when it starts on a file that is marked as a backup.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/books.h"
#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define PIECE_BYTES (1u << 20)

struct opts {
	const char *db;
};

static const struct arg_def defs[] = {
	{'\0', "db", ARG_TEXT, offsetof(struct opts, db), "FILE", NULL,
	 "the master's database [where up keeps it]"},
};

static int
write_all(int fd, const uint8_t *bytes, size_t len_bytes)
{
	for (size_t at = 0; at < len_bytes;) {
		ssize_t n = write(fd, bytes + at, len_bytes - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_new(-errno);
		at += (size_t)n;
	}
	return 0;
}

/* pour -- everything of one descriptor into the other.  0 or -errno. */
static int
pour(int from, int to, struct progress *progress)
{
	uint8_t *piece = malloc(PIECE_BYTES);
	ssize_t n = 1;
	int r = piece == NULL ? err_new(-ENOMEM) : 0;

	while (r == 0 && n > 0 && !interrupted()) {
		n = read(from, piece, PIECE_BYTES);
		if (n < 0)
			r = err_new(-errno);
		else if (n > 0)
			r = write_all(to, piece, (size_t)n);
		if (r == 0 && n > 0)
			progress_add(progress, (uint64_t)n);
	}
	free(piece);
	return r;
}

static int
copy_file(struct cli *cli, const char *file, const struct books_copy *copy)
{
	int from = open(file, O_RDONLY | O_CLOEXEC);
	int to = open(copy->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct progress progress;
	struct stat st;
	int r = 0;

	if (from < 0 || to < 0 || fstat(from, &st) < 0) {
		r = err_new(-errno);
	} else {
		cli_progress(cli, &progress, "copying", (uint64_t)st.st_size);
		r = pour(from, to, &progress);
		progress_end(&progress);
	}
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) < 0 && r == 0)
		r = err_new(-errno);
	if (r < 0)
		return cli_fail_system(cli, r, file);
	return interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

/* judge -- is it a backup that a master of this version can start on? */
static int
judge(struct cli *cli, const char *file, const struct books_copy *copy,
      struct books_facts *ret_facts)
{
	int status = books_look(cli, copy->file, ret_facts);

	if (status != CLI_OK)
		return status;
	if (ret_facts->mark == BOOKS_MARK_NONE)
		return cli_say(cli, CLI_USAGE,
			       "%s: a database, but no backup: only what tiffin backup has made "
			       "can be put back safely",
			       file);
	if (ret_facts->schema_version > TIFFIN_SCHEMA_VERSION)
		return cli_say(cli, CLI_USAGE,
			       "%s: made by a newer version of Tiffin (schema %" PRIu64
			       ", this one knows %d); use that version",
			       file, ret_facts->schema_version, TIFFIN_SCHEMA_VERSION);
	return books_check(cli, copy, ret_facts);
}

/* put_away -- db + suffix becomes db.before + suffix; when it is not there that goes too, but not
 * if an earlier restore was broken off just behind this step. */
static int
put_away(const char *db, const char *suffix, bool is_first_try)
{
	char from[PATH_MAX + 8], to[PATH_MAX + 16];

	snprintf(from, sizeof(from), "%s%s", db, suffix);
	snprintf(to, sizeof(to), "%s.before%s", db, suffix);
	if (rename(from, to) == 0)
		return 0;
	if (errno != ENOENT || (is_first_try && unlink(to) < 0 && errno != ENOENT))
		return err_new(-errno);
	return 0;
}

/* swap -- the part that must not be half done. */
static int
swap(struct cli *cli, const char *db, struct books_copy *copy)
{
	char mark[PATH_MAX + 16], shm[PATH_MAX + 8];
	bool is_first_try;
	int fd, r, status;

	snprintf(mark, sizeof(mark), "%s.restoring", db);
	snprintf(shm, sizeof(shm), "%s-shm", db);
	is_first_try = access(mark, F_OK) < 0;
	fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return cli_fail_system(cli, -errno, mark);
	close(fd);
	r = books_sync_folder(db);
	if (r == 0)
		r = put_away(db, "-wal", is_first_try);
	if (r == 0)
		r = put_away(db, "", is_first_try);
	if (r == 0 && unlink(shm) < 0 && errno != ENOENT)
		r = err_new(-errno);
	if (r < 0)
		return cli_fail_system(cli, r, db);
	status = books_land(cli, copy, db);
	if (status != CLI_OK)
		return status;
	if (unlink(mark) < 0 || (r = books_sync_folder(db)) < 0)
		return cli_fail_system(cli, r < 0 ? r : -errno, mark);
	return CLI_OK;
}

static int
restore(struct cli *cli, const char *db, const char *file, struct books_facts *ret_facts)
{
	struct books_copy copy;
	int status = books_copy_open(cli, db, &copy);

	if (status != CLI_OK)
		return status;
	status = copy_file(cli, file, &copy);
	if (status == CLI_OK)
		status = judge(cli, file, &copy, ret_facts);
	if (status == CLI_OK && interrupted())
		status = CLI_INTERRUPTED;
	if (status == CLI_OK)
		status = swap(cli, db, &copy);
	books_copy_close(&copy);
	return status;
}

static void
print(const struct cli *cli, const char *db, const struct books_facts *facts)
{
	struct json json;
	char bytes[32];

	if (cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_text(&json, "db", db);
		json_u64(&json, "n_objects", facts->n_objects);
		json_u64(&json, "n_segments", facts->n_segments);
		json_u64(&json, "object_bytes", facts->n_bytes);
		json_close(&json);
	} else if (!cli->quiet) {
		printf("%s: %" PRIu64 " objects of %s on %" PRIu64
		       " segments; the former one is %s.before\n",
		       db, facts->n_objects, num_show_bytes(bytes, sizeof(bytes), facts->n_bytes),
		       facts->n_segments, db);
	}
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct books_facts facts;
	char db[PATH_MAX];
	int fd, status;

	interrupt_be_patient();
	status = books_choose(cli, opts->db, db);
	if (status != CLI_OK)
		return status;
	switch (books_own(db, &fd)) {
	case BOOKS_MASTERS:
		return cli_say(cli, CLI_BUSY, "%s: a master works on it; stop it first", db);
	case BOOKS_UNKNOWN:
		return cli_say(cli, CLI_SYSTEM, "%s.lock: %s", db, strerror(errno));
	case BOOKS_OURS:
		break;
	}
	status = restore(cli, db, words.at[0], &facts);
	books_let_go(fd);
	if (status == CLI_OK)
		print(cli, db, &facts);
	if (status == CLI_OK && facts.mark == BOOKS_MARK_ONLINE)
		cli_note(
			cli,
			"it was made while a master worked: what changed after it is not known, so "
			"objects with bytes are dropped when their providers come back");
	return status;
}

const struct command cmd_restore = {
	.name = "restore",
	.run = run,
	.synopsis = "FILE",
	.summary = "make a backup the master's database",
	.help = "Needs a master that is stopped.  The file is checked, and takes the database's "
		"place at\n"
		"once or not at all; the former database is kept beside it as DB.before.\n"
		"\n"
		"Ids and epochs that were given out after the backup are never given out again.  "
		"What\n"
		"the backup says of a segment counts only if the segment was lent to no master "
		"since:\n"
		"that is so when the backup was made with the master stopped.  All other objects "
		"are\n"
		"dropped as soon as their provider is back: other bytes may lie there by now.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = 1,
};
