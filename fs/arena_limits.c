/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The files of an arena count as memory of this process's control group.  One that may use 256 MiB
 * must not be ended because its arena has grown to that.
 */
#include "fs/arena_limits.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/num.h"

#define GROUPS "/sys/fs/cgroup"

/* read_line -- the first line of a file, or "". */
static void
read_line(const char *path, char *ret_line, int cap)
{
	FILE *file = fopen(path, "re");

	ret_line[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(ret_line, cap, file) == NULL)
		ret_line[0] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
	fclose(file);
}

uint64_t
fs_arena_group_max(const char *root, const char *group)
{
	uint64_t least = UINT64_MAX, bytes;
	char path[PATH_MAX], file[PATH_MAX + 16], line[64];
	char *slash;

	if (snprintf(path, sizeof(path), "%s%s", root, group) >= (int)sizeof(path))
		return least;
	while (strlen(path) >= strlen(root)) {
		snprintf(file, sizeof(file), "%s/memory.max", path);
		read_line(file, line, sizeof(line));
		if (num_parse(line, &bytes) == 0) /* else "max", or none at all */
			least = num_min(least, bytes);
		slash = strrchr(path, '/');
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	return least;
}

uint64_t
fs_arena_bound(uint64_t wanted_bytes)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t machine_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * page_bytes;
	char line[PATH_MAX];

	read_line("/proc/self/cgroup", line, sizeof(line)); /* "0::/a/b" */
	if (strncmp(line, "0::", 3) == 0)
		machine_bytes =
			num_min(machine_bytes,
				2 * num_min(fs_arena_group_max(GROUPS, line + 3), UINT64_MAX / 2));
	return num_min(wanted_bytes, machine_bytes / 8);
}
