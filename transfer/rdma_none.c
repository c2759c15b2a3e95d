/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_device.h"
#include "transfer/rdma_serve.h"
#include "transfer/transport.h"

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

int
transport_rdma_new(struct transport **ret_t)
{
	(void)ret_t;
	return TRANSPORT_E_CANT;
}

void
transport_rdma_set(struct transport *t, unsigned conns_per_peer)
{
	(void)t;
	(void)conns_per_peer;
}

int
rdma_serve_new(struct serve *serve, const char *addresses, struct rdma_serve **ret_rdma)
{
	(void)serve;
	(void)addresses;
	(void)ret_rdma;
	return RDMA_SERVE_E_NONE;
}

/* Nobody has a struct rdma_serve here: what follows is never called with one. */

void
rdma_serve_free(struct rdma_serve *rdma)
{
	assert(rdma == NULL);
}

const char *
rdma_serve_endpoint(const struct rdma_serve *rdma)
{
	assert(rdma == NULL);
	return "";
}

int
rdma_serve_add(struct rdma_serve *rdma, struct lent *lent, char *why, size_t why_cap)
{
	assert(rdma == NULL);
	(void)lent;
	(void)why;
	(void)why_cap;
	return RDMA_SERVE_E_NO_ROOM;
}

void
rdma_serve_leave(struct rdma_serve *rdma, const struct lent *lent)
{
	assert(rdma == NULL);
	(void)lent;
}

void
rdma_serve_forget(struct rdma_serve *rdma, const struct lent *lent)
{
	assert(rdma == NULL);
	(void)lent;
}

void
rdma_serve_wake(struct rdma_serve *rdma)
{
	assert(rdma == NULL);
}
