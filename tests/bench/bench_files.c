/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_files -- names on the mount, next to the least FUSE program that has them (pair.h).
 *
 *      bench_files fs_small [N]       N files of 4 KiB: create and write, open and read, stat,
 * unlink bench_files fs_list [N]        ls -U and ls -l of a directory of N files, at a fresh mount
 *      bench_files fs_meta_many [N]   N turns of create, stat, rename, unlink: 8 processes against
 * 1
 *
 * ratio_...: the reference's time by ours, the median over rounds.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/pair.h"

#define ROUNDS      10
#define N_DIRS      100
#define N_PROCESSES 8

static char buf[8192];

/* ---- small files ---- */

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
	house_must(read(fd, buf, sizeof(buf)) != 4096, "read");
	close(fd);
}

static void
stat_small(const char *path)
{
	struct stat st;

	house_must(stat(path, &st), path);
}

static void
remove_small(const char *path)
{
	house_must(unlink(path), path);
}

static double
each(const char *dir, int from, int to, void (*fn)(const char *path))
{
	double began = house_now_s();
	char path[200];

	for (int n = from; n < to; n++) {
		snprintf(path, sizeof(path), "%s/d%02d/file-%06d", dir, n % N_DIRS, n);
		fn(path);
	}
	return house_now_s() - began;
}

static void
bench_small(int n_files)
{
	static const struct {
		const char *name;
		void (*fn)(const char *path);
	} phases[] = {{"create", make_small},
		      {"read", read_small},
		      {"stat", stat_small},
		      {"remove", remove_small}};
	int n = n_files / ROUNDS;
	struct pair pair;
	char path[200];

	pair_open(&pair, "512MiB", 0, 0);
	pair_mount(&pair);
	for (int i = 0; i < 2 * N_DIRS; i++) {
		snprintf(path, sizeof(path), "%s/d%02d", i % 2 == 0 ? pair.ours : pair.ref, i / 2);
		house_must(mkdir(path, 0700), path);
	}
	printf("name=fs_small files=%d", n * ROUNDS);
	for (size_t p = 0; p < sizeof(phases) / sizeof(phases[0]); p++) {
		double ratios[ROUNDS], ours_s = 0;

		for (int i = 0; i < ROUNDS; i++) {
			double a = each(pair.ours, i * n, i * n + n, phases[p].fn);
			double b = each(pair.ref, i * n, i * n + n, phases[p].fn);

			ratios[i] = b / a;
			ours_s += a;
		}
		printf(" %s_kops=%.2f ratio_%s_ref=%.3f", phases[p].name, n * ROUNDS / ours_s / 1e3,
		       phases[p].name, house_median(ratios, ROUNDS));
	}
	printf("\n");
	pair_close(&pair);
}

/* ---- long lists ---- */

#define BATCH 1000

static void
put_listed(const struct pair *pair, unsigned long n)
{
	static char keys[BATCH][32];
	const struct iovec nothing = {buf, 16};
	struct tiffin_item items[BATCH];
	struct tiffin_client *client = house_client(&pair->house);

	for (unsigned long at = 0; at < n; at += BATCH) {
		size_t many = n - at < BATCH ? n - at : BATCH;

		for (size_t i = 0; i < many; i++) {
			snprintf(keys[i], sizeof(keys[i]), "list/%06lu", at + i);
			items[i] = (struct tiffin_item){
				.key = keys[i], .slices = &nothing, .n_slices = 1};
		}
		house_must(tiffin_put_batch(client, items, many, NULL), "tiffin_put_batch");
	}
	tiffin_close(client);
}

static double
list(const char *dir, const char *how)
{
	double began = house_now_s();
	char command[200];

	snprintf(command, sizeof(command), "ls %s %s/list >/dev/null", how, dir);
	house_must(system(command), command);
	return house_now_s() - began;
}

static void
bench_list(unsigned long n)
{
	static const char *const ways[] = {"-U", "-l"};
	struct pair pair;

	pair_open(&pair, n > 200000 ? "1GiB" : "256MiB", n, 0);
	put_listed(&pair, n);
	printf("name=fs_list entries=%lu", n);
	for (int w = 0; w < 2; w++) {
		double ratios[3], ours_s = 0;
		unsigned long n_requests = 0;

		for (int i = 0; i < 3; i++) {
			double a, b;

			pair_mount(&pair);
			n_requests = pair_requests(&pair);
			a = list(pair.ours, ways[w]);
			n_requests = pair_requests(&pair) - n_requests;
			b = list(pair.ref, ways[w]);
			pair_unmount(&pair);
			ratios[i] = b / a;
			ours_s += a;
		}
		printf(" %s_s=%.2f ratio_%s_ref=%.3f %s_requests_per_1000=%.2f", ways[w] + 1,
		       ours_s / 3, ways[w] + 1, house_median(ratios, 3), ways[w] + 1,
		       (double)n_requests / (double)n * 1000);
	}
	printf("\n");
	pair_close(&pair);
}

/* ---- many at once ---- */

/* turns -- by a process of its own, in a directory of its own. */
static void
turns(const char *dir, int number, int n)
{
	char path[200], other[200];
	struct stat st;

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/p%d/file-%d", dir, number, i);
		snprintf(other, sizeof(other), "%s/p%d/other-%d", dir, number, i);
		make_small(path);
		house_must(stat(path, &st), path);
		house_must(rename(path, other), path);
		house_must(unlink(other), other);
	}
}

static double
turns_at_once(const char *dir, int n_processes, int n)
{
	double began = house_now_s();
	int code;

	for (int i = 0; i < n_processes; i++) {
		if (fork() == 0) {
			turns(dir, i, n);
			_exit(0);
		}
	}
	for (int i = 0; i < n_processes; i++)
		house_must(wait(&code) < 0 || code != 0, "a process of fs_meta_many");
	return house_now_s() - began;
}

static void
bench_many(int n)
{
	double ours[5], ref[5];
	struct pair pair;
	char path[200];

	pair_open(&pair, "256MiB", 0, 0);
	pair_mount(&pair);
	for (int i = 0; i < 2 * N_PROCESSES; i++) {
		snprintf(path, sizeof(path), "%s/p%d", i % 2 == 0 ? pair.ours : pair.ref, i / 2);
		house_must(mkdir(path, 0700), path);
	}
	for (int i = 0; i < 5; i++) {
		ours[i] = turns_at_once(pair.ours, 1, n);
		ours[i] /= turns_at_once(pair.ours, N_PROCESSES, n / N_PROCESSES);
		ref[i] = turns_at_once(pair.ref, 1, n);
		ref[i] /= turns_at_once(pair.ref, N_PROCESSES, n / N_PROCESSES);
	}
	printf("name=fs_meta_many turns=%d processes=%d ratio_many_one=%.3f ref_many_one=%.3f\n", n,
	       N_PROCESSES, house_median(ours, 5), house_median(ref, 5));
	pair_close(&pair);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (strcmp(what, "fs_small") == 0) {
		bench_small(n != 0 ? (int)n : 10000);
	} else if (strcmp(what, "fs_list") == 0) {
		bench_list(n != 0 ? n : 100000);
	} else if (strcmp(what, "fs_meta_many") == 0) {
		bench_many(n != 0 ? (int)n : 2000);
	} else {
		fprintf(stderr, "usage: bench_files fs_small|fs_list|fs_meta_many [N]\n");
		return 2;
	}
	return 0;
}
