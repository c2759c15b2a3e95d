/* SPDX-License-Identifier: Apache-2.0 */

/*
 * books.h -- the changes that several requests and sweeps have in common.
 *
 * Each writes its record first (which may fail, and then nothing has changed) and
 * changes memory second (which can't).  The answer under construction is held
 * until the record is committed.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_BOOKS_H
#define MASTER_BOOKS_H

#include "master/master.h"

/* books_journal -- one record for the batch under construction; holds the answer at hand.  0 or
 * -ENOMEM. */
int books_journal(struct master *master, const struct record *record) MUST_CHECK;

/* books_hold -- the answer at hand says something that batch makes true. */
static inline void
books_hold(struct master *master, uint64_t batch)
{
	if (batch > master->hold_batch)
		master->hold_batch = batch;
}

/* books_mark, books_rewind -- take back the records written since. */
struct books_mark {
	size_t end, n_records;
	bool wants_sync;
};
struct books_mark books_mark(const struct master *master);
void books_rewind(struct master *master, struct books_mark mark);

/* books_find -- the object of that key, its answer held until it is committed; NULL: none. */
struct object *books_find(struct master *master, struct tenant *tenant, const uint8_t *key,
			  size_t key_len);

/* books_find_hashed -- the same, by one who has the books_hash() of the key. */
struct object *books_find_hashed(struct master *master, struct tenant *tenant, const uint8_t *key,
				 size_t key_len, uint64_t hash);

static inline uint64_t
books_hash(const struct master *master, const uint8_t *key, size_t key_len)
{
	return map_hash(key, key_len, master->hash_seed);
}

/* books_miss -- the answer at hand says that the key of that hash has no object. */
void books_miss(struct master *master, uint64_t hash);

/*
 * lease_is_use -- a reader was told of it: is that a use that ages_use() is to count?
 *
 * Not when it was used within the last four seconds.  Of one request ages_use() begins with the
 * last.
 */
bool lease_is_use(const struct master *master, struct object *object);

/*
 * books_fetch -- what was found in the index is about to be told of: all memory that takes is
 * called for, and it comes while other things are done.  found[i] NULL: nothing.
 */
void books_fetch(const struct master *master, struct key *const *found, size_t n);

/* books_find_all -- many at once, their memory on its way together.  objects[0..n): as
 * books_find(). */
void books_find_all(struct master *master, const struct tenant *tenant,
		    const struct rec_key_only *keys, uint32_t n, struct object **objects);

/*
 * books_enter -- the object can be found from now on.
 *
 * gives:   *ret_old: the one of the same key that can be found no more, for books_scrap(); or NULL.
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int books_enter(struct master *master, struct object *object, struct object **ret_old) MUST_CHECK;

/* books_leave -- it can be found no more; for books_scrap(), or to enter again under another key.
 */
void books_leave(struct master *master, struct object *object);

/*
 * books_scrap -- off the index already: its extents go to rest, it is freed; the record is the
 * caller's.
 *
 * While a lease on it runs it stays as a ghost (ghost.h).
 */
void books_scrap(struct master *master, struct object *object, enum replica_state to);

/* books_remove -- record and withdraw.  0 or -ENOMEM. */
int books_remove(struct master *master, struct object *object, enum replica_state to) MUST_CHECK;

/* books_lose -- one copy goes; needs: not object_needs().  0 or -ENOMEM. */
int books_lose(struct master *master, struct replica *rep) MUST_CHECK;

/*
 * books_void -- one copy is gone with its segment; the object goes with its last.
 *
 * needs:   the segment is void, and the record that says so is committed: no further one is needed.
 */
void books_void(struct master *master, struct replica *rep);

/*
 * books_part -- one COMPLETE copy leaves an object that has others; the record is the caller's.
 *
 * is_moved  another one took its place, and is charged instead (tenant.h).
 * needs:   ghost_has_room().
 * While a lease on it runs, that copy stays as a ghost of its own (ghost.h).
 */
void books_part(struct master *master, struct object *object, struct replica *rep, bool is_moved);

/* books_pin -- as struct object.pinned_until_s; 0: not pinned.  0 or -ENOMEM. */
int books_pin(struct master *master, struct object *object, uint32_t until_s) MUST_CHECK;

/* books_rest -- the extents of a replica that is REMOVED or FAILED go into quarantine. */
void books_rest(struct master *master, const struct replica *rep, const struct rest_terms *terms);

/* books_changed -- tell the watchers, once the batch under construction is committed. */
enum change_kind { CHANGE_PUT = 1, CHANGE_REMOVED = 2, CHANGE_ATTR = 3 };
void books_changed(struct master *master, enum change_kind kind, const struct object *object);

/* ---- tenants ---- */

enum tenant_outcome {
	TENANT_E_NAME = 1, /* tenant_name_is_sound() says no */
	TENANT_E_MANY,     /* TENANTS_MAX are there */
};

/*
 * tenant_make -- a new tenant, in the books from this batch on.
 *
 * needs:   there is none of that name.
 * result:  0, tenant_outcome, -ENOMEM; then nothing has changed.
 */
int tenant_make(struct master *master, struct span name, const struct tenant_quota *quota,
		struct tenant **ret_tenant) MUST_CHECK;

