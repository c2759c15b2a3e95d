/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_pass -- files that the kernel reads without the daemon (fs/passthrough.h).
 *
 *      bench_pass [MIB]
 *              ratio_read  an open file, read once more : the same bytes in a tmpfs of huge pages
 *              ratio_mmap  the same, by its mapping, word by word
 *              ratio_open  open and first read of a whole file : the same on a mount without arena,
 *                          where the bytes come through the daemon
 *
 * Reads are of 1 MiB.  Ratios are medians over N_PAIRS turns of (their time / ours).  The first
 * read is of another object in each turn, four of which fill the arena: each makes room by ending
 * one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/house.h"

#define MIB       ((size_t)1 << 20)
#define N_OBJECTS 10
#define N_WARM    5 /* the first ones make memory ready, on both sides */
#define N_PAIRS   15

static char buf[1 << 20];

struct bench {
	struct house house;
	char ours[128], theirs[128]; /* mounts: with an arena, without */
	size_t len;
	int raw_fd;
};

/* ---- what is compared ---- */

static double
read_whole(int fd, size_t len)
{
	double began = house_now_s();

	for (size_t at = 0; at < len; at += sizeof(buf))
		house_must(pread(fd, buf, sizeof(buf), (off_t)at) != (ssize_t)sizeof(buf), "read");
	return house_now_s() - began;
}

static double
scan_whole(int fd, size_t len)
{
	const uint64_t *words = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	static volatile uint64_t seen;
	double began = house_now_s();
	uint64_t sum = 0;

	house_must(words == MAP_FAILED, "mmap");
	for (size_t i = 0; i < len / sizeof(*words); i++)
		sum += words[i];
	seen = sum;
	(void)seen;
	began = house_now_s() - began;
	munmap((void *)(uintptr_t)words, len);
	return began;
}

static int
open_object(const char *dir, int n)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/object-%d", dir, n);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	house_must(fd < 0, path);
	return fd;
}

static double
first_read(const char *dir, int n, size_t len)
{
	double began = house_now_s();
	int fd = open_object(dir, n);

	read_whole(fd, len);
	began = house_now_s() - began;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* cold again, where there are pages */
	close(fd);
	return began;
}

/* ---- the house ---- */

/* raw_open -- the same bytes in a tmpfs of huge pages. */
static int
raw_open(size_t len)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), mount_fd, fd;

	house_must(fs < 0, "fsopen");
	house_must(fsconfig(fs, FSCONFIG_SET_STRING, "huge", "always", 0), "huge=always");
	house_must(fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0), "tmpfs");
	mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	house_must(mount_fd < 0, "fsmount");
	fd = openat(mount_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	house_must(fd < 0, "tmpfs");
	for (size_t at = 0; at < len; at += sizeof(buf))
		house_must(write(fd, buf, sizeof(buf)) != (ssize_t)sizeof(buf), "write");
	close(mount_fd);
	close(fs);
	return fd;
}

static void
mount_with(struct bench *b, const char *name, const char *option, char *dir, size_t cap)
{
	snprintf(dir, cap, "%s/%s", b->house.dir, name);
	house_must(mkdir(dir, 0700), dir);
	house_start(&b->house, "tiffinfs",
		    (char *[]){b->house.master, dir, "-f", "-o", "log_level=error", "-o",
			       (char *)(uintptr_t)option, NULL});
}

static void
put_objects(const struct bench *b)
{
	struct tiffin_put_options options = {.struct_bytes = sizeof(options)};
	struct tiffin_client *client = house_client(&b->house);
	char *bytes = malloc(b->len), key[32];
	struct iovec slice = {bytes, b->len};

	house_must(bytes == NULL, "memory");
	memset(bytes, 0x5a, b->len);
	for (int n = 0; n < N_OBJECTS; n++) {
		snprintf(key, sizeof(key), "object-%d", n);
		house_must(tiffin_put(client, key, &slice, 1, &options, NULL), tiffin_why());
	}
	free(bytes);
	tiffin_close(client);
}

/* is_passed -- does the mount say that the kernel reads by itself? */
static bool
is_passed(const char *dir)
{
	char path[160], line[200];
	bool is_yes = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/.tiffin/status", dir);
	file = fopen(path, "re");
	house_must(file == NULL, path);
	while (fgets(line, sizeof(line), file) != NULL) {
		is_yes |= strcmp(line, "passthrough=yes\n") == 0;
		if (strncmp(line, "passthrough_why_not=", 20) == 0 && !is_yes)
			printf("name=fs_pass skipped: %s", line + 20);
	}
	fclose(file);
	return is_yes;
}

static void
measure(struct bench *b)
{
	double again[N_PAIRS], scan[N_PAIRS], first[N_PAIRS], read_s = 0, scan_s = 0, first_s = 0;
	int fd;

	for (int n = 0; n < N_WARM; n++) {
		first_read(b->ours, n, b->len);
		first_read(b->theirs, n, b->len);
	}
	for (int i = 0; i < N_PAIRS; i++) {
		double a = first_read(b->ours, (N_WARM + i) % N_OBJECTS, b->len);

		first[i] = first_read(b->theirs, (N_WARM + i) % N_OBJECTS, b->len) / a;
		first_s += a;
	}
	fd = open_object(b->ours, 0);
	for (int i = 0; i < N_PAIRS; i++) {
		double a = read_whole(fd, b->len), raw = read_whole(b->raw_fd, b->len);

		again[i] = raw / a;
		read_s += a;
		a = scan_whole(fd, b->len);
		scan[i] = scan_whole(b->raw_fd, b->len) / a;
		scan_s += a;
	}
	close(fd);
	printf("name=fs_pass mib=%zu read_gb_per_s=%.2f mmap_gb_per_s=%.2f open_gb_per_s=%.2f "
	       "ratio_read=%.3f ratio_mmap=%.3f ratio_open=%.3f\n",
	       b->len / MIB, (double)(N_PAIRS * b->len) / read_s / 1e9,
	       (double)(N_PAIRS * b->len) / scan_s / 1e9,
	       (double)(N_PAIRS * b->len) / first_s / 1e9, house_median(again, N_PAIRS),
	       house_median(scan, N_PAIRS), house_median(first, N_PAIRS));
}

int
main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
	struct bench b = {.len = mib * MIB};
	char size[32], arena[48], command[400];

	if (mib == 0 || mib > 1024) {
		fprintf(stderr, "usage: bench_pass [MIB]\n");
		return 2;
	}
	snprintf(size, sizeof(size), "%zuMiB", (N_OBJECTS + 1) * mib + 16);
	snprintf(arena, sizeof(arena), "arena=%zuMiB", 4 * (mib + mib % 2));
	house_open(&b.house, size, "unix");
	mount_with(&b, "ours", arena, b.ours, sizeof(b.ours));
	mount_with(&b, "theirs", "arena=0", b.theirs, sizeof(b.theirs));
	if (is_passed(b.ours)) {
		b.raw_fd = raw_open(b.len);
		put_objects(&b);
		measure(&b);
	}
	snprintf(command, sizeof(command), "fusermount3 -u %s; fusermount3 -u %s", b.ours,
		 b.theirs);
	if (system(command) != 0)
		fprintf(stderr, "bench: %s\n", command);
	house_close(&b.house);
	return 0;
}
