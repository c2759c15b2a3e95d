/* SPDX-License-Identifier: Apache-2.0 */

/* lent_file.c -- a file by its name, for us alone. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/sock.h"
#include "transfer/lent_disk.h"

#define OPEN_TRIES      16
#define OPEN_FLAGS      (O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
#define MODE_OWNER_ONLY 0600

int
lent_file_open(const char *path, int more_flags, int *ret_fd)
{
	for (int i = 0; i < OPEN_TRIES; i++) {
		cleanup_with(fd_close_at) int fd =
			open(path, OPEN_FLAGS | more_flags, MODE_OWNER_ONLY);
		struct stat held, named;

		if (fd < 0 || fstat(fd, &held) < 0)
			return err_new(-errno);
		if (!S_ISREG(held.st_mode))
			return LENT_E_DAMAGED;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? LENT_E_IN_USE : err_new(-errno);
		if (stat(path, &named) < 0 || named.st_ino != held.st_ino ||
		    named.st_dev != held.st_dev)
			continue; /* another one wiped it between open and lock */
		if (fchmod(fd, MODE_OWNER_ONLY) < 0)
			return err_new(-errno);
		*ret_fd = fd;
		fd = -1;
		return 0;
	}
	return LENT_E_IN_USE;
}
