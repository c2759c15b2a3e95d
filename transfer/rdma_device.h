/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_device.h -- the RDMA devices of this machine, as libibverbs tells them.
 *
 * Built twice: rdma_device.c with TIFFIN_RDMA, else rdma_none.c, which knows of none.
 */
#ifndef TRANSFER_RDMA_DEVICE_H
#define TRANSFER_RDMA_DEVICE_H

#include "transfer/base/base.h"

struct rdma_device {
	char name[64];
	unsigned n_ports, n_ports_active;
	uint64_t max_mr_bytes; /* largest memory that may be registered at once */
};

/* rdma_is_built -- was libibverbs there when this was compiled? */
bool rdma_is_built(void);

/*
 * rdma_device_list -- up to cap devices.
 *
 * gives:   *ret_n: how many there are in ret_devices.
 * result:  0 (also with none), or -errno: a device could not be asked.
 * thread:  any.
 */
int rdma_device_list(struct rdma_device *ret_devices, size_t cap, size_t *ret_n) MUST_CHECK;

#endif
