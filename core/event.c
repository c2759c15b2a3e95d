/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "core/ask.h"
#include "core/why.h"
#include "transfer/base/num.h"

/* Whom to tell, and what it said. */
struct telling {
	int (*fn)(void *arg, const struct tiffin_event *event);
	void *arg;
	int of_fn;
};

static void
tell(struct telling *telling, const struct rec_event *rec)
{
	char kind[NAME_MAX_BYTES + 1], words[TEXT_MAX + 1];
	const struct tiffin_event event = {
		.event_id = rec->event_id,
		.at_ms = rec->at_ms,
		.count = rec->count,
		.bytes = rec->bytes,
		.subject_id = rec->subject_id,
		.kind = kind,
		.words = words,
	};

	snprintf(kind, sizeof(kind), "%.*s", (int)rec->kind.len, (const char *)rec->kind.at);
	snprintf(words, sizeof(words), "%.*s", (int)rec->words.len, (const char *)rec->words.at);
	telling->of_fn = telling->fn(telling->arg, &event);
}

/* page -- 1: there may be more; 0: that was all for now. */
static int
page(struct tiffin_client *client, uint64_t *cursor, uint32_t wait_ms, struct telling *telling)
{
	const struct msg_events msg = {.after_id = *cursor, .wait_ms = wait_ms};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_events rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_events, msg_events_encode(&ask.payload, &msg), client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_events_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r != 0)
		return r;
	for (uint32_t i = 0; telling->of_fn == 0 && i < rep.n_events; i++) {
		*cursor = rep.events[i].event_id;
		tell(telling, &rep.events[i]);
	}
	return rep.n_events > 0 && telling->of_fn == 0 && *cursor < rep.last_id;
}

int
tiffin_events(struct tiffin_client *client, uint64_t *cursor, uint32_t wait_ms,
	      int (*fn)(void *arg, const struct tiffin_event *event), void *arg)
{
	struct telling telling = {fn, arg, 0};
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (cursor == NULL || fn == NULL)
		return client_leave(client, why_set(TIFFIN_E_INVALID, "events need a cursor and a "
								      "function"));
	wait_ms = (uint32_t)num_min((uint64_t)wait_ms, (uint64_t)client->timeout_ms / 2);
	do {
		r = page(client, cursor, wait_ms, &telling);
		wait_ms = 0;
	} while (r == 1);
	return client_leave(client, telling.of_fn != 0 ? telling.of_fn : r);
}
