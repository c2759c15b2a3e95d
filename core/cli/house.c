/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/house.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/home.h"

#define STOP_MS    20000
#define SOCKET_MAX 100 /* sun_path has 108 bytes, and the socket's own name wants some */

/* choose_dir -- dir made absolute, or the default. */
static int
choose_dir(const struct cli *cli, const char *dir, const char *fallback, char ret[HOUSE_DIR_MAX])
{
	char here[PATH_MAX];
	int n;

	if (dir == NULL)
		n = snprintf(ret, HOUSE_DIR_MAX, "%s", fallback);
	else if (dir[0] == '/')
		n = snprintf(ret, HOUSE_DIR_MAX, "%s", dir);
	else if (getcwd(here, sizeof(here)) == NULL)
		return cli_fail_system(cli, -errno, "current directory");
	else
		n = snprintf(ret, HOUSE_DIR_MAX, "%s/%s", here, dir);
	if (n < 0 || n >= HOUSE_DIR_MAX)
		return cli_fail_system(cli, -ENAMETOOLONG, dir);
	while (n > 1 && ret[n - 1] == '/')
		ret[--n] = '\0';
	return CLI_OK;
}

static void
mount_record(const struct house *house, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/mount", house->run);
}

/* recall_mount -- of an earlier up; none is fine. */
static void
recall_mount(struct house *house)
{
	char path[PATH_MAX];
	size_t n;
	FILE *from;

	mount_record(house, path);
	from = fopen(path, "re");
	if (from == NULL)
		return;
	n = fread(house->mount, 1, sizeof(house->mount) - 1, from);
	fclose(from);
	house->mount[n] = '\0';
}

int
house_init(struct house *house, const struct cli *cli, const char *run, const char *state)
{
	static const char *const names[] = {"tiffin-master", "tiffin-provider", "tiffinfs"};
	struct home home;
	int status;

	home_init(&home, geteuid());
	*house = (struct house){.mount = ""};
	status = choose_dir(cli, run, home.run, house->run);
	if (status == CLI_OK)
		status = choose_dir(cli, state, home.state, house->state);
	if (status != CLI_OK)
		return status;
	if (strlen(house->run) > SOCKET_MAX - strlen("/master.sock"))
		return cli_say(cli, CLI_USAGE, "%s: too long for the path of a socket", house->run);

	snprintf(house->master, sizeof(house->master), "unix:%s/master.sock", house->run);
	for (int i = 0; i < HOUSE_N_DAEMONS; i++) {
		int r = daemon_init(&house->daemons[i], names[i], house->run, house->state);

		if (r < 0)
			return cli_fail_system(cli, r, names[i]);
	}
	recall_mount(house);
	return CLI_OK;
}

int
house_make(const struct house *house, const struct cli *cli)
{
	int r = home_make(house->run);

	if (r < 0)
		return cli_fail_system(cli, r, house->run);
	r = home_make(house->state);
	return r < 0 ? cli_fail_system(cli, r, house->state) : CLI_OK;
}

int
house_choose_mount(struct house *house, const struct cli *cli, const char *dir)
{
	bool is_mounted = daemon_pid(&house->daemons[HOUSE_MOUNT]) != 0;
	char path[PATH_MAX];

	/* A dead mount of ours answers nothing but ENOTCONN: tiffinfs takes its place. */
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return cli_fail_system(cli, -errno, dir);
	if (realpath(dir, path) == NULL) {
		if (errno != ENOTCONN || dir[0] != '/' || strlen(dir) >= PATH_MAX)
			return cli_fail_system(cli, -errno, dir);
		snprintf(path, sizeof(path), "%s", dir);
	}
	if (is_mounted && strcmp(path, house->mount) != 0)
		return cli_say(cli, CLI_EXISTS, "mounted on %s already; 'tiffin down' first",
			       house->mount);
	snprintf(house->mount, sizeof(house->mount), "%s", path);
	return CLI_OK;
}

int
house_remember_mount(const struct house *house, const struct cli *cli)
{
	char path[PATH_MAX];
	size_t len = strlen(house->mount);
	int fd, r = 0;

	mount_record(house, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return cli_fail_system(cli, -errno, path);
	if (write(fd, house->mount, len) != (ssize_t)len)
		r = -EIO;
	close(fd);
	return r < 0 ? cli_fail_system(cli, r, path) : CLI_OK;
}

/* unmount -- CLI_OK, or it has been said. */
static int
unmount(const struct house *house, const struct cli *cli, bool lazy)
{
	char program[PATH_MAX], mount[PATH_MAX];
	char *argv[] = {(char[]){"fusermount3"}, lazy ? (char[]){"-uzq"} : (char[]){"-u"}, mount,
			NULL};
	int r;

	if (program_find("fusermount3", program) != 0)
		return cli_say(cli, CLI_SYSTEM, "fusermount3 is missing; apt install fuse3");
	snprintf(mount, sizeof(mount), "%s", house->mount);
	r = program_run(program, argv);
	if (r < 0)
		return cli_fail_system(cli, r, program);
	if (r != 0)
		return cli_say(cli, CLI_BUSY,
			       "%s: is it in use?  'tiffin down --lazy' takes it away all the same",
			       house->mount);
	return CLI_OK;
}

/* is_dead -- a mount whose daemon was killed. */
static bool
is_dead(const char *mount)
{
	struct stat st;

	return stat(mount, &st) < 0 && errno == ENOTCONN;
}

static int
stop_mount(const struct house *house, const struct cli *cli, bool lazy)
{
	const struct daemon *daemon = &house->daemons[HOUSE_MOUNT];
	char path[PATH_MAX];
	int status;

	if (house->mount[0] != '\0' && (daemon_pid(daemon) != 0 || is_dead(house->mount))) {
		status = unmount(house, cli, lazy);
		if (status != CLI_OK)
			return status;
		if (!lazy && daemon_wait(daemon, STOP_MS) == -ETIMEDOUT)
			cli_note(cli, "%s still writes back; it is ended", daemon->name);
	}
	mount_record(house, path);
	unlink(path);
	return CLI_OK;
}

int
house_stop(const struct house *house, const struct cli *cli, enum house_daemon which, bool lazy)
{
	const struct daemon *daemon = &house->daemons[which];
	int r;

	if (which == HOUSE_MOUNT) {
		int status = stop_mount(house, cli, lazy);

		if (status != CLI_OK)
			return status;
	}
	r = daemon_stop(daemon, STOP_MS);
	return r < 0 ? cli_fail_system(cli, r, daemon->name) : CLI_OK;
}
