/* SPDX-License-Identifier: Apache-2.0 */

/*
 * files -- calls on files that no program offers.
 *
 *      files exchange A B                 renameat2(RENAME_EXCHANGE)
 *      files copy FROM AT TO AT LENGTH    copy_file_range, until nothing more comes; says how many
 *      files seek FILE data|hole AT       lseek; says where
 *      files mapped FILE                  mmap, and read a byte of each page; says how many
 *
 * On failure: the words of errno on standard error, 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int
fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

static int
exchange(char **words)
{
	return renameat2(AT_FDCWD, words[0], AT_FDCWD, words[1], RENAME_EXCHANGE) < 0
		       ? fail("renameat2")
		       : 0;
}

static int
copy(char **words)
{
	off_t at_in = strtoll(words[1], NULL, 10), at_out = strtoll(words[3], NULL, 10);
	int in = open(words[0], O_RDONLY), out = open(words[2], O_WRONLY | O_CREAT, 0644);
	long long left = strtoll(words[4], NULL, 10), all = 0;
	ssize_t n = 1;

	if (in < 0 || out < 0)
		return fail("open");
	while (left > 0 && n > 0) {
		n = copy_file_range(in, &at_in, out, &at_out, (size_t)left, 0);
		if (n < 0)
			return fail("copy_file_range");
		left -= n;
		all += n;
	}
	printf("%lld\n", all);
	if (close(out) < 0)
		return fail("close");
	close(in);
	return 0;
}

static int
seek(char **words)
{
	int fd = open(words[0], O_RDONLY);
	off_t at;

	if (fd < 0)
		return fail("open");
	at = lseek(fd, strtoll(words[2], NULL, 10),
		   strcmp(words[1], "hole") == 0 ? SEEK_HOLE : SEEK_DATA);
	if (at < 0)
		return fail("lseek");
	printf("%lld\n", (long long)at);
	close(fd);
	return 0;
}

static int
mapped(char **words)
{
	const volatile unsigned char *bytes;
	unsigned long long sum = 0;
	struct stat stat;
	int fd = open(words[0], O_RDONLY);

	if (fd < 0 || fstat(fd, &stat) < 0)
		return fail("open");
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return fail("mmap");
	for (long long at = 0; at < stat.st_size; at += 4096)
		sum += bytes[at];
	printf("%lld pages, %llu\n", (long long)(stat.st_size + 4095) / 4096, sum);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int n_words;
		int (*run)(char **words);
	} calls[] = {{"exchange", 2, exchange},
		     {"copy", 5, copy},
		     {"seek", 3, seek},
		     {"mapped", 1, mapped}};

	for (size_t i = 0; argc > 1 && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, argv[1]) == 0 && argc == calls[i].n_words + 2)
			return calls[i].run(argv + 2);
	fputs("usage: files exchange A B | copy FROM AT TO AT LENGTH | seek FILE data|hole AT | "
	      "mapped FILE\n",
	      stderr);
	return 2;
}
