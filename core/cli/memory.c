/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "transfer/base/num.h"

bool
memory_field(const char *name, uint64_t *ret_value)
{
	FILE *from = fopen("/proc/meminfo", "re");
	size_t len = strlen(name);
	bool found = false;
	char line[256];

	if (from == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), from) != NULL)
		found = strncmp(line, name, len) == 0 && line[len] == ':' &&
			sscanf(line + len + 1, "%" SCNu64, ret_value) == 1;
	fclose(from);
	return found;
}

/* read_number -- the first number in a file; false also for "max". */
static bool
read_number(const char *path, uint64_t *ret_value)
{
	FILE *from = fopen(path, "re");
	bool found;

	if (from == NULL)
		return false;
	found = fscanf(from, "%" SCNu64, ret_value) == 1;
	fclose(from);
	return found;
}

uint64_t
memory_free_bytes(void)
{
	uint64_t free_kib, limit, used;

	if (!memory_field("MemAvailable", &free_kib))
		return 0;
	if (read_number("/sys/fs/cgroup/memory.max", &limit) &&
	    read_number("/sys/fs/cgroup/memory.current", &used))
		return num_min(free_kib * 1024, limit - num_min(used, limit));
	return free_kib * 1024;
}
