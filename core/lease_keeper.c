/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lease_keeper.h"

#include <string.h>

#include "core/ask.h"
#include "transfer/base/num.h"

#define RENEW_MAX 64 /* leases of one request; more wait for the next round of the loop */

void
lease_keeper_init(struct lease_keeper *keeper, const struct clock *clock)
{
	*keeper = (struct lease_keeper){.clock = clock, .next_serial = 1};
	lock_init(&keeper->lock, LOCK_core_leases);
	list_init(&keeper->kept);
}

void
lease_keeper_fini(struct lease_keeper *keeper)
{
	assert(list_is_empty(&keeper->kept));
	lock_fini(&keeper->lock);
}

/* mix -- one more number into a hash (the finisher of splitmix64).  The first goes into a hash of
 * none, 0, too: numbers as they are have equal sums, as those of segment 101 in epoch 8 and 100 in
 * epoch 9. */
static uint64_t
mix(uint64_t so_far, uint64_t v)
{
	so_far += 0x9e3779b97f4a7c15ull + v;
	so_far = (so_far ^ (so_far >> 30)) * 0xbf58476d1ce4e5b9ull;
	so_far = (so_far ^ (so_far >> 27)) * 0x94d049bb133111ebull;
	return so_far ^ (so_far >> 31);
}

uint64_t
lease_shape(const struct rec_object_place *place)
{
	uint64_t shape = mix(0, place->len_bytes);

	for (uint32_t i = 0; i < place->n_replicas; i++) {
		const struct rec_replica *replica = &place->replicas[i];
		uint64_t one = mix(mix(0, replica->segment_id), replica->segment_epoch);

		for (uint32_t j = 0; j < replica->n_extents; j++)
			one = mix(mix(one, replica->extents[j].offset_bytes),
				  replica->extents[j].len_bytes);
		shape += one; /* the master may tell them in another order */
	}
	return shape;
}

static uint64_t
end_of(uint64_t asked_ns, uint32_t lease_ms)
{
	return num_add_sat(asked_ns, lease_ms * NS_PER_MS);
}

static void
add(struct lease_keeper *keeper, struct kept *kept, uint64_t until_ns)
{
	list_link_init(&kept->at);
	atomic_init(&kept->until_ns, until_ns);
	atomic_init(&kept->is_lost, false);

	lock_take(&keeper->lock);
	kept->serial = keeper->next_serial++;
	list_push_back(&keeper->kept, &kept->at);
	lock_drop(&keeper->lock);
}

void
lease_keeper_add_version(struct lease_keeper *keeper, struct kept *kept, const char *key,
			 const struct rec_object_place *place, const struct ask *ask)
{
	*kept = (struct kept){.key = key,
			      .object_id = place->object_id,
			      .lease_id = place->lease_id,
			      .lease_ms = place->lease_ms,
			      .cluster_id = ask->reply.cluster_id};
	add(keeper, kept, end_of(ask->asked_ns, place->lease_ms));
}

void
lease_keeper_add(struct lease_keeper *keeper, struct kept *kept, const char *key,
		 const struct rec_object_place *place, const struct ask *ask)
{
	*kept = (struct kept){.key = key,
			      .object_id = place->object_id,
			      .lease_id = place->lease_id,
			      .lease_ms = place->lease_ms,
			      .cluster_id = ask->reply.cluster_id,
			      .shape = lease_shape(place)};
	add(keeper, kept, end_of(ask->asked_ns, place->lease_ms));
}

void
lease_keeper_remove(struct tiffin_client *client, struct kept *kept)
{
	struct lease_keeper *keeper = &client->lease_keeper;

	lock_take(&keeper->lock);
	list_remove(&kept->at);
	lock_drop(&keeper->lock);
	if (!atomic_load(&kept->is_lost))
		lease_keeper_release(client, kept->object_id, kept->lease_id);
}

bool
kept_holds(const struct kept *kept, const struct clock *clock)
{
	return !atomic_load(&kept->is_lost) && clock_ns(clock) < atomic_load(&kept->until_ns);
}

/* ---- releases -------------------------------------------------------------------- */

static void
post_releases(struct tiffin_client *client, struct rec_lease *leases, size_t n)
{
	struct msg_release_lease msg = {.n_leases = (uint32_t)n, .leases = leases};
	cleanup_with(ask_fini) struct ask ask;

	ask_init(&ask, client);
	ask_post(&ask, MSG_release_lease, msg_release_lease_encode(&ask.payload, &msg));
}

