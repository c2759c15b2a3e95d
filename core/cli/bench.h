/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench.h -- many puts, then many gets of them, by several threads at once.
 *
 *      thread 0   put 0, put T,   put 2T ...        keys PREFIX/SIZE/N
 *      thread 1   put 1, put T+1, ...
 *
 * Every object is a stamp of its own, 8 bytes, and then the same bytes as all others,
 * given as two slices: so a get can be checked without making the bytes anew.
 */
#ifndef CORE_CLI_BENCH_H
#define CORE_CLI_BENCH_H

#include "core/tiffin.h"
#include "transfer/base/base.h"
#include "transfer/base/clock.h"

#define BENCH_STAMP_BYTES 8

struct bench {
	struct tiffin_client *client;
	const struct clock *clock;
	const char *prefix;  /* of the keys */
	uint64_t size_bytes; /* of each object */
	uint64_t n_objects;
	uint32_t n_threads;
	bool verify;
};

struct bench_result {
	uint64_t elapsed_ns, p50_ns, p99_ns, max_ns;
	uint64_t n_wrong; /* gets whose bytes were not those put */
};

enum bench_op { BENCH_PUT, BENCH_GET };

/*
 * bench_run -- all objects once.
 *
 * needs:   size_bytes >= BENCH_STAMP_BYTES, n_objects >= 1, n_threads >= 1.
 * result:  0; TIFFIN_E_* of the first that failed, tiffin_why() is of no use then; -ENOMEM and
 * other -errno are told as TIFFIN_E_SYSTEM.
 */
int bench_run(const struct bench *bench, enum bench_op op,
	      struct bench_result *ret_result) MUST_CHECK;

/* bench_clean -- remove what bench_run() has put, as far as it can. */
void bench_clean(const struct bench *bench);

/* bench_rank -- the value that pct of 100 do not exceed.  Sorts.  needs: n > 0. */
uint64_t bench_rank(uint64_t *values, size_t n, unsigned pct);

#endif
