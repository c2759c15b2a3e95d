/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rival.h -- the barest ways of doing what we do, as children of a bench.
 *
 *      raw      sends or takes messages over a TCP connection of loopback
 *      clerk    answers words, as the master does; some it writes down first
 */
#ifndef TESTS_BENCH_RIVAL_H
#define TESTS_BENCH_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MIB        ((size_t)1 << 20)
#define RING_BYTES (256 * MIB)

struct raw {
	int fd;
	pid_t pid;
};

struct clerk {
	int fd;
	pid_t pid;
};

/* rival_warm -- memory that was written to. */
void *rival_warm(size_t len);

/* raw_open -- what is put lands in places of that length in a large area, as in a segment. */
struct raw raw_open(size_t len);
void raw_close(struct raw *raw);

/* raw_move -- n messages, one behind the other. */
void raw_move(struct raw *raw, char *buf, size_t len, size_t n, bool is_put);

struct clerk clerk_open(void);
void clerk_close(struct clerk *clerk);

/* clerk_ask -- one round trip. */
void clerk_ask(const struct clerk *clerk, bool is_kept);

#endif
