/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tool_mapped FILE -- map a file, close it, and write what the mapping shows.
 *
 *      says "mapped" on standard error, waits for the end of standard input, then writes all bytes
 *      to standard output: what became of them while nobody had the file open?
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void
must(int is_wrong, const char *what)
{
	if (is_wrong) {
		perror(what);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	const char *bytes;
	struct stat st;
	char byte;
	int fd;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	must(fd < 0, argv[1]);
	must(fstat(fd, &st), "fstat");
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	must(bytes == MAP_FAILED, "mmap");
	must(close(fd), "close");
	fputs("mapped\n", stderr);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = write(STDOUT_FILENO, bytes + at, (size_t)(st.st_size - at));

		must(n <= 0, "write");
		at += n;
	}
	return 0;
}
