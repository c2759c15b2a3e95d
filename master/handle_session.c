/* SPDX-License-Identifier: Apache-2.0 */

/* handle_session.c -- hello, join, ping, leave: who is there. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "master/books.h"
#include "master/failing.h"
#include "master/handle.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define WHY_NAME_MAX 100 /* of a tenant's name, in a sentence */

int
handle_hello(struct peer *peer, const struct msg_hello *msg, struct buf *out)
{
	struct master *master = peer->master;
	struct rep_hello rep = {
		.version = PROTO_VERSION,
		.master_epoch = master->epoch,
		.needs_proof = master->key.present && !peer->is_trusted,
		.cluster_id = master->cluster_id,
	};
	int r;

	if (msg->version != PROTO_VERSION)
		return STATUS_VERSION;
	r = key_challenge(peer->challenge);
	if (r < 0)
		return err_up(r);
	memcpy(rep.challenge.bytes, peer->challenge, sizeof(peer->challenge));
	if (master->key.present)
		key_answer(&master->key, msg->challenge.bytes, KEY_ROLE_SERVER, rep.answer.bytes);
	peer->said_hello = true;
	return handle_encoded(rep_hello_encode(out, &rep));
}

static int
new_client(struct master *master, uint64_t id, struct tenant *tenant, struct client **ret_client)
{
	struct client *client;
	int r = client_new(id, &client);

	if (r < 0)
		return err_up(r);
	r = map_put(&master->clients, id, client);
	if (r < 0) {
		client_free(client);
		return err_new(-ENOMEM);
	}
	client->tenant = tenant;
	tenant->n_clients++;
	list_push_back(&master->heard, &client->at_heard);
	counter_add(&master->counters.clients, 1);
	*ret_client = client;
	return 0;
}

/* The same client over a new connection: the old one is of no use any more. */
static void
attach(struct peer *peer, struct client *client)
{
	if (client->peer != NULL && client->peer != peer) {
		peer_break(client->peer);
		peer_detach(client->peer);
	}
	client->peer = peer;
	peer->client = client;
	list_remove(&peer->at_strangers);
}

static int
judge_join(const struct peer *peer, const struct msg_join *msg)
{
	const struct master *master = peer->master;

	if (msg->client_id == 0 || msg->client_id > INT64_MAX)
		return STATUS_INVALID;
	if (peer->client != NULL && peer->client->id != msg->client_id)
		return STATUS_INVALID;
	if (master->key.present && !peer->is_trusted &&
	    !key_answer_is_right(&master->key, peer->challenge, KEY_ROLE_CLIENT, msg->answer.bytes))
		return STATUS_DENIED;
	return STATUS_OK;
}

/* The tenant that it names; one that is not there is made, unless only an admin may. */
static int
find_tenant(struct master *master, struct span name, struct tenant **ret_tenant)
{
	const struct tenant_quota none = {0};
	int r;

	*ret_tenant = tenants_by_name(&master->tenants, name.at, name.len);
	if (*ret_tenant != NULL) {
		books_hold(master, (*ret_tenant)->batch);
		return STATUS_OK;
	}
	if (!tenant_name_is_sound(name.at, name.len)) {
		why_refused(master, "a tenant's name may not begin with '_'");
		return STATUS_INVALID;
	}
	if (master->limits.strict_tenants) {
		books_hold(master, master->tenants.batch);
		why_refused(master, "there is no tenant \"%.*s\"; make it: tiffin tenants put %.*s",
			    (int)num_min(name.len, WHY_NAME_MAX), (const char *)name.at,
			    (int)num_min(name.len, WHY_NAME_MAX), (const char *)name.at);
		return STATUS_TENANT_NOT_FOUND;
	}
	if (master->progress.is_stalled || master->progress.is_full)
		return STATUS_UNAVAILABLE;
	r = tenant_make(master, name, &none, ret_tenant);
	if (r == TENANT_E_MANY)
		why_refused(master, "there are %d tenants already, and no more than that",
			    TENANTS_MAX);
	return r > 0 ? STATUS_TOO_MANY : r;
}

static bool
is_tenant_of(const struct client *client, struct span name)
{
	return span_equal(span_of(client->tenant->name, strlen(client->tenant->name)), name);
}

