/* SPDX-License-Identifier: Apache-2.0 */
#include "master/master.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "master/ghost.h"
#include "master/load.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"

/* ---- chunks are opened in the books before anybody relies on it (segment.h) ---- */

static int
open_chunk(void *arg, struct segment *segment, uint32_t chunk, uint64_t *ret_batch)
{
	struct master *master = arg;
	struct record record = {
		.kind = RECORD_CHUNK_OPEN, .segment_id = segment->id, .chunk = chunk};
	int r = books_journal(master, &record);

	if (r < 0)
		return err_up(r);
	master->journal.wants_sync = true;
	*ret_batch = master->batch;
	return 0;
}

/* ---- the whole ---- */

static void
init_lists(struct master *master)
{
	map_init(&master->objects);
	map_init(&master->ghosts);
	groups_init(&master->groups);
	map_init(&master->puts_by_id);
	map_init(&master->puts_by_key);
	map_init(&master->segments);
	map_init(&master->clients);
	list_init(&master->ghost_list);
	list_init(&master->puts);
	list_init(&master->heard);
	list_init(&master->all_segments);
	list_init(&master->held);
	list_init(&master->held_sync);
	list_init(&master->peers);
	list_init(&master->strangers);
	list_init(&master->dirty);
	list_init(&master->watches);
	changes_init(&master->changes);
	list_init(&master->parked);
	tenants_init(&master->tenants);
	list_init(&master->followers);
	events_init(&master->events);
	gone_init(&master->gone);
	tasks_init(&master->tasks);
	journal_init(&master->journal);
	arena_init(&master->arena);
}

int
master_new(const struct master_config *config, struct store **store_taken,
	   struct master **ret_master, char *why, size_t why_cap)
{
	cleanup_with(master_free_at) struct master *master = calloc(1, sizeof(*master));
	int r;

	snprintf(why, why_cap, "out of memory");
	if (master == NULL)
		return err_new(-ENOMEM);
	master->clock = config->clock;
	master->rand = config->rand;
	master->key = config->key;
	master->limits = master->configured = config->limits;
	master->now_ms = clock_ms(config->clock);
	master->turn_at_ms = master->now_ms;
	master->epoch = store_epoch(*store_taken);
	master->cluster_id = store_cluster_id(*store_taken);
	master->next_object_id = store_next_object_id(*store_taken);
	master->reserved_object_id = master->next_object_id;
	master->longest_lease_ms = store_longest_lease_ms(*store_taken);
	assert(master->limits.lease_ms <= master->longest_lease_ms);
	master->hash_seed = rand_u64(config->rand);
	master->batch = 1;
	init_lists(master);
	if (config->warm != NULL)
		tenants_warm(&master->tenants, config->warm);

	r = quarantine_init(&master->quarantine,
			    &(struct chunk_opener){.open = open_chunk, .arg = master});
	master->quarantine.last_fence_id = master->epoch
					   << 32; /* no answer to a former master's order fits */
	master->scratch = malloc(EXTENTS_MAX * sizeof(*master->scratch));
	if (r < 0 || master->scratch == NULL)
		return err_new(-ENOMEM);

	master->store = *store_taken; /* borrowed until everything has gone well */
	r = books_load(master, why, why_cap);
	if (r < 0) {
		master->store = NULL;
		return err_up(r);
	}
	*store_taken = NULL;
	log_event(LOG_INFO, "master_loaded",
		  "epoch=%" PRIu64 " objects=%zu segments=%zu tenants=%zu", master->epoch,
		  master->objects.n, master->segments.n, master->tenants.by_name.n);
	if (store_was_put_back(master->store))
		event_tell(master, EVENT_books_put_back, 0, "a backup");
	event_tell(master, EVENT_master_started, 0, "epoch %" PRIu64 ", %zu objects, %zu segments",
		   master->epoch, master->objects.n, master->segments.n);
	*ret_master = take(&master);
	return 0;
}

static void
free_object(struct object *object)
{
	while (object->replicas != NULL) {
		if (object->replicas->state == REPLICA_COMPLETE)
			replica_move(object->replicas, REPLICA_REMOVED);
		object_drop_replica(object, object->replicas);
	}
	object->is_indexed = false;
	object_free(object);
}

static void
free_objects(struct master *master)
{
	uint64_t id;
	void *value;

	for (size_t at = 0; map_next(&master->objects, &at, &id, &value);)
		free_object(value);
	map_fini(&master->objects);
	while (!list_is_empty(&master->ghost_list))
		free_object(list_of(list_first(&master->ghost_list), struct object, at_lru));
	ghosts_free(master);
}

