/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/home.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/err.h"

static void
state_of_user(struct home *home, uid_t uid)
{
	char room[4096];
	struct passwd user, *found = NULL;

	if (getpwuid_r(uid, &user, room, sizeof(room), &found) == 0 && found != NULL &&
	    user.pw_dir[0] == '/' && strlen(user.pw_dir) < HOME_DIR_MAX - 32)
		snprintf(home->state, sizeof(home->state), "%.*s/.local/state/tiffin",
			 HOME_DIR_MAX - 32, user.pw_dir);
	else
		snprintf(home->state, sizeof(home->state), "/tmp/tiffin-%u/state", (unsigned)uid);
}

void
home_init(struct home *home, uid_t uid)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "/run/user/%u", (unsigned)uid);
	if (uid == 0) {
		snprintf(home->run, sizeof(home->run), "/run/tiffin");
		snprintf(home->state, sizeof(home->state), "/var/lib/tiffin");
	} else {
		if (access(dir, F_OK) == 0)
			snprintf(home->run, sizeof(home->run), "%s/tiffin", dir);
		else
			snprintf(home->run, sizeof(home->run), "/tmp/tiffin-%u", (unsigned)uid);
		state_of_user(home, uid);
	}
	snprintf(home->master, sizeof(home->master), "unix:%s/master.sock", home->run);
}

/* make_one -- mkdir that does not mind what is there. */
static int
make_one(const char *dir, mode_t mode)
{
	if (mkdir(dir, mode) < 0 && errno != EEXIST)
		return err_new(-errno);
	return 0;
}

int
home_make(const char *dir)
{
	char path[4096];
	struct stat st;
	int r;

	if (dir[0] != '/' || strlen(dir) >= sizeof(path))
		return err_new(-EINVAL);

	snprintf(path, sizeof(path), "%s", dir);
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = make_one(path, 0755);
		if (r < 0)
			return err_up(r);
		*slash = '/';
	}
	r = make_one(path, 0700);
	if (r < 0)
		return err_up(r);

	/* /tmp is open to everybody: what stands there under our name need not be ours. */
	if (lstat(path, &st) < 0)
		return err_new(-errno);
	if (!S_ISDIR(st.st_mode))
		return err_new(-ENOTDIR);
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return err_new(-EPERM);
	return 0;
}
