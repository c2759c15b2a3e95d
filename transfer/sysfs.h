/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sysfs.h -- small facts about this machine, one a file, beneath a root that is a parameter.
 *
 *      root     ""      the machine itself: /sys/class/net/eth0/speed
 *               "/d"    a tree recorded elsewhere, or made by a test: /d/sys/class/net/eth0/speed
 *
 * thread:  any.
 */
#ifndef TRANSFER_SYSFS_H
#define TRANSFER_SYSFS_H

#include "transfer/base/base.h"

#define SYSFS_NAME_MAX 63

enum sysfs_outcome {
	SYSFS_E_NONE = 1, /* not there, cannot be read, longer than the room, or not a number */
};

/*
 * sysfs_line -- the first line of root + PATH, without its newline and the blanks around it.
 *
 * result:  0, or SYSFS_E_NONE: then ret is "".
 */
int sysfs_line(const char *root, char *ret, size_t cap, const char *path_fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* sysfs_number -- the first line as a number: "12", "-1", "0x1003".  0 or SYSFS_E_NONE. */
int sysfs_number(const char *root, int64_t *ret, const char *path_fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* sysfs_place -- the same path with every link followed, beneath "/sys/".  0 or SYSFS_E_NONE. */
int sysfs_place(const char *root, char *ret, size_t cap, const char *path_fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * sysfs_names -- what lies in a directory, in the order of people: node2 before node10.
 *
 * gives:   *ret_names, for free(); NULL when there is nothing.
 * result:  how many, 0 also where there is no such directory; -ENOMEM.
 */
int sysfs_names(const char *root, const char *dir,
		char (**ret_names)[SYSFS_NAME_MAX + 1]) MUST_CHECK;

#endif
