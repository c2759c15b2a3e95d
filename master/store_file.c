/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Beside the database:
 *
 *      PATH.lock      held by flock while a master runs; never removed; says who holds it
 *      PATH.reserve   bytes that are given up when the disk is full, so that removals find room
 *      PATH.restoring there while `tiffin restore` changes files: if it was killed, no master
 * starts
 *
 * Removals need room too: the WAL grows by every page they touch.  When the reserve
 * is gone the master should take removals only, until there was room to take it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "master/store_internal.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"

int
store_file_own(const char *path, const char *suffix)
{
	char name[4096];
	int fd;

	if (snprintf(name, sizeof(name), "%s%s", path, suffix) >= (int)sizeof(name))
		return err_new(-ENAMETOOLONG);

	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		fd = open(name, O_RDWR | O_CLOEXEC);
	else if (fd >= 0 && fchmod(fd, 0600) < 0) { /* the umask may have taken what it liked */
		close(fd);
		fd = -1;
	}
	return fd < 0 ? err_new(-errno) : fd;
}

/* write_holder -- for people, and for the line that refuses a second master. */
static void
write_holder(int fd)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		log_event(LOG_DEBUG, "store_lock_unnamed", "errno=%d", errno);
}

static int
take_lock(struct store_files *files, const char *path, char *why, size_t why_cap)
{
	char holder[32] = "";
	ssize_t n;

	files->lock_fd = store_file_own(path, ".lock");
	if (files->lock_fd < 0) {
		store_say(why, why_cap, path, "can't open its lock file %s.lock: %s", path,
			  strerror(-files->lock_fd));
		return err_up(files->lock_fd);
	}
	if (flock(files->lock_fd, LOCK_EX | LOCK_NB) == 0) {
		write_holder(files->lock_fd);
		return 0;
	}
	if (errno != EWOULDBLOCK) {
		store_say(why, why_cap, path, "can't lock %s.lock: %s", path, strerror(errno));
		return err_new(-errno);
	}

	n = pread(files->lock_fd, holder, sizeof(holder) - 1, 0);
	holder[n > 0 ? strcspn(holder, "\n") : 0] = '\0';
	store_say(why, why_cap, path,
		  "in use by another master (process %s); stop that one, or use another file",
		  holder[0] != '\0' ? holder : "unknown");
	return STORE_E_IN_USE;
}

/* is_half_restored -- old and new files may stand side by side: neither is to be believed. */
static bool
is_half_restored(const char *path)
{
	char name[4096];

	return snprintf(name, sizeof(name), "%s.restoring", path) < (int)sizeof(name) &&
	       access(name, F_OK) == 0;
}

int
store_files_open(struct store_files *files, const char *path, char *why, size_t why_cap)
{
	int r;

	*files = (struct store_files){.lock_fd = -1, .reserve_fd = -1};
	r = take_lock(files, path, why, why_cap);
	if (r != 0)
		return r;
	if (is_half_restored(path)) {
		store_say(why, why_cap, path,
			  "a restore was broken off (%s.restoring is there); run tiffin restore "
			  "again",
			  path);
		return STORE_E_DAMAGED;
	}

	files->reserve_fd = store_file_own(path, ".reserve");
	if (files->reserve_fd < 0)
		log_event(LOG_WARN, "store_no_reserve", "path=\"%s\" errno=%d", path,
			  -files->reserve_fd);
	files->is_full = true;
	store_files_fill_reserve(files);
	return 0;
}

void
store_files_close(struct store_files *files)
{
	if (files->reserve_fd >= 0)
		close(files->reserve_fd);
	if (files->lock_fd >= 0)
		close(files->lock_fd); /* and the lock with it */
	files->lock_fd = files->reserve_fd = -1;
}

bool
store_files_drop_reserve(struct store_files *files)
{
	if (files->is_full)
		return false;

	files->is_full = true;
	return files->reserve_fd >= 0 && ftruncate(files->reserve_fd, 0) == 0;
}

/* With less than as much again beside it, the next commits would have to give it up at once. */
static bool
has_slack(int fd)
{
	struct statvfs disk;

	return fstatvfs(fd, &disk) < 0 ||
	       (uint64_t)disk.f_bavail * disk.f_frsize >= 2 * STORE_RESERVE_BYTES;
}

void
store_files_fill_reserve(struct store_files *files)
{
	if (!files->is_full)
		return;
	if (files->reserve_fd < 0) {
		files->is_full = false;
		return;
	}
	if (!has_slack(files->reserve_fd))
		return;
	if (posix_fallocate(files->reserve_fd, 0, STORE_RESERVE_BYTES) == 0)
		files->is_full = false;
	else if (ftruncate(files->reserve_fd, 0) < 0)
		log_event(LOG_WARN, "store_reserve_stuck", "errno=%d", errno);
}
