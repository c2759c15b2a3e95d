/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_transfer.h -- how fast one transport moves bytes between this process and a segment.
 *
 *      batch 0   op, op, ... op    depth of them at once, then the next batch
 *      batch 1   op, op, ... op
 *
 * Each transport gets an engine of its own, so no other one can help out.
 */
#ifndef CORE_CLI_BENCH_TRANSFER_H
#define CORE_CLI_BENCH_TRANSFER_H

#include "core/cli/bench_room.h"
#include "core/cli/cli.h"

/* bench_way -- the i-th transport's name, NULL behind the last one. */
const char *bench_way(size_t i);

/* What is measured; the memory is the caller's. */
struct bench_transfer {
	const struct clock *clock;
	struct bench_room *room; /* NULL: memory of this process, for `local` */
	const uint8_t *pattern;  /* pattern_bytes: what the room holds, and what is written */
	uint64_t pattern_bytes;
	uint8_t *sink; /* depth_max * size_max: where reads go */
	uint64_t sink_bytes;
	bool verify;

	/* bench_transfer_open() sets these */
	struct engine *engine;
	struct target *target;
	struct lent *lent; /* for `local` */
};

struct bench_load {
	enum op_kind kind;
	uint64_t size_bytes, depth, n_ops;
	uint64_t *len_ns; /* room for one number a batch */
};

struct bench_speed {
	uint64_t elapsed_ns, p50_ns, p99_ns, max_ns;
	uint64_t n_wrong; /* reads whose bytes were not the pattern's */
};

enum bench_transfer_outcome {
	BENCH_TRANSFER_E_CANT = 1, /* this transport does not reach the segment in this way */
	BENCH_TRANSFER_E_LOST,     /* it did, but an op failed */
};

/*
 * bench_transfer_open -- an engine with that transport alone.
 *
 * result:  0, CANT (not built here), TIFFIN_E_SYSTEM.
 */
int bench_transfer_open(struct bench_transfer *bench, const char *way) MUST_CHECK;
void bench_transfer_close(struct bench_transfer *bench);

/* bench_transfer_reaches -- one small op.  0, CANT, TIFFIN_E_*. */
int bench_transfer_reaches(struct bench_transfer *bench, enum op_kind kind) MUST_CHECK;

/*
 * bench_transfer_run -- all ops of the load, batch by batch; ends early on Ctrl-C.
 *
 * needs:   size_bytes <= pattern_bytes, depth * size_bytes <= sink_bytes.
 * result:  0, LOST, TIFFIN_E_*.
 */
int bench_transfer_run(struct bench_transfer *bench, const struct bench_load *load,
		       struct bench_speed *ret_speed) MUST_CHECK;

#endif
