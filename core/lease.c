/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lease.c -- leases on objects that nobody reads here: they are kept, so that the objects stay.
 *
 * Each is a lease like a view's: the lease keeper renews it, and wins it back after a restart of
 * the master when the object is still the same.
 */
#include <string.h>

#include "core/ask.h"
#include "core/lease_keeper.h"
#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/num.h"

#define LEASE_MAGIC 0x746c6561u
#define ASKED_MAX   256 /* objects of one request */

struct held {
	struct kept kept;
	char *key; /* NULL: there is no lease */
};

struct tiffin_lease {
	unsigned magic;
	struct tiffin_client *client;
	size_t n;
	struct held held[];
};

static void
lease_free(struct tiffin_lease *lease)
{
	for (size_t i = 0; i < lease->n; i++) {
		if (lease->held[i].key == NULL)
			continue;
		lease_keeper_remove(lease->client, &lease->held[i].kept);
		free(lease->held[i].key);
	}
	lease->magic = 0;
	free(lease);
}

/* keep -- the master has granted one.  0 or TIFFIN_E_*. */
static int
keep(struct tiffin_lease *lease, struct held *held, const char *key,
     const struct rec_object_place *place, const struct ask *ask)
{
	char shown[128];

	if (place->status != STATUS_OK)
		return why_set(statuses_code(place->status), "\"%s\": %s",
			       why_key(shown, sizeof(shown), key, strlen(key)),
			       status_meaning(place->status));
	held->key = strdup(key);
	if (held->key == NULL) {
		lease_keeper_release(lease->client, place->object_id, place->lease_id);
		return why_no_memory();
	}
	lease_keeper_add_version(&lease->client->lease_keeper, &held->kept, held->key, place, ask);
	return 0;
}

/* take_some -- of at most ASKED_MAX keys, those whose result is 0 yet.  0: each has its result. */
static int
take_some(struct tiffin_lease *lease, size_t from, const char *const *keys, size_t n, int *results)
{
	struct rec_key_only recs[ASKED_MAX];
	struct msg_get_replica_list msg = {.keys = recs};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_get_replica_list rep;
	uint32_t at = 0;
	int r;

	ask_init(&ask, lease->client);
	for (size_t i = 0; i < n; i++)
		if (results[i] == 0)
			recs[msg.n_keys++].key = span_of(keys[i], strlen(keys[i]));
	if (msg.n_keys == 0)
		return 0;
	r = ask_call(&ask, MSG_get_replica_list, msg_get_replica_list_encode(&ask.payload, &msg),
		     client_until(lease->client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_get_replica_list_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_objects, msg.n_keys);
	for (size_t i = 0; i < n && r == 0; i++)
		if (results[i] == 0)
			results[i] = keep(lease, &lease->held[from + i], keys[i],
					  &rep.objects[at++], &ask);
	return r;
}

static int
take_all(struct tiffin_lease *lease, const char *const *keys, int *results)
{
	size_t n_asked = 0;
	int r = 0;

	for (size_t i = 0; i < lease->n; i++)
		results[i] = client_key_check(keys[i]);
	for (size_t from = 0; from < lease->n; from += ASKED_MAX) {
		size_t n = num_min(lease->n - from, (size_t)ASKED_MAX);

		r = take_some(lease, from, keys + from, n, results + from);
		for (size_t i = from; r != 0 && i < from + n; i++)
			results[i] = results[i] != 0 ? results[i] : r;
		n_asked += r == 0 ? n : 0;
	}
	return n_asked == 0 ? r : 0;
}

int
tiffin_lease_take(struct tiffin_client *client, const char *const *keys, size_t n_keys,
		  int *ret_results, struct tiffin_lease **ret_lease)
{
	struct tiffin_lease *lease;
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (n_keys == 0 || keys == NULL || ret_results == NULL || ret_lease == NULL)
		return client_leave(client, why_set(TIFFIN_E_INVALID,
						    "a lease needs keys, and room for results"));
	lease = calloc(1, sizeof(*lease) + n_keys * sizeof(lease->held[0]));
	if (lease == NULL)
		return client_leave(client, why_no_memory());
	lease->magic = LEASE_MAGIC;
	lease->client = client;
	lease->n = n_keys;
	r = take_all(lease, keys, ret_results);
	if (r != 0)
		lease_free(lease);
	else
		*ret_lease = lease;
	return r == 0 ? (client_leave(client, 0), 0) : client_leave(client, r);
}

int
tiffin_lease_check(const struct tiffin_lease *lease, size_t i)
{
	char shown[128];
	const struct held *held;

	if (lease == NULL || lease->magic != LEASE_MAGIC || i >= lease->n)
		return why_set(TIFFIN_E_INVALID, "no lease: tiffin_lease_take() makes one");
	held = &lease->held[i];
	if (held->key == NULL)
		return why_set(TIFFIN_E_NOT_FOUND, "there never was a lease on this one");
	if (kept_holds(&held->kept, lease->client->clock))
		return 0;
	return why_set(TIFFIN_E_LEASE, "\"%s\": the lease on it is over",
		       why_key(shown, sizeof(shown), held->key, strlen(held->key)));
}

void
tiffin_lease_drop(struct tiffin_lease *lease)
{
	if (lease != NULL && lease->magic == LEASE_MAGIC)
		lease_free(lease);
}
