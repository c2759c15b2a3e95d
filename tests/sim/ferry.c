/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/ferry.h"

#include <inttypes.h>
#include <string.h>

#include "tests/sim/depot.h"
#include "tests/sim/net.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"
#include "transfer/op_cursor.h"

struct ferry_faults ferry_faults;
static uint64_t n_late;

struct ferry {
	struct transport base;
	struct ferry_config config;
	struct list flights; /* whose op is not over */
};

/* Bytes under way; lives as long as the run. */
struct flight {
	struct list_link at; /* ferry.flights */
	struct ferry *ferry;
	struct op *op; /* NULL: it has ended */
	struct fiber *fiber;
	struct depot *depot;
	struct life *life;
	struct token token;
	uint64_t line; /* of the connection it goes by */
	uint64_t word; /* the fence word it has seen */
	uint64_t offset_bytes, len_bytes, done_bytes, piece_bytes;
	uint64_t piece_ns; /* from one piece to the next */
	bool is_write, is_mapped, has_checked;
	uint8_t *bytes; /* of a WRITE, as they were when it began */
	struct op_cursor cursor;
};

static void step(void *arg, uint64_t word);

/* ---- the end of an op ---- */

static void
end_op(struct flight *flight, enum op_result result)
{
	struct op *op = flight->op;

	if (op == NULL)
		return;
	flight->op = NULL;
	list_remove(&flight->at);
	engine_complete(flight->ferry->base.engine, op, result);
	fiber_wake(flight->fiber);
}

static void
lose(void *arg, uint64_t word)
{
	(void)word;
	end_op(arg, OP_E_LOST);
}

static void
overdue(void *arg, uint64_t word)
{
	struct flight *flight = arg;

	(void)word;
	if (!flight->is_mapped) /* a copy through a mapping is over when it is over */
		end_op(flight, OP_E_TIMEOUT);
}

static void
refuse(void *arg, uint64_t word)
{
	(void)word;
	end_op(arg, OP_E_REFUSED);
}

static void
land(void *arg, uint64_t word)
{
	(void)word;
	end_op(arg, OP_DONE);
}

/* ---- pieces ---- */

static void
flip(struct flight *flight)
{
	struct iovec slice;
	uint64_t len;

	if (!flight->op->want_crc || ferry_faults.flipped == 0 ||
	    !sim_chance(ferry_faults.flipped) ||
	    op_cursor_look(&flight->cursor, 1, &slice, 1, &len) == 0)
		return;
	/* the sum is made of what arrived, so it is made again */
	flight->op->crc ^= 1;
}

static void
move_piece(struct flight *flight)
{
	uint64_t len = num_min(flight->piece_bytes, flight->len_bytes - flight->done_bytes);
	uint8_t *there = flight->life->bytes + flight->offset_bytes + flight->done_bytes;

	sim_trace("client %" PRIu64 " %s segment %" PRIu64 " [%" PRIu64 ", +%" PRIu64 ")%s%s%s",
		  flight->token.client_id, flight->is_write ? "writes" : "reads",
		  flight->life->segment_id, flight->offset_bytes + flight->done_bytes, len,
		  flight->is_mapped ? " mapped" : "", flight->op == NULL ? " late" : "",
		  flight->ferry->config.proc->is_dead ? " dead" : "");
	if (flight->is_write) {
		memcpy(there, flight->bytes + flight->done_bytes, len);
		n_late += flight->op == NULL;
	} else if (flight->op != NULL) {
		op_copy(flight->op, &flight->cursor, there, len);
		if (flight->done_bytes + len == flight->len_bytes)
			flip(flight);
	}
	flight->done_bytes += len;
}

static void
go_on(struct flight *flight, uint64_t at_ns)
{
	sim_at(at_ns, step, flight, 0);
}

