/* SPDX-License-Identifier: Apache-2.0 */

/* mount_say.c -- what the master hears of a segment that we lend. */
#include <string.h>

#include "core/ask.h"
#include "core/mount.h"
#include "core/statuses.h"
#include "core/why.h"

/* read_fate -- the one fate of a request about one segment. */
static int
read_fate(struct ask *ask, const char *name)
{
	struct rep_mount_segment rep;
	int r;

	r = ask_read(ask, rep_mount_segment_decode(ask->reply.payload, ask->reply.arena, &rep));
	if (r == 0)
		r = ask_count(ask, rep.n_fates, 1);
	if (r == 0 && rep.fates[0].status != STATUS_OK)
		r = why_set(statuses_code(rep.fates[0].status), "segment \"%s\": %s", name,
			    status_meaning(rep.fates[0].status));
	return r;
}

/* may_write -- have we ever asked for a grant? */
static bool
may_write(struct tiffin_client *client)
{
	bool has_asked;

	lock_take(&client->lock);
	has_asked = client->has_asked;
	lock_drop(&client->lock);
	return has_asked;
}

/* note_adopted -- grants that we have may be for this very memory, lent before. */
static void
note_adopted(struct tiffin_client *client)
{
	lock_take(&client->lock);
	client->n_adopted++;
	lock_drop(&client->lock);
}

/*
 * break_with_past -- a master that may not remember its grants is about to hear of the segment:
 * tokens, connections and mappings of before shall be dead, but for the writers that are named.
 *
 * If we ever write we are among them, for a write of our own needs no connection, and may begin
 * while this is on its way.  The master orders us fenced: writing_fence() tells when that is so.
 */
static int
break_with_past(struct tiffin_client *client, const struct mount *mount, struct rec_id *ret_writers,
		uint32_t *ret_n)
{
	uint64_t clients[BATCH_MAX];
	size_t n = 0;
	int r;

	if (mount->serve == NULL) {
		lent_fence(mount->lent);
		r = token_secret_new(mount->lent->secret);
	} else {
		r = serve_renew(mount->serve, mount->lent, clients, BATCH_MAX - 1, &n);
	}
	if (r < 0)
		return why_system(r, "making a new secret for a segment");
	for (size_t i = 0; i < n; i++)
		ret_writers[i].id = clients[i];
	if (may_write(client))
		ret_writers[n++].id = client->client_id;
	*ret_n = (uint32_t)n;
	return 0;
}

int
mount_say(struct tiffin_client *client, const struct mount *mount, bool is_again, uint64_t until_ns)
{
	struct rec_id writers[BATCH_MAX];
	const struct lent *lent = mount->lent;
	struct rec_segment_lent rec = {
		.segment_id = lent->segment_id,
		.segment_epoch = lent->epoch,
		.size_bytes = lent->size_bytes,
		.medium = lent->is_nof         ? MEDIUM_NOF
			  : lent->disk != NULL ? MEDIUM_FILE
					       : MEDIUM_DRAM,
		.name = span_of(mount->name, strlen(mount->name)),
		.host = span_of(host_id(), strlen(host_id())),
		.endpoint = span_of(mount->endpoint, strlen(mount->endpoint)),
	};
	struct msg_mount_segment msg = {.n_segments = 1, .segments = &rec};
	cleanup_with(ask_fini) struct ask ask;
	struct link_session session;
	int r = 0;

	ask_init(&ask, client);
	client->link->ops->session(client->link, &session);
	rec.master_epoch = session.master_epoch;
	rec.former_epoch = lent_remember(mount->lent, session.master_epoch, session.lease_ms);
	rec.former_lease_ms = lent_longest_lease_ms(mount->lent);
	rec.writers = writers;
	if (!is_again && lent->was_adopted)
		note_adopted(client);
	if (is_again || lent->was_adopted)
		r = break_with_past(client, mount, writers, &rec.n_writers);
	if (r != 0)
		return r;
	memcpy(rec.secret.bytes, lent->secret, sizeof(rec.secret.bytes));
	r = ask_call(&ask, MSG_mount_segment, msg_mount_segment_encode(&ask.payload, &msg),
		     until_ns);
	if (r == 0)
		r = read_fate(&ask, mount->name);
	if (r == 0)
		lent_has_master(mount->lent);
	return r;
}

int
mount_say_gone(struct tiffin_client *client, const struct mount *mount, uint64_t until_ns)
{
	struct rec_id id = {mount->lent->segment_id};
	struct msg_unmount_segment msg = {.n_segments = 1, .segments = &id};
	cleanup_with(ask_fini) struct ask ask;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_unmount_segment, msg_unmount_segment_encode(&ask.payload, &msg),
		     until_ns);
	return r == 0 ? read_fate(&ask, mount->name) : r;
}
