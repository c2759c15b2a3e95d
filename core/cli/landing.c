/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/landing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/err.h"

#define MODE 0666 /* the umask takes its part */

/* dir_of -- the directory part of a path, "." when there is none. */
static void
dir_of(char buf[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		snprintf(buf, PATH_MAX, ".");
	else if (slash == path)
		snprintf(buf, PATH_MAX, "/");
	else
		snprintf(buf, PATH_MAX, "%.*s", (int)(slash - path), path);
}

/* name_beside -- ".tiffin-PID" in the same directory; one process lands one file at a time. */
static int
name_beside(struct landing *landing)
{
	char dir[PATH_MAX];
	int n;

	dir_of(dir, landing->path);
	n = snprintf(landing->beside, sizeof(landing->beside), "%s/.tiffin-%d", dir, (int)getpid());
	if (n < 0 || (size_t)n >= sizeof(landing->beside)) {
		landing->beside[0] = '\0';
		return err_new(-ENAMETOOLONG);
	}
	return 0;
}

/* open_named -- where the file system has no files without names. */
static int
open_named(struct landing *landing)
{
	int r = name_beside(landing);

	if (r < 0)
		return err_up(r);
	landing->fd =
		open(landing->beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, MODE);
	if (landing->fd < 0) {
		landing->beside[0] = '\0';
		return err_new(-errno);
	}
	return 0;
}

int
landing_open(struct landing *landing, const char *path)
{
	char dir[PATH_MAX];
	struct stat st;

	*landing = (struct landing){.fd = -1};
	if (path[0] == '\0')
		return err_new(-ENOENT);
	if (strlen(path) >= sizeof(landing->path))
		return err_new(-ENAMETOOLONG);
	snprintf(landing->path, sizeof(landing->path), "%s", path);

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return err_new(-EISDIR);
		landing->is_direct = true;
		landing->fd = open(path, O_WRONLY | O_CLOEXEC);
		return landing->fd < 0 ? err_new(-errno) : 0;
	}

	/* A symbolic link keeps standing: the file that it means is replaced. */
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, landing->path) == NULL)
		return err_new(-errno);
	dir_of(dir, landing->path);
	landing->fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, MODE);
	if (landing->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return err_new(-errno);
	return open_named(landing);
}

/* give_name -- the file without a name appears beside the wanted one. */
static int
give_name(struct landing *landing)
{
	char self[64];
	int r = name_beside(landing);

	if (r < 0)
		return err_up(r);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", landing->fd);
	unlink(landing->beside); /* of an earlier process with our number that was killed */
	if (linkat(AT_FDCWD, self, AT_FDCWD, landing->beside, AT_SYMLINK_FOLLOW) < 0) {
		r = err_new(-errno);
		landing->beside[0] = '\0';
		return r;
	}
	return 0;
}

int
landing_done(struct landing *landing)
{
	struct stat st;
	int r;

	assert(landing->fd >= 0);
	if (landing->is_direct)
		return 0;

	/* A file that is replaced keeps its mode. */
	if (stat(landing->path, &st) == 0 && fchmod(landing->fd, st.st_mode & 07777) < 0)
		return err_new(-errno);
	if (landing->beside[0] == '\0') {
		r = give_name(landing);
		if (r < 0)
			return err_up(r);
	}
	if (rename(landing->beside, landing->path) < 0)
		return err_new(-errno);
	landing->beside[0] = '\0';
	return 0;
}

void
landing_close(struct landing *landing)
{
	if (landing->beside[0] != '\0')
		unlink(landing->beside);
	landing->beside[0] = '\0';
	if (landing->fd >= 0)
		close(landing->fd);
	landing->fd = -1;
}
