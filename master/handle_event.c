/* SPDX-License-Identifier: Apache-2.0 */

/*
 * handle_event.c -- events: those after a cursor, at once or as soon as there are some.
 *
 * Who follows waits with its request (struct parked, master.followers) and is answered when there
 * is news, or with nothing when its time is over.
 */
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/num.h"

#define EVENTS_BYTES_MAX (FRAME_PAYLOAD_MAX / 4)

static int
tell_event(struct buf *out, const struct event *event)
{
	struct rec_event rec = {
		.event_id = event->id,
		.at_ms = event->at_ms,
		.count = event->count,
		.bytes = event->bytes,
		.subject_id = event->subject_id,
		.kind = span_of(event->text, strlen(event->text)),
		.words = span_of(event->words, strlen(event->words)),
	};

	return rec_event_encode(out, &rec);
}

int
handle_events(struct peer *peer, const struct msg_events *msg, struct buf *out)
{
	struct master *master = peer->master;
	const struct event *event = events_after(&master->events, msg->after_id);
	uint32_t n = 0, most = num_min(msg->most == 0 ? BATCH_MAX : msg->most, (uint32_t)BATCH_MAX);
	size_t at;
	int r;

	if (event == NULL && msg->wait_ms > 0 && !master->is_last_try) {
		master->follow_ms = num_min(msg->wait_ms, (uint32_t)EVENTS_WAIT_MS_MAX);
		return HANDLE_PARK;
	}
	r = codec_put_u64(out, master->events.last_id);
	if (r == 0)
		r = codec_list_begin(out, &at);
	for (; r == 0 && event != NULL && n < most && buf_len(out) < EVENTS_BYTES_MAX; n++) {
		books_hold(master, event->batch);
		events_mark(&master->events, event);
		r = tell_event(out, event);
		event = events_next(&master->events, event);
	}
	if (r == 0)
		codec_list_end(out, at, n);
	return handle_encoded(r);
}
