/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/depot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/line.h"
#include "tests/sim/net.h"
#include "tests/sim/worker.h"
#include "transfer/base/num.h"

#define TICK_MS_MIN 20

struct depot depots[DEPOTS_MAX];
unsigned n_depots;
bool depot_skip_fences;

static bool is_stopping;

/* What the process itself remembers. */
struct keep {
	struct depot *depot;
	struct proc *proc;
	struct link *link;
	bool is_mounted;
	uint32_t n_joins;
	uint64_t master_epoch;
	VEC(struct rec_fence) orders;
	VEC(struct rec_id) done;
};

/* ---- requests ---- */

static int
ask(struct keep *keep, uint16_t type, struct buf *payload, struct link_reply *reply)
{
	uint64_t until = clock_ns(&keep->depot->clock.base) + MS(2000);
	int r = keep->link->ops->call(keep->link, type, payload, until, reply);

	buf_fini(payload);
	return r;
}

/* ---- fences ---- */

static void
draw_secret(struct life *life)
{
	for (size_t i = 0; i < sizeof(life->secret); i++)
		life->secret[i] = (uint8_t)rand_u64(sim_rand());
}

static bool
has_live_mapper(const struct life *life, uint64_t client_id)
{
	for (size_t i = 0; i < life->mappers.n; i++)
		if (life->mappers.at[i].client_id == client_id &&
		    !life->mappers.at[i].proc->is_dead)
			return true;
	return false;
}

static void
forget_dead_mappers(struct life *life)
{
	size_t n = 0;

	for (size_t i = 0; i < life->mappers.n; i++)
		if (!life->mappers.at[i].proc->is_dead)
			life->mappers.at[n++] = life->mappers.at[i];
	life->mappers.n = n;
}

static void
cut_client(struct depot *depot, uint64_t client_id)
{
	struct mapper cut = {.client_id = client_id};

	if (vec_push(&depot->cut_of, cut) < 0)
		abort();
}

uint64_t
depot_line(const struct depot *depot, uint64_t client_id)
{
	uint64_t n = depot->cuts << 20;

	for (size_t i = 0; i < depot->cut_of.n; i++)
		n += depot->cut_of.at[i].client_id == client_id;
	return n;
}

/* false: ask again. */
static bool
fence(struct keep *keep, uint64_t client_id, uint64_t write_token_ms)
{
	struct depot *depot = keep->depot;
	struct fenced fenced = {client_id, clock_ms(&depot->clock.base) + write_token_ms};

	if (depot_skip_fences)
		return true;
	cut_client(depot, client_id);
	depot->life->fence_word++;
	if (vec_push(&depot->fenced, fenced) < 0)
		abort();
	if (client_id == depot->client_id && worker_is_writing(depot))
		return false;
	return !has_live_mapper(depot->life, client_id);
}

static void
carry_out(struct keep *keep)
{
	struct link_session session;
	size_t n = 0;

	keep->link->ops->session(keep->link, &session);
	for (size_t i = 0; i < keep->orders.n; i++) {
		struct rec_fence order = keep->orders.at[i];

		if (!fence(keep, order.client_id, session.write_lease_ms))
			keep->orders.at[n++] = order;
		else if (vec_push(&keep->done, (struct rec_id){order.fence_id}) < 0)
			abort();
		else
			sim_say("provider %u has fenced client %" PRIu64 " (order %" PRIu64 ")",
				keep->depot->index, order.client_id, order.fence_id);
	}
	keep->orders.n = n;
}

static void
take_orders(struct keep *keep, const struct rep_ping *rep)
{
	for (uint32_t i = 0; i < rep->n_fences; i++) {
		bool is_known = false;

		for (size_t j = 0; j < keep->orders.n; j++)
			is_known |= keep->orders.at[j].fence_id == rep->fences[i].fence_id;
		if (!is_known && vec_push(&keep->orders, rep->fences[i]) < 0)
			abort();
	}
	if (rep->n_unknown > 0)
		keep->is_mounted = false;
}

/* ---- the beat ---- */

