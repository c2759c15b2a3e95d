/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/op.h"

#include <string.h>

#include "transfer/base/crc.h"
#include "transfer/base/num.h"
#include "transfer/op_cursor.h"

const char *
op_result_name(enum op_result result)
{
	switch (result) {
	case OP_DONE:
		return "done";
	case OP_E_PENDING:
		return "pending";
	case OP_E_LOST:
		return "lost";
	case OP_E_TIMEOUT:
		return "timeout";
	case OP_E_REFUSED:
		return "refused";
	case OP_E_INVALID:
		return "invalid";
	case OP_E_IO:
		return "io";
	case OP_E_CANCELLED:
		return "cancelled";
	}
	return "unknown";
}

size_t
op_slices(const struct op *op, uint64_t from_bytes, uint64_t len_bytes, struct iovec *ret,
	  size_t cap)
{
	struct op_cursor cursor;
	uint64_t got;

	assert(from_bytes <= op->len_bytes && len_bytes <= op->len_bytes - from_bytes);
	assert(cap > 0);

	op_cursor_init(&cursor, op, from_bytes);
	return op_cursor_look(&cursor, len_bytes, ret, cap, &got);
}

void
op_cursor_init(struct op_cursor *cursor, const struct op *op, uint64_t from_bytes)
{
	assert(from_bytes <= op->len_bytes);

	*cursor = (struct op_cursor){.slice = op->slices, .end = op->slices + op->n_slices};
	op_cursor_move(cursor, op->skip_bytes);
	op_cursor_move(cursor, from_bytes);
}

size_t
op_cursor_look(const struct op_cursor *cursor, uint64_t len_bytes, struct iovec *ret, size_t cap,
	       uint64_t *ret_len_bytes)
{
	size_t at = cursor->at_bytes, n = 0;
	uint64_t left = len_bytes;

	for (const struct iovec *s = cursor->slice; s < cursor->end && left > 0 && n < cap; s++) {
		size_t len = num_min(s->iov_len - at, left);

		if (len > 0)
			ret[n++] = (struct iovec){(uint8_t *)s->iov_base + at, len};
		left -= len;
		at = 0;
	}
	*ret_len_bytes = len_bytes - left;
	return n;
}

void
op_cursor_move(struct op_cursor *cursor, uint64_t len_bytes)
{
	while (len_bytes > 0) {
		uint64_t len;

		assert(cursor->slice < cursor->end);
		len = num_min(cursor->slice->iov_len - cursor->at_bytes, len_bytes);
		cursor->at_bytes += len;
		len_bytes -= len;
		if (cursor->at_bytes == cursor->slice->iov_len) {
			cursor->slice++;
			cursor->at_bytes = 0;
		}
	}
}

void
op_copy(struct op *op, struct op_cursor *cursor, uint8_t *bytes, uint64_t len_bytes)
{
	op->done_bytes += len_bytes;
	while (len_bytes > 0) {
		struct iovec slice;
		uint64_t len;
		uint8_t *to, *from;

		(void)op_cursor_look(cursor, len_bytes, &slice, 1, &len);
		assert(len > 0);
		to = op->kind == OP_READ ? slice.iov_base : bytes;
		from = op->kind == OP_READ ? bytes : slice.iov_base;
		if (op->want_crc)
			op->crc = crc_copy(op->crc, to, from, len);
		else
			memcpy(to, from, len);
		op_cursor_move(cursor, len);
		bytes += len;
		len_bytes -= len;
	}
}
