/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/sock.h"

void
rdma_cache_init(struct rdma_cache *cache)
{
	*cache = (struct rdma_cache){0};
}

static void
region_free(struct rdma_region *region)
{
	for (unsigned i = 0; i < RDMA_NICS_MAX; i++)
		rdma_mr_close(&region->mrs[i]);
	fd_close_at(&region->memory.dmabuf_fd);
	free(region);
}

void
rdma_cache_fini(struct rdma_cache *cache)
{
	for (size_t i = 0; i < cache->regions.n; i++)
		region_free(cache->regions.at[i]);
	vec_fini(&cache->regions);
}

/* count_up_to -- how many regions begin at or before that address. */
static size_t
count_up_to(const struct rdma_cache *cache, const void *at)
{
	size_t from = 0, to = cache->regions.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if ((uintptr_t)cache->regions.at[mid]->memory.at <= (uintptr_t)at)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

int
rdma_cache_add(struct rdma_cache *cache, const struct memory *memory)
{
	struct rdma_region *region = calloc(1, sizeof(*region));
	size_t i = count_up_to(cache, memory->at);

	if (region == NULL)
		return err_new(-ENOMEM);
	region->memory = *memory;
	if (memory->dmabuf_fd >= 0) /* the caller's may be closed before it is first used */
		region->memory.dmabuf_fd = fcntl(memory->dmabuf_fd, F_DUPFD_CLOEXEC, 0);
	if ((memory->dmabuf_fd >= 0 && region->memory.dmabuf_fd < 0) ||
	    vec_reserve(&cache->regions, 1) < 0) {
		region_free(region);
		return err_new(-ENOMEM);
	}
	cache->regions.n++;
	memmove(&cache->regions.at[i + 1], &cache->regions.at[i],
		(cache->regions.n - 1 - i) * sizeof(cache->regions.at[0]));
	cache->regions.at[i] = region;
	return 0;
}

void
rdma_cache_remove(struct rdma_cache *cache, const void *at)
{
	size_t i = count_up_to(cache, at);

	if (i == 0 || cache->regions.at[i - 1]->memory.at != at)
		return;
	region_free(cache->regions.at[i - 1]);
	memmove(&cache->regions.at[i - 1], &cache->regions.at[i],
		(cache->regions.n - i) * sizeof(cache->regions.at[0]));
	cache->regions.n--;
}

struct rdma_region *
rdma_cache_find(const struct rdma_cache *cache, const void *at, size_t len_bytes)
{
	size_t i = count_up_to(cache, at);
	struct rdma_region *region;
	uint64_t from;

	if (i == 0)
		return NULL;
	region = cache->regions.at[i - 1];
	from = (uintptr_t)at - (uintptr_t)region->memory.at;
	if (from > region->memory.len_bytes || len_bytes > region->memory.len_bytes - from)
		return NULL;
	return region;
}

bool
rdma_region_open(struct rdma_region *region, const struct rdma_nic *nic, unsigned nic_index)
{
	enum rdma_region_state *state = &region->states[nic_index];
	char why[256];
	int r;

	if (*state != RDMA_REGION_NEW)
		return *state == RDMA_REGION_IN;
	r = rdma_mr_open(&region->mrs[nic_index], nic->pd, &region->memory, nic->sink_access);
	*state = r == 0 ? RDMA_REGION_IN : RDMA_REGION_REFUSED;
	if (r != 0)
		log_event(LOG_WARN, "rdma_not_registered", "device=%s why=\"%s\"",
			  ibv_get_device_name(nic->verbs->device),
			  rdma_mr_why(why, sizeof(why), r, nic->verbs, region->memory.len_bytes));
	return r == 0;
}
