/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transfer/base/log.h"

#define TYPE          "fuse.tiffin"
#define TYPE_ROOM     32
#define END_MS        2000 /* until a child that was killed is gone */
#define FUSERMOUNT_MS 5000

extern char **environ;

/* ---- children that may hang ---- */

/* is_over -- within limit_ms, and then its status.  Who is not over stays a zombie until we end. */
static bool
is_over(pid_t pid, int limit_ms, int *ret_status)
{
	struct pollfd at = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	int n;

	if (at.fd < 0)
		return false;
	do {
		n = poll(&at, 1, limit_ms);
	} while (n < 0 && errno == EINTR);
	close(at.fd);
	return n == 1 && waitpid(pid, ret_status, WNOHANG) == pid;
}

static void
tell(int fd, int word)
{
	if (write(fd, &word, sizeof(word)) != sizeof(word))
		_exit(1);
}

/* ask -- the child's part: 0 when the way there is open, 0 once it has answered; or -errno. */
static _Noreturn void
ask(const char *dir, int to)
{
	struct statx stat;
	int fd = open(dir, O_PATH | O_CLOEXEC);

	tell(to, fd < 0 ? -errno : 0);
	if (fd < 0)
		_exit(0);
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_TYPE, &stat) < 0)
		tell(to, -errno);
	else
		tell(to, S_ISDIR(stat.stx_mode) ? 0 : -ENOTDIR);
	_exit(0);
}

/* hear -- the next word.  -ETIMEDOUT: none; -ECHILD: it died. */
static int
hear(int fd, int limit_ms, int *ret_word)
{
	struct pollfd at = {.fd = fd, .events = POLLIN};
	int n;

	do {
		n = poll(&at, 1, limit_ms);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return -ETIMEDOUT;
	return read(fd, ret_word, sizeof(*ret_word)) == sizeof(*ret_word) ? 0 : -ECHILD;
}

/* ask_by_child -- what it said, -ETIMEDOUT when it said nothing more; is_reached: the way there is
 * open. */
static int
ask_by_child(const char *dir, int limit_ms, bool *ret_is_reached)
{
	int fds[2];
	int status;
	pid_t pid;
	int word;
	int r;

	*ret_is_reached = false;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		ask(dir, fds[1]);
	r = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (r == 0)
		r = hear(fds[0], limit_ms, &word);
	if (r == 0 && word == 0) {
		*ret_is_reached = true;
		r = hear(fds[0], limit_ms, &word);
	}
	close(fds[0]);
	if (pid > 0 && r == -ETIMEDOUT)
		kill(pid, SIGKILL);
	if (pid > 0)
		is_over(pid, r == -ETIMEDOUT ? 0 : END_MS, &status);
	return r < 0 ? r : word;
}

/* ---- what is mounted there ---- */

struct seen {
	dev_t dev;
	char type[TYPE_ROOM];
};

/* mount_id_of -- of the mount that a path ends in; asks nobody but the kernel.  -1: unknown. */
static int
mount_id_of(const char *dir)
{
	char name[64];
	char line[128];
	FILE *from;
	int id = -1;
	int fd;

	fd = open(dir, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	from = fopen(name, "re");
	while (from != NULL && id < 0 && fgets(line, sizeof(line), from) != NULL)
		if (sscanf(line, "mnt_id: %d", &id) != 1)
			id = -1;
	if (from != NULL)
		fclose(from);
	close(fd);
	return id;
}

/* see_line -- "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS ... - TYPE SOURCE OPTIONS" */
static bool
see_line(const char *line, int id, struct seen *ret_seen)
{
	const char *type = strstr(line, " - ");
	unsigned major_is, minor_is;
	int id_is;

	if (type == NULL || sscanf(line, "%d %*d %u:%u", &id_is, &major_is, &minor_is) != 3 ||
	    id_is != id)
		return false;
	ret_seen->dev = makedev(major_is, minor_is);
	return sscanf(type, " - %31s", ret_seen->type) == 1;
}

/* see -- the topmost mount at dir.  Where it is, nobody is asked who may hang. */
static bool
see(const char *dir, struct seen *ret_seen)
{
	int id = mount_id_of(dir);
	FILE *from = id < 0 ? NULL : fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t cap = 0;
	bool is_found = false;

	while (from != NULL && !is_found && getline(&line, &cap, from) > 0)
		is_found = see_line(line, id, ret_seen);
	free(line);
	if (from != NULL)
		fclose(from);
	return is_found;
}

dev_t
fs_mountpoint_dev(const char *dir)
{
	struct seen seen;

	return see(dir, &seen) ? seen.dev : 0;
}

int
fs_mountpoint_look(const char *dir, int limit_ms, enum fs_mountpoint *ret_state)
{
	struct seen seen;
	bool is_reached;
	int r = ask_by_child(dir, limit_ms, &is_reached);

	if (r == -ETIMEDOUT && is_reached && see(dir, &seen) && strcmp(seen.type, TYPE) == 0) {
		*ret_state = FS_MOUNTPOINT_HUNG;
		return 0;
	}
	if (r == -ENOTCONN || r == -ECONNABORTED) {
		*ret_state = FS_MOUNTPOINT_DEAD;
		return 0;
	}
	if (r < 0)
		return r;
	*ret_state = FS_MOUNTPOINT_FREE;
	return 0;
}

/* ---- taking it away ---- */

void
fs_mountpoint_abort(const char *dir, dev_t dev)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort", minor(dev));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if ((fd < 0 || write(fd, "1", 1) < 0) && fs_mountpoint_dev(dir) == dev)
		umount2(dir, MNT_FORCE | MNT_DETACH); /* root's way to the same */
	if (fd >= 0)
		close(fd);
}

/* detach_as_user -- by the program that may. */
static int
detach_as_user(const char *dir)
{
	char *const argv[] = {"fusermount3", "-u", "-z", (char *)(uintptr_t)dir, NULL};
	int status;
	pid_t pid;
	int r;

	r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (r != 0)
		return -r;
	if (!is_over(pid, FUSERMOUNT_MS, &status)) {
		kill(pid, SIGKILL);
		is_over(pid, END_MS, &status);
		return -EBUSY;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

int
fs_mountpoint_detach(const char *dir)
{
	dev_t dev = fs_mountpoint_dev(dir);

	fs_mountpoint_abort(dir, dev);
	if (fs_mountpoint_dev(dir) != dev)
		return 0;
	if (umount2(dir, MNT_DETACH) == 0)
		return 0;
	return errno == EPERM ? detach_as_user(dir) : -errno;
}
