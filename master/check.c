/* SPDX-License-Identifier: Apache-2.0 */

/*
 * check.c -- every law that ties the books together, asserted by counting anew.
 *
 *      segment     its runs don't overlap; live + resting = used; its claims are those of puts,
 * ghosts, rests object      in index, map and LRU, or a ghost, or under a put: one of them, and in
 * the right states client      what it counts hangs on it answer      the first that waits has to
 * wait
 *
 * For tests and the simulation: it walks everything.
 */
#include <string.h>

#include "master/books.h"
#include "master/ghost.h"
#include "master/pin.h"
#include "transfer/base/vec.h"

/* A run of bytes of one segment, and whether a claim is held for it. */
struct held {
	struct extent extent;
	bool has_claim;
};

/* What hangs on all segments together. */
struct tally {
	uint64_t resting_bytes, gated_bytes;
	size_t n_gated, n_fences;
};

/* A tenant's ledger, counted anew; nobody's has tenant NULL. */
struct recount {
	const struct tenant *tenant;
	uint64_t charged_bytes, resting_bytes, gated_bytes, moving_bytes;
	uint64_t n_objects, n_with_bytes, bytes, n_puts, n_clients;
};

struct helds {
	VEC(struct held) runs;
};

static uint64_t
rounded(uint64_t bytes)
{
	return (bytes + ALLOC_GRAIN - 1) / ALLOC_GRAIN * ALLOC_GRAIN;
}

static size_t
count(const struct list *list)
{
	size_t n = 0;

	list_each(list, link)
		n++;
	return n;
}

static uint64_t
extents_bytes(const struct replica *rep)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < rep->n_extents; i++)
		bytes += replica_extents(rep)[i].len_bytes;
	return bytes;
}

/* ---- segments ---- */

static void
hold(struct helds *helds, const struct extent *extents, uint32_t n, bool has_claim)
{
	for (uint32_t i = 0; i < n; i++) {
		int r = vec_push(&helds->runs, (struct held){extents[i], has_claim});

		assert(r == 0);
	}
}

static int
compare_helds(const void *a, const void *b)
{
	uint64_t x = ((const struct held *)a)->extent.offset_bytes;
	uint64_t y = ((const struct held *)b)->extent.offset_bytes;

	return (x > y) - (x < y);
}

/* Gives the bytes, rounded. */
static uint64_t
check_no_overlap(const struct segment *segment, struct helds *helds)
{
	uint64_t end = 0, bytes = 0;

	if (helds->runs.n > 0)
		qsort(helds->runs.at, helds->runs.n, sizeof(*helds->runs.at), compare_helds);
	for (size_t i = 0; i < helds->runs.n; i++) {
		struct extent ext = helds->runs.at[i].extent;

		assert(ext.len_bytes > 0 && ext.offset_bytes >= end);
		end = ext.offset_bytes + rounded(ext.len_bytes);
		assert(end <= segment->size_bytes);
		bytes += rounded(ext.len_bytes);
	}
	return bytes;
}

static void
check_claims(const struct segment *segment, const struct helds *helds)
{
	uint32_t *n_claims = calloc(segment->n_chunks, sizeof(*n_claims));
	size_t n_open = 0;

	assert(n_claims != NULL);
	for (size_t i = 0; i < helds->runs.n; i++) {
		struct extent ext = helds->runs.at[i].extent;
		uint64_t last = (ext.offset_bytes + ext.len_bytes - 1) / segment->chunk_bytes;

		for (uint64_t at = ext.offset_bytes / segment->chunk_bytes; at <= last; at++)
			n_claims[at] += helds->runs.at[i].has_claim;
	}
	for (uint32_t i = 0; i < segment->n_chunks; i++) {
		assert(segment->chunks[i].n_claims == n_claims[i]);
		assert(implies(n_claims[i] > 0, segment->chunks[i].is_open));
		n_open += segment->chunks[i].is_open;
	}
	assert(segment->open_chunks.n == n_open);
	for (size_t i = 0; i < n_open; i++)
		assert(segment->chunks[segment->open_chunks.at[i]].is_open);
	free(n_claims);
}

