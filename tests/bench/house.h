/* SPDX-License-Identifier: Apache-2.0 */

/*
 * house.h -- a whole store for a bench: real master and provider programs in a directory of their
 * own.
 *
 * The programs are those beside the bench.  Everything ends with house_close(), also by exit().
 */
#ifndef TESTS_BENCH_HOUSE_H
#define TESTS_BENCH_HOUSE_H

#include <sys/types.h>

#include "core/tiffin.h"

struct house {
	char dir[64], programs[512];
	char master[128]; /* address */
	pid_t pids[4];
	int n_pids;
};

/* house_open -- a master, and a provider that lends `size` and listens there ("unix" or "tcp"). */
void house_open(struct house *house, const char *size, const char *listen);

/* house_open_master -- a master alone. */
void house_open_master(struct house *house);

/* house_start -- one more program of the house, until it says that it is ready. */
void house_start(struct house *house, const char *program, char *const *args);
void house_close(struct house *house);

/* house_client -- or exit.  house_client_with: its options, of which master and name are set. */
struct tiffin_client *house_client(const struct house *house);
struct tiffin_client *house_client_with(const struct house *house, struct tiffin_options options);

/* house_cpu_s -- processor time so far of this process and the house's programs; of a process. */
double house_cpu_s(const struct house *house);
double house_cpu_of(pid_t pid);

/* house_must -- 0, or exit with what was being done and why it failed. */
void house_must(int r, const char *what);

double house_now_s(void);
double house_median(double *values, size_t n);

#endif
