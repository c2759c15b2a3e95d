/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_nic.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"

static int
stage_open(struct rdma_nic *nic)
{
	struct memory memory = {.len_bytes = RDMA_STAGE_BYTES, .dmabuf_fd = -1};
	int r;

	nic->stage = aligned_alloc(2u << 20, RDMA_STAGE_BYTES);
	if (nic->stage == NULL)
		return err_new(-ENOMEM);
	memset(nic->stage, 0, RDMA_STAGE_BYTES); /* pages that are pinned are better there before */
	memory.at = nic->stage;
	r = rdma_mr_open(&nic->stage_mr, nic->pd, &memory, nic->sink_access);
	if (r != 0)
		return r;
	for (unsigned i = 0; i < RDMA_SLOTS; i++)
		nic->free_slots[nic->n_free_slots++] = nic->stage + (uint64_t)i * RDMA_SLOT_BYTES;
	return 0;
}

int
rdma_nic_open(struct rdma_nic *nic, struct ibv_context *verbs)
{
	int r;

	*nic = (struct rdma_nic){.verbs = verbs, .sink_access = IBV_ACCESS_LOCAL_WRITE};
	/* On iWARP the answer to a READ comes as a write from afar. */
	if (verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		nic->sink_access |= IBV_ACCESS_REMOTE_WRITE;
	r = ibv_query_device(verbs, &nic->attr) == 0 ? 0 : err_new(-EIO);
	if (r == 0) {
		nic->pd = ibv_alloc_pd(verbs);
		r = nic->pd != NULL ? stage_open(nic) : err_new(errno > 0 ? -errno : -EIO);
	}
	if (r != 0)
		rdma_nic_close(nic);
	return r;
}

void
rdma_nic_close(struct rdma_nic *nic)
{
	rdma_mr_close(&nic->stage_mr);
	free(nic->stage);
	if (nic->pd != NULL)
		ibv_dealloc_pd(nic->pd);
	*nic = (struct rdma_nic){0};
}

uint8_t *
rdma_nic_slot(struct rdma_nic *nic)
{
	return nic->n_free_slots > 0 ? nic->free_slots[--nic->n_free_slots] : NULL;
}

void
rdma_nic_give(struct rdma_nic *nic, uint8_t *slot)
{
	assert(nic->n_free_slots < RDMA_SLOTS);
	nic->free_slots[nic->n_free_slots++] = slot;
}
