/* SPDX-License-Identifier: Apache-2.0 */

/*
 * watch.c -- tell who wants to know what has changed.
 *
 *      changes (change.h):   ... | told to this watch | committed | not yet ...
 *                                              ^ watch.at goes on, a batch a turn
 *
 * A watcher that does not read its connection gets no more after WATCH_BACKLOG_MAX, and goes on
 * when it reads again.  When what it was to hear next is not kept any more it is told so, once, and
 * goes on with what comes then; so is who comes back with a position of too long ago, or of another
 * life of the master.
 */
#include <errno.h>
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define WATCH_BACKLOG_MAX (1u << 20)
#define WATCHES_MAX       64                /* of one connection */
#define LOOKED_AT_A_TURN  4096              /* for one watch */
#define TOLD_EVERY        (CHANGES_MAX / 8) /* so that a position without news stays young */

static size_t
n_watches(const struct peer *peer)
{
	size_t n = 0;

	list_each(&peer->watches, link)
		n++;
	return n;
}

/* begin_at -- where it goes on; false: what it has missed is not known. */
static bool
begin_at(struct watch *watch, const struct msg_watch *msg)
{
	struct master *master = watch->peer->master;
	const struct changes *changes = &master->changes;
	bool knows = msg->after_epoch == master->epoch &&
		     !changes_has_missed(changes, msg->after_number);

	watch->at = knows ? msg->after_number : num_max(changes->committed, changes->first - 1);
	watch->told = watch->at;
	if (!knows && msg->after_epoch != 0)
		counter_add(&master->counters.watch_overflows, 1);
	return knows || msg->after_epoch == 0;
}

int
handle_watch(struct peer *peer, const struct msg_watch *msg, struct buf *out)
{
	struct rep_watch first = {0};
	struct watch *watch;
	uint8_t *prefix;

	if (n_watches(peer) >= WATCHES_MAX)
		return STATUS_TOO_MANY;
	watch = calloc(1, sizeof(*watch));
	prefix = malloc(msg->prefix.len + 1u);
	if (watch == NULL || prefix == NULL || changes_keep(&peer->master->changes) < 0) {
		free(watch);
		free(prefix);
		return err_new(-ENOMEM);
	}
	memcpy(prefix, msg->prefix.at, msg->prefix.len);
	watch->peer = peer;
	watch->request_id = peer->request_id;
	watch->prefix = span_of(prefix, msg->prefix.len);
	list_link_init(&watch->at_peer);
	list_link_init(&watch->at_master);
	list_push_back(&peer->watches, &watch->at_peer);
	list_push_back(&peer->master->watches, &watch->at_master);
	first.is_overflow = !begin_at(watch, msg); /* from now on nothing is missed */
	first.number = watch->at;
	return handle_encoded(rep_watch_encode(out, &first));
}

void
watch_free(struct watch *watch)
{
	struct master *master = watch->peer->master;

	master->changes.keep_until_ms = master->now_ms + CHANGES_KEPT_MS;
	list_remove(&watch->at_peer);
	list_remove(&watch->at_master);
	free((void *)(uintptr_t)watch->prefix.at);
	free(watch);
}

/* ---- telling ---- */

static bool
concerns(const struct watch *watch, const struct change *change)
{
	return watch->peer->client != NULL &&
	       watch->peer->client->tenant->id == change->tenant_id &&
	       change->key_len >= watch->prefix.len &&
	       memcmp(change->key, watch->prefix.at, watch->prefix.len) == 0;
}

static int
tell_change(struct buf *out, const struct change *change, uint64_t number)
{
	const struct rec_change rec = {
		.kind = change->kind,
		.key = span_of(change->key, change->key_len),
		.object_id = change->object_id,
		.number = number,
	};

	return rec_change_encode(out, &rec);
}

/* encode -- changes behind watch->at, as far as `until`. */
static int
encode(const struct watch *watch, struct buf *out, bool is_overflow, uint64_t until)
{
	const struct changes *changes = &watch->peer->master->changes;
	uint32_t n_told = 0;
	size_t at;
	int r = codec_put_u8(out, is_overflow);

	if (r == 0)
		r = codec_list_begin(out, &at);
	for (uint64_t i = watch->at + 1; r == 0 && !is_overflow && i <= until; i++) {
		const struct change *change = changes_at(changes, i);

		if (!concerns(watch, change))
			continue;
		r = tell_change(out, change, i);
		n_told++;
	}
	if (r == 0)
		codec_list_end(out, at, n_told);
	return r == 0 ? codec_put_u64(out, until) : r;
}

static void
send(struct watch *watch, bool is_overflow, uint64_t until)
{
	struct peer *peer = watch->peer;
	struct frame frame = {
		.type = MSG_watch,
		.flags = FRAME_REPLY | FRAME_MORE,
		.request_id = watch->request_id,
	};
	size_t at;

	if (frame_begin(&peer->out, &at) < 0 ||
	    encode(watch, &peer->out, is_overflow, until) != 0) {
		peer->is_broken = true;
		return;
	}
	frame_end(&peer->out, at, &frame);
	watch->at = watch->told = until;
	if (!list_link_is_on(&peer->at_dirty))
		list_push_back(&peer->master->dirty, &peer->at_dirty);
}

/* next_stop -- where the next frame ends: a batch of changes that concern it, or so many looked at.
 */
static uint64_t
next_stop(const struct watch *watch, uint32_t *ret_n)
{
	const struct changes *changes = &watch->peer->master->changes;
	uint64_t last = num_min(changes->committed, watch->at + LOOKED_AT_A_TURN), i;
	uint32_t n = 0;

	for (i = watch->at; i < last && n < BATCH_MAX; i++)
		n += concerns(watch, changes_at(changes, i + 1));
	*ret_n = n;
	return i;
}

/* tell -- true: there is more for it. */
static bool
tell(struct watch *watch)
{
	struct master *master = watch->peer->master;
	const struct changes *changes = &master->changes;
	uint64_t until;
	uint32_t n;

	if (watch->peer->is_broken || buf_len(&watch->peer->out) > WATCH_BACKLOG_MAX)
		return false;
	if (changes_has_missed(changes, watch->at)) {
		if (changes->committed + 1 < changes->first)
			return false; /* what it missed is not committed yet */
		counter_add(&master->counters.watch_overflows, 1);
		send(watch, /* is_overflow= */ true, changes->committed);
		return false;
	}
	until = next_stop(watch, &n);
	if (n > 0 || until - watch->told >= TOLD_EVERY)
		send(watch, /* is_overflow= */ false, until);
	else
		watch->at = until;
	return watch->at < changes->committed;
}

bool
watch_tell(struct master *master)
{
	struct changes *changes = &master->changes;
	bool has_more = false;

	changes_commit(changes, master->progress.committed);
	list_each(&master->watches, link)
		has_more |= tell(list_of(link, struct watch, at_master));
	if (changes->ring != NULL && list_is_empty(&master->watches) &&
	    master->now_ms >= changes->keep_until_ms)
		changes_forget(changes);
	return has_more;
}
