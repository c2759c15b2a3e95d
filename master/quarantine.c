/* SPDX-License-Identifier: Apache-2.0 */
#include "master/quarantine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

int
quarantine_init(struct quarantine *q, const struct chunk_opener *opener)
{
	*q = (struct quarantine){.opener = *opener};
	list_init(&q->syncing);
	map_init(&q->fences);
	if (vec_push(&q->heap, NULL) < 0)
		return err_new(-ENOMEM);
	return 0;
}

void
quarantine_fini(struct quarantine *q)
{
	assert(q->heap.n <= 1 && list_is_empty(&q->syncing) && q->fences.n == 0);
	vec_fini(&q->heap);
	map_fini(&q->fences);
}

/* ---- a heap of rests by until_ms ---- */

static void
heap_set(struct quarantine *q, size_t at, struct rest *rest)
{
	q->heap.at[at] = rest;
	rest->heap_at = at;
}

static void
heap_up(struct quarantine *q, size_t at)
{
	struct rest *rest = q->heap.at[at];

	for (; at > 1 && q->heap.at[at / 2]->until_ms > rest->until_ms; at /= 2)
		heap_set(q, at, q->heap.at[at / 2]);
	heap_set(q, at, rest);
}

static void
heap_down(struct quarantine *q, size_t at)
{
	struct rest *rest = q->heap.at[at];

	for (size_t child; (child = 2 * at) < q->heap.n; at = child) {
		if (child + 1 < q->heap.n &&
		    q->heap.at[child + 1]->until_ms < q->heap.at[child]->until_ms)
			child++;
		if (q->heap.at[child]->until_ms >= rest->until_ms)
			break;
		heap_set(q, at, q->heap.at[child]);
	}
	heap_set(q, at, rest);
}

static void
heap_remove(struct quarantine *q, struct rest *rest)
{
	size_t at = rest->heap_at;
	struct rest *last = q->heap.at[--q->heap.n];

	rest->heap_at = 0;
	if (last == rest)
		return;
	heap_set(q, at, last);
	heap_up(q, at);
	heap_down(q, last->heap_at);
}

/* ---- the three stages, from the last to the first ---- */

static uint64_t
rest_bytes(const struct rest *rest)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < rest->n_extents; i++)
		bytes += extent_room_bytes(rest->extents[i]);
	return bytes;
}

static void
rest_unclaim(struct rest *rest, uint64_t now_ms)
{
	if (!rest->has_claim)
		return;
	for (uint32_t i = 0; i < rest->n_extents; i++)
		segment_unclaim(rest->segment, rest->extents[i], now_ms);
	rest->has_claim = false;
}

/* Off every list and gone; its bytes are given back only when their segment lives on. */
static uint64_t
rest_end(struct quarantine *q, struct rest *rest, bool give_back)
{
	uint64_t bytes = rest_bytes(rest);

	list_remove(&rest->at_segment);
	list_remove(&rest->at_stage);
	rest->segment->resting_bytes -= bytes;
	q->resting_bytes -= bytes;
	if (rest->tenant != NULL)
		tenant_rest_over(rest->tenant, bytes);
	if (give_back)
		for (uint32_t i = 0; i < rest->n_extents; i++)
			alloc_give(rest->segment->alloc, rest->extents[i]);
	free(rest);
	return bytes;
}

/* The books must know of the chunk before somebody relies on it; a rest begins from a claimed or
 * stored place. */
static void
rest_claim(struct quarantine *q, struct rest *rest)
{
	if (rest->has_claim)
		return;
	for (uint32_t i = 0; i < rest->n_extents; i++) {
		uint64_t batch;
		int r = segment_claim(rest->segment, rest->extents[i], &q->opener, &batch);

		/* Without a claim it just rests longer: not before the removal itself is synced. */
		if (r < 0) {
			while (i-- > 0)
				segment_unclaim(rest->segment, rest->extents[i], 0);
			log_event(LOG_ERROR, "quarantine_no_claim", "segment=%" PRIu64,
				  rest->segment->id);
			return;
		}
	}
	rest->has_claim = true;
}