int
handle_join(struct peer *peer, const struct msg_join *msg, struct buf *out)
{
	struct master *master = peer->master;
	struct client *client =
		msg->client_id == 0 ? NULL : map_get(&master->clients, msg->client_id);
	struct rep_join rep = {
		.master_epoch = master->epoch,
		.lease_ms = (uint32_t)master->limits.lease_ms,
		.write_lease_ms = (uint32_t)master->limits.write_lease_ms,
		.ping_ms = (uint32_t)master->limits.ping_ms,
		.client_ttl_ms = (uint32_t)master->limits.client_ttl_ms,
		.was_known = client != NULL,
	};
	struct tenant *tenant;
	int r = judge_join(peer, msg);

	if (r == STATUS_OK && client != NULL && client->uid != peer->uid) {
		why_refused(master, "this client id belongs to another user since its first join");
		return STATUS_DENIED;
	}
	if (r == STATUS_OK && client != NULL && !is_tenant_of(client, msg->tenant)) {
		why_refused(master, "this client id has joined for tenant \"%.100s\" before",
			    client->tenant->name);
		return STATUS_INVALID;
	}
	if (r == STATUS_OK) /* the last that is judged, for it may make one */
		r = find_tenant(master, msg->tenant, &tenant);
	if (r != STATUS_OK)
		return r < 0 ? err_up(r) : r;
	if (client == NULL) {
		r = new_client(master, msg->client_id, tenant, &client);
		if (r < 0)
			return err_up(r);
	}
	r = client_set_words(client, msg->name.at, msg->name.len, msg->host.at, msg->host.len);
	if (r < 0) {
		if (!rep.was_known)
			client_lost(master, client, /* is_quiet= */ true);
		return err_up(r);
	}
	client_heard(master, client);
	client->clock_there_ms = msg->now_ms;
	client->clock_here_ms = master->now_ms;
	client->uid = peer->uid;
	attach(peer, client);
	if (!rep.was_known) {
		log_event(LOG_INFO, "client_joined", "client=%" PRIu64 " name=%s", client->id,
			  client->name);
		event_tell(master, EVENT_client_joined, client->id, "%s", client->name);
	}
	return handle_encoded(rep_join_encode(out, &rep));
}

/* ---- ping ---- */

static void
hear_provider(struct client *client, const struct msg_ping *msg, struct master *master)
{
	list_each(&client->segments, link) {
		struct segment *segment = list_of(link, struct segment, at_client);

		segment->clock_there_ms = msg->now_ms;
		segment->clock_here_ms = master->now_ms;
	}
	for (uint32_t i = 0; i < msg->n_fenced; i++)
		if (quarantine_fenced(&master->quarantine, msg->fenced[i].id, client,
				      master->now_ms))
			counter_add(&master->counters.fences_confirmed, 1);
}

/* Writers of before a restart that are alive say themselves that those days are over. */
static void
hear_quiet(struct master *master, const struct client *client)
{
	list_each(&master->all_segments, link) {
		struct segment *segment = list_of(link, struct segment, at_master);

		if (!list_is_empty(&segment->gates))
			quarantine_quiet(&master->quarantine, segment, client->id, master->now_ms);
	}
}

static int
tell_fences(struct master *master, const struct client *client, struct buf *out)
{
	uint32_t n = 0;
	size_t at;

	if (codec_list_begin(out, &at) != 0)
		return STATUS_UNAVAILABLE;
	list_each(&client->segments, at_client) {
		const struct segment *segment = list_of(at_client, struct segment, at_client);

		list_each(&segment->gates, at_segment) {
			struct gate *gate = list_of(at_segment, struct gate, at_segment);

			list_each(&gate->fences, at_gate) {
				struct fence *fence = list_of(at_gate, struct fence, at_gate);
				struct rec_fence rec = {fence->id, fence->client_id};

				if (n == BATCH_MAX)
					break;
				if (rec_fence_encode(out, &rec) != 0)
					return STATUS_UNAVAILABLE;
				if (!fence->is_sent)
					counter_add(&master->counters.fences_ordered, 1);
				fence->is_sent = true;
				n++;
			}
		}
	}
	codec_list_end(out, at, n);
	return STATUS_OK;
}

int
handle_ping(struct peer *peer, const struct msg_ping *msg, struct buf *out)
{
	struct master *master = peer->master;
	struct client *client = peer->client;
	int status;

	client->clock_there_ms = msg->now_ms;
	client->clock_here_ms = master->now_ms;
	client->has_worker = msg->has_worker != 0;
	hear_provider(client, msg, master);
	if (msg->quiet_epoch >= master->epoch)
		hear_quiet(master, client);
	failing_named(master, client, msg->failing, msg->n_failing);

	if (codec_put_u64(out, master->epoch) != 0 || codec_put_u32(out, client->n_offers) != 0)
		return STATUS_UNAVAILABLE;
	status = tell_fences(master, client, out);
	if (status != STATUS_OK)
		return status;
	return handle_encoded(
		codec_put_u32(out, 0)); /* unknown: a lost client joins anew instead */
}

int
handle_leave(struct peer *peer, const struct msg_leave *msg, struct buf *out)
{
	(void)msg;
	(void)out;
	/* It says goodbye of its own will, but a write may still be on its way: that is for the
	 * fence. */
	client_lost(peer->master, peer->client, /* is_quiet= */ peer->client->n_puts == 0);
	return STATUS_OK;
}
