/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/yard.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "transfer/base/rand.h"

#define N_MISSES 2000000

static double
cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One word a line, and each says where the next one is: a single ring through all (Sattolo). */
double
yard_ns_per_miss(size_t len_bytes)
{
	size_t n = len_bytes / 64 + 2;
	struct line {
		size_t next, rest[7];
	} *lines = calloc(n, sizeof(*lines));
	volatile size_t at = 0;
	struct rand rand;
	double from;

	if (lines == NULL) {
		fprintf(stderr, "yard: no memory for %zu bytes\n", len_bytes);
		exit(1);
	}
	rand_init(&rand, 1);
	for (size_t i = 0; i < n; i++)
		lines[i].next = i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t other = rand_below(&rand, i), next = lines[i].next;

		lines[i].next = lines[other].next;
		lines[other].next = next;
	}
	from = cpu_s();
	for (size_t i = 0; i < N_MISSES; i++)
		at = lines[at].next;
	from = cpu_s() - from;
	free(lines);
	return from / N_MISSES * 1e9;
}