static void
check_replica(const struct segment *segment, const struct replica *rep)
{
	bool is_its_objects = false;

	replica_check(rep);
	assert(rep->segment == segment);
	assert(rep->object->magic == OBJECT_MAGIC);
	object_each_replica(rep->object, other)
		is_its_objects |= other == rep;
	assert(is_its_objects);
}

static void
check_rests(const struct segment *segment, struct helds *helds, struct tally *tally)
{
	uint64_t bytes = 0;

	list_each(&segment->rests, link) {
		const struct rest *rest = list_of(link, struct rest, at_segment);

		assert(rest->segment == segment);
		hold(helds, rest->extents, rest->n_extents, rest->has_claim);
		for (uint32_t i = 0; i < rest->n_extents; i++) {
			bytes += rounded(rest->extents[i].len_bytes);
			if (rest->is_gated)
				tally->gated_bytes += rounded(rest->extents[i].len_bytes);
		}
		tally->n_gated += rest->is_gated;
		assert((rest->heap_at != 0) != list_link_is_on(&rest->at_stage));
		assert(implies(rest->is_gated, rest->heap_at == 0));
	}
	assert(segment->resting_bytes == bytes);
	tally->resting_bytes += bytes;
}

/* Gives the gates' fences. */
static size_t
check_gates(const struct master *master, const struct segment *segment)
{
	size_t n_fences = 0;

	list_each(&segment->gates, link) {
		const struct gate *gate = list_of(link, struct gate, at_segment);

		assert(gate->waits_for_mount || !list_is_empty(&gate->fences));
		list_each(&gate->fences, at) {
			const struct fence *fence = list_of(at, struct fence, at_gate);

			assert(fence->gate == gate && fence->segment == segment);
			assert(map_get(&master->quarantine.fences, fence->id) == fence);
			n_fences++;
		}
		list_each(&gate->rests, at)
			assert(list_of(at, struct rest, at_stage)->is_gated);
	}
	return n_fences;
}

static void
check_segment(const struct master *master, const struct segment *segment, struct tally *tally)
{
	struct helds helds = {0};
	uint64_t bytes;

	assert(segment->magic == SEGMENT_MAGIC);
	assert(map_get(&master->segments, segment->id) == segment);
	assert(segment_is_here(segment) == (segment->client != NULL));
	alloc_check(segment->alloc);
	assert(count(&segment->replicas) == segment->n_replicas);
	list_each(&segment->replicas, link) {
		const struct replica *rep = list_of(link, struct replica, at_segment);

		check_replica(segment, rep);
		hold(&helds, replica_extents(rep), rep->n_extents, !rep->object->is_indexed);
	}
	check_rests(segment, &helds, tally);
	tally->n_fences += check_gates(master, segment);
	bytes = check_no_overlap(segment, &helds);
	/* what leaves with its segment is not given back to it */
	if (segment->state != SEGMENT_LEAVING) {
		assert(bytes == alloc_used_bytes(segment->alloc));
		check_claims(segment, &helds);
	}
	vec_fini(&helds.runs);
}

/* Gives how many are in it. */
static size_t
check_pool(const struct master *master, enum pool_kind kind)
{
	struct pool_part all = pool_all(&master->pools[kind]);

	for (size_t i = 0; i < all.n; i++) {
		assert(segment_is_placeable(all.at[i]) && pool_kind_of(all.at[i]) == kind);
		assert(i == 0 || strcmp(all.at[i - 1]->host, all.at[i]->host) <= 0);
	}
	return all.n;
}

static void
check_segments(const struct master *master)
{
	const struct quarantine *q = &master->quarantine;
	struct tally tally = {0};
	uint64_t size = 0;
	size_t n_ok = 0, n_failing = 0;

	assert(count(&master->all_segments) == master->segments.n);
	assert(counter_get(&master->counters.segments) == master->segments.n);
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		check_segment(master, segment, &tally);
		size += segment_is_here(segment) ? segment->size_bytes : 0;
		n_ok += segment_is_placeable(segment);
		n_failing += segment->is_failing;
	}
	assert(counter_get(&master->counters.segments_failing) == n_failing);
	assert(size == master->size_bytes);
	for (int i = 0; i < POOLS; i++)
		n_ok -= check_pool(master, (enum pool_kind)i);
	assert(n_ok == 0);
	assert(q->resting_bytes == tally.resting_bytes && q->gated_bytes == tally.gated_bytes);
	assert(q->n_gated == tally.n_gated && q->fences.n == tally.n_fences);
	for (size_t i = 1; i < q->heap.n; i++) {
		assert(q->heap.at[i]->heap_at == i);
		assert(i == 1 || q->heap.at[i / 2]->until_ms <= q->heap.at[i]->until_ms);
	}
}

