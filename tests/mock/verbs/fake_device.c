/* SPDX-License-Identifier: Apache-2.0 */

/* fake_device.c -- devices, contexts, protection domains, and memory with its keys. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/mock/verbs/fake_inner.h"
#include "transfer/base/num.h"

/* Macros of the header that would stand in front of what is defined here. */
#undef ibv_reg_mr
#undef ibv_query_port

struct fake_device *
fake_device_of(const struct ibv_context *verbs)
{
	return container_of(verbs->device, struct fake_device, device);
}

static int
query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *ret, size_t len)
{
	struct fake_device *device = fake_device_of(context);
	struct ibv_port_attr attr = {
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.gid_tbl_len = 1,
		.max_msg_sz = 1u << 30,
		.lid = 0,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};

	fake_lock();
	attr.state = device->is_cut ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	fake_unlock();
	if (number != 1)
		return EINVAL;
	memcpy(ret, &attr, num_min(len, sizeof(attr)));
	return 0;
}

void
fake_devices_init(void)
{
	for (unsigned i = 0; i < world.config.n_devices; i++) {
		struct ibv_device *device = &world.devices[i].device;

		snprintf(device->name, sizeof(device->name), "fake%u", i);
		device->node_type = world.config.is_iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
		device->transport_type =
			world.config.is_iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	}
}

void
fake_devices_fini(void)
{
	for (unsigned i = 0; i < world.config.n_devices; i++)
		free(world.devices[i].verbs);
}

struct ibv_context *
fake_device_open(unsigned i)
{
	struct fake_device *device = &world.devices[i];

	if (device->verbs == NULL) {
		device->verbs = calloc(1, sizeof(*device->verbs));
		assert(device->verbs != NULL);
		device->verbs->sz = sizeof(*device->verbs);
		device->verbs->query_port = query_port;
		device->verbs->context = (struct ibv_context){
			.device = &device->device,
			.ops = {.poll_cq = fake_poll_cq,
				.req_notify_cq = fake_req_notify,
				.post_send = fake_post_send,
				.post_recv = fake_post_recv},
			.cmd_fd = -1,
			.async_fd = -1,
			.num_comp_vectors = 1,
			.abi_compat = __VERBS_ABI_IS_EXTENDED,
		};
	}
	return &device->verbs->context;
}

struct ibv_device **
ibv_get_device_list(int *ret_n)
{
	struct ibv_device **list;
	int e;

	fake_lock();
	e = fake_call(__func__);
	fake_unlock();
	errno = e;
	if (e != 0)
		return NULL;
	list = calloc(world.config.n_devices + 1, sizeof(*list));
	assert(list != NULL);
	for (unsigned i = 0; i < world.config.n_devices; i++)
		list[i] = &world.devices[i].device;
	if (ret_n != NULL)
		*ret_n = (int)world.config.n_devices;
	return list;
}

void
ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device_at)
{
	struct fake_device *device = container_of(device_at, struct fake_device, device);
	struct ibv_context *context = NULL;

	fake_lock();
	errno = fake_call(__func__);
	if (errno == 0) {
		context = fake_device_open((unsigned)(device - world.devices));
		device->n_open++;
		world.n_objects++;
	}
	fake_unlock();
	return context;
}

int
ibv_close_device(struct ibv_context *context)
{
	fake_lock();
	if (fake_device_of(context)->n_open == 0)
		fake_complain("a device is closed that was not opened");
	fake_device_of(context)->n_open--;
	world.n_objects--;
	fake_unlock();
	return 0;
}

int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *ret)
{
	int e;

	(void)context;
	fake_lock();
	e = fake_call(__func__);
	fake_unlock();
	if (e != 0)
		return e;
	*ret = (struct ibv_device_attr){
		.max_mr_size =
			world.config.max_mr_bytes > 0 ? world.config.max_mr_bytes : UINT64_MAX,
		.max_qp = 1024,
		.max_qp_wr = 4096,
		.max_sge = FAKE_SGES_MAX,
		.max_sge_rd = FAKE_SGES_MAX,
		.max_cq = 1024,
		.max_cqe = 65536,
		.max_mr = 65536,
		.max_pd = 1024,
		.max_qp_rd_atom = world.config.max_qp_rd_atom,
		.max_qp_init_rd_atom = world.config.max_qp_rd_atom,
		.phys_port_cnt = 1,
	};
	return 0;
}

int
ibv_fork_init(void)
{
	return 0;
}

/* ---- protection domains and memory ----------------------------------------------- */

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
	struct fake_pd *pd = NULL;

	fake_lock();
	errno = fake_call(__func__);
	if (errno == 0) {
		pd = calloc(1, sizeof(*pd));
		assert(pd != NULL);
		pd->pd.context = context;
		world.n_objects++;
	}
	fake_unlock();
	return pd != NULL ? &pd->pd : NULL;
}

