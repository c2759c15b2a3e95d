/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_device.h"

bool
rdma_is_built(void)
{
	return false;
}

int
rdma_device_list(struct rdma_device *ret_devices, size_t cap, size_t *ret_n)
{
	(void)ret_devices;
	(void)cap;
	*ret_n = 0;
	return 0;
}
