/* SPDX-License-Identifier: Apache-2.0 */

/*
 * event.h -- what happened, for people: in the books, by request, and while it happens.
 *
 *      event_tell(kind, ...)  --+
 *      counters that have grown +--> tally, one a kind --once a second--> record EVENT, ring in
 * memory
 *                                                                              |
 *                                                           who follows is answered
 * (handle_event.c)
 *
 * So a storm of evictions is one event a second, and the paths of puts and evictions know nothing
 * of events.  The ring holds limits.events_max of them, in memory and in the books; 0: no events.
 * While the books can't be written the tallies go on adding up.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_EVENT_H
#define MASTER_EVENT_H

#include "transfer/base/base.h"
#include "transfer/base/list.h"

struct master;
struct record;

enum event_kind {
#define EVENT_TOLD(kind, help)                  EVENT_##kind,
#define EVENT_COUNTED(kind, count, bytes, help) EVENT_##kind,
#include "master/event.def"
#undef EVENT_TOLD
#undef EVENT_COUNTED
	N_EVENT_KINDS
};

#define EVENT_WORDS_MAX 400

/* One that is in the books, or on its way there with batch `batch`. */
struct event {
	struct list_link at_ring;
	uint64_t id, at_ms, count, bytes, subject_id, batch;
	const char *words; /* in text, behind the kind */
	char text[];       /* kind, NUL, words, NUL */
};

struct event_tally {
	uint64_t count, bytes, subject_id;
	char words[EVENT_WORDS_MAX];
};

struct events {
	struct list ring; /* struct event.at_ring, oldest first */
	size_t n;
	uint64_t last_id;
	const struct event *marked; /* where the last answer ended: the next page begins there */
	uint64_t due_ms;            /* the next second */
	struct event_tally tallies[N_EVENT_KINDS];
	uint64_t seen_count[N_EVENT_KINDS], seen_bytes[N_EVENT_KINDS]; /* of counters */
};

void events_init(struct events *events);
void events_fini(struct events *events);

/* events_load -- one of those in the books, in the order of their ids.  0 or -ENOMEM. */
int events_load(struct events *events, const struct record *record) MUST_CHECK;

/* event_tell -- it happened once; subject_id 0: to nobody in particular. */
void event_tell(struct master *master, enum event_kind kind, uint64_t subject_id, const char *fmt,
		...) __attribute__((format(printf, 4, 5)));

/* event_words -- what is said of one that counters tell; of several in a second the first is heard.
 */
void event_words(struct master *master, enum event_kind kind, const char *words);

/* events_sweep -- once a second: what was gathered becomes events.  true: there are new ones. */
bool events_sweep(struct master *master);

/* events_after -- the first whose id is greater; a cursor from another life of the books (greater
 * than all): the oldest.  NULL: none. */
const struct event *events_after(const struct events *events, uint64_t after_id);

/* events_mark -- an answer ended with this one: events_after() finds what follows at once. */
void events_mark(struct events *events, const struct event *event);

/* events_next -- NULL behind the newest. */
const struct event *events_next(const struct events *events, const struct event *event);

/* events_check -- for master_check(). */
void events_check(const struct events *events);

const char *event_kind_name(enum event_kind kind);

#endif
