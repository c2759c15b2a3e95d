/* SPDX-License-Identifier: Apache-2.0 */
#include "master/event.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define EVERY_MS 1000

static const char *const names[] = {
#define EVENT_TOLD(kind, help)                  #kind,
#define EVENT_COUNTED(kind, count, bytes, help) #kind,
#include "master/event.def"
#undef EVENT_TOLD
#undef EVENT_COUNTED
};

const char *
event_kind_name(enum event_kind kind)
{
	assert(kind < N_EVENT_KINDS);
	return names[kind];
}

void
events_init(struct events *events)
{
	*events = (struct events){0};
	list_init(&events->ring);
}

static void
drop(struct events *events, struct event *event)
{
	list_remove(&event->at_ring);
	if (events->marked == event)
		events->marked = NULL;
	events->n--;
	free(event);
}

void
events_fini(struct events *events)
{
	list_each_safe(&events->ring, link)
		drop(events, list_of(link, struct event, at_ring));
}

/* ---- the ring ------------------------------------------------------------------------ */

static struct event *
event_new(const struct record *record)
{
	size_t kind_len = record->name_len, words_len = record->host_len;
	struct event *event = calloc(1, sizeof(*event) + kind_len + words_len + 2);

	if (event == NULL)
		return NULL;
	event->id = record->object_id;
	event->at_ms = record->put_at_ms;
	event->count = record->count;
	event->bytes = record->len_bytes;
	event->subject_id = record->segment_id;
	memcpy(event->text, record->name, kind_len);
	event->words = event->text + kind_len + 1;
	memcpy(event->text + kind_len + 1, record->host, words_len);
	list_link_init(&event->at_ring);
	return event;
}

static void
enter(struct events *events, struct event *event)
{
	assert(event->id > events->last_id);
	list_push_back(&events->ring, &event->at_ring);
	events->last_id = event->id;
	events->n++;
}

int
events_load(struct events *events, const struct record *record)
{
	struct event *event = event_new(record);

	if (event == NULL)
		return err_new(-ENOMEM);
	enter(events, event);
	return 0;
}

const struct event *
events_next(const struct events *events, const struct event *event)
{
	struct list_link *link = event->at_ring.next;

	return link == &events->ring.head ? NULL : list_of(link, struct event, at_ring);
}

/* forward -- the first behind `from` whose id is greater. */
static const struct event *
forward(const struct events *events, const struct event *from, uint64_t after_id)
{
	while (from != NULL && from->id <= after_id)
		from = events_next(events, from);
	return from;
}

/* backward -- the same from the newest back: who follows is nearly there. */
static const struct event *
backward(const struct events *events, uint64_t after_id)
{
	const struct event *found = NULL;

	for (struct list_link *link = events->ring.head.prev; link != &events->ring.head;
	     link = link->prev) {
		const struct event *event = list_of(link, struct event, at_ring);

		if (event->id <= after_id)
			break;
		found = event;
	}
	return found;
}

const struct event *
events_after(const struct events *events, uint64_t after_id)
{
	const struct event *first;

	if (after_id > events->last_id)
		after_id = 0;
	if (list_is_empty(&events->ring))
		return NULL;
	first = list_of(list_first(&events->ring), struct event, at_ring);
	if (first->id > after_id)
		return first;
	if (events->marked != NULL && events->marked->id <= after_id &&
	    after_id - events->marked->id <= events->last_id - after_id)
		return forward(events, events->marked, after_id);
	return backward(events, after_id);
}

void
events_mark(struct events *events, const struct event *event)
{
	events->marked = event;
}

/* ---- what is gathered ------------------------------------------------------------------ */

/* add_words -- of several things that happened within one second, as many as there is room for. */
static void
add_words(struct event_tally *tally, const char *words)
{
	size_t len = strlen(tally->words);
	size_t left = sizeof(tally->words) - len;

	if (words[0] == '\0' || left < 8)
		return;
	if (len > 0 && len + strlen(words) + 8 > sizeof(tally->words))
		words = "...";
	snprintf(tally->words + len, left, "%s%s", len > 0 ? "; " : "", words);
	if (strcmp(words, "...") == 0)
		memset(tally->words + strlen(tally->words), 0,
		       sizeof(tally->words) - strlen(tally->words));
}

