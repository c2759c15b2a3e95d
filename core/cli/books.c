/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/books.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/house.h"
#include "core/cli/script.h"
#include "transfer/base/err.h"

int
books_choose(const struct cli *cli, const char *given, char path[PATH_MAX])
{
	struct house house;
	int status = house_init(&house, cli, NULL, NULL);

	if (status != CLI_OK)
		return status;
	if (given != NULL)
		snprintf(path, PATH_MAX, "%s", given);
	else
		snprintf(path, PATH_MAX, "%s/master.db", house.state);
	return CLI_OK;
}

/* ---- who has it ------------------------------------------------------------------- */

enum books_owner
books_own(const char *db, int *ret_fd)
{
	char name[PATH_MAX + 8];
	int fd;

	*ret_fd = -1;
	snprintf(name, sizeof(name), "%s.lock", db);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return BOOKS_UNKNOWN;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return errno == EWOULDBLOCK ? BOOKS_MASTERS : BOOKS_UNKNOWN;
	}
	*ret_fd = fd;
	return BOOKS_OURS;
}

void
books_let_go(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* ---- a copy ------------------------------------------------------------------------ */

int
books_copy_open(const struct cli *cli, const char *final, struct books_copy *copy)
{
	int n = snprintf(copy->dir, sizeof(copy->dir), "%s.XXXXXX", final);

	if (n < 0 || (size_t)n + sizeof("/new.db-journal") > sizeof(copy->file)) {
		copy->dir[0] = '\0';
		return cli_fail_system(cli, -ENAMETOOLONG, final);
	}
	if (mkdtemp(copy->dir) == NULL) {
		copy->dir[0] = '\0';
		return cli_fail_system(cli, -errno, final);
	}
	snprintf(copy->file, sizeof(copy->file), "%.*s/new.db", n, copy->dir);
	return CLI_OK;
}

void
books_copy_close(struct books_copy *copy)
{
	static const char *const names[] = {"", "-journal", "-wal", "-shm"};
	char name[PATH_MAX + 16];

	if (copy->dir[0] == '\0')
		return;
	for (size_t i = 0; i < array_len(names); i++) {
		snprintf(name, sizeof(name), "%s%s", copy->file, names[i]);
		unlink(name);
	}
	rmdir(copy->dir);
	copy->dir[0] = '\0';
}

int
books_sync_folder(const char *path)
{
	char copy[PATH_MAX];
	int fd, r = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		r = err_new(-errno);
	if (fd >= 0)
		close(fd);
	return r;
}

static int
sync_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int r = 0;

	if (fd < 0 || fchmod(fd, 0600) < 0 || fsync(fd) < 0)
		r = err_new(-errno);
	if (fd >= 0)
		close(fd);
	return r;
}

int
books_land(const struct cli *cli, struct books_copy *copy, const char *final)
{
	int r = sync_file(copy->file);

	if (r == 0 && rename(copy->file, final) < 0)
		r = err_new(-errno);
	if (r == 0)
		r = books_sync_folder(final);
	return r < 0 ? cli_fail_system(cli, r, final) : CLI_OK;
}

/* ---- what is in it ------------------------------------------------------------------ */

int
books_run(const struct cli *cli, const struct books_script *script,
	  void (*line)(void *arg, const char *text), void *arg)
{
	char path[PATH_MAX], program[PATH_MAX];
	struct script run = {
		.program = program,
		.db = script->db,
		.script = path,
		.dir = script->dir,
		.is_writing = script->is_writing,
		.while_it_runs = script->while_it_runs,
		.arg = script->arg,
	};
	int r;

	if (script_find(script->name, path) != 0)
		return cli_say(cli, CLI_SYSTEM, "%s is not installed", script->name);
	if (program_find("sqlite3", program) != 0)
		return cli_say(cli, CLI_SYSTEM,
			       "the books are read by the program sqlite3; apt install sqlite3");
	r = script_run(&run, line, arg);
	if (r < 0)
		return cli_fail_system(cli, r, path);
	if (r > 0)
		return cli_say(cli, CLI_SYSTEM, "%s: sqlite3 failed with status %d on %s",
			       script->name, r, script->db);
	return CLI_OK;
}

static void
read_facts(void *arg, const char *line)
{
	struct books_facts *facts = arg;
	uint64_t is_tiffins = 0;

	if (sscanf(line,
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &is_tiffins, &facts->mark, &facts->schema_version, &facts->master_epoch,
		   &facts->n_objects, &facts->n_segments, &facts->n_bytes) == 7)
		facts->is_tiffins = is_tiffins == 1;
}

int
books_look(const struct cli *cli, const char *db, struct books_facts *ret_facts)
{
	const struct books_script script = {.name = "backup/look.sql", .db = db};
	int status;

	*ret_facts = (struct books_facts){0};
	status = books_run(cli, &script, read_facts, ret_facts);
	if (status == CLI_OK && !ret_facts->is_tiffins)
		return cli_say(cli, CLI_USAGE, "%s: not a database of Tiffin", db);
	return status;
}

struct findings {
	const struct cli *cli;
	unsigned n;
};

static void
found(void *arg, const char *line)
{
	struct findings *findings = arg;

	if (findings->n++ < 20)
		cli_note(findings->cli, "%s", line);
}

int
books_check(const struct cli *cli, const struct books_copy *copy, const struct books_facts *facts)
{
	bool is_ours = facts->schema_version == TIFFIN_SCHEMA_VERSION;
	const struct books_script script = {
		.name = is_ours ? "admin/check.sql" : "backup/quick.sql",
		.db = copy->file,
	};
	struct findings findings = {.cli = cli};
	int status = books_run(cli, &script, found, &findings);

	if (status == CLI_OK && findings.n > 0)
		return cli_say(cli, CLI_NOT_FOUND, "the copy breaks the laws of the books");
	return status;
}
