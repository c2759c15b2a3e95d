/* SPDX-License-Identifier: Apache-2.0 */

/*
 * segment.h -- addressable memory lent by a provider.
 *
 *      mount -> OK <----> SUSPECT (its provider is silent: no new data, offered last)
 *               ^            |
 *               |            v
 *      start -> AWAY ----> LEAVING -> (gone)
 *               (known from the books, its provider has not come back yet)
 *
 * LEAVING begins with one record that says that all copies there are void; once that is
 * committed they are forgotten in small steps, without further records, while the store clears
 * their rows at its own pace (store_gone.c).  It lasts until both have done so, and until every
 * promise on its bytes is over: the same memory may be mounted anew at once, and would be handed
 * out under the eyes of its readers.
 *
 * One that peers report as failing rests for a while: no new data, offered last (failing.h).
 *
 * Besides, a segment may be drained (job.h): readable, but no new data is put there, and
 * what it has moves away.
 *
 *      NONE --drain--> DRAINING --nothing left--> DRAINED
 *        ^                |                          |
 *        +----- undo -----+--------------------------+
 *
 * Unstored claims and chunks.  Puts under way, and extents that rest because of a
 * reader or a writer, are not in the books.  So that a restart does not hand them
 * out, space is divided into chunks; a chunk in which such a claim lies is OPEN,
 * and that is in the books *before* the claim is made:
 *
 *      closed --(journal: CHUNK_OPEN, synced)--> OPEN --(no claim for a while: CHUNK_CLOSE)-->
 * closed
 *
 * After a restart the free runs of open chunks rest until every lease of before
 * has ended and every writer of before is known to be quiet.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_SEGMENT_H
#define MASTER_SEGMENT_H

#include "master/alloc.h"
#include "transfer/base/list.h"
#include "transfer/base/token.h"
#include "transfer/base/vec.h"

struct client;

enum segment_state { SEGMENT_OK = 1, SEGMENT_SUSPECT, SEGMENT_AWAY, SEGMENT_LEAVING };

enum segment_drain { DRAIN_NONE, DRAIN_DRAINING, DRAIN_DRAINED };

struct chunk {
	bool is_open;
	uint32_t n_claims;      /* unstored claims that lie in it */
	uint64_t opened_batch;  /* answers wait until this batch is synced */
	uint64_t idle_since_ms; /* n_claims became 0 */
};

#define SEGMENT_MAGIC 0x5e93e273u

struct segment {
	unsigned magic;
	enum segment_state state;
	uint64_t id, epoch, size_bytes;
	uint8_t medium;
	char *name, *host, *endpoint; /* owned */
	struct client *client;        /* its provider; NULL while AWAY and LEAVING without one */
	uint8_t secret[TOKEN_SECRET_BYTES];
	uint64_t clock_there_ms,
		clock_here_ms; /* provider's clock as last told, and when we heard it */

	struct alloc *alloc;
	uint64_t resting_bytes;
	uint64_t gated_bytes; /* of those, at gates: nobody knows how long */
	struct list replicas; /* struct replica.at_segment */
	struct list rests;    /* struct rest.at_segment */
	struct list gates;    /* struct gate.at_segment */
	size_t n_replicas;

	bool is_failing; /* as peers say (failing.h) */
	uint64_t failing_until_ms;

	uint8_t drain;        /* enum segment_drain */
	uint16_t drain_round; /* grows with each drain that begins */
	size_t n_stuck;       /* replicas that could not be moved in this round */

	uint64_t chunk_bytes;
	uint32_t n_chunks;
	struct chunk *chunks;
	VEC(uint32_t) open_chunks;

	uint64_t trusted_epoch; /* AWAY: the books are right about it only if no later master had it
				 */
	uint64_t
		doubted_epoch; /* LEAVING: under which it was lent last, when that is why; else 0 */
	uint64_t away_since_ms,
		away_stalled_ms; /* AWAY: when, and the master's own stalls until then */
	uint64_t leave_until_ms; /* LEAVING: the last promise on its bytes that was ever given */
	uint64_t gone_batch; /* of the journal, from which on its copies are void; 0: none yet */
	bool is_remade;      /* LEAVING: its id has other bytes by now, those nobody reads */
	struct list_link at_master; /* all segments */
	struct list_link at_client;
};

#define SEGMENT_BYTES_MIN  (1ull << 20)
#define SEGMENT_BYTES_MAX  (1ull << 44)
#define SEGMENT_PAGE_BYTES 4096

static inline bool
segment_size_is_sound(uint64_t size_bytes)
{
	return size_bytes >= SEGMENT_BYTES_MIN && size_bytes <= SEGMENT_BYTES_MAX &&
	       size_bytes % SEGMENT_PAGE_BYTES == 0;
}

/* What a mount says of a segment. */
struct segment_words {
	uint64_t id, epoch, size_bytes;
	uint8_t medium;
	const uint8_t *name, *host, *endpoint;
	uint32_t name_len, host_len, endpoint_len;
};

int segment_new(const struct segment_words *words, struct segment **ret_segment) MUST_CHECK;

/* segment_set_words -- name, host and endpoint may change from mount to mount. */
int segment_set_words(struct segment *segment, const struct segment_words *words) MUST_CHECK;
void segment_free(struct segment *segment);

static inline bool
segment_is_here(const struct segment *segment)
{
	return segment->state == SEGMENT_OK || segment->state == SEGMENT_SUSPECT;
}

/* segment_is_void -- the books say that it is lost with all that lies there: no record may name a
 * copy on it any more. */
static inline bool
segment_is_void(const struct segment *segment)
{
	return segment->gone_batch != 0;
}

/* segment_is_placeable -- may new data go there? */
static inline bool
segment_is_placeable(const struct segment *segment)
{
	return segment->state == SEGMENT_OK && segment->drain == DRAIN_NONE && !segment->is_failing;
}

/* segment_token -- sign for client, lasting len_ms at most by the provider's clock. */
void segment_token(const struct segment *segment, struct token *token, uint64_t now_ms,
		   uint64_t len_ms);

/* segment_used_bytes -- in live replicas and puts under way. */
uint64_t segment_used_bytes(const struct segment *segment);

/*
 * Claims.  segment_claim() counts one on each chunk the extent touches and calls `open` for each
 * that is not open yet; open chunks are then in the books with the batch it tells. gives:   the
 * latest batch that must be synced before the claim may be told to anybody; 0: none.
 */
struct chunk_opener {
	int (*open)(void *arg, struct segment *segment, uint32_t chunk, uint64_t *ret_batch);
	void *arg;
};
int segment_claim(struct segment *segment, struct extent extent, const struct chunk_opener *opener,
		  uint64_t *ret_batch) MUST_CHECK;
void segment_unclaim(struct segment *segment, struct extent extent, uint64_t now_ms);

/* segment_opened_batch -- the batch with which all chunks of a claimed extent are open in the
 * books. */
uint64_t segment_opened_batch(const struct segment *segment, struct extent extent);

DEFINE_CLEANUP(struct segment, segment_free);

#endif
