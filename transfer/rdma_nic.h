/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_nic.h -- one device as a client uses it: its protection domain, and room for small bytes.
 *
 *      stage    | slot | slot | slot | .... |      one registration of RDMA_STAGE_BYTES
 *
 * Bytes of memory that nobody registered are copied by way of a slot, where they are too few to be
 * worth a registration of their own.
 *
 * thread:  the transport's lock.
 */
#ifndef TRANSFER_RDMA_NIC_H
#define TRANSFER_RDMA_NIC_H

#include <infiniband/verbs.h>

#include "transfer/rdma_mr.h"

#define RDMA_SLOT_BYTES  (64u << 10)
#define RDMA_SLOTS       64
#define RDMA_STAGE_BYTES ((uint64_t)RDMA_SLOT_BYTES * RDMA_SLOTS)

struct rdma_nic {
	struct ibv_context *verbs; /* NULL: free */
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	int sink_access; /* what memory needs that is to be read into */
	uint8_t *stage;
	struct rdma_mr stage_mr;
	uint8_t *free_slots[RDMA_SLOTS];
	unsigned n_free_slots;
};

/* rdma_nic_open -- 0, or what rdma_mr_open() says of the stage, or -errno. */
int rdma_nic_open(struct rdma_nic *nic, struct ibv_context *verbs) MUST_CHECK;

/* rdma_nic_close -- needs: nothing on it is open any more.  One that is not open is fine. */
void rdma_nic_close(struct rdma_nic *nic);

/* rdma_nic_slot -- RDMA_SLOT_BYTES, or NULL; given back with rdma_nic_give(). */
uint8_t *rdma_nic_slot(struct rdma_nic *nic);
void rdma_nic_give(struct rdma_nic *nic, uint8_t *slot);

#endif
