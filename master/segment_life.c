/* SPDX-License-Identifier: Apache-2.0 */

/* segment_life.c -- segments and clients come and go (pictures: segment.h, client.h). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "master/books.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

struct segment *
segment_find(const struct master *master, uint64_t id)
{
	return id == 0 ? NULL : map_get(&master->segments, id);
}

static bool
name_is(const struct segment *segment, struct span name)
{
	return strlen(segment->name) == name.len && memcmp(segment->name, name.at, name.len) == 0;
}

static struct segment *
find_name(const struct master *master, struct span name)
{
	list_each(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		if (segment->state != SEGMENT_LEAVING && name_is(segment, name))
			return segment;
	}
	return NULL;
}

/* Those that new data may go to; a handful of segments changes state a day, so the pools are simply
 * made anew. */
static int
fill_pools(struct master *master)
{
	for (int i = 0; i < POOLS; i++)
		master->pools[i].segments.n = 0;
	master->size_bytes = 0;
	memset(master->pool_bytes, 0, sizeof(master->pool_bytes));
	list_each(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		if (segment_is_here(segment)) {
			master->size_bytes += segment->size_bytes;
			master->pool_bytes[pool_kind_of(segment)] += segment->size_bytes;
		}
		if (segment_is_placeable(segment) &&
		    vec_push(&master->pools[pool_kind_of(segment)].segments, segment) < 0)
			return err_new(-ENOMEM);
	}
	for (int i = 0; i < POOLS; i++)
		pool_sort(&master->pools[i]);
	return 0;
}

static void
set_state(struct master *master, struct segment *segment, enum segment_state state)
{
	if (segment->state == state)
		return;
	segment->state = state;
	if (fill_pools(master) < 0)
		log_event(LOG_ERROR, "segment_no_memory", "segment=%" PRIu64, segment->id);
}

void
segment_set_failing(struct master *master, struct segment *segment, bool is_failing)
{
	if (segment->is_failing == is_failing)
		return;
	segment->is_failing = is_failing;
	if (is_failing)
		counter_add(&master->counters.segments_failing, 1);
	else
		counter_sub(&master->counters.segments_failing, 1);
	if (fill_pools(master) < 0)
		log_event(LOG_ERROR, "segment_no_memory", "segment=%" PRIu64, segment->id);
	master->has_new_room |= !is_failing;
}

static int
journal_segment(struct master *master, const struct segment *segment, uint64_t client_id)
{
	struct record record = {
		.kind = RECORD_SEGMENT_ADD,
		.segment_id = segment->id,
		.segment_epoch = segment->epoch,
		.len_bytes = segment->size_bytes,
		.put_at_ms = clock_wall_ms(master->clock),
		.client_id = client_id,
		.medium = segment->medium,
		.drain = segment->drain,
		.name = segment->name,
		.host = segment->host,
		.endpoint = segment->endpoint,
		.name_len = (uint16_t)strlen(segment->name),
		.host_len = (uint16_t)strlen(segment->host),
		.endpoint_len = (uint16_t)strlen(segment->endpoint),
	};

	return books_journal(master, &record);
}

int
segment_set_drain(struct master *master, struct segment *segment, enum segment_drain drain)
{
	uint8_t before = segment->drain;
	int r;

	if (before == drain)
		return 0;
	if (segment->trusted_epoch != UINT64_MAX)
		return err_new(-EAGAIN); /* its row says that it is not back since a restore */
	segment->drain = (uint8_t)drain;
	r = journal_segment(master, segment, segment->client == NULL ? 0 : segment->client->id);
	if (r < 0) {
		segment->drain = before;
		return err_up(r);
	}
	if (fill_pools(master) < 0)
		log_event(LOG_ERROR, "segment_no_memory", "segment=%" PRIu64, segment->id);
	master->has_new_room |= drain == DRAIN_NONE;
	return 0;
}