static void
ping(struct keep *keep)
{
	size_t n_told = num_min(keep->done.n, (size_t)100);
	struct msg_ping msg = {
		.now_ms = clock_ms(&keep->depot->clock.base),
		.quiet_epoch = worker_is_writing(keep->depot) ? 0 : keep->master_epoch,
		.has_worker = 1,
		.n_fenced = (uint32_t)n_told,
		.fenced = keep->done.at,
	};
	struct link_reply reply;
	struct rep_ping rep;
	struct buf payload;

	buf_init(&payload);
	if (msg_ping_encode(&payload, &msg) != 0)
		abort();
	if (ask(keep, MSG_ping, &payload, &reply) != 0)
		return;
	if (reply.status == STATUS_OK) {
		if (rep_ping_decode(reply.payload, reply.arena, &rep) != 0)
			sim_fail("a ping answer that can't be read");
		keep->done.n -= n_told;
		for (size_t i = 0; i < keep->done.n; i++)
			keep->done.at[i] = keep->done.at[i + n_told];
		take_orders(keep, &rep);
		keep->depot->n_tasks = rep.n_tasks;
	}
	link_reply_fini(&reply);
}

/* Everything of before is cut, but for the writers that still hold a mapping. */
static void
renew(struct depot *depot)
{
	draw_secret(depot->life);
	depot->life->fence_word++;
	depot->cuts++;
	forget_dead_mappers(depot->life);
	if (depot_skip_fences)
		depot->cuts--;
}

static void
mount(struct keep *keep)
{
	struct depot *depot = keep->depot;
	struct life *life = depot->life;
	struct rec_id writers[64];
	struct rec_segment_lent lent = {
		.segment_id = life->segment_id,
		.segment_epoch = life->epoch,
		.size_bytes = life->size_bytes,
		.medium = depot->medium,
		.name = span_of(depot->name, strlen(depot->name)),
		.host = span_of(depot->host, strlen(depot->host)),
		.endpoint = span_of("sim", 3),
		.writers = writers,
	};
	struct msg_mount_segment msg = {.n_segments = 1, .segments = &lent};
	struct rep_mount_segment rep;
	struct link_reply reply;
	struct buf payload;

	renew(depot);
	memcpy(lent.secret.bytes, life->secret, sizeof(life->secret));
	for (size_t i = 0; i < life->mappers.n && i < 64 && !depot_skip_fences; i++)
		writers[lent.n_writers++].id = life->mappers.at[i].client_id;
	if (worker_is_writing(depot))
		writers[lent.n_writers++].id = depot->client_id;
	buf_init(&payload);
	if (msg_mount_segment_encode(&payload, &msg) != 0)
		abort();
	if (ask(keep, MSG_mount_segment, &payload, &reply) != 0)
		return;
	if (reply.status == STATUS_OK) {
		if (rep_mount_segment_decode(reply.payload, reply.arena, &rep) != 0)
			sim_fail("a mount answer that can't be read");
		keep->is_mounted = rep.fates[0].status == STATUS_OK;
		sim_say("provider %u mounts epoch %" PRIu64 ": status %u", depot->index,
			life->epoch, rep.fates[0].status);
	}
	link_reply_fini(&reply);
}

static void
note_joins(struct keep *keep)
{
	struct link_session session;

	keep->link->ops->session(keep->link, &session);
	if (session.n_joins == keep->n_joins)
		return;
	if (session.fresh_join > keep->n_joins || session.master_epoch != keep->master_epoch)
		keep->is_mounted = false;
	keep->n_joins = session.n_joins;
	keep->master_epoch = session.master_epoch;
}

static void
provide(void *arg)
{
	struct keep *keep = arg;

	while (!keep->proc->is_dead && !is_stopping) {
		struct link_session session;

		ping(keep);
		note_joins(keep);
		if (!keep->is_mounted && keep->n_joins > 0)
			mount(keep);
		carry_out(keep);
		keep->link->ops->session(keep->link, &session);
		if (keep->done.n == 0 || sim_chance(10))
			fiber_wait(sim_now() + MS(keep->is_mounted
							  ? num_max(session.ping_ms, TICK_MS_MIN)
							  : 100));
	}
	vec_fini(&keep->orders);
	vec_fini(&keep->done);
}

/* ---- coming and going ---- */

static struct life *
life_new(struct depot *depot, uint64_t size_bytes)
{
	struct life *life = sim_alloc(sizeof(*life));
	struct life *old = depot->life;

	life->segment_id = 100 + depot->index;
	life->epoch = old == NULL ? 1 : old->epoch + 1;
	life->size_bytes = size_bytes;
	life->bytes = sim_alloc(size_bytes);
	return life;
}

