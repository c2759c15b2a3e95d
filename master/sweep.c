/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sweep.c -- what time alone brings about, a bounded number of steps a turn.
 *
 *      list                    its front                    what happens
 *      heard                   silent longest               SUSPECT, then lost
 *      strangers               without a client longest     hung up on
 *      puts                    lease ends first             fails; its extents wait for the fence
 *      all_segments, failing   nobody has named it lately   as good as any
 *      all_segments, LEAVING   nothing said yet             void, by one record
 *      all_segments, LEAVING   each replica on it           is lost; then the segment is gone
 *      all_segments, AWAY      away for too long            LEAVING
 *      ghosts                  lease is over                extents rest
 *      quarantine              waited long enough           free; parked puts are tried again
 *      orders.db               was written                  obeyed; the outcome goes into its rows
 *      longest_lease_ms        leases of before are over    this master's own
 *      open chunks             idle                         closed in the books
 *      tallies of events       a second old                 become events; who follows is told
 *      jobs, waiting tasks     looked at longest ago        planned (task_plan.c)
 */
#include <inttypes.h>

#include "master/books.h"
#include "master/failing.h"
#include "master/ghost.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define PUTS_A_TURN      512
#define REPLICAS_A_TURN  64    /* of a lost segment: whoever asks meanwhile waits for these, */
#define REPLICAS_A_STEP  4     /* or for these, in a turn in which somebody has asked already, */
#define LOSE_NS          15000 /* and hardly longer than that */
#define RESTS_A_TURN     128
#define STRANGERS_A_TURN 64
#define CLIENTS_A_TURN   64
#define GHOSTS_A_TURN    256
#define CHUNK_IDLE_MS    60000
#define TURN_MS_HURRIED  0 /* small steps, and between them whoever asks */
#define TURN_MS_BUSY     1
#define TURN_MS_IDLE     50

/* A turn that came late was the master's own fault: it counts as silence for nobody. */
static void
measure_stall(struct master *master)
{
	uint64_t gap_ms = master->now_ms - master->turn_at_ms;

	master->turn_at_ms = master->now_ms;
	if (gap_ms < 500)
		return;
	master->stalled_ms += gap_ms - TURN_MS_IDLE;
	counter_add(&master->counters.stalls, 1);
	counter_add(&master->counters.stall_ms, gap_ms);
}

static void
silent_client(struct master *master, struct client *client, uint64_t silent_ms)
{
	if (silent_ms >= master->limits.client_ttl_ms + master->limits.client_grace_ms) {
		counter_add(&master->counters.clients_lost, 1);
		client_lost(master, client, /* is_quiet= */ false);
		return;
	}
	if (client->state == CLIENT_SUSPECT)
		return;
	log_event(LOG_WARN, "client_silent", "client=%" PRIu64 " name=%s silent_ms=%" PRIu64,
		  client->id, client->name, silent_ms);
	event_tell(master, EVENT_client_silent, client->id, "%s", client->name);
	client_suspect(master, client);
}

/* From the front of the list, those who have been silent for longest, as far as it is too long. */
static void
sweep_clients(struct master *master)
{
	unsigned n = 0;

	list_each_safe(&master->heard, link) {
		struct client *client = list_of(link, struct client, at_heard);
		uint64_t excused_ms = master->stalled_ms - client->stalled_ms;
		uint64_t silent_ms = master->now_ms - client->heard_ms;

		silent_ms -= num_min(silent_ms, excused_ms);
		if (silent_ms < master->limits.client_ttl_ms || n++ == CLIENTS_A_TURN)
			return;
		silent_client(master, client, silent_ms);
	}
}

/* A connection that never says who it is, or whose client is lost, is not kept for ever. */
static void
sweep_strangers(struct master *master)
{
	uint64_t patience_ms = master->limits.client_ttl_ms + master->limits.client_grace_ms;

	for (unsigned n = 0; n < STRANGERS_A_TURN; n++) {
		struct list_link *link = list_first(&master->strangers);
		struct peer *peer;

		if (link == NULL)
			return;
		peer = list_of(link, struct peer, at_strangers);
		if (master->now_ms < peer->strange_since_ms + patience_ms)
			return;
		list_remove(link);
		peer_break(peer);
	}
}