/* ---- tenants ---- */

/* What its copies, whatever they are of, and its rests take up. */
static void
recount_segments(const struct master *master, struct recount *count)
{
	list_each(&master->all_segments, at) {
		const struct segment *segment = list_of(at, struct segment, at_master);

		list_each(&segment->replicas, link) {
			const struct replica *rep = list_of(link, struct replica, at_segment);

			if (rep->object->is_of_move && rep->object->tenant == count->tenant)
				count->moving_bytes += replica_room_bytes(rep);
			if (object_payer(rep->object) == count->tenant)
				count->charged_bytes += replica_room_bytes(rep);
		}
		list_each(&segment->rests, link) {
			const struct rest *rest = list_of(link, struct rest, at_segment);

			if (rest->tenant != count->tenant)
				continue;
			for (uint32_t i = 0; i < rest->n_extents; i++) {
				uint64_t bytes = extent_room_bytes(rest->extents[i]);

				count->charged_bytes += bytes;
				count->resting_bytes += bytes;
				count->gated_bytes += rest->is_gated ? bytes : 0;
			}
		}
	}
}

/* A copy of an object that is there is no further object. */
static bool
counts_for(const struct put *put, const struct tenant *tenant)
{
	return !put->is_copy && put->object->tenant == tenant;
}

static void
recount_rest(const struct master *master, struct recount *count)
{
	uint64_t id;
	void *value;

	for (size_t at = 0; map_next(&master->objects, &at, &id, &value);) {
		const struct object *object = value;

		if (object->tenant != count->tenant)
			continue;
		count->n_objects++;
		count->n_with_bytes += object->len_bytes > 0;
		count->bytes += object->len_bytes;
	}
	list_each(&master->puts, link)
		count->n_puts += counts_for(list_of(link, struct put, at_lease), count->tenant);
	list_each(&master->heard, link)
		count->n_clients += list_of(link, struct client, at_heard)->tenant == count->tenant;
}

/* Each object with bytes is on the list that it should be on, in the order of its uses. */
static void
check_ages(const struct tenant *tenant, uint64_t n_with_bytes)
{
	uint64_t n = 0;

	assert(!tenant->ages.is_batch);
	for (unsigned i = 0; i < AGES_LISTS; i++) {
		uint32_t younger = 0;

		list_each(&tenant->ages.lists[i], link) {
			const struct object *object = list_of(link, struct object, at_lru);
			uint32_t age = tenant->ages.n_uses - object->used_at;

			assert(object->is_indexed && object->tenant == tenant);
			assert((object->pinned_until_s == PIN_HARD) == (i == AGES_HARD));
			assert((object->pinned_until_s == 0) == (i < AGES_SOFT));
			assert(implies(i < AGES_DISK, object->is_again == (i == AGES_AGAIN)));
			assert(implies(i < AGES_SOFT, object->is_on_disk == (i == AGES_DISK)));
			assert(object->is_on_disk == object_lies_on_disks(object));
			assert(age >= younger);
			younger = age;
			n++;
		}
	}
	assert(n == n_with_bytes);
}

static void
check_tenant(const struct master *master, const struct tenant *tenant)
{
	struct recount anew = {.tenant = tenant};

	recount_segments(master, &anew);
	recount_rest(master, &anew);
	assert(tenants_by_id(&master->tenants, tenant->id) == tenant);
	assert(tenant->charged_bytes == anew.charged_bytes);
	assert(tenant->resting_bytes == anew.resting_bytes);
	assert(tenant->gated_bytes == anew.gated_bytes);
	assert(tenant->moving_bytes == anew.moving_bytes);
	assert(tenant->n_objects == anew.n_objects && tenant->bytes == anew.bytes);
	assert(tenant->n_puts == anew.n_puts && tenant->n_clients == anew.n_clients);
	index_check(tenant->index);
	assert(index_count(tenant->index) == tenant->n_objects);
	check_ages(tenant, anew.n_with_bytes);
	assert(tenant->at_grade == tenant_grade_of(tenant_live_bytes(tenant)));
	assert(list_link_is_on(&tenant->grade));
}