static void
start(void *arg, uint64_t is_wiped)
{
	struct depot *depot = arg;
	struct keep *keep = sim_alloc(sizeof(*keep));
	struct line_config config = {
		.node = depot->node,
		.clock = &depot->clock.base,
		.name = depot->name,
		.host = depot->host,
	};

	if (is_stopping)
		return;
	if (is_wiped) {
		vec_fini(&depot->life->mappers);
		vec_fini(&depot->life->readers);
		depot->life = life_new(depot, depot->life->size_bytes);
	}
	depot->proc = sim_alloc(sizeof(*depot->proc));
	depot->client_id = rand_id(sim_rand());
	depot->fenced.n = 0;
	config.client_id = depot->client_id;
	config.proc = depot->proc;
	depot->link = line_new(&config);
	keep->depot = depot;
	keep->proc = depot->proc;
	keep->link = depot->link;
	sim_say("provider %u starts as client %" PRIu64, depot->index, depot->client_id);
	fiber_start(depot->proc, provide, keep);
	worker_start(depot);
}

void
depots_init(unsigned n, uint64_t size_bytes, bool share_hosts)
{
	memset(depots, 0, sizeof(depots));
	n_depots = n;
	is_stopping = false;
	for (unsigned i = 0; i < n; i++) {
		struct depot *depot = &depots[i];

		depot->index = i;
		depot->node = i;
		snprintf(depot->host, sizeof(depot->host), "host%u", share_hosts ? 0 : i);
		depot->is_on_disk = sim_chance(3);
		depot->medium = depot->is_on_disk         ? MEDIUM_FILE
				: i == 2 && sim_chance(2) ? MEDIUM_NOF
							  : MEDIUM_DRAM;
		snprintf(depot->name, sizeof(depot->name), "provider%u", i);
		node_clock_init(&depot->clock);
		depot->life = life_new(depot, size_bytes);
		start(depot, false);
	}
}

void
depots_fini(void)
{
	for (unsigned i = 0; i < n_depots; i++) {
		vec_fini(&depots[i].fenced);
		vec_fini(&depots[i].cut_of);
		vec_fini(&depots[i].life->mappers);
		vec_fini(&depots[i].life->readers);
	}
}

static void
end(struct depot *depot)
{
	depot->proc->is_dead = true;
	line_die(depot->link);
	depot->proc = NULL;
	depot->cuts++;
}

void
depot_kill(struct depot *depot, uint64_t down_ns, bool is_wiped)
{
	if (depot->proc == NULL)
		return;
	sim_say("provider %u is killed%s", depot->index, is_wiped ? ", its bytes are lost" : "");
	end(depot);
	sim_at(sim_now() + down_ns, start, depot, is_wiped);
}

void
depots_stop(void)
{
	is_stopping = true;
	for (unsigned i = 0; i < n_depots; i++)
		if (depots[i].proc != NULL)
			end(&depots[i]);
}

/* ---- what others see ---- */

struct depot *
depot_of(uint64_t segment_id)
{
	for (unsigned i = 0; i < n_depots; i++)
		if (depots[i].life->segment_id == segment_id)
			return &depots[i];
	return NULL;
}

bool
depot_allows(const struct depot *depot, const struct token *token, uint32_t rights,
	     uint64_t offset_bytes, uint64_t len_bytes)
{
	uint64_t now_ms = clock_ms(&depot->clock.base);

	if (!token_is_genuine(token, depot->life->secret) ||
	    !token_allows(token, rights, depot->life->segment_id, depot->life->epoch, offset_bytes,
			  len_bytes, now_ms))
		return false;
	for (size_t i = 0; i < depot->fenced.n && (rights & TOKEN_WRITE) != 0; i++)
		if (depot->fenced.at[i].client_id == token->client_id &&
		    token->until_ms <= depot->fenced.at[i].until_ms)
			return false;
	return true;
}

void
depot_map(struct depot *depot, uint64_t client_id, struct proc *proc, bool is_write)
{
	struct mapper mapper = {client_id, proc};
	int r = is_write ? vec_push(&depot->life->mappers, mapper)
			 : vec_push(&depot->life->readers, mapper);

	if (r < 0)
		abort();
}
