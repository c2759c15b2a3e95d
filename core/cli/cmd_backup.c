/* SPDX-License-Identifier: Apache-2.0 */

/*
 * backup -- the books as they are, in one file that stands for itself.
 *
 *      one reader's view of DB --VACUUM INTO--> FILE.XXXXXX/new.db --mark, look, check--> fsync -->
 * FILE
 *
 * The master goes on meanwhile; nothing is written to its files, and no checkpoint is made.  The
 * mark says "this is a backup", and whether a master worked: who starts on it must not believe
 * that bytes are still where it says (master/README.md).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/books.h"
#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "transfer/base/num.h"

struct opts {
	const char *db;
	bool force;
};

static const struct arg_def defs[] = {
	{'\0', "db", ARG_TEXT, offsetof(struct opts, db), "FILE", NULL,
	 "the master's database [where up keeps it]"},
	{'f', "force", ARG_FLAG, offsetof(struct opts, force), NULL, NULL,
	 "replace a file of that name"},
};

/* What a copy under way looks like from outside: its file grows. */
struct watched {
	struct progress progress;
	const char *file;
};

static void
look_at_it(void *arg)
{
	struct watched *watched = arg;
	struct stat st;

	if (stat(watched->file, &st) < 0 || (uint64_t)st.st_size < watched->progress.done_bytes)
		return;
	progress_add(&watched->progress, (uint64_t)st.st_size - watched->progress.done_bytes);
}

static void
ignore(void *arg, const char *line)
{
	cli_note(arg, "%s", line);
}

static int
copy_books(struct cli *cli, const char *db, const struct books_copy *copy)
{
	struct watched watched = {.file = copy->file};
	const struct books_script script = {
		.name = "backup/copy.sql",
		.db = db,
		.dir = copy->dir,
		.while_it_runs = look_at_it,
		.arg = &watched,
	};
	struct stat st;
	int status;

	if (stat(db, &st) < 0)
		return cli_fail_system(cli, -errno, db);
	cli_progress(cli, &watched.progress, "copying", (uint64_t)st.st_size);
	status = books_run(cli, &script, ignore, cli);
	progress_end(&watched.progress);
	if (status == CLI_OK && interrupted())
		return CLI_INTERRUPTED;
	return status;
}

static void
print(const struct cli *cli, const char *file, const struct books_facts *facts, bool is_final)
{
	struct json json;
	char bytes[32];

	if (cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_text(&json, "file", file);
		json_u64(&json, "n_objects", facts->n_objects);
		json_u64(&json, "n_segments", facts->n_segments);
		json_u64(&json, "object_bytes", facts->n_bytes);
		json_u64(&json, "master_epoch", facts->master_epoch);
		json_bool(&json, "master_was_stopped", is_final);
		json_close(&json);
	} else if (!cli->quiet) {
		printf("%s: %" PRIu64 " objects of %s on %" PRIu64 " segments, checked\n", file,
		       facts->n_objects, num_show_bytes(bytes, sizeof(bytes), facts->n_bytes),
		       facts->n_segments);
	}
}

/* make -- within the copy's own directory, then to its final place. */
static int
make(struct cli *cli, const char *db, const char *file, bool is_final)
{
	struct books_copy copy;
	struct books_facts facts;
	int status = books_copy_open(cli, file, &copy);

	if (status != CLI_OK)
		return status;
	status = copy_books(cli, db, &copy);
	if (status == CLI_OK)
		status = books_run(cli,
				   &(struct books_script){
					   .name = is_final ? "backup/mark_final.sql"
							    : "backup/mark_online.sql",
					   .db = copy.file,
					   .is_writing = true,
				   },
				   ignore, cli);
	if (status == CLI_OK)
		status = books_look(cli, copy.file, &facts);
	if (status == CLI_OK)
		status = books_check(cli, &copy, &facts);
	if (status == CLI_OK && interrupted())
		status = CLI_INTERRUPTED;
	if (status == CLI_OK)
		status = books_land(cli, &copy, file);
	books_copy_close(&copy);
	if (status == CLI_OK)
		print(cli, file, &facts, is_final);
	return status;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	char given[PATH_MAX], db[PATH_MAX];
	const char *file = words.at[0];
	struct stat st;
	int lock_fd = -1, status;

	interrupt_be_patient();
	status = books_choose(cli, opts->db, given);
	if (status != CLI_OK)
		return status;
	if (realpath(given, db) == NULL)
		return cli_say(cli, CLI_SYSTEM, "%s: %s; say where it is with --db", given,
			       strerror(errno));
	if (lstat(file, &st) == 0 && !opts->force)
		return cli_say(cli, CLI_EXISTS, "%s: is there; give another name, or --force",
			       file);
	if (lstat(file, &st) == 0 && !S_ISREG(st.st_mode))
		return cli_say(cli, CLI_USAGE, "%s: is no file that a backup could replace", file);

	status = make(cli, db, file, books_own(db, &lock_fd) == BOOKS_OURS);
	books_let_go(lock_fd);
	return status;
}

const struct command cmd_backup = {
	.name = "backup",
	.run = run,
	.synopsis = "FILE",
	.summary = "copy the master's books into one file, while it works",
	.help = "Copies the database as it is at one moment, marks the copy as a backup, checks "
		"every\n"
		"law of it, and only then gives it its name.  The master is not held up, and "
		"nothing\n"
		"is written to its files.\n"
		"\n"
		"A backup has the books, not the bytes: after a restore an object can be read only "
		"if\n"
		"nothing was written to its segment since; see 'tiffin help restore'.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = 1,
};
