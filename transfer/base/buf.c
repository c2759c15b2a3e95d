/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/buf.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define CAP_FIRST 1024

static void
buf_check(const struct buf *buf)
{
	assert(buf->start <= buf->end && buf->end <= buf->cap);
	assert((buf->at == NULL) == (buf->cap == 0));
}

void
buf_init(struct buf *buf)
{
	*buf = (struct buf){0};
}

void
buf_fini(struct buf *buf)
{
	free(buf->at);
	buf_init(buf);
}

/* to_front -- what waits moves to at[0]. */
static void
to_front(struct buf *buf)
{
	size_t len = buf_len(buf);

	if (buf->start == 0)
		return;
	memmove(buf->at, buf_first(buf), len);
	buf->start = 0;
	buf->end = len;
}

int
buf_make_room(struct buf *buf, size_t n_bytes)
{
	size_t len = buf_len(buf);
	size_t cap_new;
	uint8_t *fresh;

	buf_check(buf);

	if (n_bytes > PTRDIFF_MAX - len)
		return err_new(-ENOMEM);

	/* Moving is paid for by what was taken since the last move; otherwise it pays to grow. */
	if (len + n_bytes <= buf->cap && buf->start >= len) {
		to_front(buf);
		return 0;
	}

	cap_new = num_max(len + n_bytes, (size_t)CAP_FIRST);
	if (buf->cap <= PTRDIFF_MAX / 2)
		cap_new = num_max(cap_new, buf->cap * 2);
	fresh = malloc(cap_new);
	if (fresh == NULL)
		return err_new(-ENOMEM);

	if (len > 0)
		memcpy(fresh, buf_first(buf), len);
	free(buf->at);
	*buf = (struct buf){.at = fresh, .end = len, .cap = cap_new};
	return 0;
}

int
buf_append(struct buf *buf, const void *bytes, size_t n_bytes)
{
	int r = buf_reserve(buf, n_bytes);

	if (r < 0)
		return err_up(r);
	if (n_bytes > 0)
		memcpy(buf->at + buf->end, bytes, n_bytes);
	buf->end += n_bytes;
	return 0;
}

void
buf_consume(struct buf *buf, size_t n_bytes)
{
	buf_check(buf);
	assert(n_bytes <= buf_len(buf));

	buf->start += n_bytes;
	if (buf->start == buf->end)
		buf_clear(buf);
}

void
buf_clear(struct buf *buf)
{
	buf->start = buf->end = 0;
}
