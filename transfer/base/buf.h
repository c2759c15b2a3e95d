/* SPDX-License-Identifier: Apache-2.0 */

/*
 * buf.h -- bytes on their way: appended at the end, consumed from the front.
 *
 *      at[0]      start            end           cap
 *        |--taken--|=====waiting====|----room-----|
 *
 * cursor -- a window on someone else's bytes; reading moves `at`.
 */
#ifndef TRANSFER_BASE_BUF_H
#define TRANSFER_BASE_BUF_H

#include "transfer/base/base.h"

struct buf {
	uint8_t *at;
	size_t start, end, cap;
};

void buf_init(struct buf *buf);
void buf_fini(struct buf *buf);

static inline size_t
buf_len(const struct buf *buf)
{
	return buf->end - buf->start;
}

static inline uint8_t *
buf_first(const struct buf *buf)
{
	return buf->at == NULL ? NULL : buf->at + buf->start; /* NULL + 0 is not C */
}

/* buf_behind -- the place behind its last byte, NULL while it has no memory. */
static inline uint8_t *
buf_behind(const struct buf *buf)
{
	return buf->at == NULL ? NULL : buf->at + buf->end;
}

/* buf_make_room -- for buf_reserve(), when there is not enough. */
int buf_make_room(struct buf *buf, size_t n_bytes) MUST_CHECK;

/* buf_reserve -- at least n_bytes of room behind `end`.  0 or -ENOMEM. */
MUST_CHECK static inline int
buf_reserve(struct buf *buf, size_t n_bytes)
{
	return n_bytes <= buf->cap - buf->end ? 0 : buf_make_room(buf, n_bytes);
}

int buf_append(struct buf *buf, const void *bytes, size_t n_bytes) MUST_CHECK;

/* buf_consume -- the first n_bytes are done with.  needs: n_bytes <= buf_len(). */
void buf_consume(struct buf *buf, size_t n_bytes);

/* buf_clear -- empty, memory kept. */
void buf_clear(struct buf *buf);

struct cursor {
	const uint8_t *at, *end;
};

static inline size_t
cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

#endif