static void
sweep_puts(struct master *master)
{
	for (unsigned n = 0; n < PUTS_A_TURN; n++) {
		struct list_link *link = list_first(&master->puts);
		struct put *put;

		if (link == NULL)
			return;
		put = list_of(link, struct put, at_lease);
		if (put->lease_until_ms > master->now_ms)
			return;
		log_event(LOG_WARN, "put_expired", "object=%" PRIu64 " client=%" PRIu64,
			  put->object->id, put->client->id);
		put_fail(master, put, /* is_quiet= */ false);
		counter_add(&master->counters.puts_expired, 1);
	}
}

/* ---- segments ---- */

static void
lose(struct master *master, struct replica *rep)
{
	struct object *object = rep->object;

	if (object->is_indexed)
		books_void(master, rep);
	else if (object->is_ghost)
		ghost_drop(master, rep);
	else
		put_lose_replica(master, map_get(&master->puts_by_id, object->id), rep);
}

static void
forget_segment(struct master *master, struct segment *segment)
{
	struct record record = {.kind = RECORD_SEGMENT_REMOVE, .segment_id = segment->id};

	if (books_journal(master, &record) < 0)
		return; /* next turn */
	log_event(LOG_INFO, "segment_gone", "segment=%" PRIu64 " name=%s", segment->id,
		  segment->name);
	event_tell(master, EVENT_segment_gone, segment->id, "%s", segment->name);
	if (segment->doubted_epoch != 0 && !segment->is_remade && master->cleared.n < CLEARED_MAX)
		(void)vec_push(&master->cleared,
			       ((struct cleared){segment->id, segment->epoch,
						 segment->doubted_epoch})); /* else it rests */
	map_take(&master->segments, segment->id);
	counter_sub(&master->counters.segments, 1);
	segment_free(segment);
}

/* The books give up all that lies there, by one record.  Gives whether that is committed. */
static bool
is_given_up(struct master *master, struct segment *segment)
{
	struct record record = {.kind = RECORD_SEGMENT_GONE, .segment_id = segment->id};

	if (!segment_is_void(segment) && books_journal(master, &record) == 0)
		segment->gone_batch = master->batch;
	return segment_is_void(segment) && segment->gone_batch <= master->progress.committed;
}

/* A step, and more of them while nobody asks for anything and it takes no longer than that. */
static void
lose_some(struct master *master, struct segment *segment)
{
	unsigned most = master->lap_ns == 0 ? REPLICAS_A_TURN : REPLICAS_A_STEP;
	uint64_t end_ns = clock_ns(master->clock) + LOSE_NS;

	for (unsigned n = 1; n <= most && segment->n_replicas > 0; n++) {
		struct replica *rep =
			list_of(list_first(&segment->replicas), struct replica, at_segment);

		/* until just now it could be promised, or a promise be renewed */
		segment->leave_until_ms =
			num_max(segment->leave_until_ms, rep->object->lease_until_ms);
		lose(master, rep);
		if (n % REPLICAS_A_STEP == 0 && clock_ns(master->clock) >= end_ns)
			return;
	}
}

/* How long its provider could have come back: not while the start went on, or the loop stood still.
 */
static uint64_t
away_ms(const struct master *master, const struct segment *segment)
{
	uint64_t since_ms = master->now_ms - segment->away_since_ms;

	return since_ms - num_min(since_ms, master->stalled_ms - segment->away_stalled_ms);
}

