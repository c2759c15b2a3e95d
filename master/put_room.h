/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put_room.h -- the room of a put's copies: placed, claimed, grown, cut, given back.
 *
 * An extent that is being written is claimed (segment.h), so that the books know of it.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_PUT_ROOM_H
#define MASTER_PUT_ROOM_H

#include "master/put.h"

/* put_claim -- all extents of a copy, or none.  0 or -ENOMEM.  put_unclaim -- of all. */
int put_claim(struct master *master, const struct replica *rep) MUST_CHECK;
void put_unclaim(struct master *master, const struct replica *rep);

/*
 * put_add_copies -- as many as the put wants, PROCESSING; at least one, strict: all.
 *
 * result:  0, PUT_E_FULL, PUT_E_NO_SEGMENT, PUT_E_QUOTA, -ENOMEM; then some may have been added,
 *          of which nobody was told.
 */
int put_add_copies(struct master *master, struct put *put, uint64_t room_bytes) MUST_CHECK;

/* put_grow_copies -- more room behind each, or nothing has changed.  Result as above. */
int put_grow_copies(struct master *master, struct put *put, uint64_t more_bytes) MUST_CHECK;

/* put_cut_copies -- the room behind the last byte is free again.  0 or -ENOMEM.
 * needs:  len_bytes <= put->room_bytes; the writer is done. */
int put_cut_copies(struct master *master, struct put *put, uint64_t len_bytes) MUST_CHECK;

/* put_drop_copy -- it never became COMPLETE; is_quiet: its writer is done with it. */
void put_drop_copy(struct master *master, struct put *put, struct replica *rep, bool is_quiet);

#endif
