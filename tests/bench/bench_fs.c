/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_fs -- the mount.
 *
 *      bench_fs fs_read [MIB]    a file read cold : the least FUSE program that serves the same
 * bytes a file read hot  : the same file on tmpfs bench_fs fs_small [N]     create, read, remove N
 * files of 4 KiB
 *
 * Reads are of 1 MiB, as dd bs=1M does.  Cold: the kernel's cache of the file is dropped before.
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
	double cold[N_PAIRS], hot[N_PAIRS], cold_s = 0, hot_s = 0;
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
	write_file(shm, len);
	read_file(shm, len, false);

	for (int i = 0; i < N_PAIRS; i++) {
		double a = read_file(ours, len, true), b = read_file(ref, len, true);
		double c = read_file(ours, len, false), d = read_file(shm, len, false);

		cold[i] = b / a;
		hot[i] = d / c;
		cold_s += a;
		hot_s += c;
	}
	printf("name=fs_read mib=%zu cold_gb_per_s=%.2f hot_gb_per_s=%.2f ratio_cold_ref=%.3f "
	       "ratio_hot_tmpfs=%.3f\n",
	       len / MIB, (double)(N_PAIRS * len) / cold_s / 1e9,
	       (double)(N_PAIRS * len) / hot_s / 1e9, house_median(cold, N_PAIRS),
	       house_median(hot, N_PAIRS));

	unlink(shm);
	snprintf(command, sizeof(command), "fusermount3 -u %s; fusermount3 -u %s", ref_dir, dir);
	if (system(command) != 0)
		fprintf(stderr, "bench: %s\n", command);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	house_close(&house);
}

/* ---- small files ---- */

static void
name_of(char *path, size_t cap, const char *dir, int n)
{
	snprintf(path, cap, "%s/d%02d/file-%06d", dir, n % 100, n);
}

static double
each(const char *dir, int n_files, void (*fn)(const char *path))
{
	double began = house_now_s();
	char path[200];

	for (int n = 0; n < n_files; n++) {
		name_of(path, sizeof(path), dir, n);
		fn(path);
	}
	return house_now_s() - began;
}

static void
make_small(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	house_must(fd < 0, path);
	house_must(write(fd, buf, 4096) != 4096, "write");
	house_must(close(fd), "close");
}

static void
read_small(const char *path)
{
	int fd = open(path, O_RDONLY);

	house_must(fd < 0, path);
	house_must(read(fd, buf, 8192) != 4096, "read");
	close(fd);
}

static void
remove_small(const char *path)
{
	house_must(unlink(path), path);
}

static void
bench_small(int n_files)
{
	struct house house;
	char dir[128], sub[160];
	double create_s, read_s, remove_s;

	house_open(&house, "512MiB", "unix");
	mount_store(&house, dir, sizeof(dir));
	for (int i = 0; i < 100; i++) {
		snprintf(sub, sizeof(sub), "%s/d%02d", dir, i);
		house_must(mkdir(sub, 0700), sub);
	}
	create_s = each(dir, n_files, make_small);
	read_s = each(dir, n_files, read_small);
	remove_s = each(dir, n_files, remove_small);
	printf("name=fs_small files=%d create_kops=%.2f read_kops=%.2f remove_kops=%.2f\n", n_files,
	       n_files / create_s / 1e3, n_files / read_s / 1e3, n_files / remove_s / 1e3);
	snprintf(sub, sizeof(sub), "fusermount3 -u %s", dir);
	if (system(sub) != 0)
		fprintf(stderr, "bench: %s\n", sub);
	house_close(&house);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (strcmp(what, "fs_read") == 0) {
		bench_read((n != 0 ? n : 1024) * MIB);
	} else if (strcmp(what, "fs_small") == 0) {
		bench_small(n != 0 ? (int)n : 10000);
	} else {
		fprintf(stderr, "usage: bench_fs fs_read [MIB] | fs_small [N]\n");
		return 2;
	}
	return 0;
}
