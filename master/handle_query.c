/* SPDX-License-Identifier: Apache-2.0 */

/* handle_query.c -- query_client, query_put, space, stats: what people ask. */
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/num.h"

/* The ids above `after` of a map, in order; as many as fit an answer. */
static int
compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t *
ids_after(struct master *master, const struct map *map, uint64_t after, uint32_t *ret_n)
{
	uint64_t *ids = arena_alloc(&master->arena, map->n + 1, sizeof(*ids));
	size_t at = 0, n = 0;
	uint64_t id;
	void *value;

	if (ids == NULL)
		return NULL;
	while (map_next(map, &at, &id, &value))
		if (id > after)
			ids[n++] = id;
	qsort(ids, n, sizeof(*ids), compare_ids);
	*ret_n = n > BATCH_MAX ? BATCH_MAX : (uint32_t)n;
	return ids;
}

static uint64_t
silent_ms(const struct master *master, const struct client *client)
{
	uint64_t excused_ms = master->stalled_ms - client->stalled_ms;
	uint64_t len_ms = master->now_ms - client->heard_ms;

	return len_ms - num_min(len_ms, excused_ms);
}

int
handle_query_client(struct peer *peer, const struct msg_query_client *msg, struct buf *out)
{
	struct master *master = peer->master;
	uint32_t n;
	const uint64_t *ids = ids_after(master, &master->clients, msg->after_id, &n);
	int r = ids == NULL ? CODEC_E_NO_MEMORY : codec_put_u32(out, n);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct client *client = map_get(&master->clients, ids[i]);
		struct rec_client_state rec = {
			.client_id = client->id,
			.name = span_of(client->name, strlen(client->name)),
			.host = span_of(client->host, strlen(client->host)),
			.state = (uint8_t)client->state,
			.silent_ms = silent_ms(master, client),
			.n_segments = client->n_segments,
			.n_puts = client->n_puts,
		};

		r = rec_client_state_encode(out, &rec);
	}
	return handle_encoded(r);
}

int
handle_query_put(struct peer *peer, const struct msg_query_put *msg, struct buf *out)
{
	struct master *master = peer->master;
	uint32_t n;
	const uint64_t *ids = ids_after(master, &master->puts_by_id, msg->after_id, &n);
	int r = ids == NULL ? CODEC_E_NO_MEMORY : codec_put_u32(out, n);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct put *put = map_get(&master->puts_by_id, ids[i]);
		uint64_t end = put->lease_until_ms;
		struct rec_put_state rec = {
			.object_id = put->object->id,
			.key = span_of(put->object->key.bytes, put->object->key.len_bytes),
			.client_id = put->client->id,
			.len_bytes = put->room_bytes,
			.age_ms = master->now_ms - put->started_ms,
			.lease_left_ms = end > master->now_ms ? end - master->now_ms : 0,
		};

		r = rec_put_state_encode(out, &rec);
	}
	return handle_encoded(r);
}

int
handle_space(struct peer *peer, const struct msg_space *msg, struct buf *out)
{
	const struct master *master = peer->master;
	const struct tenant *tenant = peer->client->tenant;
	struct rep_space rep = {
		.size_bytes = master->size_bytes,
		.n_objects = master->objects.n,
		.n_clients = (uint32_t)master->clients.n,
		.tenant_bytes = tenant->charged_bytes,
		.tenant_objects = tenant->n_objects + tenant->n_puts,
		.quota_bytes = tenant->quota.bytes,
		.quota_objects = tenant->quota.objects,
	};

	(void)msg;
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (!segment_is_here(segment))
			continue;
		rep.n_segments++;
		rep.used_bytes += segment_used_bytes(segment);
		rep.resting_bytes += segment->resting_bytes;
	}
	return handle_encoded(rep_space_encode(out, &rep));
}

void
handle_fetch_counters(struct master *master)
{
	struct master_counters *counters = &master->counters;
	struct store_counts store;

	store_counts(master->store, &store);
	atomic_store(&counters->store_commits, store.n_commits);
	atomic_store(&counters->store_syncs, store.n_syncs);
	atomic_store(&counters->store_retries, store.n_retries);
	atomic_store(&counters->store_wal_bytes, store.wal_bytes);
	atomic_store(&counters->store_db_bytes, store.db_bytes);
	atomic_store(&counters->resting_bytes, master->quarantine.resting_bytes);
	atomic_store(&counters->index_ram_bytes, tenants_ram_bytes(&master->tenants));
}

int
handle_stats(struct peer *peer, const struct msg_stats *msg, struct buf *out)
{
	struct master *master = peer->master;
	int r = codec_put_u32(out, (uint32_t)n_master_counter_defs);

	(void)msg;
	handle_fetch_counters(master);
	for (size_t i = 0; r == 0 && i < n_master_counter_defs; i++) {
		const struct counter_def *def = &master_counter_defs[i];
		struct rec_count rec = {
			.name = span_of(def->name, strlen(def->name)),
			.value = master_counter(&master->counters, i),
			.is_gauge = def->kind == COUNTER_GAUGE,
		};

		r = rec_count_encode(out, &rec);
	}
	return handle_encoded(r);
}
