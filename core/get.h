/* SPDX-License-Identifier: Apache-2.0 */

/*
 * get.h -- bytes of objects into slices, from whichever copy answers.
 */
#ifndef CORE_GET_H
#define CORE_GET_H

#include "core/client.h"
#include "core/moves.h"

/* One object, or a range of it, on its way into slices. */
struct fetch {
	/* what is wanted */
	const char *key;
	const struct iovec *slices;
	size_t n_slices;
	uint64_t offset_bytes;
	bool is_range; /* as many bytes as there are and as fit; else whole or TOO_SMALL */

	/* what came of it */
	int result; /* 0 or TIFFIN_E_* */
	uint64_t len_bytes;
	uint64_t object_id;

	/* on the way */
	const struct rec_object_place *place;
	uint64_t asked_ns;
	uint64_t cluster_id;     /* whose object id it is; 0: not known */
	bool may_retry, is_away; /* away: its providers are, and may come back */
	bool is_wanted_whole;    /* a part of it was read so often that the hot cache wants it */
	size_t at_replica;       /* the one being read */
	size_t first_op, n_ops;
	struct spot *spot;
};

/*
 * get_run -- fetch them all.
 *
 * gives:   result, len_bytes, object_id of each.
 * result:  0 when each has a result; else TIFFIN_E_*, and none has.
 */
int get_run(struct tiffin_client *client, struct fetch *fetches, size_t n, uint64_t until_ns);

/*
 * get_move -- the bytes of one fetch whose place is known, from each copy in turn.
 *
 * needs:   place, asked_ns, offset_bytes, len_bytes (within the object) are set.
 * result:  0 or TIFFIN_E_*; nothing is said about the lease.
 */
int get_move(struct tiffin_client *client, struct fetch *fetch, uint64_t until_ns);

/* get_slices_len -- bytes in all, UINT64_MAX when that does not fit. */
uint64_t get_slices_len(const struct iovec *slices, size_t n_slices);

/* get_slices_check -- 0 or TIFFIN_E_INVALID: no slices where some are said to be. */
int get_slices_check(const struct iovec *slices, size_t n_slices);

#endif