/* All together, and what is nobody's, they are charged with what is taken. */
static void
check_tenants(const struct master *master)
{
	const struct tenants *tenants = &master->tenants;
	struct recount nobody = {.tenant = NULL};
	uint64_t charged_bytes = 0, taken_bytes = 0;
	size_t n_objects = 0;

	assert(tenants->by_id.n == tenants->by_name.n);
	assert(counter_get(&master->counters.tenants) == tenants->by_name.n);
	for (size_t i = 0; i < tenants->by_name.n; i++) {
		const struct tenant *tenant = tenants->by_name.at[i];

		assert(i == 0 || strcmp(tenants->by_name.at[i - 1]->name, tenant->name) < 0);
		assert(tenant->id <= tenants->last_id);
		check_tenant(master, tenant);
		charged_bytes += tenant->charged_bytes;
		n_objects += tenant->n_objects;
	}
	assert(n_objects == master->objects.n);

	recount_segments(master, &nobody);
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		list_each(&segment->replicas, at)
			taken_bytes += replica_room_bytes(list_of(at, struct replica, at_segment));
		taken_bytes += segment->resting_bytes;
	}
	assert(charged_bytes + nobody.charged_bytes == taken_bytes);
}

/* ---- objects ---- */

static void
check_copies(const struct object *object, unsigned states, uint64_t len_bytes)
{
	unsigned n = 0;

	object_each_replica(object, rep) {
		assert(rep->object == object);
		assert(states & (1u << rep->state));
		assert(extents_bytes(rep) == len_bytes);
		for (const struct replica *other = rep->next; other != NULL; other = other->next)
			assert(other->segment != rep->segment);
		n++;
	}
	assert(n == object->n_replicas);
}

static void
check_indexed(const struct master *master)
{
	uint64_t id, copies_bytes = 0, n_hard = 0, n_soft = 0;
	void *value;

	for (size_t at = 0; map_next(&master->objects, &at, &id, &value);) {
		const struct object *object = value;

		assert(object->magic == OBJECT_MAGIC && object->id == id);
		assert(object->is_indexed && !object->is_ghost);
		assert(id < master->next_object_id);
		assert(object->batch <= master->batch);
		assert(index_get(object->tenant->index, object->key.bytes, object->key.len_bytes) ==
		       &object->key);
		assert(implies(object->len_bytes > 0, object->n_replicas > 0));
		assert(list_link_is_on(&object->at_lru) == (object->len_bytes > 0));
		check_copies(object, 1u << REPLICA_COMPLETE, object->len_bytes);
		copies_bytes += object->len_bytes * object->n_replicas;
		n_hard += object->pinned_until_s == PIN_HARD;
		n_soft += object->pinned_until_s > 0 && object->pinned_until_s < PIN_HARD;
	}
	assert(counter_get(&master->counters.pins_hard) == n_hard);
	assert(counter_get(&master->counters.pins_soft) == n_soft);
	assert(counter_get(&master->counters.objects) == master->objects.n);
	assert(counter_get(&master->counters.object_bytes) == copies_bytes);
}

static void
check_ghosts(const struct master *master)
{
	size_t n = 0;

	list_each(&master->ghost_list, link) {
		const struct object *object = list_of(link, struct object, at_lru);

		assert(object->magic == OBJECT_MAGIC);
		assert(object->is_ghost && !object->is_indexed && object->replicas != NULL);
		check_copies(object, 1u << REPLICA_REMOVED | 1u << REPLICA_FAILED,
			     object->len_bytes);
		n++;
	}
	assert(ghosts_check(master) == n);
}

