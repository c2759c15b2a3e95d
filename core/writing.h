/* SPDX-License-Identifier: Apache-2.0 */

/*
 * writing.h -- the room that the master granted for one object, while it is being filled.
 *
 *      object      0 ........................ room_bytes
 *      replica 0   | grant | grant |   grant        |     each grant with its token
 *      replica 1   |      grant        |   grant    |     each replica gets all bytes
 *
 * A writing is quiet as long as every op on it has completed in a way after which nothing can
 * arrive any more.  A peer that was lost in the middle of a write may still have bytes of ours
 * before it: then the room may be used again only after the master has had us fenced there.
 *
 * While ops run they stand in the client's list with the epoch of the master that granted them,
 * so that a ping can say up to which epoch we are quiet.
 */
#ifndef CORE_WRITING_H
#define CORE_WRITING_H

#include "core/client.h"
#include "core/moves.h"

/*
 * When a grant was asked for.  It is void from the moment on when the master lets us in without
 * knowing us, for then it was restarted or has given us up, and our own segments will be mounted
 * anew: nobody else looks at a token where a process writes into memory of its own.
 */
struct writing_era {
	uint64_t master_epoch;
	uint32_t n_joins;   /* link.h */
	uint32_t n_adopted; /* client.h: such memory may be granted anew as well */
};

struct writing_grant {
	uint64_t at_bytes;  /* in the object */
	struct token token; /* has offset and length in the segment */
};

struct writing_replica {
	struct spot *spot;
	size_t n_grants;
	struct writing_grant *grants;
};

/* Grants that ops yet to run point at, though the master told others since. */
struct writing_retired {
	struct writing_retired *next;
	size_t n_replicas;
	struct writing_replica replicas[REPLICAS_MAX];
};

struct writing {
	struct tiffin_client *client;
	uint64_t object_id;
	struct writing_era era;
	uint64_t room_bytes;
	uint64_t half_ns, until_ns; /* of the write lease, on our clock */
	bool is_quiet;
	size_t n_replicas;
	struct writing_replica replicas[REPLICAS_MAX];
	struct writing_retired *retired;
};

/* What the master answered to put_start or put_extend. */
struct writing_granted {
	uint64_t object_id;
	struct writing_era era; /* of before it was asked */
	const struct rec_target_replica *replicas;
	uint32_t n_replicas;
	uint32_t write_lease_ms;
	uint64_t asked_ns;
	bool has_ops; /* ops may be waiting that point at what was granted before */
};

/* writing_init -- 0 or TIFFIN_E_*; writing_fini() is due either way. */
int writing_init(struct writing *w, struct tiffin_client *client,
		 const struct writing_granted *granted, uint64_t until_ns);
void writing_fini(struct writing *w);

/*
 * writing_add_ops -- WRITEs of one part of the object to every replica; the first wants sums.
 *
 * part     offset_bytes and len_bytes: in the object, within the room; slices and skip_bytes.
 * gives:   *ret_n_crc: the first so many of the ops added are replica 0's, in order.
 */
void writing_add_ops(const struct writing *w, struct moves *moves, const struct op *part,
		     size_t *ret_n_crc);

/* writing_add_reads -- READs of such a part from replica 0. */
void writing_add_reads(const struct writing *w, struct moves *moves, const struct op *part);

/* writing_note -- look at the completed ops [from, to): OP_DONE or the worst; notes quiet no more.
 */
enum op_result writing_note(struct writing *w, const struct moves *moves, size_t from, size_t to);

/* writing_is_due -- is half of the write lease over? */
bool writing_is_due(const struct writing *w);

/* writing_holds -- may an op still be begun: is the write lease running, and the grant not void? */
bool writing_holds(const struct writing *w);

/*
 * writing_extend -- more room (0: only time).
 *
 * needs:   no op is under way.  Ops that are yet to run stay good when more_bytes is 0.
 * result:  0 or TIFFIN_E_*; LEASE: the master has given the put up.
 */
int writing_extend(struct writing *w, uint64_t more_bytes, uint64_t until_ns);

/* writing_end -- publish.  0 or TIFFIN_E_*. */
int writing_end(struct writing *w, const struct rec_put_done *done, uint64_t until_ns);

/* writing_revoke -- give it up; a master that does not answer finds out by itself. */
void writing_revoke(struct writing *w, uint64_t until_ns);

/* writing_why -- the sentence for a write that failed.  TIFFIN_E_*. */
int writing_why(const struct writing *w, const char *key, enum op_result result);

/* ---- writes under way, by epoch -------------------------------------------------- */

struct writing_span {
	struct list_link at;
	uint64_t master_epoch, number;
};

/* writing_begin -- false: grants of that era are void. */
bool writing_begin(struct tiffin_client *client, struct writing_span *span,
		   const struct writing_era *era) MUST_CHECK;
void writing_finish(struct tiffin_client *client, struct writing_span *span);

/* writing_fence -- an order to fence ourselves: have all writes ended that were under way when it
 * came? */
bool writing_fence(struct tiffin_client *client, uint64_t fence_id);

/* writing_era -- as it is now; to be asked before put_start goes out. */
struct writing_era writing_era(struct tiffin_client *client);

/* writing_quiet_epoch -- to be told in a ping; from then on writing_begin() refuses older ones. */
uint64_t writing_quiet_epoch(struct tiffin_client *client);

#endif
