/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_plan.h -- how the slices of one op are reached: directly, or by way of the stage.
 *
 * thread:  the transport's lock.
 */
#ifndef TRANSFER_RDMA_PLAN_H
#define TRANSFER_RDMA_PLAN_H

#include "transfer/rdma_group.h"

/*
 * rdma_plan_make -- decide, and register what is to be lent; puts the lock aside for that.
 *
 * needs:   move->plan is NONE.
 * gives:   DIRECT, with the devices in move->nics, among them this one; or STAGED.
 * result:  false: it can't be moved: memory of a dmabuf that the device does not take.
 */
bool rdma_plan_make(struct rdma *rdma, struct rdma_move *move, const struct rdma_nic *nic,
		    unsigned nic_index) MUST_CHECK;

/* rdma_plan_sge -- how a device of move->nics names a part of a slice; perhaps only its beginning.
 * needs: the plan is DIRECT. */
void rdma_plan_sge(const struct rdma *rdma, const struct rdma_move *move, unsigned nic_index,
		   const struct iovec *part, struct ibv_sge *ret_sge);

#endif
