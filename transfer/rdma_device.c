/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_device.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

bool
rdma_is_built(void)
{
	return true;
}

/* ask -- its ports and limits. */
static int
ask(struct ibv_device *device, struct rdma_device *ret_device)
{
	struct rdma_device told = {0};
	struct ibv_device_attr attr;
	struct ibv_context *context = ibv_open_device(device);
	int e;

	if (context == NULL)
		return err_new(errno > 0 ? -errno : -EIO);
	e = ibv_query_device(context, &attr);
	if (e == 0) {
		snprintf(told.name, sizeof(told.name), "%s", ibv_get_device_name(device));
		told.n_ports = attr.phys_port_cnt;
		told.max_mr_bytes = attr.max_mr_size;
	}
	for (unsigned port = 1; e == 0 && port <= told.n_ports; port++) {
		struct ibv_port_attr port_attr;

		e = ibv_query_port(context, (uint8_t)port, &port_attr);
		if (e == 0 && port_attr.state == IBV_PORT_ACTIVE)
			told.n_ports_active++;
	}
	ibv_close_device(context);
	if (e != 0)
		return err_new(-e);
	*ret_device = told;
	return 0;
}

int
rdma_device_list(struct rdma_device *ret_devices, size_t cap, size_t *ret_n)
{
	int n_there = 0, r = 0;
	struct ibv_device **list = ibv_get_device_list(&n_there);
	size_t n;

	/* A kernel without the subsystem answers ENOSYS: then there are none. */
	if (list == NULL) {
		*ret_n = 0;
		return errno == ENOSYS || errno == 0 ? 0 : err_new(-errno);
	}
	n = num_min((size_t)n_there, cap);
	for (size_t i = 0; i < n && r == 0; i++)
		r = ask(list[i], &ret_devices[i]);
	ibv_free_device_list(list);
	if (r < 0)
		return err_up(r);
	*ret_n = n;
	return 0;
}
