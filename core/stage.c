/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stage.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define FIRST_BYTES (16u << 10)

void
stage_fini(struct stage *stage)
{
	free(stage->bytes);
	*stage = (struct stage){0};
}

void
stage_begin(struct stage *stage, uint64_t at_bytes)
{
	stage->at_bytes = at_bytes;
	stage->len_bytes = 0;
}

static int
reserve(struct stage *stage, size_t n_bytes)
{
	size_t cap = num_max(stage->cap, (size_t)FIRST_BYTES);
	uint8_t *bytes;

	assert(n_bytes <= STAGE_BYTES);
	if (n_bytes <= stage->cap)
		return 0;
	while (cap < n_bytes)
		cap *= 2;
	bytes = realloc(stage->bytes, cap);
	if (bytes == NULL)
		return err_new(-ENOMEM);
	stage->bytes = bytes;
	stage->cap = cap;
	return 0;
}

/* copy -- len_bytes out of the slices. */
static void
copy(uint8_t *to, const struct iovec *slices, size_t n_slices, size_t len_bytes)
{
	for (size_t i = 0; i < n_slices && len_bytes > 0; i++) {
		size_t n = num_min(slices[i].iov_len, len_bytes);

		if (n > 0)
			memcpy(to, slices[i].iov_base, n);
		to += n;
		len_bytes -= n;
	}
}

int
stage_put(struct stage *stage, uint64_t offset_bytes, const struct iovec *slices, size_t n_slices,
	  size_t len_bytes)
{
	uint64_t end, at;
	int r;

	if (offset_bytes < stage->at_bytes || !num_add(offset_bytes, len_bytes, &end) ||
	    offset_bytes > stage->at_bytes + stage->len_bytes ||
	    end - stage->at_bytes > STAGE_BYTES)
		return STAGE_E_ELSEWHERE;

	at = offset_bytes - stage->at_bytes;
	r = reserve(stage, at + len_bytes);
	if (r < 0)
		return err_up(r);
	copy(stage->bytes + at, slices, n_slices, len_bytes);
	stage->len_bytes = num_max(stage->len_bytes, at + len_bytes);
	return 0;
}

void
stage_cut(struct stage *stage, uint64_t len_bytes)
{
	if (len_bytes <= stage->at_bytes)
		stage->len_bytes = 0;
	else
		stage->len_bytes = num_min(stage->len_bytes, len_bytes - stage->at_bytes);
}

int
stage_fill(struct stage *stage, uint64_t to_bytes)
{
	uint64_t len;
	int r;

	if (to_bytes <= stage->at_bytes + stage->len_bytes)
		return 0;
	len = to_bytes - stage->at_bytes;
	if (len > STAGE_BYTES)
		return STAGE_E_ELSEWHERE;
	r = reserve(stage, len);
	if (r < 0)
		return err_up(r);
	memset(stage->bytes + stage->len_bytes, 0, len - stage->len_bytes);
	stage->len_bytes = len;
	return 0;
}