static void
check_put(const struct master *master, const struct put *put)
{
	const struct put *same = put->is_copy ? put : map_get(&master->puts_by_key, put->key_hash);
	unsigned states = 1u << REPLICA_PROCESSING;

	while (same != NULL && same != put)
		same = same->next_same_key;
	assert(same == put);
	assert(implies(put->task != NULL, put->is_copy && put->task->put == put));
	if (put->is_copy)
		states |= 1u << REPLICA_INITIALIZED;
	assert(map_get(&master->puts_by_id, put->object->id) == put);
	assert(!put->object->is_indexed && !put->object->is_ghost);
	assert(!list_link_is_on(&put->object->at_lru));
	assert(put->object->id < master->next_object_id);
	assert(implies(put->room_bytes > 0, put->object->n_replicas > 0));
	check_copies(put->object, states, put->room_bytes);
}

static void
check_puts(const struct master *master)
{
	uint64_t last_ms = 0;
	size_t n = 0, n_copies = 0, n_chained = 0;
	uint64_t hash;
	void *value;

	list_each(&master->puts, link) {
		const struct put *put = list_of(link, struct put, at_lease);

		assert(put->lease_until_ms >= last_ms);
		last_ms = put->lease_until_ms;
		check_put(master, put);
		n_copies += put->is_copy;
		n++;
	}
	assert(master->puts_by_id.n == n);
	assert(counter_get(&master->counters.puts_under_way) == n);
	for (size_t at = 0; map_next(&master->puts_by_key, &at, &hash, &value);)
		for (const struct put *put = value; put != NULL; put = put->next_same_key)
			n_chained++;
	assert(n_chained == n - n_copies);
	assert(master->next_object_id <= master->reserved_object_id);
	assert(master->limits.lease_ms <= master->longest_lease_ms);
}

/* ---- clients ---- */

static void
check_client(const struct master *master, const struct client *client)
{
	size_t bytes = 0, held_bytes = 0;
	uint32_t n_empty_puts = 0;

	assert(map_get(&master->clients, client->id) == client);
	assert(client->heard_ms <= master->now_ms);
	assert(implies(client->peer != NULL, client->peer->client == client));
	assert(count(&client->segments) == client->n_segments);
	assert(count(&client->puts) == client->n_puts);
	assert(count(&client->answers) == client->n_answers);
	task_check_offers(client);
	list_each(&client->segments, link)
		assert(list_of(link, struct segment, at_client)->client == client);
	list_each(&client->puts, link) {
		const struct put *put = list_of(link, struct put, at_client);

		assert(put->client == client);
		n_empty_puts += put->is_empty;
	}
	assert(client->n_empty_puts == n_empty_puts);
	list_each(&client->answers, link) {
		const struct answer *answer = list_of(link, struct answer, at_client);

		assert(answer->client == client);
		assert(answer->is_lasting || list_link_is_on(&answer->at_held));
		bytes += buf_len(&answer->frame);
		if (list_link_is_on(&answer->at_held))
			held_bytes += buf_len(&answer->frame);
	}
	assert(client->answer_bytes == bytes && client->held_bytes == held_bytes);
}

static void
check_clients(const struct master *master)
{
	assert(count(&master->heard) == master->clients.n);
	assert(counter_get(&master->counters.clients) == master->clients.n);
	list_each(&master->heard, link)
		check_client(master, list_of(link, struct client, at_heard));
	list_each(&master->peers, link) {
		const struct peer *peer = list_of(link, struct peer, at_master);

		assert(implies(peer->client != NULL, peer->client->peer == peer));
		assert(implies(peer->client == NULL, list_is_empty(&peer->parked)));
		assert(count(&peer->parked) == peer->n_parked && peer->n_parked <= PARKED_MAX);
	}
	list_each(&master->parked, link)
		assert(list_of(link, struct parked, at_master)->peer->client != NULL);
}

/* Those behind the first may have to wait for less, but they keep the order. */
static void
check_held(const struct list *held, uint64_t done)
{
	const struct list_link *first = list_first(held);

	assert(implies(first != NULL, list_of(first, struct answer, at_held)->batch > done));
}

void
master_check(const struct master *master)
{
	assert(master->progress.synced <= master->progress.committed);
	assert(master->progress.committed < master->batch);
	check_segments(master);
	check_tenants(master);
	check_indexed(master);
	check_ghosts(master);
	check_puts(master);
	check_clients(master);
	events_check(&master->events);
	groups_check(&master->groups, &master->objects);
	tasks_check(master);
	check_held(&master->held, master->progress.committed);
	check_held(&master->held_sync, master->progress.synced);
}