void
lease_keeper_flush(struct tiffin_client *client)
{
	struct lease_keeper *keeper = &client->lease_keeper;
	struct rec_lease leases[RELEASES_MAX];
	size_t n;

	lock_take(&keeper->lock);
	n = keeper->n_releases;
	memcpy(leases, keeper->releases, n * sizeof(leases[0]));
	keeper->n_releases = 0;
	lock_drop(&keeper->lock);

	if (n > 0)
		post_releases(client, leases, n);
}

void
lease_keeper_release(struct tiffin_client *client, uint64_t object_id, uint32_t lease_id)
{
	struct lease_keeper *keeper = &client->lease_keeper;
	bool is_full;

	lock_take(&keeper->lock);
	is_full = keeper->n_releases == RELEASES_MAX;
	if (!is_full)
		keeper->releases[keeper->n_releases++] = (struct rec_lease){object_id, lease_id};
	lock_drop(&keeper->lock);

	if (is_full) {
		struct rec_lease one = {object_id, lease_id};

		lease_keeper_flush(client);
		post_releases(client, &one, 1);
	}
}

/* ---- renewal ----------------------------------------------------------------------- */

/* What is needed of a kept lease while the lock is not held. */
struct due {
	uint64_t serial, object_id, cluster_id, shape;
	uint32_t lease_id;
	char key[TIFFIN_KEY_MAX + 1];
};

/* find -- the kept lease of that serial, or NULL when it was removed meanwhile. */
static struct kept *
find(struct lease_keeper *keeper, uint64_t serial)
{
	assert(lock_held(&keeper->lock));
	list_each(&keeper->kept, at) {
		struct kept *kept = list_of(at, struct kept, at);

		if (kept->serial == serial)
			return kept;
	}
	return NULL;
}

static bool
is_due(const struct kept *kept, uint64_t now_ns)
{
	uint64_t half_ns = kept->lease_ms * NS_PER_MS / 2;

	return !atomic_load(&kept->is_lost) &&
	       num_add_sat(now_ns, half_ns) >= atomic_load(&kept->until_ns);
}

/* take_due -- those with a serial above *after, in order; at most RENEW_MAX. */
static size_t
take_due(struct lease_keeper *keeper, uint64_t *after, struct due *ret_due)
{
	uint64_t now = clock_ns(keeper->clock);
	size_t n = 0;

	lock_take(&keeper->lock);
	list_each(&keeper->kept, at) {
		struct kept *kept = list_of(at, struct kept, at);

		if (n == RENEW_MAX || kept->serial <= *after || !is_due(kept, now))
			continue;
		ret_due[n] = (struct due){.serial = kept->serial,
					  .object_id = kept->object_id,
					  .cluster_id = kept->cluster_id,
					  .shape = kept->shape,
					  .lease_id = kept->lease_id};
		strncpy(ret_due[n].key, kept->key, TIFFIN_KEY_MAX);
		n++;
	}
	lock_drop(&keeper->lock);
	if (n > 0)
		*after = ret_due[n - 1].serial;
	return n;
}

/* prolong -- the promise was renewed, perhaps under a new lease id. */
static void
prolong(struct kept *kept, uint32_t lease_id, uint32_t lease_ms, uint64_t asked_ns)
{
	kept->lease_id = lease_id;
	kept->lease_ms = lease_ms;
	if (end_of(asked_ns, lease_ms) > atomic_load(&kept->until_ns))
		atomic_store(&kept->until_ns, end_of(asked_ns, lease_ms));
}

/* prolong_all -- those of the answer that are fine.  Both lists are in the order of serials. */
static void
prolong_all(struct lease_keeper *keeper, const struct due *due, const struct rep_renew_lease *rep,
	    uint64_t asked_ns)
{
	uint32_t i = 0;

	lock_take(&keeper->lock);
	list_each(&keeper->kept, at) {
		struct kept *kept = list_of(at, struct kept, at);

		while (i < rep->n_fates && due[i].serial < kept->serial)
			i++;
		if (i == rep->n_fates)
			break;
		if (due[i].serial == kept->serial && rep->fates[i].status == STATUS_OK)
			prolong(kept, due[i].lease_id, rep->fates[i].lease_ms, asked_ns);
	}
	lock_drop(&keeper->lock);
}