int
ibv_dealloc_pd(struct ibv_pd *pd_at)
{
	struct fake_pd *pd = container_of(pd_at, struct fake_pd, pd);

	fake_lock();
	if (pd->n_uses > 0) {
		fake_complain("a protection domain goes while %u things are in it", pd->n_uses);
		fake_unlock();
		return EBUSY;
	}
	world.n_objects--;
	fake_unlock();
	free(pd);
	return 0;
}

static struct ibv_mr *
reg(struct ibv_pd *pd, const struct ibv_mr *like, uint64_t iova, unsigned access)
{
	struct fake_mr *mr = NULL;

	errno = fake_call("ibv_reg_mr");
	/* What may be written from afar may be written from here: real ones insist. */
	if (errno == 0 && (access & IBV_ACCESS_REMOTE_WRITE) != 0 &&
	    (access & IBV_ACCESS_LOCAL_WRITE) == 0)
		errno = EINVAL;
	if (errno == 0 && world.config.max_mr_bytes > 0 && like->length > world.config.max_mr_bytes)
		errno = EINVAL;
	if (errno == 0 && world.config.max_locked_bytes > 0 &&
	    world.locked_bytes + like->length > world.config.max_locked_bytes)
		errno = ENOMEM;
	if (errno != 0)
		return NULL;
	mr = calloc(1, sizeof(*mr));
	assert(mr != NULL);
	mr->mr = *like;
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.lkey = world.next_key++;
	mr->mr.rkey = mr->mr.lkey;
	mr->access = access;
	mr->iova = iova;
	list_link_init(&mr->at);
	list_push_back(&world.mrs, &mr->at);
	container_of(pd, struct fake_pd, pd)->n_uses++;
	world.locked_bytes += like->length;
	world.n_objects++;
	return &mr->mr;
}

struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *mr;

	fake_lock();
	mr = reg(pd, &(struct ibv_mr){.addr = addr, .length = len}, (uintptr_t)addr,
		 (unsigned)access);
	fake_unlock();
	return mr;
}

struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, unsigned access)
{
	struct ibv_mr *mr;

	fake_lock();
	mr = reg(pd, &(struct ibv_mr){.addr = addr, .length = len}, iova, access);
	fake_unlock();
	return mr;
}

/* A dmabuf's bytes are told by descriptor; here they lie at the address that names them. */
struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t len, uint64_t iova, int fd, int access)
{
	struct ibv_mr *mr = NULL;

	(void)offset;
	fake_lock();
	if (fd < 0)
		errno = EBADF;
	else
		mr = reg(pd, &(struct ibv_mr){.addr = (void *)(uintptr_t)iova, .length = len}, iova,
			 (unsigned)access);
	fake_unlock();
	return mr;
}

/* is_used -- by a request that waits on a queue pair of the same domain. */
static bool
is_used(const struct fake_mr *mr)
{
	list_each(&world.qps, link) {
		struct fake_qp *qp = list_of(link, struct fake_qp, at);

		if (qp->is_ghost)
			continue;
		list_each(&qp->sends, at) {
			struct fake_send *send = list_of(at, struct fake_send, at);

			for (int i = 0; i < send->n_sges; i++)
				if (!send->is_inline && send->sges[i].lkey == mr->mr.lkey)
					return true;
		}
	}
	return false;
}

int
ibv_dereg_mr(struct ibv_mr *mr_at)
{
	struct fake_mr *mr = container_of(mr_at, struct fake_mr, mr);

	fake_lock();
	if (is_used(mr))
		fake_complain("memory is given back while a request of this side names it");
	list_remove(&mr->at);
	container_of(mr->mr.pd, struct fake_pd, pd)->n_uses--;
	world.locked_bytes -= mr->mr.length;
	world.n_objects--;
	fake_unlock();
	free(mr);
	return 0;
}

struct fake_mr *
fake_mr_find(uint32_t key, const struct ibv_pd *pd, uint64_t addr, uint64_t len, unsigned access)
{
	list_each(&world.mrs, link) {
		struct fake_mr *mr = list_of(link, struct fake_mr, at);

		if (mr->mr.lkey == key)
			return mr->mr.pd == pd && (mr->access & access) == access &&
					       addr >= mr->iova &&
					       num_range_fits(addr - mr->iova, len, mr->mr.length)
				       ? mr
				       : NULL;
	}
	return NULL;
}

uint8_t *
fake_mr_at(const struct fake_mr *mr, uint64_t addr)
{
	return (uint8_t *)mr->mr.addr + (addr - mr->iova);
}
