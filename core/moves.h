/* SPDX-License-Identifier: Apache-2.0 */

/*
 * moves.h -- the ops of one call, run in waves.
 *
 *      ops     | op op op op | op op op op | op |
 *               \__ wave ___/ \__ wave ___/
 *
 * A wave is at most 64 MiB, so that between two of them promises can be looked at and renewed,
 * and each has a deadline of its own: no byte may stand still for longer than transfer_ms.
 */
#ifndef CORE_MOVES_H
#define CORE_MOVES_H

#include "core/client.h"
#include "transfer/op.h"

#define MOVES_FEW        8
#define MOVES_OP_BYTES   (16ull << 20) /* a longer run becomes several ops */
#define MOVES_WAVE_BYTES (64ull << 20)

struct moves {
	struct op *ops; /* `few`, or on the heap */
	size_t n, cap;
	bool is_short; /* memory ran out: some ops are missing */
	struct op few[MOVES_FEW];
};

void moves_init(struct moves *moves);
void moves_fini(struct moves *moves);

/* moves_clear -- empty, memory kept. */
void moves_clear(struct moves *moves);

/* moves_add -- a copy of that op; is_short remembers a failure. */
void moves_add(struct moves *moves, const struct op *op);

/* moves_add_run -- the ops for one run of bytes, each at most MOVES_OP_BYTES. */
void moves_add_run(struct moves *moves, const struct op *run);

/*
 * moves_wave -- run the next wave, of ops [from, result).
 *
 * needs:   from < n.
 * gives:   a result in each op; *until_ns put off when all of them are done: there was progress.
 */
size_t moves_wave(struct tiffin_client *client, struct moves *moves, size_t from,
		  uint64_t *until_ns);

#endif
