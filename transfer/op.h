/* SPDX-License-Identifier: Apache-2.0 */

/*
 * op.h -- one move of bytes between the caller's slices and one range of a segment.
 *
 *      READ     segment  ------> slices           target  where the segment is
 *      WRITE    slices   ------> segment          token   the master's word for it
 *
 * A slice is a struct iovec: readv(2), writev(2), verbs and callers all know it.
 * Several ops may share one slice list, each beginning `skip_bytes` into it.
 *
 * Life:    filled in by the caller -> engine_submit() -> completed exactly once,
 *          with a result, not later than its deadline plus what the transport
 *          needs to make sure that nobody will touch the slices any more.
 *          Between the two it belongs to the engine.
 */
#ifndef TRANSFER_OP_H
#define TRANSFER_OP_H

#include <stdatomic.h>
#include <sys/uio.h>

#include "transfer/base/list.h"
#include "transfer/base/token.h"

struct target;
struct batch;
struct disk;

enum op_kind { OP_READ, OP_WRITE };

/*
 * Memory that a caller tells of once, to be used by many ops.
 *
 * dmabuf_fd  >= 0: it is no memory of the processor's but a dmabuf's (of a GPU), from
 *            dmabuf_offset_bytes on; slices name it by addresses from `at` on, which nobody reads.
 */
struct memory {
	void *at;
	uint64_t len_bytes;
	int dmabuf_fd;
	uint64_t dmabuf_offset_bytes;
};

enum op_result {
	OP_DONE,        /* every byte has arrived */
	OP_E_PENDING,   /* not completed yet; never seen by a callback */
	OP_E_LOST,      /* the peer, or the way to it, is gone: another replica may help */
	OP_E_TIMEOUT,   /* the deadline passed */
	OP_E_REFUSED,   /* the peer does not accept the token, or the segment has a new epoch */
	OP_E_INVALID,   /* a range outside the segment */
	OP_E_IO,        /* the medium failed */
	OP_E_CANCELLED, /* the engine was closed */
};

struct op {
	/* set by the caller */
	enum op_kind kind;
	bool want_crc;     /* sum the bytes while they pass */
	bool may_skip_crc; /* not where no processor touches them (one-sided) */
	bool is_device; /* slices lie in a dmabuf: only for transports that reach devices' memory */
	struct target *target;            /* a reference is held by the caller until completion */
	const struct token *token;        /* NULL: the target lies in this process */
	uint64_t offset_bytes, len_bytes; /* in the segment */
	const struct iovec *slices;
	size_t n_slices;
	uint64_t skip_bytes;
	uint64_t deadline_ns; /* on the engine's clock */

	/* set by the engine, valid after completion */
	enum op_result result;
	uint32_t crc;     /* CRC-32C of the len_bytes, with want_crc */
	bool skipped_crc; /* it was not summed, though wanted: it might be skipped, or could not be
			   */

	/* the engine's and the transport's own, until completion */
	struct batch *batch;
	struct list_link at;
	uint64_t id;
	uint64_t done_bytes;
	unsigned n_moves; /* times that it began anew on another way */
	bool is_begun;    /* something of it may have gone */
	uint64_t begun_ns;
	const char *address; /* which of several it took; a transport that has them sets it */
	bool must_cut;     /* one-sided WRITEs of it may be under way: whoever takes it over has the
			      provider end them before it writes */
	atomic_uint tried; /* transports asked so far, one bit each; the last one has it */

	/* of a queue of a disk (disk_queue.h) */
	struct disk *disk;
	void *own; /* its user's */
	uint64_t disk_at_bytes, begun_bytes;
	unsigned n_pieces; /* begun and not folded in yet */
	enum op_result failed;
};

const char *op_result_name(enum op_result result);

/*
 * A batch: ops that are waited for together.  Embedded by its owner; the ops stay where they are.
 */
struct batch {
	struct op *ops;
	size_t n_ops;
	atomic_size_t n_left;
};

static inline bool
batch_is_done(struct batch *batch)
{
	return atomic_load_explicit(&batch->n_left, memory_order_acquire) == 0;
}

/*
 * op_slices -- the part of the op's slices that covers [from, from + len) of its bytes.
 *
 * needs:   from + len <= op->len_bytes; cap > 0.
 * gives:   ret[0..result), at most cap slices (so possibly fewer bytes than len).
 */
size_t op_slices(const struct op *op, uint64_t from_bytes, uint64_t len_bytes, struct iovec *ret,
		 size_t cap);

#endif
