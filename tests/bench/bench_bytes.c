/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_bytes -- bytes of one file on the mount, next to the least FUSE program that has them
 * (pair.h).
 *
 *      bench_bytes fs_read_direct [MIB]   O_DIRECT, 1 MiB at a time
 *      bench_bytes fs_mmap [MIB]          mapped and read, pages in the cache; next to tmpfs
 *      bench_bytes fs_write [MIB]         1 MiB at a time, with fsync
 *      bench_bytes fs_rand [MIB]          4 KiB here and there: pages in the cache, and dropped
 *
 * ratio_...: the other's time by ours, the median over rounds.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/pair.h"

#define MIB    ((size_t)1 << 20)
#define ROUNDS 7
#define N_RAND 20000

static char *buf; /* a MiB, for O_DIRECT too */

static double
write_file(const char *path, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	double began = house_now_s();

	house_must(fd < 0, path);
	for (size_t at = 0; at < len; at += MIB)
		house_must(write(fd, buf, MIB) != (ssize_t)MIB, "write");
	house_must(fsync(fd), "fsync");
	house_must(close(fd), "close");
	return house_now_s() - began;
}

static double
read_direct(const char *path, size_t len)
{
	int fd = open(path, O_RDONLY | O_DIRECT);
	double began = house_now_s();

	house_must(fd < 0, path);
	for (size_t at = 0; at < len; at += MIB)
		house_must(read(fd, buf, MIB) != (ssize_t)MIB, "read");
	close(fd);
	return house_now_s() - began;
}

static double
read_mapped(const char *path, size_t len)
{
	int fd = open(path, O_RDONLY);
	const volatile unsigned long *map;
	unsigned long sum = 0;
	double began = house_now_s();

	house_must(fd < 0, path);
	map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	house_must(map == MAP_FAILED, "mmap");
	for (size_t at = 0; at < len / sizeof(*map); at += 8)
		sum += map[at];
	munmap((void *)(uintptr_t)map, len);
	close(fd);
	house_must(sum == 0, "bytes");
	return house_now_s() - began;
}

static double
read_here_and_there(const char *path, size_t len, bool is_cold)
{
	int fd = open(path, O_RDONLY);
	unsigned long state = 1;
	double began;

	house_must(fd < 0, path);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	if (is_cold)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	began = house_now_s();
	for (int i = 0; i < N_RAND; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		house_must(pread(fd, buf, 4096, (off_t)((state >> 33) % (len / 4096) * 4096)) !=
				   4096,
			   "pread");
	}
	began = house_now_s() - began;
	close(fd);
	return began;
}

/* ---- benches ---- */

struct files {
	struct pair pair;
	char ours[160], ref[160], shm[64];
};

static void
files_open(struct files *files, size_t len)
{
	char size[32];

	snprintf(size, sizeof(size), "%zu", 4 * len + 64 * MIB);
	pair_open(&files->pair, size, 0, len);
	pair_mount(&files->pair);
	snprintf(files->ours, sizeof(files->ours), "%s/big", files->pair.ours);
	snprintf(files->ref, sizeof(files->ref), "%s/big", files->pair.ref);
	snprintf(files->shm, sizeof(files->shm), "/dev/shm/bench-bytes.%d", (int)getpid());
	memset(buf, 0x5a, MIB);
	write_file(files->ours, len);
	write_file(files->ref, len);
}

static void
files_close(struct files *files)
{
	unlink(files->shm);
	pair_close(&files->pair);
}

/* next_to_ref -- the same pass over our file and over the reference's, one after the other. */
static void
next_to_ref(const char *name, const struct files *files, size_t len,
	    double (*pass)(const char *path, size_t len))
{
	double ratios[ROUNDS], ours_s = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double a = pass(files->ours, len), b = pass(files->ref, len);

		ratios[i] = b / a;
		ours_s += a;
	}
	printf("name=%s mib=%zu gb_per_s=%.2f ratio_ref=%.3f\n", name, len / MIB,
	       (double)(ROUNDS * len) / ours_s / 1e9, house_median(ratios, ROUNDS));
}

