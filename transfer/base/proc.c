/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/sock.h"

uint64_t
proc_start_ticks(pid_t pid)
{
	char path[64], text[1024];
	cleanup_with(fd_close_at) int fd = -1;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';

	/* Field 22; the name, field 2, may hold blanks and brackets: count from its end. */
	at = strrchr(text, ')');
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}