static struct segment_words
words_of(const struct rec_segment_lent *lent)
{
	return (struct segment_words){
		.id = lent->segment_id,
		.epoch = lent->segment_epoch,
		.size_bytes = lent->size_bytes,
		.medium = lent->medium,
		.name = lent->name.at,
		.name_len = lent->name.len,
		.host = lent->host.at,
		.host_len = lent->host.len,
		.endpoint = lent->endpoint.at,
		.endpoint_len = lent->endpoint.len,
	};
}

static int
writers_of(const struct rec_segment_lent *lent, uint64_t **ret_ids)
{
	uint64_t *ids = malloc((lent->n_writers + 1) * sizeof(*ids));

	if (ids == NULL)
		return err_new(-ENOMEM);
	for (uint32_t i = 0; i < lent->n_writers; i++)
		ids[i] = lent->writers[i].id;
	*ret_ids = ids;
	return 0;
}

/* The segment is (again) in its provider's hands: what was cut there is proof for who waits at its
 * gates. */
static int
take_over(struct master *master, struct client *client, struct segment *segment,
	  const struct rec_segment_lent *lent)
{
	uint64_t *writers = NULL;
	int r = writers_of(lent, &writers);

	if (r < 0)
		return err_up(r);
	memcpy(segment->secret, lent->secret.bytes, sizeof(segment->secret));
	segment->clock_there_ms = client->clock_there_ms;
	segment->clock_here_ms = client->clock_here_ms;
	if (segment->client != client) {
		segment->client = client;
		list_remove(&segment->at_client);
		list_push_back(&client->segments, &segment->at_client);
		client->n_segments++;
	}
	r = quarantine_mounted(&master->quarantine, segment, writers, lent->n_writers,
			       master->now_ms);
	free(writers);
	segment_set_failing(master, segment, false); /* its channels are new ones */
	set_state(master, segment, SEGMENT_OK);
	master->has_new_room = true;
	event_tell(master, EVENT_segment_mounted, segment->id, "%s with %zu objects", segment->name,
		   segment->n_replicas);
	log_event(LOG_INFO, "segment_mounted",
		  "segment=%" PRIu64 " name=%s size_bytes=%" PRIu64 " replicas=%zu", segment->id,
		  segment->name, segment->size_bytes, segment->n_replicas);
	return err_up(r);
}

/*
 * learn_leases -- of a master that these books never knew, by the memory's word.
 *
 * They are in the books with the mount, so that the next start waits for them, too.
 * gives:   *ret_until_ms: when the last of them is over.
 */
static int
learn_leases(struct master *master, const struct rec_segment_lent *lent, uint64_t *ret_until_ms)
{
	uint64_t lease_ms = num_max(master->longest_lease_ms, (uint64_t)lent->former_lease_ms);
	struct record record = {.kind = RECORD_LONGEST_LEASE, .count = lease_ms};
	int r = 0;

	if (lease_ms > master->longest_lease_ms)
		r = books_journal(master, &record);
	if (r < 0)
		return err_up(r);
	*ret_until_ms = master->now_ms + 2 * lease_ms;
	master->longest_lease_ms = lease_ms;
	if (lease_ms > master->limits.lease_ms)
		master->long_leases_until_ms = num_max(master->long_leases_until_ms, *ret_until_ms);
	return 0;
}

/* was_cleared -- since this master began that memory has been out of everybody's hands, for long
 * enough. */
static bool
was_cleared(struct master *master, const struct rec_segment_lent *lent)
{
	for (size_t i = 0; i < master->cleared.n; i++) {
		const struct cleared *cleared = &master->cleared.at[i];

		if (cleared->segment_id != lent->segment_id ||
		    cleared->segment_epoch != lent->segment_epoch ||
		    cleared->former_epoch != lent->former_epoch)
			continue;
		master->cleared.at[i] = master->cleared.at[--master->cleared.n];
		return true;
	}
	return false;
}

/*
 * Memory that we know nothing of may be known to others: who writes there under grants that were
 * forgotten with it, and who reads there under a lease of another master's books.
 */
