/* SPDX-License-Identifier: Apache-2.0 */
#include "master/segment.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define CHUNK_BYTES_MIN (4ull << 20)
#define CHUNK_BYTES_MAX (256ull << 20)
#define CHUNKS_WANTED   64 /* of a small segment; a large one has chunks of CHUNK_BYTES_MAX */

static uint64_t
chunk_bytes_for(uint64_t size_bytes)
{
	uint64_t bytes = CHUNK_BYTES_MIN;

	while (bytes < CHUNK_BYTES_MAX && bytes * CHUNKS_WANTED < size_bytes)
		bytes *= 2;
	return bytes;
}

static int
words_copy(char **ret, const uint8_t *bytes, uint32_t len)
{
	char *copy = strndup((const char *)bytes, len);

	if (copy == NULL)
		return err_new(-ENOMEM);
	free(*ret);
	*ret = copy;
	return 0;
}

int
segment_set_words(struct segment *segment, const struct segment_words *words)
{
	int r = words_copy(&segment->name, words->name, words->name_len);

	if (r == 0)
		r = words_copy(&segment->host, words->host, words->host_len);
	if (r == 0)
		r = words_copy(&segment->endpoint, words->endpoint, words->endpoint_len);
	return err_up(r);
}

int
segment_new(const struct segment_words *words, struct segment **ret_segment)
{
	cleanup_with(segment_free_at) struct segment *segment = calloc(1, sizeof(*segment));
	int r;

	if (segment == NULL)
		return err_new(-ENOMEM);

	segment->magic = SEGMENT_MAGIC;
	segment->id = words->id;
	segment->epoch = words->epoch;
	segment->size_bytes = words->size_bytes;
	segment->medium = words->medium;
	segment->state = SEGMENT_AWAY;
	segment->trusted_epoch = UINT64_MAX;
	list_init(&segment->replicas);
	list_init(&segment->rests);
	list_init(&segment->gates);
	list_link_init(&segment->at_master);
	list_link_init(&segment->at_client);

	r = segment_set_words(segment, words);
	if (r < 0)
		return err_up(r);
	r = alloc_new(words->size_bytes, &segment->alloc);
	if (r < 0)
		return err_up(r);

	segment->chunk_bytes = chunk_bytes_for(words->size_bytes);
	segment->n_chunks =
		(uint32_t)((words->size_bytes + segment->chunk_bytes - 1) / segment->chunk_bytes);
	segment->chunks = calloc(segment->n_chunks, sizeof(*segment->chunks));
	if (segment->chunks == NULL)
		return err_new(-ENOMEM);

	*ret_segment = take(&segment);
	return 0;
}

void
segment_free(struct segment *segment)
{
	if (segment == NULL)
		return;

	assert(segment->magic == SEGMENT_MAGIC);
	assert(list_is_empty(&segment->replicas) && list_is_empty(&segment->rests));
	assert(list_is_empty(&segment->gates));

	list_remove(&segment->at_master);
	list_remove(&segment->at_client);
	alloc_free(segment->alloc);
	vec_fini(&segment->open_chunks);
	free(segment->chunks);
	free(segment->name);
	free(segment->host);
	free(segment->endpoint);
	segment->magic = 0;
	free(segment);
}

/* The provider's clock is at least what it last told plus what has passed here since. */
void
segment_token(const struct segment *segment, struct token *token, uint64_t now_ms, uint64_t len_ms)
{
	uint64_t there_ms = segment->clock_there_ms + (now_ms - segment->clock_here_ms);

	token->segment_id = segment->id;
	token->segment_epoch = segment->epoch;
	token->until_ms = there_ms + len_ms;
	token_sign(token, segment->secret);
}

uint64_t
segment_used_bytes(const struct segment *segment)
{
	return alloc_used_bytes(segment->alloc) - segment->resting_bytes;
}

int
segment_claim(struct segment *segment, struct extent extent, const struct chunk_opener *opener,
	      uint64_t *ret_batch)
{
	uint32_t first = (uint32_t)(extent.offset_bytes / segment->chunk_bytes);
	uint32_t last =
		(uint32_t)((extent.offset_bytes + extent.len_bytes - 1) / segment->chunk_bytes);
	uint64_t batch = 0;

	for (uint32_t i = first; i <= last; i++) {
		struct chunk *chunk = &segment->chunks[i];
		int r;

		if (chunk->is_open)
			continue;
		r = vec_reserve(&segment->open_chunks, 1);
		if (r < 0)
			return err_new(r);
		r = opener->open(opener->arg, segment, i, &chunk->opened_batch);
		if (r < 0)
			return err_up(r);
		chunk->is_open = true;
		segment->open_chunks.at[segment->open_chunks.n++] = i;
	}
	for (uint32_t i = first; i <= last; i++) {
		segment->chunks[i].n_claims++;
		batch = num_max(batch, segment->chunks[i].opened_batch);
	}
	*ret_batch = batch;
	return 0;
}

void
segment_unclaim(struct segment *segment, struct extent extent, uint64_t now_ms)
{
	uint32_t first = (uint32_t)(extent.offset_bytes / segment->chunk_bytes);
	uint32_t last =
		(uint32_t)((extent.offset_bytes + extent.len_bytes - 1) / segment->chunk_bytes);

	for (uint32_t i = first; i <= last; i++) {
		struct chunk *chunk = &segment->chunks[i];

		assert(chunk->n_claims > 0);
		chunk->n_claims--;
		chunk->idle_since_ms = now_ms;
	}
}

uint64_t
segment_opened_batch(const struct segment *segment, struct extent extent)
{
	uint64_t first = extent.offset_bytes / segment->chunk_bytes;
	uint64_t last = (extent.offset_bytes + extent.len_bytes - 1) / segment->chunk_bytes;
	uint64_t batch = 0;

	for (uint64_t i = first; i <= last; i++)
		batch = num_max(batch, segment->chunks[i].opened_batch);
	return batch;
}
