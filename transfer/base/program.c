/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"

#define TRIES_MAX 3 /* writes of one line that may fail */

int
program_fail(const struct program *program, int code, const char *why)
{
	fprintf(stderr, "%s: %s\n", program->name, why);
	return code;
}

/* ---- words -------------------------------------------------------------------------- */

static int
help(const struct program *program)
{
	fputs(program->usage, stdout);
	options_print_help(program->options, stdout);
	return 0;
}

static int
version(const struct program *program)
{
	printf("%s %s\n", program->name, TIFFIN_VERSION);
	return 0;
}

static int
unknown(const struct program *program, const char *word)
{
	char why[300];

	snprintf(why, sizeof(why), "%.200s: no such option; see %s --help", word, program->name);
	return program_fail(program, PROGRAM_EXIT_USAGE, why);
}

int
program_words(const struct program *program, void *opts, int argc, char **argv)
{
	char why[512];
	bool dump = false;
	int code;
	int n = options_args(program->options, opts, argc, argv, why, sizeof(why));

	if (n < 0)
		return program_fail(program, PROGRAM_EXIT_USAGE, why);
	for (int i = 1; i < n; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return help(program);
		if (strcmp(argv[i], "--version") == 0)
			return version(program);
		if (strcmp(argv[i], "--dump-config") == 0) {
			dump = true; /* a wrong word after it still counts */
			continue;
		}
		code = program->own_word == NULL ? PROGRAM_WORD_UNKNOWN
						 : program->own_word(argv[i]);
		if (code == PROGRAM_WORD_UNKNOWN)
			return unknown(program, argv[i]);
		if (code != PROGRAM_GOES_ON)
			return code;
	}
	if (!dump)
		return PROGRAM_GOES_ON;
	options_print(program->options, opts, stdout);
	return 0;
}

/* ---- one line ------------------------------------------------------------------------ */

int
program_tell(int fd, const char *line)
{
	size_t left = strlen(line);
	int n_failed = 0;
	ssize_t n;

	while (left > 0) {
		n = write(fd, line, left);
		if (n < 0) {
			if (++n_failed == TRIES_MAX)
				return err_new(-errno);
			continue;
		}
		line += n;
		left -= (size_t)n;
	}
	return 0;
}

void
program_ready(int fd, const char *line)
{
	int r = program_tell(fd, line);

	if (r < 0)
		log_event(LOG_WARN, "ready_fd", "fd=%d errno=%d", fd, -r);
	close(fd);
}

int
program_write_pidfile(const char *path)
{
	char line[32];
	int fd;
	int r;

	if (path[0] == '\0')
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_new(-errno);
	snprintf(line, sizeof(line), "%ld\n", (long)getpid());
	r = program_tell(fd, line);
	close(fd);
	if (r < 0)
		unlink(path);
	return err_up(r);
}

void
program_drop_pidfile(const char *path)
{
	char line[32] = "";
	int fd;

	fd = path[0] != '\0' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (read(fd, line, sizeof(line) - 1) > 0 && strtol(line, NULL, 10) == (long)getpid())
		unlink(path);
	close(fd);
}
