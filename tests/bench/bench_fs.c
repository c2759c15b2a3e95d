/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_fs -- the mount.
 *
 *      bench_fs fs_read [MIB]
 *              a file read cold : the least FUSE program that serves the same bytes
 *              a file read hot  : that program's file, and one on tmpfs
 *
 * Reads are of 1 MiB, as dd bs=1M does.  Cold: the kernel's cache of the file is dropped before.
 * Hot: the kernel alone reads, from its pages.  How fast depends on where they lie: in a long run,
 * or one here and one there, which takes up to a third longer.  So all three files get theirs anew
 * in each turn, a MiB of one after a MiB of the other, from the same free memory.
 * Ratios are medians over N_PAIRS turns of (their time / our time).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/house.h"

#define MIB     ((size_t)1 << 20)
#define N_PAIRS 9

static char buf[1 << 20];

static void
write_file(const char *path, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	house_must(fd < 0, path);
	memset(buf, 0x5a, sizeof(buf));
	for (size_t at = 0; at < len; at += sizeof(buf))
		house_must(write(fd, buf, sizeof(buf)) != (ssize_t)sizeof(buf), "write");
	house_must(close(fd), "close");
}

static double
read_file(const char *path, size_t len, bool is_cold)
{
	int fd = open(path, O_RDONLY);
	double began;
	size_t got = 0;
	ssize_t n;

	house_must(fd < 0, path);
	if (is_cold)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	began = house_now_s();
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		got += (size_t)n;
	began = house_now_s() - began;
	house_must(got != len, "length read");
	close(fd);
	return began;
}

/* ---- hot: three files whose pages come from the same places ---- */

struct hot {
	const char *ours, *ref, *shm;
	double ours_s, ref_s, shm_s; /* the last turn */
};

static int
open_without_pages(const char *path)
{
	int fd = open(path, O_RDONLY);

	house_must(fd < 0, path);
	house_must(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0, "fadvise");
	return fd;
}

static void
fill_pages(const struct hot *hot, size_t len)
{
	int ours = open_without_pages(hot->ours), ref = open_without_pages(hot->ref);
	int shm = open(hot->shm, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	house_must(shm < 0, hot->shm);
	for (size_t at = 0; at < len; at += sizeof(buf)) {
		house_must(read(ours, buf, sizeof(buf)) != (ssize_t)sizeof(buf), "read");
		house_must(write(shm, buf, sizeof(buf)) != (ssize_t)sizeof(buf), "write");
		house_must(read(ref, buf, sizeof(buf)) != (ssize_t)sizeof(buf), "read");
	}
	close(ours);
	close(ref);
	close(shm);
}

static void
read_hot(struct hot *hot, size_t len)
{
	fill_pages(hot, len);
	hot->ours_s = read_file(hot->ours, len, false);
	hot->shm_s = read_file(hot->shm, len, false);
	hot->ref_s = read_file(hot->ref, len, false);
}

static pid_t
ref_start(const struct house *house, const char *dir, size_t len)
{
	char path[700], size[32], byte;
	int ready[2];
	pid_t pid;

	house_must(pipe(ready), "pipe");
	snprintf(path, sizeof(path), "%s/bench_ref_fs", house->programs);
	snprintf(size, sizeof(size), "%zu", len);
	pid = fork();
	house_must(pid < 0, "fork");
	if (pid == 0) {
		dup2(ready[1], 3);
		execl(path, path, dir, size, (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	house_must(read(ready[0], &byte, 1) != 1, "bench_ref_fs");
	close(ready[0]);
	return pid;
}

static void
mount_store(struct house *house, char *dir, size_t cap)
{
	snprintf(dir, cap, "%s/mnt", house->dir);
	house_must(mkdir(dir, 0700), dir);
	house_start(house, "tiffinfs",
		    (char *[]){house->master, dir, "-f", "-o", "log_level=error", NULL});
}

static void
bench_read(size_t len)
{
	struct house house;
	char dir[128], ours[160], ref_dir[128], ref[160], shm[64], size[32], command[400];
	double cold[N_PAIRS], hot_tmpfs[N_PAIRS], hot_ref[N_PAIRS], cold_s = 0, hot_s = 0;
	struct hot hot = {ours, ref, shm, 0, 0, 0};
	pid_t pid;

	snprintf(size, sizeof(size), "%zu", 2 * len);
	house_open(&house, size, "unix");
	mount_store(&house, dir, sizeof(dir));
	snprintf(ours, sizeof(ours), "%s/file", dir);
	snprintf(ref_dir, sizeof(ref_dir), "%s/ref", house.dir);
	snprintf(ref, sizeof(ref), "%s/file", ref_dir);
	snprintf(shm, sizeof(shm), "/dev/shm/bench-fs.%d", (int)getpid());
	house_must(mkdir(ref_dir, 0700), ref_dir);
	pid = ref_start(&house, ref_dir, len);
	write_file(ours, len);

	for (int i = 0; i < N_PAIRS; i++) {
		double a = read_file(ours, len, true), b = read_file(ref, len, true);

		read_hot(&hot, len);
		cold[i] = b / a;
		hot_tmpfs[i] = hot.shm_s / hot.ours_s;
		hot_ref[i] = hot.ref_s / hot.ours_s;
		cold_s += a;
		hot_s += hot.ours_s;
	}
	printf("name=fs_read mib=%zu cold_gb_per_s=%.2f hot_gb_per_s=%.2f ratio_cold_ref=%.3f "
	       "ratio_hot_tmpfs=%.3f ratio_hot_ref=%.3f\n",
	       len / MIB, (double)(N_PAIRS * len) / cold_s / 1e9,
	       (double)(N_PAIRS * len) / hot_s / 1e9, house_median(cold, N_PAIRS),
	       house_median(hot_tmpfs, N_PAIRS), house_median(hot_ref, N_PAIRS));

	unlink(shm);
	snprintf(command, sizeof(command), "fusermount3 -u %s; fusermount3 -u %s", ref_dir, dir);
	if (system(command) != 0)
		fprintf(stderr, "bench: %s\n", command);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	house_close(&house);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (strcmp(what, "fs_read") == 0) {
		bench_read((n != 0 ? n : 1024) * MIB);
	} else {
		fprintf(stderr, "usage: bench_fs fs_read [MIB]\n");
		return 2;
	}
	return 0;
}