/* Through a mapping: look, and a moment later copy.  true: copied, or given up. */
static void
step_mapped(struct flight *flight)
{
	struct proc *proc = flight->ferry->config.proc;

	if (proc->is_dead)
		return; /* and its op ended with it */
	if (proc->stopped_until_ns > sim_now()) {
		go_on(flight, proc->stopped_until_ns);
		return;
	}
	if (flight->is_write && !flight->has_checked && flight->word != flight->life->fence_word) {
		/* ask the provider again */
		if (flight->depot->proc == NULL || flight->depot->life != flight->life ||
		    !depot_allows(flight->depot, &flight->token, TOKEN_WRITE, flight->offset_bytes,
				  flight->len_bytes)) {
			end_op(flight, OP_E_REFUSED);
			return;
		}
		flight->word = flight->life->fence_word;
	}
	if (!flight->has_checked) {
		flight->has_checked = true;
		go_on(flight, sim_now() + sim_between(1000, 200000));
		return;
	}
	flight->has_checked = false;
	move_piece(flight);
	if (flight->done_bytes == flight->len_bytes)
		end_op(flight, OP_DONE);
	else
		go_on(flight, sim_now() + flight->piece_ns);
}

/* Over the network.  A stopped sender has some of it still before it. */
static void
step(void *arg, uint64_t word)
{
	struct flight *flight = arg;
	struct depot *depot = flight->depot;
	struct proc *proc = flight->ferry->config.proc;

	(void)word;
	if (flight->is_mapped) {
		step_mapped(flight);
		return;
	}
	if (depot->proc == NULL || depot->life != flight->life ||
	    depot_line(depot, flight->token.client_id) != flight->line) {
		sim_at(sim_now() + sim_delay(), lose, flight, 0);
		return;
	}
	if (depot->proc->stopped_until_ns > sim_now()) {
		go_on(flight, depot->proc->stopped_until_ns);
		return;
	}
	if (!proc->is_dead && proc->stopped_until_ns > sim_now() && sim_chance(2)) {
		go_on(flight, proc->stopped_until_ns + sim_delay());
		return;
	}
	if (flight->done_bytes == 0 &&
	    !depot_allows(depot, &flight->token, flight->is_write ? TOKEN_WRITE : TOKEN_READ,
			  flight->offset_bytes, flight->len_bytes)) {
		sim_at(sim_now() + sim_delay(), refuse, flight, 0);
		return;
	}
	move_piece(flight);
	if (flight->done_bytes == flight->len_bytes)
		sim_at(sim_now() + sim_delay(), land, flight, 0);
	else
		go_on(flight, sim_now() + flight->piece_ns);
}

/* ---- struct transport ---- */

/* A mapping is had by showing a token once, and stays. */
static bool
has_mapping(struct flight *flight)
{
	struct ferry *ferry = flight->ferry;
	struct life *life = flight->life;
	uint32_t rights = flight->is_write ? TOKEN_WRITE : TOKEN_READ;
	const struct mapper *mappers = flight->is_write ? life->mappers.at : life->readers.at;
	size_t n = flight->is_write ? life->mappers.n : life->readers.n;

	if (!(flight->is_write ? ferry->config.maps_to_write : ferry->config.maps_to_read))
		return false;
	for (size_t i = 0; i < n; i++)
		if (mappers[i].client_id == ferry->config.client_id)
			return true;
	if (flight->depot->proc == NULL || !depot_allows(flight->depot, &flight->token, rights,
							 flight->offset_bytes, flight->len_bytes))
		return false;
	depot_map(flight->depot, ferry->config.client_id, ferry->config.proc, flight->is_write);
	return true;
}