/* How soon it wants the next turn. */
static uint64_t
sweep_segment(struct master *master, struct segment *segment)
{
	if (segment->state == SEGMENT_AWAY && master->progress.is_stalled) {
		segment->away_since_ms = master->now_ms; /* nobody can be mounted now */
		segment->away_stalled_ms = master->stalled_ms;
	}
	if (segment->state == SEGMENT_AWAY &&
	    away_ms(master, segment) >=
		    master->limits.client_ttl_ms + master->limits.client_grace_ms) {
		log_event(LOG_WARN, "segment_lost", "segment=%" PRIu64 " name=%s", segment->id,
			  segment->name);
		event_tell(master, EVENT_segment_lost, segment->id, "%s", segment->name);
		segment_leave(master, segment);
	}
	if (segment->state != SEGMENT_LEAVING || master->progress.is_stalled)
		return TURN_MS_IDLE;
	if (!is_given_up(master, segment))
		return TURN_MS_BUSY;
	lose_some(master, segment);
	if (segment->n_replicas > 0 || !quarantine_drop(&master->quarantine, segment, RESTS_A_TURN))
		return TURN_MS_HURRIED;
	if (!segment->is_remade && master->now_ms < segment->leave_until_ms)
		return TURN_MS_IDLE;
	if (master->progress.is_clearing)
		return TURN_MS_IDLE; /* its rows are to go before the id can come back */
	forget_segment(master, segment);
	return TURN_MS_IDLE;
}

/* A chunk that has been without claims for a while need not rest after a restart. */
static void
close_chunks(struct master *master, struct segment *segment)
{
	for (size_t i = 0; i < segment->open_chunks.n;) {
		uint32_t number = segment->open_chunks.at[i];
		struct chunk *chunk = &segment->chunks[number];
		struct record record = {
			.kind = RECORD_CHUNK_CLOSE, .segment_id = segment->id, .chunk = number};

		if (chunk->n_claims > 0 || master->now_ms - chunk->idle_since_ms < CHUNK_IDLE_MS ||
		    books_journal(master, &record) < 0) {
			i++;
			continue;
		}
		chunk->is_open = false;
		segment->open_chunks.at[i] = segment->open_chunks.at[--segment->open_chunks.n];
	}
}

static uint64_t
sweep_segments(struct master *master)
{
	uint64_t wait_ms = TURN_MS_IDLE, here_ms;

	list_each_safe(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		if (segment_is_here(segment) && !master->progress.is_stalled)
			close_chunks(master, segment);
		failing_sweep(master, segment);
		here_ms = sweep_segment(master, segment);
		wait_ms = num_min(wait_ms, here_ms);
	}
	return wait_ms;
}

/* forget_long_leases -- once those of before are over, the next start need not wait for their like.
 */
static void
forget_long_leases(struct master *master)
{
	struct record record = {.kind = RECORD_LONGEST_LEASE, .count = master->limits.lease_ms};

	if (master->longest_lease_ms == master->limits.lease_ms ||
	    master->now_ms < master->leases_of_before_ms ||
	    master->now_ms < master->long_leases_until_ms || books_journal(master, &record) < 0)
		return;
	master->longest_lease_ms = master->limits.lease_ms;
}

uint64_t
sweep(struct master *master)
{
	uint64_t freed_bytes, wait_ms;

	if (master->now_ms == master->turn_at_ms && master->sweep_wait_ms == TURN_MS_IDLE)
		return TURN_MS_IDLE; /* a busy loop turns many times a millisecond: once is enough
				      */
	measure_stall(master);
	orders_obey(master);
	sweep_clients(master);
	sweep_strangers(master);
	sweep_puts(master);
	forget_long_leases(master);
	wait_ms = sweep_segments(master);
	ghost_sweep(master, GHOSTS_A_TURN);
	evict_to_mark(master);
	freed_bytes = quarantine_turn(&master->quarantine, master->now_ms, master->progress.synced,
				      RESTS_A_TURN);
	tasks_sweep(master);
	unpark(master, freed_bytes > 0 || master->has_new_room);
	master->has_new_room = false;
	unpark_followers(master, events_sweep(master));
	if (freed_bytes > 0) /* more may rest no longer */
		wait_ms = TURN_MS_HURRIED;
	if (evict_is_busy(master) || !list_is_empty(&master->parked))
		wait_ms = num_min(wait_ms, TURN_MS_BUSY);
	master->sweep_wait_ms = wait_ms;
	return wait_ms;
}