static void
bench_direct(struct files *files, size_t len)
{
	next_to_ref("fs_read_direct", files, len, read_direct);
}

/*
 * fill_pages -- all three anew, a MiB of one after a MiB of the other: how fast pages are mapped
 * depends on where they lie.
 */
static void
fill_pages(const struct files *files, size_t len)
{
	int ours = open(files->ours, O_RDONLY), ref = open(files->ref, O_RDONLY);
	int shm = open(files->shm, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	house_must(ours < 0 || ref < 0 || shm < 0, "open");
	posix_fadvise(ours, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(ref, 0, 0, POSIX_FADV_DONTNEED);
	for (size_t at = 0; at < len; at += MIB) {
		house_must(read(ours, buf, MIB) != (ssize_t)MIB, "read");
		house_must(write(shm, buf, MIB) != (ssize_t)MIB, "write");
		house_must(read(ref, buf, MIB) != (ssize_t)MIB, "read");
	}
	close(ours);
	close(ref);
	close(shm);
}

static void
bench_mmap(struct files *files, size_t len)
{
	double tmpfs[ROUNDS], ref[ROUNDS], ours_s = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double a, b;

		fill_pages(files, len);
		a = read_mapped(files->ours, len);
		b = read_mapped(files->shm, len);
		tmpfs[i] = b / a;
		ref[i] = read_mapped(files->ref, len) / a;
		ours_s += a;
	}
	printf("name=fs_mmap mib=%zu gb_per_s=%.2f ratio_tmpfs=%.3f ratio_ref=%.3f\n", len / MIB,
	       (double)(ROUNDS * len) / ours_s / 1e9, house_median(tmpfs, ROUNDS),
	       house_median(ref, ROUNDS));
}

/* A page of the segment that is touched first is the machine's cost: each turn but the first two is
 * told. */
static void
bench_write(struct files *files, size_t len)
{
	write_file(files->ours, len);
	write_file(files->ours, len);
	next_to_ref("fs_write", files, len, write_file);
}

static void
bench_rand(struct files *files, size_t len)
{
	double cold[ROUNDS], hot[ROUNDS], cold_s = 0, hot_s = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double a = read_here_and_there(files->ours, len, /* is_cold= */ true);
		double b = read_here_and_there(files->ref, len, /* is_cold= */ true);

		cold[i] = b / a;
		cold_s += a;
		a = read_here_and_there(files->ours, len, /* is_cold= */ false);
		b = read_here_and_there(files->ref, len, /* is_cold= */ false);
		hot[i] = b / a;
		hot_s += a;
	}
	printf("name=fs_rand mib=%zu cold_kops=%.1f hot_kops=%.1f ratio_cold_ref=%.3f "
	       "ratio_hot_ref=%.3f\n",
	       len / MIB, ROUNDS * N_RAND / cold_s / 1e3, ROUNDS * N_RAND / hot_s / 1e3,
	       house_median(cold, ROUNDS), house_median(hot, ROUNDS));
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		size_t mib;
		void (*run)(struct files *files, size_t len);
	} benches[] = {{"fs_read_direct", 512, bench_direct},
		       {"fs_mmap", 256, bench_mmap},
		       {"fs_write", 1024, bench_write},
		       {"fs_rand", 64, bench_rand}};
	struct files files;

	buf = aligned_alloc(4096, MIB);
	for (size_t i = 0; buf != NULL && argc > 1 && i < sizeof(benches) / sizeof(benches[0]);
	     i++) {
		size_t len = (argc > 2 ? strtoul(argv[2], NULL, 10) : benches[i].mib) * MIB;

		if (strcmp(benches[i].name, argv[1]) != 0)
			continue;
		files_open(&files, len);
		benches[i].run(&files, len);
		files_close(&files);
		return 0;
	}
	fprintf(stderr, "usage: bench_bytes fs_read_direct|fs_mmap|fs_write|fs_rand [MIB]\n");
	return 2;
}