static int
mount_new(struct master *master, struct client *client, const struct rec_segment_lent *lent)
{
	bool is_of_before = lent->former_epoch != 0 && lent->former_epoch != master->epoch &&
			    !was_cleared(master, lent);
	uint64_t until_ms = master->now_ms;
	cleanup_with(segment_free_at) struct segment *segment = NULL;
	struct segment_words words = words_of(lent);
	int r = segment_new(&words, &segment);

	if (r < 0)
		return err_up(r);
	for (int i = 0; i < POOLS; i++) {
		r = vec_reserve(&master->pools[i].segments, master->segments.n + 1);
		if (r < 0)
			return err_new(r);
	}
	r = map_put(&master->segments, segment->id, segment);
	if (r < 0)
		return err_new(r);
	r = is_of_before ? learn_leases(master, lent, &until_ms) : 0;
	if (r == 0)
		r = journal_segment(master, segment, client->id);
	if (r < 0) {
		map_take(&master->segments, segment->id);
		return err_up(r);
	}
	list_push_back(&master->all_segments, &segment->at_master);
	counter_add(&master->counters.segments, 1);
	if (lent->n_writers > 0 || is_of_before) {
		r = quarantine_whole(&master->quarantine, segment, until_ms);
		if (r < 0) {
			segment_leave(master, take(&segment));
			return err_up(r);
		}
	}
	return take_over(master, client, take(&segment), lent);
}

static int
mount_again(struct master *master, struct client *client, struct segment *segment,
	    const struct rec_segment_lent *lent)
{
	struct segment_words words = words_of(lent);
	int r = segment_set_words(segment, &words);

	if (r == 0)
		r = fill_pools(master); /* by its host, which may be another one */
	if (r == 0)
		r = journal_segment(master, segment, client->id);
	if (r < 0)
		return err_up(r);
	segment->trusted_epoch = UINT64_MAX;
	if (segment->client != NULL && segment->client != client) {
		segment->client->n_segments--;
		list_remove(&segment->at_client);
		segment->client = NULL;
	}
	return take_over(master, client, segment, lent);
}

/*
 * Books that were put back, or copied by hand, may be older than the bytes: others may lie where
 * they say that an object does.  Only what was lent under no later master is as they say.
 */
static bool
is_as_the_books_say(const struct master *master, const struct segment *segment,
		    const struct rec_segment_lent *lent)
{
	if (segment->trusted_epoch != UINT64_MAX && lent->former_epoch == 0)
		return false; /* it does not tell */
	return lent->former_epoch <= segment->trusted_epoch && lent->former_epoch <= master->epoch;
}

/* Whoever lent it before is not connected now, or it is the asker itself. */
static bool
may_replace(const struct segment *segment, const struct client *client)
{
	return segment->client == NULL || segment->client == client ||
	       segment->client->peer == NULL;
}

/* doubt -- it leaves, and may come back when nobody can be reading what the books don't know of. */
static int
doubt(struct master *master, struct segment *segment, const struct rec_segment_lent *lent)
{
	uint64_t until_ms;
	int r = learn_leases(master, lent, &until_ms);

	if (r < 0)
		return err_up(r);
	log_event(LOG_WARN, "segment_newer_than_books",
		  "segment=%" PRIu64 " name=%s replicas=%zu lent_under=%" PRIu64
		  " trusted=%" PRIu64,
		  segment->id, segment->name, segment->n_replicas, lent->former_epoch,
		  num_min(segment->trusted_epoch, master->epoch));
	event_tell(master, EVENT_segment_doubted, segment->id,
		   "%s with %zu objects, lent under epoch %" PRIu64, segment->name,
		   segment->n_replicas, lent->former_epoch);
	segment->doubted_epoch = lent->former_epoch;
	segment->leave_until_ms = num_max(segment->leave_until_ms, until_ms);
	segment_leave(master, segment);
	return MOUNT_E_LATER;
}