static void
enter_syncing(struct quarantine *q, struct rest *rest, uint64_t now_ms)
{
	rest_unclaim(rest, now_ms);
	list_push_back(&q->syncing, &rest->at_stage);
}

/* It comes to a gate (+1) or has passed it (-1). */
static void
count_gated(struct quarantine *q, struct rest *rest, int sign)
{
	uint64_t bytes = (uint64_t)sign * rest_bytes(rest);

	q->n_gated += (size_t)sign;
	q->gated_bytes += bytes;
	rest->segment->gated_bytes += bytes;
	if (rest->tenant != NULL)
		rest->tenant->gated_bytes += bytes;
	rest->is_gated = sign > 0;
}

/* The heap has room: quarantine_add() reserved it, so that no later step can fail. */
static void
enter_waiting(struct quarantine *q, struct rest *rest, uint64_t now_ms)
{
	if (rest->until_ms <= now_ms) {
		enter_syncing(q, rest, now_ms);
		return;
	}
	assert(q->heap.n < q->heap.cap);
	q->heap.at[q->heap.n++] = rest;
	heap_up(q, q->heap.n - 1);
}

static void
gate_open_if_done(struct quarantine *q, struct gate *gate, uint64_t now_ms)
{
	if (gate->waits_for_mount || !list_is_empty(&gate->fences))
		return;

	list_each_safe(&gate->rests, link) {
		list_remove(link);
		count_gated(q, list_of(link, struct rest, at_stage), -1);
		enter_waiting(q, list_of(link, struct rest, at_stage), now_ms);
	}
	list_remove(&gate->at_segment);
	free(gate);
}

static struct gate *
gate_new(struct segment *segment)
{
	struct gate *gate = calloc(1, sizeof(*gate));

	if (gate == NULL)
		return NULL;
	list_init(&gate->fences);
	list_init(&gate->rests);
	list_link_init(&gate->at_segment);
	list_push_back(&segment->gates, &gate->at_segment);
	return gate;
}

static int
fence_new(struct quarantine *q, struct gate *gate, struct segment *segment, uint64_t client_id)
{
	struct fence *fence = calloc(1, sizeof(*fence));

	if (fence == NULL)
		return err_new(-ENOMEM);
	*fence = (struct fence){.id = q->last_fence_id + 1,
				.client_id = client_id,
				.gate = gate,
				.segment = segment};
	if (map_put(&q->fences, fence->id, fence) < 0) {
		free(fence);
		return err_new(-ENOMEM);
	}
	q->last_fence_id++;
	list_link_init(&fence->at_gate);
	list_push_back(&gate->fences, &fence->at_gate);
	return 0;
}

static void
fence_free(struct quarantine *q, struct fence *fence)
{
	list_remove(&fence->at_gate);
	map_take(&q->fences, fence->id);
	free(fence);
}

/* A gate whose order has not gone out yet serves later rests of the same writer too. */
static struct gate *
gate_for(struct quarantine *q, struct segment *segment, uint64_t writer_id)
{
	struct gate *gate;

	list_each(&segment->gates, link) {
		struct list_link *first;

		gate = list_of(link, struct gate, at_segment);
		first = list_first(&gate->fences);
		if (gate->is_of_before || first == NULL)
			continue;
		if (list_of(first, struct fence, at_gate)->client_id == writer_id &&
		    !list_of(first, struct fence, at_gate)->is_sent)
			return gate;
	}

	gate = gate_new(segment);
	if (gate != NULL && fence_new(q, gate, segment, writer_id) < 0) {
		list_remove(&gate->at_segment);
		free(gate);
		return NULL;
	}
	return gate;
}

