/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/daemon.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transfer/base/err.h"

extern char **environ;

/* beside_us -- "DIR/name", DIR being that of our executable. */
static bool
beside_us(const char *name, char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL || (size_t)(slash - path) + strlen(name) + 2 > PATH_MAX)
		return false;
	snprintf(slash + 1, strlen(name) + 1, "%s", name);
	return access(path, X_OK) == 0;
}

/* in_dirs -- the first of a list "/usr/bin:/bin" that has it. */
static bool
in_dirs(const char *dirs, const char *name, char path[PATH_MAX])
{
	while (*dirs != '\0') {
		size_t len = strcspn(dirs, ":");
		int n = snprintf(path, PATH_MAX, "%.*s/%s", (int)len, dirs, name);

		if (len > 0 && n > 0 && n < PATH_MAX && access(path, X_OK) == 0)
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

int
program_find(const char *name, char path[PATH_MAX])
{
	char found[PATH_MAX];
	const char *dirs = NULL;

	for (char **at = environ; *at != NULL; at++)
		if (strncmp(*at, "PATH=", 5) == 0)
			dirs = *at + 5;
	if (!beside_us(name, found) &&
	    !in_dirs(dirs != NULL ? dirs : "/usr/local/bin:/usr/bin:/bin", name, found) &&
	    !in_dirs("/usr/sbin:/sbin", name, found))
		return DAEMON_E_NOT_FOUND;
	snprintf(path, PATH_MAX, "%s", found);
	return 0;
}

int
program_run(const char *path, char *const *argv)
{
	int r, status;
	pid_t pid;

	r = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	if (r != 0)
		return err_new(-r);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_new(-errno);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
