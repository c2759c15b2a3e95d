/* SPDX-License-Identifier: Apache-2.0 */

/*
 * op_cursor.h -- a place in an op's slice list, for transports that move it piece by piece.
 *
 *      slices   |-----skip-----|=== taken ===|          |
 *                                            ^ at, within slices[i]
 *
 * thread:  the owner's.
 */
#ifndef TRANSFER_OP_CURSOR_H
#define TRANSFER_OP_CURSOR_H

#include "transfer/base/base.h"
#include "transfer/op.h"

struct op_cursor {
	const struct iovec *slice, *end;
	size_t at_bytes; /* into *slice */
};

/* op_cursor_init -- at byte `from_bytes` of the op.  needs: from_bytes <= op->len_bytes. */
void op_cursor_init(struct op_cursor *cursor, const struct op *op, uint64_t from_bytes);

/*
 * op_cursor_look -- the next bytes, without moving.
 *
 * gives:   ret[0..result), none of them empty; *ret_len_bytes, their sum, at most len_bytes.
 */
size_t op_cursor_look(const struct op_cursor *cursor, uint64_t len_bytes, struct iovec *ret,
		      size_t cap, uint64_t *ret_len_bytes);

/* op_cursor_move -- len_bytes are done with. */
void op_cursor_move(struct op_cursor *cursor, uint64_t len_bytes);

/*
 * op_copy -- one piece between the op's slices and `bytes` (in the segment), summed when wanted.
 *
 * needs:   len_bytes are left at the cursor.
 * gives:   op->done_bytes and op->crc moved on.
 */
void op_copy(struct op *op, struct op_cursor *cursor, uint8_t *bytes, uint64_t len_bytes);

#endif