void
event_tell(struct master *master, enum event_kind kind, uint64_t subject_id, const char *fmt, ...)
{
	struct event_tally *tally = &master->events.tallies[kind];
	char words[EVENT_WORDS_MAX];
	va_list args;

	if (master->limits.events_max == 0)
		return;
	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);

	tally->subject_id = tally->count == 0 || tally->subject_id == subject_id ? subject_id : 0;
	tally->count++;
	add_words(tally, words);
}

void
event_words(struct master *master, enum event_kind kind, const char *words)
{
	struct event_tally *tally = &master->events.tallies[kind];

	if (tally->words[0] == '\0')
		snprintf(tally->words, sizeof(tally->words), "%s", words);
}

/* grown -- by how much since it was looked at last. */
static uint64_t
grown(const _Atomic uint64_t *counter, uint64_t *seen)
{
	uint64_t now = counter_get(counter), before = *seen;

	*seen = now;
	return now - before;
}

static void
look_at_counters(struct master *master)
{
	static const _Atomic uint64_t none;
	struct events *events = &master->events;

#define EVENT_TOLD(kind, help)
#define EVENT_COUNTED(kind, count_of, bytes_of, help)                                              \
	{                                                                                          \
		struct event_tally *tally = &events->tallies[EVENT_##kind];                        \
                                                                                                   \
		tally->count +=                                                                    \
			grown(&master->counters.count_of, &events->seen_count[EVENT_##kind]);      \
		tally->bytes += grown(EVENT_COUNTER_##bytes_of(master),                            \
				      &events->seen_bytes[EVENT_##kind]);                          \
	}
#define EVENT_COUNTER_none(master)            (&none)
#define EVENT_COUNTER_evicted_bytes(master)   (&(master)->counters.evicted_bytes)
#define EVENT_COUNTER_task_bytes(master)      (&(master)->counters.task_bytes)
#define EVENT_COUNTER_offloaded_bytes(master) (&(master)->counters.offloaded_bytes)
#define EVENT_COUNTER_promoted_bytes(master)  (&(master)->counters.promoted_bytes)
#include "master/event.def"
#undef EVENT_TOLD
#undef EVENT_COUNTED
}

/* write_tally -- record first, ring second.  -ENOMEM: it is tried again. */
static int
write_tally(struct master *master, enum event_kind kind)
{
	struct events *events = &master->events;
	struct event_tally *tally = &events->tallies[kind];
	uint64_t id = events->last_id + 1, max = master->limits.events_max;
	struct record record = {
		.kind = RECORD_EVENT,
		.object_id = id,
		.put_at_ms = clock_wall_ms(master->clock),
		.count = tally->count,
		.len_bytes = tally->bytes,
		.segment_id = tally->subject_id,
		.keep_from = id > max ? id - max + 1 : 1,
		.name = event_kind_name(kind),
		.name_len = (uint16_t)strlen(event_kind_name(kind)),
		.host = tally->words,
		.host_len = (uint16_t)strlen(tally->words),
	};
	struct event *event = event_new(&record);
	int r;

	if (event == NULL)
		return err_new(-ENOMEM);
	r = journal_add(&master->journal, &record);
	if (r < 0) {
		free(event);
		return err_up(r);
	}
	event->batch = master->batch;
	enter(events, event);
	while (events->n > max)
		drop(events, list_of(list_first(&events->ring), struct event, at_ring));
	*tally = (struct event_tally){0};
	return 0;
}

bool
events_sweep(struct master *master)
{
	struct events *events = &master->events;
	uint64_t before = events->last_id;

	if (master->limits.events_max == 0 || master->now_ms < events->due_ms)
		return false;
	events->due_ms = master->now_ms + EVERY_MS;
	look_at_counters(master);
	if (master->progress.is_stalled || master->progress.is_full)
		return false;
	for (int kind = 0; kind < N_EVENT_KINDS; kind++)
		if (events->tallies[kind].count > 0 &&
		    write_tally(master, (enum event_kind)kind) < 0)
			break;
	return events->last_id != before;
}

void
events_check(const struct events *events)
{
	uint64_t last_id = 0;
	size_t n = 0;

	list_each(&events->ring, link) {
		const struct event *event = list_of(link, struct event, at_ring);

		assert(event->id > last_id && event->count > 0);
		last_id = event->id;
		n++;
	}
	assert(events->n == n && implies(n > 0, events->last_id == last_id));
}
