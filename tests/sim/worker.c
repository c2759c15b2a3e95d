/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/worker.h"

#include <inttypes.h>
#include <string.h>

#include "core/link.h"
#include "tests/sim/net.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"

#define PIECE_BYTES (16u << 10)
#define IDLE_MS     50

static uint64_t n_done;

struct worker {
	struct depot *depot;
	struct proc *proc;
	struct link *link;
};

static bool
is_alive(const struct worker *worker)
{
	return !worker->proc->is_dead && worker->depot->proc == worker->proc;
}

static int
ask(struct worker *worker, uint16_t type, struct buf *payload, struct link_reply *reply)
{
	uint64_t until = clock_ns(&worker->depot->clock.base) + MS(2000);
	int r = worker->link->ops->call(worker->link, type, payload, until, reply);

	buf_fini(payload);
	return r;
}

/* ---- bytes ---- */

/* Where byte `at` of an object lies, and how many behind it lie there together. */
static const struct rec_extent *
extent_at(const struct rec_extent *extents, uint32_t n, uint64_t *at)
{
	for (uint32_t i = 0; i < n; i++) {
		if (*at < extents[i].len_bytes)
			return &extents[i];
		*at -= extents[i].len_bytes;
	}
	sim_fail("a task whose extents are shorter than its object");
}

/* A piece from the life that the master named, if that is still there. */
static uint64_t
read_piece(const struct rec_replica *from, uint64_t at, uint64_t most, uint8_t *bytes)
{
	const struct depot *depot = depot_of(from->segment_id);
	const struct rec_extent *extent = extent_at(from->extents, from->n_extents, &at);
	uint64_t len = num_min(most, extent->len_bytes - at);

	if (depot == NULL || depot->proc == NULL || depot->life->epoch != from->segment_epoch)
		return 0;
	memcpy(bytes, depot->life->bytes + extent->offset_bytes + at, len);
	return len;
}

static void
write_piece(struct depot *depot, const struct rec_target_replica *to, uint64_t at,
	    const uint8_t *bytes, uint64_t len)
{
	for (uint32_t i = 0; i < to->n_grants && len > 0; i++) {
		const struct rec_grant *grant = &to->grants[i];
		uint64_t n;

		if (at >= grant->len_bytes) {
			at -= grant->len_bytes;
			continue;
		}
		n = num_min(len, grant->len_bytes - at);
		memcpy(depot->life->bytes + grant->offset_bytes + at, bytes, n);
		bytes += n;
		len -= n;
		at = 0;
	}
}

/* ---- one task ---- */

struct promise {
	uint64_t until_ns; /* the shorter of both leases, on the provider's clock */
	uint64_t master_epoch;
};

/* Into its own segment alone: to write into another's is left to others.  false: given up; nothing
 * of it is on its way any more. */
static bool
carry_out(struct worker *worker, const struct rec_work *work, const struct promise *promise,
	  uint32_t *ret_crc)
{
	const struct rec_object_place *from = &work->from[0];
	const struct rec_target_replica *to = &work->to[0].replicas[0];
	struct depot *depot = worker->depot;
	uint8_t bytes[PIECE_BYTES];
	uint64_t len;

	*ret_crc = 0;
	for (uint64_t at = 0; at < from->len_bytes; at += len) {
		if (from->n_replicas == 0 || to->segment_id != depot->life->segment_id ||
		    to->segment_epoch != depot->life->epoch ||
		    clock_ns(&depot->clock.base) >= promise->until_ns)
			return false;
		len = read_piece(&from->replicas[0], at, PIECE_BYTES, bytes);
		if (len == 0)
			return false;
		depot->is_writing = true;
		fiber_wait(sim_now() + sim_delay());
		if (!is_alive(worker))
			return false;
		write_piece(depot, to, at, bytes, len);
		depot->is_writing = false;
		*ret_crc = crc_join(*ret_crc, crc_of(0, bytes, len), len);
	}
	return clock_ns(&depot->clock.base) < promise->until_ns;
}

