/* SPDX-License-Identifier: Apache-2.0 */

/*
 * twice -- write zeros into a new file, through a descriptor that is closed twice.
 *
 *      twice PATH BYTES
 *
 * Prints the errors of writing, of fsync, and of both closes, by name; "none" where there was none.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

static const char *
name_of(int r)
{
	return r < 0 ? strerrorname_np(errno) : "none";
}

int
main(int argc, char **argv)
{
	static char zeros[1 << 20];
	uint64_t len_bytes = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	ssize_t n = 0;
	int fd, other;

	tool_demand(argc == 3);
	fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		tool_die("open: %s", strerrorname_np(errno));
	other = dup(fd);
	tool_demand(other >= 0);
	for (uint64_t at = 0; at < len_bytes && n >= 0; at += sizeof(zeros))
		n = write(fd, zeros, sizeof(zeros));
	printf("write=%s ", name_of((int)n));
	printf("fsync=%s ", name_of(fsync(fd)));
	printf("close=%s ", name_of(close(fd)));
	printf("again=%s\n", name_of(close(other)));
	return 0;
}
