/* SPDX-License-Identifier: Apache-2.0 */

/*
 * borrow -- borrow an object's bytes where they lie, and try to get hold of them for writing.
 *
 *      borrow KEY
 *
 * Prints borrowed=1 or 0 (no copy on this host that may be mapped), and what came of making the
 * mapping writable, of opening what is behind it again for writing, and whether any mapping of
 * this process is writable and shared.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

static const char *
name_of(int r)
{
	return r < 0 ? strerrorname_np(errno) : "none";
}

/* look_at -- a line of /proc/self/maps; true: it is the one that holds `at`. */
static int
look_at(const char *line, uintptr_t at, char *ret_range, size_t cap, int *ret_is_shared_writable)
{
	uintptr_t from, to;
	char how[8];

	if (sscanf(line, "%lx-%lx %7s", &from, &to, how) != 3)
		return 0;
	*ret_is_shared_writable |= how[1] == 'w' && how[3] == 's';
	if (at < from || at >= to)
		return 0;
	snprintf(ret_range, cap, "/proc/self/map_files/%lx-%lx", from, to);
	return 1;
}

int
main(int argc, char **argv)
{
	char line[512], range[128] = "", found[128];
	struct tiffin_client *client = tool_open();
	struct tiffin_view *view;
	int is_shared_writable = 0;
	const void *bytes;
	uint64_t len_bytes;
	uintptr_t page;
	FILE *maps;

	tool_demand(argc == 2);
	tool_demand(tiffin_view_open(client, argv[1], &view) == 0);
	if (tiffin_view_borrow(view, 0, &bytes, &len_bytes) != 0) {
		printf("borrowed=0\n");
		return 0;
	}
	page = (uintptr_t)bytes / 4096 * 4096;
	maps = fopen("/proc/self/maps", "re");
	tool_demand(maps != NULL);
	while (fgets(line, sizeof(line), maps) != NULL)
		if (look_at(line, page, found, sizeof(found), &is_shared_writable))
			memcpy(range, found, sizeof(range));
	fclose(maps);

	printf("borrowed=1 bytes=%lu ", len_bytes);
	printf("protect=%s ", name_of(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE)));
	printf("reopen=%s ", name_of(open(range, O_RDWR | O_CLOEXEC)));
	printf("writable=%d\n", is_shared_writable);
	tiffin_view_close(view);
	tiffin_close(client);
	return 0;
}