static void
give_back(struct worker *worker, const struct rec_object_place *from)
{
	struct rec_lease lease = {from->object_id, from->lease_id};
	struct msg_release_lease msg = {.n_leases = 1, .leases = &lease};
	struct buf payload;

	buf_init(&payload);
	if (msg_release_lease_encode(&payload, &msg) != 0)
		abort();
	worker->link->ops->post(worker->link, MSG_release_lease, &payload);
	buf_fini(&payload);
}

static void
report(struct worker *worker, const struct rec_work_done *done)
{
	struct msg_report_task msg = {.n_works = 1, .works = (struct rec_work_done *)done};
	struct rep_report_task rep;
	struct link_reply reply;
	struct buf payload;

	buf_init(&payload);
	if (msg_report_task_encode(&payload, &msg) != 0)
		abort();
	if (ask(worker, MSG_report_task, &payload, &reply) != 0)
		return;
	if (reply.status == STATUS_OK) {
		if (rep_report_task_decode(reply.payload, reply.arena, &rep) != 0)
			sim_fail("a report's answer that can't be read");
		n_done += done->status == STATUS_OK && rep.fates[0].status == STATUS_OK;
	}
	link_reply_fini(&reply);
}

static void
do_one(struct worker *worker, const struct rec_work *work, const struct promise *promise)
{
	struct rec_work_done done = {
		.task_id = work->task_id, .put_id = work->to[0].object_id, .is_quiet = 1};
	bool is_well = carry_out(worker, work, promise, &done.crc);

	if (!is_alive(worker))
		return;
	worker->depot->is_writing = false;
	done.status = is_well ? STATUS_OK : STATUS_UNREACHABLE;
	sim_say("provider %u carries out task %" PRIu64 ": %s", worker->depot->index, work->task_id,
		is_well ? "well" : "given up");
	if (!sim_chance(8)) /* now and then it forgets: the lease ends by itself */
		give_back(worker, &work->from[0]);
	report(worker, &done);
}

static bool
fetch(struct worker *worker)
{
	struct msg_fetch_tasks msg = {.most = 2};
	struct promise promise = {.until_ns = clock_ns(&worker->depot->clock.base)};
	struct link_session session;
	struct rep_fetch_tasks rep;
	struct link_reply reply;
	struct buf payload;
	bool has_some = false;

	worker->link->ops->session(worker->link, &session);
	promise.until_ns += MS(num_min(session.lease_ms, session.write_lease_ms)) / 10 * 9;
	buf_init(&payload);
	if (msg_fetch_tasks_encode(&payload, &msg) != 0)
		abort();
	if (ask(worker, MSG_fetch_tasks, &payload, &reply) != 0)
		return false;
	if (reply.status == STATUS_OK) {
		if (rep_fetch_tasks_decode(reply.payload, reply.arena, &rep) != 0)
			sim_fail("tasks that can't be read");
		has_some = rep.n_works > 0;
		for (uint32_t i = 0; i < rep.n_works && is_alive(worker); i++)
			do_one(worker, &rep.works[i], &promise);
	}
	link_reply_fini(&reply);
	return has_some;
}

static void
run(void *arg)
{
	struct worker *worker = arg;

	while (is_alive(worker)) {
		if (worker->depot->n_tasks > 0 && fetch(worker))
			continue;
		fiber_wait(sim_now() + MS(IDLE_MS));
	}
}

void
worker_start(struct depot *depot)
{
	struct worker *worker = sim_alloc(sizeof(*worker));

	*worker = (struct worker){depot, depot->proc, depot->link};
	depot->is_writing = false;
	depot->n_tasks = 0;
	fiber_start(depot->proc, run, worker);
}

bool
worker_is_writing(const struct depot *depot)
{
	return depot->is_writing;
}

uint64_t
worker_n_done(void)
{
	return n_done;
}
