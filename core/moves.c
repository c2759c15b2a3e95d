/* SPDX-License-Identifier: Apache-2.0 */
#include "core/moves.h"

#include <string.h>

#include "core/register.h"
#include "transfer/base/num.h"

#define SLOWEST_BYTES_MS (16u << 10) /* a wave gets 1 ms more for each so many bytes */

void
moves_init(struct moves *moves)
{
	moves->ops = moves->few;
	moves->n = 0;
	moves->cap = MOVES_FEW;
	moves->is_short = false;
}

void
moves_fini(struct moves *moves)
{
	if (moves->ops != moves->few)
		free(moves->ops);
	moves_init(moves);
}

void
moves_clear(struct moves *moves)
{
	moves->n = 0;
	moves->is_short = false;
}

static bool
grow(struct moves *moves)
{
	size_t cap = 2 * moves->cap;
	struct op *ops = malloc(cap * sizeof(*ops));

	if (ops == NULL)
		return false;
	memcpy(ops, moves->ops, moves->n * sizeof(*ops));
	if (moves->ops != moves->few)
		free(moves->ops);
	moves->ops = ops;
	moves->cap = cap;
	return true;
}

void
moves_add(struct moves *moves, const struct op *op)
{
	if (moves->is_short || (moves->n == moves->cap && !grow(moves))) {
		moves->is_short = true;
		return;
	}
	moves->ops[moves->n] = *op;
	moves->ops[moves->n++].result = OP_E_PENDING; /* one that never runs is not done */
}

void
moves_add_run(struct moves *moves, const struct op *run)
{
	struct op piece = *run;
	uint64_t left = run->len_bytes;

	while (left > 0) {
		piece.len_bytes = num_min(left, MOVES_OP_BYTES);
		moves_add(moves, &piece);
		piece.offset_bytes += piece.len_bytes;
		piece.skip_bytes += piece.len_bytes;
		left -= piece.len_bytes;
	}
}

size_t
moves_wave(struct tiffin_client *client, struct moves *moves, size_t from, uint64_t *until_ns)
{
	uint64_t len_bytes = 0, deadline_ns;
	struct batch batch;
	size_t to = from;

	assert(from < moves->n && !moves->is_short);
	while (to < moves->n &&
	       (to == from || len_bytes + moves->ops[to].len_bytes <= MOVES_WAVE_BYTES)) {
		len_bytes += moves->ops[to].len_bytes;
		to++;
	}

	deadline_ns = clock_ns(client->clock) +
		      (client->transfer_ms + len_bytes / SLOWEST_BYTES_MS) * NS_PER_MS;
	for (size_t i = from; i < to; i++) {
		moves->ops[i].deadline_ns = num_min(deadline_ns, *until_ns);
		moves->ops[i].is_device = register_has_device(client, &moves->ops[i]);
	}

	batch = (struct batch){.ops = moves->ops + from, .n_ops = to - from};
	if (engine_run(client->engine, &batch) == OP_DONE)
		*until_ns = num_max(*until_ns, client_until(client));
	return to;
}
