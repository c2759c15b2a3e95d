/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pair.h -- two mounts beside each other: ours, and the least FUSE program that does the same
 * (ref_tree).
 *
 * What is measured is done to both in turns, so that both have the same machine; what is told is
 * the median of the ratios.
 */
#ifndef TESTS_BENCH_PAIR_H
#define TESTS_BENCH_PAIR_H

#include <sys/types.h>

#include "tests/bench/house.h"

struct pair {
	struct house house;
	char ours[128], ref[128]; /* directories */
	char n_listed[32], big_bytes[32];
	pid_t ref_pid; /* 0: not mounted */
};

/* pair_open -- a store that lends so much; nothing is mounted yet. */
void pair_open(struct pair *pair, const char *size, unsigned long n_listed, size_t big_bytes);
void pair_close(struct pair *pair);

void pair_mount(struct pair *pair);
void pair_unmount(struct pair *pair);

/* pair_requests -- how many the master has had so far. */
unsigned long pair_requests(const struct pair *pair);

#endif
