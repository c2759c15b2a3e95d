/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_mr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define PIECE_ALIGN_BYTES (2ull << 20)

static uint64_t
max_mr_bytes(struct ibv_context *verbs)
{
	struct ibv_device_attr attr;

	if (ibv_query_device(verbs, &attr) != 0 || attr.max_mr_size == 0)
		return UINT64_MAX;
	return attr.max_mr_size;
}

/* piece_bytes_for -- of so much memory where so much fits at once; 0: it would be too many. */
static uint64_t
piece_bytes_for(uint64_t len_bytes, uint64_t max_bytes)
{
	uint64_t piece;

	if (len_bytes <= max_bytes)
		return len_bytes;
	piece = max_bytes - max_bytes % PIECE_ALIGN_BYTES;
	return piece == 0 || (len_bytes - 1) / piece + 1 > RDMA_PIECES_MAX ? 0 : piece;
}

static struct ibv_mr *
reg_piece(struct ibv_pd *pd, const struct memory *memory, uint64_t from, uint64_t len, int access)
{
	uint8_t *at = (uint8_t *)memory->at + from;

	if (memory->dmabuf_fd >= 0)
		return ibv_reg_dmabuf_mr(pd, memory->dmabuf_offset_bytes + from, len, (uintptr_t)at,
					 memory->dmabuf_fd, access);
	return ibv_reg_mr(pd, at, len, (unsigned)access);
}

/* may_lock -- is the limit of this process no obstacle to so much more? */
static bool
may_lock(uint64_t len_bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= len_bytes;
}

int
rdma_mr_open(struct rdma_mr *mr, struct ibv_pd *pd, const struct memory *memory, int access)
{
	uint64_t len = memory->len_bytes;

	assert(len > 0);

	*mr = (struct rdma_mr){.piece_bytes = piece_bytes_for(len, max_mr_bytes(pd->context))};
	if (mr->piece_bytes == 0)
		return RDMA_MR_E_TOO_LARGE;
	for (uint64_t from = 0; from < len; from += mr->piece_bytes) {
		int e;

		errno = 0;
		mr->mrs[mr->n] =
			reg_piece(pd, memory, from, num_min(mr->piece_bytes, len - from), access);
		if (mr->mrs[mr->n] != NULL) {
			mr->n++;
			continue;
		}
		e = errno > 0 ? errno : EIO;
		rdma_mr_close(mr);
		if ((e == ENOMEM || e == EAGAIN) && !may_lock(len))
			return RDMA_MR_E_LOCKED;
		return err_new(-e);
	}
	return 0;
}

void
rdma_mr_close(struct rdma_mr *mr)
{
	while (mr->n > 0)
		ibv_dereg_mr(mr->mrs[--mr->n]);
}

const char *
rdma_mr_why(char *buf, size_t cap, int r, struct ibv_context *verbs, uint64_t len_bytes)
{
	char need[32], have[32] = "unlimited";
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	num_show_bytes(need, sizeof(need), len_bytes);
	(void)getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur != RLIM_INFINITY)
		num_show_bytes(have, sizeof(have), limit.rlim_cur);
	if (r == RDMA_MR_E_TOO_LARGE) {
		num_show_bytes(have, sizeof(have), max_mr_bytes(verbs));
		snprintf(buf, cap,
			 "%s are to be registered, but the device takes at most %d times %s "
			 "(max_mr_size): lend less in one segment",
			 need, RDMA_PIECES_MAX, have);
	} else if (r == RDMA_MR_E_LOCKED) {
		snprintf(buf, cap,
			 "%s are to be locked, but this process may lock %s: raise it "
			 "(ulimit -l, LimitMEMLOCK=)",
			 need, have);
	} else {
		snprintf(buf, cap, "registering %s failed: %s (limit of locked memory: %s)", need,
			 strerror(-r), have);
	}
	return buf;
}