/* go_on -- the object was looked up and found unchanged. */
static void
go_on(struct lease_keeper *keeper, const struct due *due, const struct rec_object_place *now,
      uint64_t asked_ns)
{
	struct kept *kept;

	lock_take(&keeper->lock);
	kept = find(keeper, due->serial);
	if (kept != NULL)
		prolong(kept, now->lease_id, now->lease_ms, asked_ns);
	lock_drop(&keeper->lock);
}

static void
lose(struct lease_keeper *keeper, const struct due *due)
{
	struct kept *kept;

	lock_take(&keeper->lock);
	kept = find(keeper, due->serial);
	if (kept != NULL)
		atomic_store(&kept->is_lost, true);
	lock_drop(&keeper->lock);
}

/* is_same -- that version, at the places by which it is read. */
static bool
is_same(const struct due *due, const struct ask *ask, const struct rec_object_place *place)
{
	return ask->reply.cluster_id == due->cluster_id && place->status == STATUS_OK &&
	       place->object_id == due->object_id &&
	       (due->shape == 0 || lease_shape(place) == due->shape);
}

/* look_again -- the lease is not known any more: is the object still the same? */
static void
look_again(struct tiffin_client *client, const struct due *due, uint64_t until_ns)
{
	struct rec_key_only key = {span_of(due->key, strlen(due->key))};
	struct msg_get_replica_list msg = {.n_keys = 1, .keys = &key};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_get_replica_list rep;
	const struct rec_object_place *place;

	ask_init(&ask, client);
	if (ask_call(&ask, MSG_get_replica_list, msg_get_replica_list_encode(&ask.payload, &msg),
		     until_ns) != 0)
		return; /* still due: the next tick tries again */
	if (rep_get_replica_list_decode(ask.reply.payload, ask.reply.arena, &rep) != 0 ||
	    rep.n_objects != 1)
		return;

	place = &rep.objects[0];
	if (place->status == STATUS_NOT_COMPLETE || place->status == STATUS_UNAVAILABLE)
		return; /* its provider is away, or the master is starting: not decided yet */
	if (is_same(due, &ask, place)) {
		go_on(&client->lease_keeper, due, place, ask.asked_ns);
		return;
	}
	lose(&client->lease_keeper, due);
	if (place->status == STATUS_OK)
		lease_keeper_release(client, place->object_id, place->lease_id);
}

/* renew_some -- one request for these.  false: the master did not answer. */
static bool
renew_some(struct tiffin_client *client, const struct due *due, size_t n, uint64_t until_ns)
{
	struct rec_lease leases[RENEW_MAX];
	struct msg_renew_lease msg = {.n_leases = (uint32_t)n, .leases = leases};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_renew_lease rep;

	for (size_t i = 0; i < n; i++)
		leases[i] = (struct rec_lease){due[i].object_id, due[i].lease_id};
	ask_init(&ask, client);
	if (ask_call(&ask, MSG_renew_lease, msg_renew_lease_encode(&ask.payload, &msg), until_ns) !=
	    0)
		return false;
	if (rep_renew_lease_decode(ask.reply.payload, ask.reply.arena, &rep) != 0 ||
	    rep.n_fates != n)
		return false;

	prolong_all(&client->lease_keeper, due, &rep, ask.asked_ns);
	for (size_t i = 0; i < n; i++)
		if (rep.fates[i].status != STATUS_OK)
			look_again(client, &due[i], until_ns);
	return true;
}

/* turn_take -- one thread renews at a time. */
static bool
turn_take(struct lease_keeper *keeper)
{
	bool is_mine;

	lock_take(&keeper->lock);
	is_mine = !keeper->is_renewing && !list_is_empty(&keeper->kept);
	if (is_mine)
		keeper->is_renewing = true;
	lock_drop(&keeper->lock);
	return is_mine;
}

static void
turn_drop(struct lease_keeper *keeper)
{
	lock_take(&keeper->lock);
	keeper->is_renewing = false;
	lock_drop(&keeper->lock);
}

void
lease_keeper_renew(struct tiffin_client *client)
{
	struct lease_keeper *keeper = &client->lease_keeper;
	uint64_t until = client_tick_until(client);
	uint64_t after = 0;
	struct due *due;
	size_t n;

	if (!turn_take(keeper))
		return;
	due = malloc(RENEW_MAX * sizeof(*due)); /* none: the next tick tries again */
	while (due != NULL) {
		n = take_due(keeper, &after, due);
		if (n == 0 || !renew_some(client, due, n, until))
			break;
	}
	free(due);
	turn_drop(keeper);
}
