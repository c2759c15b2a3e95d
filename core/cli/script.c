/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/script.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transfer/base/err.h"

#define WATCH_MS 100

extern char **environ;

int
script_find(const char *name, char path[PATH_MAX])
{
	/* From the directory of our executable. */
	static const char *const places[] = {
		"../share/tiffin/sql", /* installed */
		"share/tiffin/sql",    /* the build directory */
	};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n <= 0)
		return SCRIPT_E_NOT_FOUND;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (slash == NULL)
		return SCRIPT_E_NOT_FOUND;
	*slash = '\0';

	for (size_t i = 0; i < array_len(places); i++) {
		char found[PATH_MAX];
		int len = snprintf(found, sizeof(found), "%s/%s/%s", exe, places[i], name);

		if (len > 0 && len < PATH_MAX && access(found, R_OK) == 0) {
			snprintf(path, PATH_MAX, "%s", found);
			return 0;
		}
	}
	return SCRIPT_E_NOT_FOUND;
}

/* spawn -- the script at its 0, the pipe at its 1.  0 or -errno. */
static int
spawn(const struct script *script, int out_fd, pid_t *ret_pid)
{
	char *argv[] = {
		(char[]){"sqlite3"},
		(char[]){"-bail"},
		(char[]){"-batch"},
		(char[]){"-init"},
		(char[]){"/dev/null"},
		script->is_writing ? (char[]){"-nofollow"} : (char[]){"-readonly"},
		(char *)(uintptr_t)script->db,
		NULL,
	};
	posix_spawn_file_actions_t files;
	int r;

	posix_spawn_file_actions_init(&files);
	if (script->dir != NULL)
		posix_spawn_file_actions_addchdir_np(&files, script->dir);
	posix_spawn_file_actions_addopen(&files, 0, script->script, O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out_fd, 1);
	r = posix_spawn(ret_pid, script->program, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return r != 0 ? err_new(-r) : 0;
}

/* wait_for_more -- until there is something to read, or the end; whoever watches is told meanwhile.
 */
static void
wait_for_more(const struct script *script, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (script->while_it_runs == NULL)
		return;
	while (poll(&p, 1, WATCH_MS) <= 0)
		script->while_it_runs(script->arg);
}

static void
read_lines(const struct script *script, int fd, void (*line)(void *arg, const char *text),
	   void *arg)
{
	FILE *from = fdopen(fd, "r");
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;

	if (from == NULL) {
		close(fd);
		return;
	}
	for (;;) {
		wait_for_more(script, fd);
		n = getline(&text, &cap, from);
		if (n <= 0)
			break;
		if (text[n - 1] == '\n')
			text[n - 1] = '\0';
		line(arg, text);
	}
	free(text);
	fclose(from);
}

int
script_run(const struct script *script, void (*line)(void *arg, const char *text), void *arg)
{
	int ends[2], r, status;
	pid_t pid;

	if (access(script->script, R_OK) < 0)
		return err_new(-errno);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_new(-errno);
	r = spawn(script, ends[1], &pid);
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return err_up(r);
	}
	read_lines(script, ends[0], line, arg);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_new(-errno);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
