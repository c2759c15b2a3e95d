/* SPDX-License-Identifier: Apache-2.0 */

/*
 * watch.c -- tell who wants to know what has changed.
 *
 *      change -> master.changes -> (its batch is committed) -> every watch whose prefix it has
 *
 * A watcher that does not read its connection gets no more after WATCH_BACKLOG_MAX:
 * it is told once, by is_overflow, that it has missed some.
 */
#include <errno.h>
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/err.h"

#define WATCH_BACKLOG_MAX (1u << 20)
#define WATCHES_MAX       64 /* of one connection */

static size_t
n_watches(const struct peer *peer)
{
	size_t n = 0;

	list_each(&peer->watches, link)
		n++;
	return n;
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
	if (watch == NULL || prefix == NULL) {
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
	return handle_encoded(rep_watch_encode(out, &first)); /* from now on nothing is missed */
}

void
watch_free(struct watch *watch)
{
	list_remove(&watch->at_peer);
	list_remove(&watch->at_master);
	free((void *)(uintptr_t)watch->prefix.at);
	free(watch);
}

static bool
concerns(const struct watch *watch, const struct change *change)
{
	return watch->peer->client != NULL &&
	       watch->peer->client->tenant->id == change->tenant_id &&
	       change->key_len >= watch->prefix.len &&
	       memcmp(change->key, watch->prefix.at, watch->prefix.len) == 0;
}

static int
tell_changes(const struct watch *watch, struct buf *out, struct change *const *changes, size_t n)
{
	uint32_t n_told = 0;
	size_t at;
	int r = codec_put_u8(out, watch->overflowed);

	if (r == 0)
		r = codec_list_begin(out, &at);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct rec_change rec = {
			.kind = changes[i]->kind,
			.key = span_of(changes[i]->key, changes[i]->key_len),
			.object_id = changes[i]->object_id,
		};

		if (watch->overflowed || !concerns(watch, changes[i]))
			continue;
		r = rec_change_encode(out, &rec);
		n_told++;
	}
	if (r == 0)
		codec_list_end(out, at, n_told);
	return r;
}

static bool
has_news(const struct watch *watch, struct change *const *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (concerns(watch, changes[i]))
			return true;
	return false;
}

static void
tell(struct watch *watch, struct change *const *changes, size_t n)
{
	struct peer *peer = watch->peer;
	struct frame frame = {
		.type = MSG_watch,
		.flags = FRAME_REPLY | FRAME_MORE,
		.request_id = watch->request_id,
	};
	size_t at;

	if (!watch->overflowed && !has_news(watch, changes, n))
		return;
	if (buf_len(&peer->out) > WATCH_BACKLOG_MAX) {
		if (!watch->overflowed)
			counter_add(&peer->master->counters.watch_overflows, 1);
		watch->overflowed = true;
		return;
	}
	if (frame_begin(&peer->out, &at) < 0 || tell_changes(watch, &peer->out, changes, n) != 0) {
		peer->is_broken = true;
		return;
	}
	frame_end(&peer->out, at, &frame);
	watch->overflowed = false;
	if (!list_link_is_on(&peer->at_dirty))
		list_push_back(&peer->master->dirty, &peer->at_dirty);
}

/* At most a batch in one frame, and only what is committed. */
void
watch_tell(struct master *master)
{
	size_t n = 0;

	while (n < master->changes.n && n < BATCH_MAX &&
	       master->changes.at[n]->batch <= master->progress.committed)
		n++;
	list_each(&master->watches, link)
		tell(list_of(link, struct watch, at_master), master->changes.at, n);
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		free(master->changes.at[i]);
	master->changes.n -= n;
	memmove(master->changes.at, master->changes.at + n, master->changes.n * sizeof(void *));
}
