/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is announced is kept and judged here for every transport, so that a program that is wrong is
 * wrong everywhere, and not only where memory must be pinned; the engine hears of it as well.
 */
#include "core/register.h"

#include "core/why.h"
#include "transfer/transport.h"

struct region {
	struct list_link at;
	uintptr_t from, to;
	bool is_dmabuf;
};

void
register_forget_all(struct tiffin_client *client)
{
	list_each_safe(&client->regions, at) {
		list_remove(at);
		free(list_of(at, struct region, at));
	}
}

/* add -- unless it overlaps another. */
static bool
add(struct tiffin_client *client, struct region *region)
{
	bool is_free = true;

	lock_take(&client->lock);
	list_each(&client->regions, at) {
		const struct region *other = list_of(at, struct region, at);

		is_free = is_free && (region->to <= other->from || other->to <= region->from);
	}
	if (is_free)
		list_push_back(&client->regions, &region->at);
	lock_drop(&client->lock);
	return is_free;
}

/* forget -- take it out of the list, and give it back. */
static void
forget(struct tiffin_client *client, struct region *region)
{
	lock_take(&client->lock);
	list_remove(&region->at);
	lock_drop(&client->lock);
	if (region->is_dmabuf)
		atomic_fetch_sub(&client->n_dmabufs, 1);
	free(region);
}

static int
announce(struct tiffin_client *client, const struct memory *memory)
{
	struct region *region;
	uintptr_t to;

	if (memory->at == NULL || memory->len_bytes == 0 ||
	    __builtin_add_overflow((uintptr_t)memory->at, memory->len_bytes, &to))
		return why_set(TIFFIN_E_INVALID, "%lu bytes at %p are no memory", memory->len_bytes,
			       memory->at);

	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return why_no_memory();
	list_link_init(&region->at);
	region->from = (uintptr_t)memory->at;
	region->to = to;
	region->is_dmabuf = memory->dmabuf_fd >= 0;
	if (!add(client, region)) {
		free(region);
		return why_set(TIFFIN_E_INVALID, "memory at %p is registered already", memory->at);
	}
	if (region->is_dmabuf)
		atomic_fetch_add(&client->n_dmabufs, 1);
	if (engine_learn(client->engine, memory) == 0)
		return 0;
	forget(client, region);
	return why_no_memory();
}

static int
withdraw(struct tiffin_client *client, void *at)
{
	struct region *found = NULL;

	lock_take(&client->lock);
	list_each(&client->regions, link) {
		struct region *region = list_of(link, struct region, at);

		if (region->from == (uintptr_t)at)
			found = region;
	}
	lock_drop(&client->lock);

	if (found == NULL)
		return why_set(TIFFIN_E_INVALID, "memory at %p is not registered", at);
	engine_unlearn(client->engine, at);
	forget(client, found);
	return 0;
}

/* ---- memory of devices ------------------------------------------------------------ */

/* is_in_dmabuf -- some byte of it. */
static bool
is_in_dmabuf(struct tiffin_client *client, const struct iovec *slices, size_t n_slices)
{
	bool is_in = false;

	if (atomic_load_explicit(&client->n_dmabufs, memory_order_relaxed) == 0)
		return false;
	lock_take(&client->lock);
	list_each(&client->regions, link) {
		const struct region *region = list_of(link, struct region, at);

		for (size_t i = 0; region->is_dmabuf && i < n_slices; i++) {
			uintptr_t from = (uintptr_t)slices[i].iov_base;

			is_in |= from < region->to && from + slices[i].iov_len > region->from;
		}
	}
	lock_drop(&client->lock);
	return is_in;
}

bool
register_has_device(struct tiffin_client *client, const struct op *op)
{
	return is_in_dmabuf(client, op->slices, op->n_slices);
}

int
register_check(struct tiffin_client *client, const struct iovec *slices, size_t n_slices)
{
	if (!is_in_dmabuf(client, slices, n_slices))
		return 0;
	return why_set(TIFFIN_E_INVALID, "slices in the memory of a device: they can be put and "
					 "got as a whole, not by a stream");
}

int
tiffin_register(struct tiffin_client *client, void *at, size_t len_bytes)
{
	const struct memory memory = {.at = at, .len_bytes = len_bytes, .dmabuf_fd = -1};
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, announce(client, &memory));
}

int
tiffin_register_dmabuf(struct tiffin_client *client, void *at, size_t len_bytes, int fd,
		       uint64_t offset_bytes)
{
	const struct memory memory = {at, len_bytes, fd, offset_bytes};
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (fd < 0)
		r = why_set(TIFFIN_E_INVALID, "%d is no descriptor of a dmabuf", fd);
	return client_leave(client, r != 0 ? r : announce(client, &memory));
}

int
tiffin_unregister(struct tiffin_client *client, void *at)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, withdraw(client, at));
}

int
tiffin_rdma_counts(struct tiffin_client *client, struct tiffin_rdma_counts *ret_counts)
{
	struct transport_counts counts;
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (ret_counts == NULL || ret_counts->struct_bytes < sizeof(*ret_counts))
		return client_leave(
			client, why_set(TIFFIN_E_INVALID, "tiffin_rdma_counts: set struct_bytes"));
	engine_counts(client->engine, "rdma", &counts);
	*ret_counts = (struct tiffin_rdma_counts){
		.struct_bytes = sizeof(*ret_counts),
		.bytes_direct = counts.bytes_direct,
		.bytes_staged = counts.bytes_staged,
		.bytes_loaned = counts.bytes_loaned,
		.n_loans = counts.n_loans,
		.n_broken = counts.n_broken,
		.n_passed = counts.n_passed,
	};
	return client_leave(client, 0);
}