static struct rest *
rest_new(struct quarantine *q, struct segment *segment, const struct extent *extents,
	 uint32_t n_extents)
{
	struct rest *rest = calloc(1, sizeof(*rest) + n_extents * sizeof(*extents));

	if (rest == NULL)
		return NULL;
	rest->segment = segment;
	rest->n_extents = n_extents;
	memcpy(rest->extents, extents, n_extents * sizeof(*extents));
	list_link_init(&rest->at_segment);
	list_link_init(&rest->at_stage);
	list_push_back(&segment->rests, &rest->at_segment);
	segment->resting_bytes += rest_bytes(rest);
	q->resting_bytes += rest_bytes(rest);
	return rest;
}

void
quarantine_add(struct quarantine *q, struct segment *segment, const struct extent *extents,
	       uint32_t n_extents, const struct rest_terms *terms)
{
	bool is_early = terms->writer_id != 0 || terms->until_ms > terms->now_ms;
	struct rest *rest;
	struct gate *gate = NULL;

	/* Room in the heap for all who may come to it, so that no later step can fail. */
	if (vec_reserve(&q->heap, q->n_gated + 1) < 0)
		goto no_memory;
	if (terms->writer_id != 0) {
		gate = gate_for(q, segment, terms->writer_id);
		if (gate == NULL)
			goto no_memory;
	}
	rest = rest_new(q, segment, extents, n_extents);
	if (rest == NULL)
		goto no_memory;

	rest->until_ms = terms->until_ms;
	rest->batch = terms->batch;
	rest->has_claim = terms->has_claim;
	rest->tenant = terms->tenant;
	if (rest->tenant != NULL)
		tenant_rest(rest->tenant, rest_bytes(rest));
	if (is_early)
		rest_claim(q, rest);
	if (gate != NULL) {
		count_gated(q, rest, +1);
		list_push_back(&gate->rests, &rest->at_stage);
		return;
	}
	enter_waiting(q, rest, terms->now_ms);
	return;

no_memory:
	segment->leave_until_ms = num_max(segment->leave_until_ms, terms->until_ms);
	log_event(LOG_ERROR, "quarantine_no_memory",
		  "segment=%" PRIu64 " extents=%" PRIu32
		  " note=\"they stay taken until the master is restarted\"",
		  segment->id, n_extents);
}

struct gaps {
	struct quarantine *q;
	struct segment *segment;
	struct gate *gate;
	uint64_t until_ms;
	int r;
};

static void
gap_took(void *arg, struct extent extent)
{
	struct gaps *gaps = arg;
	struct rest *rest;

	gaps->r = gaps->r < 0 ? gaps->r : vec_reserve(&gaps->q->heap, gaps->q->n_gated + 1);
	rest = gaps->r < 0 ? NULL : rest_new(gaps->q, gaps->segment, &extent, 1);
	if (rest == NULL) {
		gaps->r = err_new(-ENOMEM);
		return;
	}
	rest->until_ms = gaps->until_ms;
	rest_claim(gaps->q, rest);
	count_gated(gaps->q, rest, +1);
	list_push_back(&gaps->gate->rests, &rest->at_stage);
}

int
quarantine_gaps(struct quarantine *q, struct segment *segment, uint64_t until_ms)
{
	struct gaps gaps = {.q = q, .segment = segment, .until_ms = until_ms};

	if (segment->open_chunks.n == 0)
		return 0;
	gaps.gate = gate_new(segment);
	if (gaps.gate == NULL)
		return err_new(-ENOMEM);
	gaps.gate->is_of_before = true;
	gaps.gate->waits_for_mount = true;

	for (size_t i = 0; i < segment->open_chunks.n && gaps.r == 0; i++) {
		uint64_t from = segment->open_chunks.at[i] * segment->chunk_bytes;
		uint64_t to = num_min(from + segment->chunk_bytes, segment->size_bytes);
		int r = alloc_take_gaps(segment->alloc, from, to, gap_took, &gaps);

		if (r < 0)
			return err_up(r);
	}
	return err_up(gaps.r);
}

