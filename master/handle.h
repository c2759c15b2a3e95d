/* SPDX-License-Identifier: Apache-2.0 */

/*
 * handle.h -- one handler a message: judges what was asked, changes the books, writes the answer.
 *
 * needs:   msg is decoded, so within the protocol's limits; its spans live until the handler
 * returns. gives:   the reply's payload, appended to out. result:  an enum status: OK, or what the
 * whole request failed of (then what is in `out` is dropped, and nothing has changed); HANDLE_PARK:
 * try again later; -errno.
 */
#ifndef MASTER_HANDLE_H
#define MASTER_HANDLE_H

#include "master/master.h"

#define HANDLE_PARK 10000

#define EVENTS_WAIT_MS_MAX 30000 /* the longest that a request for events waits for some */

#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	int handle_##name(struct peer *peer, const struct msg_##name *msg, struct buf *out)        \
		MUST_CHECK;
MESSAGES(MESSAGE)
#undef MESSAGE

/* handle_encoded -- fold an encoder's outcome: no memory for the answer. */
static inline int
handle_encoded(int r)
{
	return r == 0 ? STATUS_OK : STATUS_UNAVAILABLE;
}

/* handle_fetch_counters -- counters that others keep are fetched when somebody asks. */
void handle_fetch_counters(struct master *master);

/* handle_fates -- write a list of statuses, one an item. */
int handle_fates(struct buf *out, const uint32_t *statuses, uint32_t n);

/* handle_grant -- an extent of the put, with a token for its writer. */
struct rec_grant handle_grant(const struct put *put, const struct segment *segment,
			      struct extent extent);

/* handle_group -- the id of an object's group; empty: it has none. */
static inline struct span
handle_group(const struct master *master, const struct object *object)
{
	const struct group *group = group_of(&master->groups, object);

	return group == NULL ? (struct span){0} : span_of(group->key.bytes, group->key.len_bytes);
}

/* handle_listed -- what a list tells of an object; its spans are the object's. */
static inline struct rec_listed
handle_listed(const struct master *master, const struct object *object)
{
	return (struct rec_listed){
		.key = span_of(object->key.bytes, object->key.len_bytes),
		.object_id = object->id,
		.len_bytes = object->len_bytes,
		.put_at_ms = object->put_at_ms,
		.attr = span_of(object->attr, object->attr_len),
		.group = handle_group(master, object),
	};
}

/* handle_statuses -- room for n statuses in the request's arena; NULL: no memory. */
static inline uint32_t *
handle_statuses(struct peer *peer, uint32_t n)
{
	return arena_alloc(&peer->master->arena, n + 1u, sizeof(uint32_t));
}

#endif