int
segment_mount(struct master *master, struct client *client, const struct rec_segment_lent *lent)
{
	struct segment *same = segment_find(master, lent->segment_id);
	struct segment *namesake = find_name(master, lent->name);

	if (lent->master_epoch != 0 && lent->master_epoch != master->epoch)
		return MOUNT_E_LATER; /* it must not remember another master than the one it has */
	if (same != NULL && same->state == SEGMENT_LEAVING) {
		if (same->epoch != lent->segment_epoch)
			same->is_remade = true; /* other bytes: nobody reads those */
		return MOUNT_E_LATER;
	}
	if (same != NULL && !may_replace(same, client))
		return MOUNT_E_EXISTS;
	if (namesake != NULL && namesake != same && !may_replace(namesake, client))
		return MOUNT_E_EXISTS;

	/* Another memory under the same name, or other contents: what was there is lost. */
	if (namesake != NULL && namesake != same)
		segment_leave(master, namesake);
	if (same != NULL &&
	    (same->epoch != lent->segment_epoch || same->size_bytes != lent->size_bytes)) {
		segment_leave(master, same);
		if (same->epoch != lent->segment_epoch)
			same->is_remade = true;
		return MOUNT_E_LATER;
	}
	if (same != NULL && !is_as_the_books_say(master, same, lent))
		return doubt(master, same, lent);
	if (same == NULL && master->progress.is_full)
		return MOUNT_E_LATER; /* one that is known must come back: its objects would be lost
				       */
	return same != NULL ? err_up(mount_again(master, client, same, lent))
			    : err_up(mount_new(master, client, lent));
}

void
segment_leave(struct master *master, struct segment *segment)
{
	if (segment->state == SEGMENT_LEAVING)
		return;
	log_event(LOG_INFO, "segment_leaving", "segment=%" PRIu64 " name=%s replicas=%zu",
		  segment->id, segment->name, segment->n_replicas);
	event_tell(master, EVENT_segment_leaving, segment->id, "%s with %zu objects", segment->name,
		   segment->n_replicas);
	if (segment->client != NULL) {
		segment->client->n_segments--;
		list_remove(&segment->at_client);
		segment->client = NULL;
	}
	/* those of today are added one by one (sweep.c, quarantine_drop) */
	segment->leave_until_ms = num_max(segment->leave_until_ms, master->leases_of_before_ms);
	segment_set_failing(master, segment, false);
	set_state(master, segment, SEGMENT_LEAVING);
}

void
segment_suspect(struct master *master, struct segment *segment, bool is_suspect)
{
	if (is_suspect && segment->state == SEGMENT_OK)
		set_state(master, segment, SEGMENT_SUSPECT);
	else if (!is_suspect && segment->state == SEGMENT_SUSPECT)
		set_state(master, segment, SEGMENT_OK);
}

void
client_heard(struct master *master, struct client *client)
{
	client->heard_ms = master->now_ms;
	client->stalled_ms = master->stalled_ms;
	list_remove(&client->at_heard);
	list_push_back(&master->heard, &client->at_heard);
	if (client->state == CLIENT_OK)
		return;
	client->state = CLIENT_OK;
	list_each(&client->segments, link)
		segment_suspect(master, list_of(link, struct segment, at_client), false);
}

void
client_suspect(struct master *master, struct client *client)
{
	client->state = CLIENT_SUSPECT;
	list_each(&client->segments, link)
		segment_suspect(master, list_of(link, struct segment, at_client), true);
}

void
client_lost(struct master *master, struct client *client, bool is_quiet)
{
	log_event(is_quiet ? LOG_INFO : LOG_WARN, is_quiet ? "client_left" : "client_lost",
		  "client=%" PRIu64 " name=%s segments=%" PRIu32 " puts=%" PRIu32, client->id,
		  client->name, client->n_segments, client->n_puts);
	event_tell(master, is_quiet ? EVENT_client_left : EVENT_client_lost, client->id, "%s",
		   client->name);
	if (client->peer != NULL)
		peer_detach(client->peer);
	list_each_safe(&client->puts, link) {
		put_fail(master, list_of(link, struct put, at_client), is_quiet);
		counter_add(&master->counters.puts_expired, 1);
	}
	list_each_safe(&client->segments, link)
		segment_leave(master, list_of(link, struct segment, at_client));
	map_take(&master->clients, client->id);
	counter_sub(&master->counters.clients, 1);
	client_free(client);
}