/* Their own word is no proof here: the grants may be of this very epoch. */
int
quarantine_whole(struct quarantine *q, struct segment *segment, uint64_t until_ms)
{
	struct gaps gaps = {.q = q, .segment = segment, .until_ms = until_ms};
	int r;

	gaps.gate = gate_new(segment);
	if (gaps.gate == NULL)
		return err_new(-ENOMEM);
	gaps.gate->waits_for_mount = true;
	r = alloc_take_gaps(segment->alloc, 0, segment->size_bytes, gap_took, &gaps);
	return r < 0 ? err_up(r) : err_up(gaps.r);
}

static bool
is_among(uint64_t id, const uint64_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

int
quarantine_mounted(struct quarantine *q, struct segment *segment, const uint64_t *writers,
		   size_t n_writers, uint64_t now_ms)
{
	list_each_safe(&segment->gates, at_gate) {
		struct gate *gate = list_of(at_gate, struct gate, at_segment);

		if (gate->waits_for_mount) {
			for (size_t i = 0; i < n_writers; i++) {
				int r = fence_new(q, gate, segment, writers[i]);

				if (r < 0)
					return err_up(r);
			}
			gate->waits_for_mount = false;
		} else {
			list_each_safe(&gate->fences, at_fence) {
				struct fence *fence = list_of(at_fence, struct fence, at_gate);

				if (!is_among(fence->client_id, writers, n_writers))
					fence_free(q, fence);
			}
		}
		gate_open_if_done(q, gate, now_ms);
	}
	return 0;
}

bool
quarantine_fenced(struct quarantine *q, uint64_t id, const struct client *provider, uint64_t now_ms)
{
	struct fence *fence = id == 0 ? NULL : map_get(&q->fences, id);
	struct gate *gate;

	if (fence == NULL || !fence->is_sent || fence->segment->client != provider)
		return false;
	gate = fence->gate;
	fence_free(q, fence);
	gate_open_if_done(q, gate, now_ms);
	return true;
}

void
quarantine_quiet(struct quarantine *q, struct segment *segment, uint64_t client_id, uint64_t now_ms)
{
	list_each_safe(&segment->gates, at_gate) {
		struct gate *gate = list_of(at_gate, struct gate, at_segment);

		if (!gate->is_of_before || gate->waits_for_mount)
			continue;
		list_each_safe(&gate->fences, at_fence) {
			struct fence *fence = list_of(at_fence, struct fence, at_gate);

			if (fence->client_id == client_id)
				fence_free(q, fence);
		}
		gate_open_if_done(q, gate, now_ms);
	}
}

uint64_t
quarantine_turn(struct quarantine *q, uint64_t now_ms, uint64_t synced_batch, unsigned max_steps)
{
	uint64_t freed_bytes = 0;

	for (; max_steps > 0 && q->heap.n > 1 && q->heap.at[1]->until_ms <= now_ms; max_steps--) {
		struct rest *rest = q->heap.at[1];

		heap_remove(q, rest);
		enter_syncing(q, rest, now_ms);
	}
	list_each_safe(&q->syncing, link) {
		struct rest *rest = list_of(link, struct rest, at_stage);

		if (max_steps-- == 0)
			break;
		if (rest->batch <= synced_batch) {
			freed_bytes += rest_end(q, rest, /* give_back= */ true);
			continue;
		}
		break; /* batches grow along the list, nearly: the few that don't wait a little
			  longer */
	}
	return freed_bytes;
}

bool
quarantine_drop(struct quarantine *q, struct segment *segment, unsigned max_steps)
{
	list_each_safe(&segment->rests, link) {
		struct rest *rest = list_of(link, struct rest, at_segment);

		if (max_steps-- == 0)
			return false;
		if (rest->heap_at != 0)
			heap_remove(q, rest);
		if (rest->is_gated)
			count_gated(q, rest, -1);
		segment->leave_until_ms = num_max(segment->leave_until_ms, rest->until_ms);
		rest_end(q, rest, /* give_back= */ false);
	}
	list_each_safe(&segment->gates, link) {
		struct gate *gate = list_of(link, struct gate, at_segment);

		list_each_safe(&gate->fences, at_fence)
			fence_free(q, list_of(at_fence, struct fence, at_gate));
		list_remove(&gate->at_segment);
		free(gate);
	}
	return true;
}
