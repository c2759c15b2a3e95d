/* SPDX-License-Identifier: Apache-2.0 */

/*
 * check -- the master's books, and with --deep every byte.
 *
 *      books   sql/admin/check.sql, run by sqlite3(1) on the master's file, read-only, while the
 *              master works.  The script prints what is wrong: a line each, nothing when all is
 * well. deep    every object is read through the client, and its sum compared with its writer's.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "core/cli/books.h"
#include "core/cli/command.h"
#include "core/cli/deep.h"
#include "core/cli/daemon.h"
#include "transfer/base/json.h"
#include "core/cli/script.h"

struct opts {
	const char *db, *script;
	bool deep, no_books;
};

static const struct arg_def defs[] = {
	{'\0', "db", ARG_TEXT, offsetof(struct opts, db), "FILE", NULL,
	 "the master's database [where up keeps it]"},
	{'\0', "script", ARG_TEXT, offsetof(struct opts, script), "FILE", NULL,
	 "the checks [the installed sql/admin/check.sql]"},
	{'\0', "deep", ARG_FLAG, offsetof(struct opts, deep), NULL, NULL,
	 "also read every object and compare its sum"},
	{'\0', "no-books", ARG_FLAG, offsetof(struct opts, no_books), NULL, NULL,
	 "with --deep: only that, for a master on another machine"},
};

/* Lines of the script, counted and printed as they come. */
struct findings {
	const struct cli *cli;
	struct json *json;
	uint64_t n;
};

static void
found(void *arg, const char *line)
{
	struct findings *findings = arg;

	findings->n++;
	if (findings->cli->json)
		json_text(findings->json, NULL, line);
	else
		printf("%s\n", line);
}

/* check_books -- CLI_OK when nothing was found. */
static int
check_books(const struct cli *cli, const struct opts *opts, struct findings *findings)
{
	char db[PATH_MAX], script[PATH_MAX], program[PATH_MAX];
	int r, status;

	status = books_choose(cli, opts->db, db);
	if (status != CLI_OK)
		return status;
	if (access(db, R_OK) < 0)
		return cli_say(cli, CLI_SYSTEM, "%s: %s; say where it is with --db", db,
			       strerror(errno));
	if (opts->script != NULL)
		snprintf(script, sizeof(script), "%s", opts->script);
	else if (script_find("admin/check.sql", script) != 0)
		return cli_say(cli, CLI_SYSTEM,
			       "check.sql is not installed; say where it is with --script");
	if (program_find("sqlite3", program) != 0)
		return cli_say(cli, CLI_SYSTEM,
			       "the books are checked by the program sqlite3; apt install sqlite3");

	r = script_run(&(struct script){.program = program, .db = db, .script = script}, found,
		       findings);
	if (r < 0)
		return cli_fail_system(cli, r, script);
	if (r > 0)
		return cli_say(cli, CLI_SYSTEM, "sqlite3 failed with status %d", r);
	return findings->n > 0 ? CLI_NOT_FOUND : CLI_OK;
}

static void
print_end(const struct cli *cli, const struct findings *findings, const struct opts *opts)
{
	if (cli->json || cli->quiet)
		return;
	if (findings->n == 0)
		printf("%s: nothing found\n", opts->no_books ? "objects"
					      : opts->deep   ? "books and objects"
							     : "books");
	else
		printf("%" PRIu64 " found\n", findings->n);
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct json json;
	struct findings findings = {.cli = cli, .json = &json};
	int status = CLI_OK;

	(void)words;
	if (opts->no_books && !opts->deep)
		return cli_say(cli, CLI_USAGE, "--no-books goes with --deep");
	json_init(&json, stdout);
	if (cli->json)
		json_open_list(&json, NULL);
	if (!opts->no_books)
		status = check_books(cli, opts, &findings);
	if (opts->deep && (status == CLI_OK || status == CLI_NOT_FOUND)) {
		int deep_status = deep_check(cli, found, &findings);

		if (deep_status != CLI_OK && deep_status != CLI_NOT_FOUND)
			status = deep_status;
		cli_keep(&status, deep_status);
	}
	if (cli->json)
		json_close(&json);
	if (status == CLI_OK || status == CLI_NOT_FOUND)
		print_end(cli, &findings, opts);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.run = run,
	.synopsis = "",
	.summary = "are the books, and with --deep the bytes, in order",
	.help = "Looks for what must not be in the master's database, while the master works; "
		"prints a\n"
		"line for everything found and ends with status 1, or with 0 when there is "
		"nothing.\n"
		"\n"
		"With --deep every object is read as well and its checksum compared.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 0,
};