/* We end, not the client: nothing of it is lost, and the books say nothing of its puts. */
static void
forget_client(struct master *master, struct client *client)
{
	list_each_safe(&client->puts, link)
		put_fail(master, list_of(link, struct put, at_client), /* is_quiet= */ true);
	list_each_safe(&client->segments, link)
		list_remove(link);
	map_take(&master->clients, client->id);
	client_free(client);
}

void
master_free(struct master *master)
{
	if (master == NULL)
		return;

	list_each_safe(&master->peers, link)
		master_peer_free(list_of(link, struct peer, at_master));
	while (list_first(&master->heard) != NULL)
		forget_client(master, list_of(list_first(&master->heard), struct client, at_heard));
	puts_free(master);
	tasks_fini(&master->tasks);
	free_objects(master);
	list_each_safe(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		while (!quarantine_drop(&master->quarantine, segment, UINT32_MAX))
			;
		segment_free(segment);
	}
	changes_fini(&master->changes);
	vec_fini(&master->cleared);
	for (int i = 0; i < POOLS; i++)
		vec_fini(&master->pools[i].segments);
	offload_fini(&master->offload);
	quarantine_fini(&master->quarantine);
	map_fini(&master->puts_by_id);
	map_fini(&master->puts_by_key);
	map_fini(&master->segments);
	map_fini(&master->clients);
	groups_fini(&master->groups);
	tenants_fini(&master->tenants);
	events_fini(&master->events);
	vec_fini(&master->fates);
	vec_fini(&master->order_drains);
	gone_fini(&master->gone);
	journal_fini(&master->journal);
	arena_fini(&master->arena);
	store_close(master->store);
	free(master->scratch);
	free(master);
}

int
master_peer_new(struct master *master, bool is_trusted, struct peer **ret_peer)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return err_new(-ENOMEM);
	peer->master = master;
	peer->is_trusted = is_trusted;
	peer->uid = PEER_BY_KEY;
	buf_init(&peer->out);
	list_init(&peer->watches);
	list_init(&peer->parked);
	list_link_init(&peer->at_master);
	list_link_init(&peer->at_dirty);
	list_link_init(&peer->at_strangers);
	list_push_back(&master->peers, &peer->at_master);
	peer->strange_since_ms = clock_ms(master->clock);
	list_push_back(&master->strangers, &peer->at_strangers);
	*ret_peer = peer;
	return 0;
}

void
peer_detach(struct peer *peer)
{
	list_each_safe(&peer->watches, link)
		watch_free(list_of(link, struct watch, at_peer));
	list_each_safe(&peer->parked, link)
		parked_free(list_of(link, struct parked, at_peer));
	if (peer->client == NULL)
		return;
	peer->client->peer = NULL;
	peer->client = NULL;
	peer->strange_since_ms = peer->master->now_ms;
	list_push_back(&peer->master->strangers, &peer->at_strangers);
}

void
peer_break(struct peer *peer)
{
	peer->is_broken = true;
	if (!list_link_is_on(&peer->at_dirty))
		list_push_back(&peer->master->dirty, &peer->at_dirty);
}

void
master_peer_free(struct peer *peer)
{
	if (peer->client != NULL) /* it did not leave: it may be dead */
		client_suspect(peer->master, peer->client);
	peer_detach(peer);
	list_remove(&peer->at_master);
	list_remove(&peer->at_dirty);
	list_remove(&peer->at_strangers);
	buf_fini(&peer->out);
	free(peer);
}

static void
submit(struct master *master)
{
	uint64_t batch;

	if (master->journal.n_records == 0)
		return;
	if (master->limits.durable_power)
		master->journal.wants_sync = true;
	if (store_submit(master->store, &master->journal, &batch) < 0)
		return; /* no memory: it stays ours, and is handed over next turn */
	assert(batch == master->batch);
	master->batch++;
}

uint64_t
master_turn(struct master *master)
{
	uint64_t wait_ms;

	master->now_ms = clock_ms(master->clock);
	master->work = 0;
	store_progress(master->store, &master->progress);
	wait_ms = sweep(master);
	submit(master);
	store_progress(master->store, &master->progress);
	gone_settle(&master->gone, master->progress.committed);
	dispatch_release(master);
	if (watch_tell(master))
		wait_ms = 0;
	if (master->lap_ns != 0) {
		hist_add(&master->turns, clock_ns(master->clock) - master->turn_began_ns);
		master->lap_ns = 0;
	}
	return wait_ms;
}
