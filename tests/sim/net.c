/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/net.h"

#include <string.h>

#include "transfer/base/num.h"

struct net net;

/* Bytes on their way. */
struct parcel {
	struct wire *wire;
	enum wire_side to;
	size_t len_bytes;
	uint8_t bytes[];
};

void
net_init(void)
{
	memset(&net, 0, sizeof(net));
}

struct wire *
wire_new(unsigned node, const struct wire_end *caller, const struct wire_end *master)
{
	struct wire *wire = sim_alloc(sizeof(*wire));

	wire->node = node;
	wire->ends[SIDE_CALLER] = *caller;
	wire->ends[SIDE_MASTER] = *master;
	return wire;
}

static void
arrive(void *arg, uint64_t word)
{
	struct parcel *parcel = arg;
	struct wire *wire = parcel->wire;
	const struct wire_end *end = &wire->ends[parcel->to];

	(void)word;
	if (!wire->is_cut && end->frame != NULL)
		end->frame(end->arg, wire, parcel->bytes, parcel->len_bytes);
}

void
wire_send(struct wire *wire, enum wire_side from, const uint8_t *bytes, size_t len_bytes)
{
	enum wire_side to = from == SIDE_CALLER ? SIDE_MASTER : SIDE_CALLER;
	uint64_t at_ns = sim_now() + sim_delay();
	struct parcel *parcel;

	if (wire->is_cut)
		return;
	net.n_frames++;
	if (!sim_is_calm && sim_chance(2000)) {
		wire_cut(wire);
		return;
	}
	parcel = sim_alloc(sizeof(*parcel) + len_bytes);
	parcel->wire = wire;
	parcel->to = to;
	parcel->len_bytes = len_bytes;
	memcpy(parcel->bytes, bytes, len_bytes);
	at_ns = num_max(at_ns, net.parted_until_ns[wire->node]);
	at_ns = num_max(at_ns, wire->busy_until_ns[to]);
	wire->busy_until_ns[to] = at_ns;
	sim_at(at_ns, arrive, parcel, 0);
}

static void
hear_end(void *arg, uint64_t side)
{
	struct wire *wire = arg;
	const struct wire_end *end = &wire->ends[side];

	if (end->ended != NULL)
		end->ended(end->arg, wire);
}

void
wire_cut(struct wire *wire)
{
	if (wire->is_cut)
		return;
	wire->is_cut = true;
	net.n_cuts++;
	for (uint64_t side = 0; side < 2; side++)
		sim_at(sim_now() + sim_delay(), hear_end, wire, side);
}

void
wire_forget(struct wire *wire, enum wire_side side)
{
	wire->ends[side] = (struct wire_end){0};
}