/* why_refused -- the answer at hand is a refusal, for this reason (cut to what fits). */
void why_refused(struct master *master, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* tenant_order -- as tenant_put; NULL: as it was.
 *
 * gives:   *ret_words: what became of it.
 * result:  0; 1: refused; -ENOMEM. */
int tenant_order(struct master *master, const char *name, const int64_t *bytes,
		 const int64_t *objects, const char **ret_words) MUST_CHECK;

/* ---- room ---- */

/* Where room is wanted.  NOF: of those that have a nof copy; BOTH: of all that do not lie on disks
 * alone.  From all but memory an object goes with all its copies. */
enum evict_from { EVICT_MEMORY, EVICT_DISKS, EVICT_NOF, EVICT_BOTH };

/* What is to go, and what has gone. */
struct evict_goal {
	enum evict_from from;
	uint64_t bytes,
		objects; /* room of all copies, and objects: until so many are on their way */
	unsigned steps;  /* objects to look at, at most; counts down */
	uint64_t done_bytes, done_objects;
};

/* evict_within -- of this tenant alone: in the order of ages.h, what is not leased now. */
void evict_within(struct master *master, struct tenant *tenant, struct evict_goal *goal);

/*
 * evict_bytes -- the same of the tenants that hold most (evict.c says why).
 *
 * In memory, if there is any.  At most max_steps objects are looked at.  Gives the bytes.
 */
uint64_t evict_bytes(struct master *master, uint64_t bytes, unsigned max_steps);

/* evict_kind -- the same, where room of that kind is wanted. */
uint64_t evict_kind(struct master *master, enum pool_kind kind, uint64_t bytes, unsigned max_steps);

/* evict_disks -- so many bytes on disks: of objects that have no copy in memory.  Gives the bytes.
 */
uint64_t evict_disks(struct master *master, uint64_t bytes);

/* evict_is_busy -- is something on its way out? */
bool evict_is_busy(const struct master *master);

/* evict_to_mark -- above the high mark: down towards the low one, a few at a time. */
void evict_to_mark(struct master *master);

/* ---- segments come and go (segment.h has the picture) ---- */

struct segment *segment_find(const struct master *master, uint64_t id);

enum mount_outcome {
	MOUNT_E_EXISTS = 1, /* somebody else lends that id or name, and is alive */
	MOUNT_E_LATER,      /* what it was before is still being cleared away */
};
int segment_mount(struct master *master, struct client *client,
		  const struct rec_segment_lent *lent) MUST_CHECK;

/* segment_leave -- no new data, no readers; its replicas are dropped in bounded steps by the sweep.
 */
void segment_leave(struct master *master, struct segment *segment);

/* segment_suspect -- its provider is silent (or is heard again). */
void segment_suspect(struct master *master, struct segment *segment, bool is_suspect);

/* segment_set_failing -- peers say that it does not answer (failing.h). */
void segment_set_failing(struct master *master, struct segment *segment, bool is_failing);

/* segment_set_drain -- record and change; new data goes there only with DRAIN_NONE.  0, -ENOMEM, or
 * -EAGAIN: after a restore, not before its provider is back. */
int segment_set_drain(struct master *master, struct segment *segment,
		      enum segment_drain drain) MUST_CHECK;

/* client_suspect -- silent, or its connection ended: its segments get no new data and are offered
 * last. */
void client_suspect(struct master *master, struct client *client);

/* client_heard -- it lives: the last in the order of silence, and its segments are offered again.
 */
void client_heard(struct master *master, struct client *client);

/* client_lost -- silent for too long, or it left: its puts fail, its segments leave, it is freed.
 */
void client_lost(struct master *master, struct client *client, bool is_quiet);

/* ---- time ---- */

/* sweep -- what time alone brings about, in bounded steps.  Gives ms until it has something to do.
 */
uint64_t sweep(struct master *master);

/* peer_detach -- it speaks for no client any more: nothing waits for its sake, nothing is watched.
 */
void peer_detach(struct peer *peer);

/* peer_break -- its owner is to hang up, soon. */
void peer_break(struct peer *peer);

/* park -- try this request again when there may be room, at latest after put_wait_ms.
 * 0, STATUS_TOO_MANY (PARKED_MAX, PARKED_BYTES_MAX), -ENOMEM. */
int park(struct master *master, struct peer *peer, const struct frame *frame) MUST_CHECK;

void parked_free(struct parked *parked);

/* watch_tell -- committed changes to everybody who watches, in bounded steps; true: there are more,
 * for somebody who reads.  watch_free -- it watches no more. */
bool watch_tell(struct master *master);
void watch_free(struct watch *watch);

/* dispatch_release -- send what waited for what is committed, or synced, by now. */
void dispatch_release(struct master *master);

/*
 * unpark -- room may be there: try the waiting ones again, in the order in which they came; those
 * whose time is over for the last time.
 *
 * One that has waited for half of its time goes first: who comes later, or asks for less, would
 * else take each piece of room before enough of it is there.
 */
void unpark(struct master *master, bool has_room);

/* unpark_followers -- answer who waits for events: all when there are some, else those whose time
 * is over. */
void unpark_followers(struct master *master, bool has_news);

/* parked_goes_first -- is somebody waiting for whom a request that comes now must wait, too? */
bool parked_goes_first(const struct master *master);

#endif
