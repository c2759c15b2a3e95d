/* SPDX-License-Identifier: Apache-2.0 */
#include "master/gone.h"

#include <string.h>

#include "transfer/base/num.h"

void
gone_init(struct gone *gone)
{
	*gone = (struct gone){0};
	map_init(&gone->batches);
}

void
gone_fini(struct gone *gone)
{
	map_fini(&gone->batches);
	vec_fini(&gone->queue);
}

void
gone_add(struct gone *gone, uint64_t hash, uint64_t batch)
{
	assert(gone->queue.n == 0 || gone->queue.at[gone->queue.n - 1].batch <= batch);

	if (vec_push(&gone->queue, (struct gone_key){hash, batch}) < 0 ||
	    map_put(&gone->batches, hash, (void *)(uintptr_t)batch) < 0)
		gone->unsure_batch = batch;
}

uint64_t
gone_batch(const struct gone *gone, uint64_t hash)
{
	uint64_t batch = (uintptr_t)map_get(&gone->batches, hash);

	return num_max(batch, gone->unsure_batch);
}

uint64_t
gone_last(const struct gone *gone)
{
	uint64_t batch = gone->queue.n > gone->first ? gone->queue.at[gone->queue.n - 1].batch : 0;

	return num_max(batch, gone->unsure_batch);
}

void
gone_settle(struct gone *gone, uint64_t committed)
{
	if (gone->unsure_batch <= committed)
		gone->unsure_batch = 0;
	while (gone->first < gone->queue.n && gone->queue.at[gone->first].batch <= committed) {
		struct gone_key key = gone->queue.at[gone->first++];

		if ((uintptr_t)map_get(&gone->batches, key.hash) <= committed)
			map_take(&gone->batches, key.hash);
	}
	if (gone->first * 2 < gone->queue.n)
		return;
	gone->queue.n -= gone->first;
	if (gone->queue.n > 0)
		memmove(gone->queue.at, gone->queue.at + gone->first,
			gone->queue.n * sizeof(*gone->queue.at));
	gone->first = 0;
}
