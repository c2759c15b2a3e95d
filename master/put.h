/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put.h -- an object in the making: its writer, its write lease, its room.
 *
 *      put_start --> under way --put_end--> object in the index
 *                     |   ^ |
 *          put_extend +---+ +--put_revoke, lease over, writer lost--> FAILED, extents rest
 *
 * The puts of all clients hang on one list in the order in which their write
 * leases end (all leases are alike long).  Each extent holds a claim (segment.h)
 * until the put is over.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_PUT_H
#define MASTER_PUT_H

#include "master/object.h"
#include "master/pool.h"
#include "master/proto/codec.h"
#include "master/proto/limits.h"

struct client;
struct copy_wish;
struct task;

/* What put_start asks of an object's copies: the peer's ReplicateConfig. */
struct copies_wish {
	uint8_t n[POOLS]; /* in memory, and nof ones; together 1..REPLICAS_MAX */
	uint8_t n_preferred[POOLS];
	bool is_strict; /* all or none; else at least one of them */
	bool settles; /* not strict: for nof copies alone, if there is no room for one in memory */
	uint64_t preferred[POOLS][REPLICAS_MAX]; /* ids of segments to take first */
	uint64_t beside_id; /* a segment on whose host the first copy in memory goes; 0: none */
};

static inline unsigned
copies_wanted(const struct copies_wish *wish)
{
	return wish->n[POOL_MEMORY] + wish->n[POOL_NOF];
}

struct put {
	struct master *master;
	struct object *object; /* owned; replicas PROCESSING; not in the index */
	struct client *client;
	struct list_link at_client;
	struct list_link at_lease; /* master.puts */
	struct put *next_same_key; /* in master.puts_by_key; spare: the next spare one */
	uint64_t key_hash;
	uint64_t room_bytes;
	uint64_t started_ms, lease_until_ms;
	/* as put_start asked: the room of a put begun without any is chosen later */
	struct copies_wish copies;
	uint8_t *group; /* owned, group_len bytes: of which it will be a member; NULL: of none */
	uint8_t group_len;
	uint8_t pin; /* enum pin, from put_end on */
	uint32_t pin_ttl_ms;
	bool replaces;
	bool is_empty;     /* no room yet: counted in client.n_empty_puts */
	bool is_copy;      /* of an object that is there (put_copy.c): not found by its key */
	struct task *task; /* whose it is, while that wants to hear of its end; or NULL */
};

struct master;

/* What put_start asks for one object. */
struct put_wish {
	const uint8_t *key;
	size_t key_len;
	uint64_t len_bytes; /* room */
	const struct copies_wish *copies;
	struct span group; /* 0..GROUP_MAX bytes */
	uint8_t pin;
	uint32_t pin_ttl_ms;
	bool replaces;
	bool is_new; /* the index has been asked in this request: it does not hold the key */
};

enum put_outcome {
	PUT_E_EXISTS = 1,
	PUT_E_FULL, /* no room now; making some may help */
	PUT_E_AWAY, /* no provider of it is in touch: whether its bytes are there nobody knows */
	PUT_E_NO_SEGMENT, /* nobody lends memory (or, strict, not enough do) */
	PUT_E_QUOTA,      /* its tenant may hold no more now; making room may help */
	PUT_E_TOO_MANY,   /* empty puts of this client: EMPTY_PUTS_MAX */
};

/* put_open -- reserve room and begin.  0, put_outcome, -ENOMEM; then nothing has changed. */
int put_open(struct master *master, struct client *client, const struct put_wish *wish,
	     struct put **ret_put) MUST_CHECK;

/* put_grow -- more room in each copy (0: none) and a new write lease.  0, PUT_E_FULL,
 * PUT_E_NO_SEGMENT, PUT_E_QUOTA, -ENOMEM. */
int put_grow(struct master *master, struct put *put, uint64_t more_bytes) MUST_CHECK;

/* What put_end says. */
struct put_done {
	uint64_t len_bytes;
	uint64_t put_at_ms; /* since 1970 */
	const uint8_t *attr;
	uint16_t attr_len;
	uint32_t crc;
	bool has_crc;
};

/*
 * put_close -- it is an object now; one of the same key goes, if put_start said replace.
 *
 * needs:   done->len_bytes <= put->room_bytes.
 * takes:   put, with 0 and with PUT_E_EXISTS (then its room is free again).
 * result:  0, PUT_E_EXISTS, PUT_E_AWAY, -ENOMEM.
 */
int put_close(struct master *master, struct put *put, const struct put_done *done) MUST_CHECK;

/* put_undo -- as if it had never begun; nobody has been told of its room. */
void put_undo(struct master *master, struct put *put);

/* put_fail -- give it up; is_quiet: its writer says that no write of it is under way. */
void put_fail(struct master *master, struct put *put, bool is_quiet);

/* put_lose_replica -- its segment leaves. The put goes with its last copy. */
void put_lose_replica(struct master *master, struct put *put, struct replica *rep);

/* puts_free -- the memory that ended puts have left for the next ones. */
void puts_free(struct master *master);

/* put_spare -- its memory is the next one's, unless there is plenty.  put_spare_take -- or fresh
 * memory; NULL: there is none.  (put_spare.c) */
void put_spare(struct master *master, struct put *put);
struct put *put_spare_take(struct master *master);

/* ---- a copy of an object that is there: room, writer and fence are as for any put ---- */

enum put_copy_outcome { PUT_E_NO_WORKER = 10, PUT_E_BUSY };

/*
 * put_open_copy -- reserve room for a copy; INITIALIZED, until its writer takes it.
 *
 * task:    whose put it is; chooses the writer (task_worker()).
 * result:  0, PUT_E_FULL, PUT_E_NO_SEGMENT, PUT_E_NO_WORKER, PUT_E_BUSY (the writer has enough to
 *          do), -ENOMEM; then nothing has changed.
 */
int put_open_copy(struct master *master, struct task *task, const struct copy_wish *wish,
		  struct put **ret_put) MUST_CHECK;

/* put_take -- its writer hears of it: PROCESSING, under a new write lease.  The answer at hand is
 * held until the room is open in the books. */
void put_take(struct master *master, struct put *put);

/*
 * put_land -- every write has completed: the copy is the object's.
 *
 * needs:   rep is a new copy of the object with the same extents, INITIALIZED.
 * takes:   put.  gives: rep COMPLETE.
 */
void put_land(struct master *master, struct put *put, struct replica *rep);

/* What put.c and put_copy.c share. */
int put_reserve_id(struct master *master) MUST_CHECK;

/* put_hold_id -- the answer at hand tells an id: it waits until that is reserved on the disk. */
void put_hold_id(struct master *master);
void put_lease_anew(struct master *master, struct put *put);
struct object *put_detach(struct master *master, struct put *put);

#endif