static void
plan(struct flight *flight)
{
	struct op *op = flight->op;
	uint64_t start_ns = sim_now() + sim_delay(), now = clock_ns(flight->ferry->config.clock);
	bool is_slow = ferry_faults.slow > 0 && sim_chance(ferry_faults.slow);

	flight->piece_bytes = num_max(flight->len_bytes / sim_between(1, 6), (uint64_t)64);
	flight->piece_ns = is_slow ? sim_between(MS(100), MS(4000)) : sim_between(1000, 500000);
	start_ns = num_max(start_ns, flight->depot->parted_until_ns[flight->ferry->config.node]);
	if (is_slow && sim_chance(2))
		start_ns += sim_between(MS(100), MS(6000));
	go_on(flight, start_ns);
	if (ferry_faults.lost > 0 && !flight->is_mapped && sim_chance(ferry_faults.lost))
		sim_at(sim_now() + sim_delay(), lose, flight, 0);
	if (op->deadline_ns < UINT64_MAX)
		sim_at(sim_now() + (op->deadline_ns > now ? op->deadline_ns - now : 0), overdue,
		       flight, 0);
}

static void
take_bytes(struct flight *flight)
{
	struct op_cursor cursor;

	flight->bytes = sim_alloc(flight->len_bytes);
	op_cursor_init(&cursor, flight->op, 0);
	for (uint64_t at = 0; at < flight->len_bytes;) {
		struct iovec slice;
		uint64_t len;

		op_cursor_look(&cursor, flight->len_bytes - at, &slice, 1, &len);
		memcpy(flight->bytes + at, slice.iov_base, len);
		op_cursor_move(&cursor, len);
		at += len;
	}
	flight->op->crc = crc_of(0, flight->bytes, flight->len_bytes);
}

static int
ferry_submit(struct transport *t, struct op *op)
{
	struct ferry *ferry = container_of(t, struct ferry, base);
	struct depot *depot = depot_of(op->target->desc.segment_id);
	struct flight *flight;

	if (depot == NULL || op->token == NULL || ferry->config.proc->is_dead) {
		engine_complete(t->engine, op, OP_E_CANCELLED);
		return 0;
	}
	flight = sim_alloc(sizeof(*flight));
	flight->ferry = ferry;
	flight->op = op;
	flight->fiber = fiber_self();
	flight->depot = depot;
	flight->life = depot->life;
	flight->token = *op->token;
	flight->offset_bytes = op->offset_bytes;
	flight->len_bytes = op->len_bytes;
	flight->is_write = op->kind == OP_WRITE;
	flight->line = depot_line(depot, ferry->config.client_id);
	op_cursor_init(&flight->cursor, op, 0);
	list_link_init(&flight->at);
	list_push_back(&ferry->flights, &flight->at);
	if (depot->life->epoch != op->target->desc.segment_epoch) {
		sim_at(sim_now() + sim_delay(), refuse, flight, 0);
		return 0;
	}
	if (flight->is_write)
		take_bytes(flight);
	flight->is_mapped = has_mapping(flight);
	flight->word = flight->is_mapped ? flight->life->fence_word : 0;
	plan(flight);
	return 0;
}

static void
ferry_progress(struct transport *t, struct batch *batch, uint64_t until_ns)
{
	(void)t;
	(void)until_ns;
	if (!batch_is_done(batch))
		fiber_wait(sim_now() + MS(20000));
}

void
ferry_die(struct transport *t)
{
	struct ferry *ferry = container_of(t, struct ferry, base);

	list_each_safe(&ferry->flights, link)
		end_op(list_of(link, struct flight, at), OP_E_CANCELLED);
}

static void
ferry_free(struct transport *t)
{
	ferry_die(t); /* its memory goes with the run: flights go on */
}

static const struct transport_ops ferry_ops = {
	.name = "ferry",
	.submit = ferry_submit,
	.progress = ferry_progress,
	.free = ferry_free,
};

struct transport *
ferry_new(const struct ferry_config *config)
{
	struct ferry *ferry = sim_alloc(sizeof(*ferry));

	ferry->base.ops = &ferry_ops;
	ferry->config = *config;
	list_init(&ferry->flights);
	return &ferry->base;
}

uint64_t
ferry_n_late(void)
{
	return n_late;
}
